"""What stands before every route: request ids that are sane, headers that browsers heed, no error left unsaid."""

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
from formnet.scale.service.errors import ApiError, api_error, unexpected

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
_SANE = re.compile(r"[A-Za-z0-9._:-]{1,64}", re.ASCII)


def request_id(scope: Scope) -> str:
    """Give the id of a request: what its sender or Serve's proxy wrote into its headers."""
    given: str = Request(scope).headers.get("x-request-id") or scope.setdefault("formnet.id", uuid4().hex)
    return given if _SANE.fullmatch(given) else "unknown"


def told(refusal: ApiError, scope: Scope, headers: Mapping[str, str] | None = None) -> Response:
    """Give a refusal as the answer to a request."""
    error = {"code": refusal.code, "message": refusal.message, "request_id": request_id(scope)}
    return JSONResponse({"error": error}, refusal.status, {**refusal.headers, **(headers or {})})


def guard(app: FastAPI) -> None:
    """Put the guard before an application, and give its errors one form."""
    app.add_middleware(SecurityMiddleware)
    app.add_exception_handler(ApiError, _refused)
    app.add_exception_handler(FormNetError, _refused)
    app.add_exception_handler(HTTPException, _refused)
    app.add_exception_handler(RequestValidationError, _refused)


async def _refused(request: Request, error: Exception) -> Response:
    headers = error.headers if isinstance(error, HTTPException) else None  # such as the methods that are allowed
    if isinstance(error, FormNetError):
        error = api_error(error)
    elif isinstance(error, RequestValidationError):
        first = error.errors()[0]
        error = ApiError(422, "bad_request", f"{'.'.join(map(str, first['loc'][1:]))}: {first['msg']}.")
    elif isinstance(error, HTTPException):
        codes = {404: "not_found", 405: "wrong_method"}
        error = ApiError(error.status_code, codes.get(error.status_code, "bad_request"), f"{error.detail}.")
    assert isinstance(error, ApiError)
    return told(error, request.scope, headers)


class SecurityMiddleware:
    """The middleware itself."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, and its answer back."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = False

        async def answer(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        if request_id(scope) == "unknown":
            sane = "X-Request-ID should be up to 64 letters, digits, or any of . _ : -; or be left out."
            await told(ApiError(400, "bad_request_id", sane), scope)(scope, receive, answer)
            return
        try:
            await self.app(scope, receive, answer)
        except Exception as error:
            refusal = unexpected(error)
            if not started:
                await told(refusal, scope)(scope, receive, answer)
