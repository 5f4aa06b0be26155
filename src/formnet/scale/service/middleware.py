"""Middleware and error handlers: request IDs, security headers, and one format for all errors."""

import re
from collections.abc import Mapping
from uuid import uuid4

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from formnet.errors import FormNetError
from formnet.scale.service.errors import ApiError, internal_error, to_api_error
from formnet.scale.service.schemas import ErrorDetail, ErrorResponse

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
_VALID_ID = re.compile(r"[A-Za-z0-9._:-]{1,64}", re.ASCII)


def request_id(scope: Scope) -> str:
    """Return the ID of a request: its X-Request-ID header, which Serve's proxy adds if the client did not."""
    value: str = Request(scope).headers.get("x-request-id") or scope.setdefault("formnet.id", uuid4().hex)
    return value if _VALID_ID.fullmatch(value) else "unknown"


def error_response(error: ApiError, scope: Scope, headers: Mapping[str, str] | None = None) -> Response:
    """Build the response for an error."""
    detail = ErrorDetail(code=error.code, message=error.message, request_id=request_id(scope))
    return JSONResponse(ErrorResponse(error=detail).model_dump(), error.status, {**error.headers, **(headers or {})})


def install_middleware(app: FastAPI) -> None:
    """Add the security middleware and the error handlers to an application."""
    app.add_middleware(SecurityMiddleware)
    app.add_exception_handler(ApiError, _handle_error)
    app.add_exception_handler(FormNetError, _handle_error)
    app.add_exception_handler(HTTPException, _handle_error)
    app.add_exception_handler(RequestValidationError, _handle_error)


async def _handle_error(request: Request, error: Exception) -> Response:
    headers = error.headers if isinstance(error, HTTPException) else None  # such as the allowed methods
    if isinstance(error, FormNetError):
        error = to_api_error(error)
    elif isinstance(error, RequestValidationError):
        first = error.errors()[0]
        error = ApiError(422, "invalid_request", f"{'.'.join(map(str, first['loc'][1:]))}: {first['msg']}.")
    elif isinstance(error, HTTPException):
        codes = {404: "not_found", 405: "method_not_allowed"}
        error = ApiError(error.status_code, codes.get(error.status_code, "invalid_request"), f"{error.detail}.")
    assert isinstance(error, ApiError)
    return error_response(error, request.scope, headers)


class SecurityMiddleware:
    """Reject invalid request IDs, add security headers, and convert unexpected errors to responses."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = False

        async def send_with_headers(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        if request_id(scope) == "unknown":
            problem = "X-Request-ID must be 1 to 64 letters, digits or any of . _ : -. Correct or omit it."
            response = error_response(ApiError(400, "invalid_request_id", problem), scope)
            await response(scope, receive, send_with_headers)
            return
        try:
            await self.app(scope, receive, send_with_headers)
        except Exception as error:
            response = error_response(internal_error(error), scope)
            if not started:
                await response(scope, receive, send_with_headers)
