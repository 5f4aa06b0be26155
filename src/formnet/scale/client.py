"""Client of the service: sends a document, returns its fields, and retries when the service is overloaded."""

import random
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx
from pydantic import BaseModel, ValidationError

from formnet.document import Document
from formnet.errors import DocumentError, FormNetError
from formnet.scale.service.schemas import ErrorResponse, ExtractResponse, ModelsResponse, ServiceDocument

ResponseModel = TypeVar("ResponseModel", bound=BaseModel)
#: Maximum seconds before a retry, whatever the service requests.
MAX_RETRY_DELAY = 30.0


class ServiceError(FormNetError):
    """The service rejected a request, or could not be reached, in which case `status` is 0."""

    def __init__(self, message: str, status: int = 0, code: str = "unreachable") -> None:
        super().__init__(message)
        self.status, self.code = status, code


class Client:
    """Client of one service; may be shared between threads.

    >>> with Client("http://127.0.0.1:8000") as client:  # doctest: +SKIP
    ...     client.extract("receipt.jpg").entities
    [EntityOutput(label='total', text='9.00', …)]
    """

    def __init__(self, url: str, api_key: str | None = None, *, timeout: float = 300.0, retries: int = 5) -> None:
        if api_key and not api_key.isascii():
            raise ServiceError("the API key has non-ASCII characters. Check it for typos.", code="invalid_api_key")
        headers = {"X-API-Key": api_key} if api_key else {}
        self.retries = retries
        self._http = httpx.Client(base_url=url, headers=headers, timeout=timeout)

    def extract(
        self,
        source: Document | Path | str | bytes,
        *,
        model: str | None = None,
        min_score: float = 0.0,
        day_first: bool | None = None,
        images: bool = False,
    ) -> ServiceDocument:
        """Extract the fields of a document, given as a document, the path of a file, or the content of a file."""
        options = {"model": model, "min_score": min_score, "day_first": day_first, "images": images}
        query = {name: value for name, value in options.items() if value is not None}
        if isinstance(source, Document):
            return self._extract(query, json=_to_request(source))
        name, content = ("document", source) if isinstance(source, bytes) else _read_file(Path(source))
        return self._extract(query, files={"files": (name, content)})

    def models(self) -> ModelsResponse:
        """Return the models of the service, and its limits."""
        return _parse(ModelsResponse, self._send("GET", "/v1/models"))

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _extract(self, query: dict[str, Any], **body: Any) -> ServiceDocument:
        (document,) = _parse(ExtractResponse, self._send("POST", "/v1/extract", params=query, **body)).documents
        return document

    def _send(self, method: str, route: str, **options: Any) -> httpx.Response:
        for attempt in range(self.retries + 1):
            try:
                response = self._http.request(method, route, **options)
            except httpx.HTTPError as error:
                problem = f"request failed: {error or type(error).__name__}. Check that the service is running."
                raise ServiceError(f"{self._http.base_url}: {problem}") from error
            if response.status_code != 503 or attempt == self.retries:
                break
            time.sleep(_retry_delay(response.headers.get("retry-after", ""), attempt))
        if response.is_success:
            return response
        raise _parse_error(response)


def _to_request(document: Document) -> dict[str, Any]:
    """Convert a document to JSON without entities and local image paths."""
    data = document.to_json()
    pages = [{key: value for key, value in page.items() if key not in ("image", "frame")} for page in data["pages"]]
    return {"schema": data["schema"], "id": data["id"], "pages": pages}


def _read_file(path: Path) -> tuple[str, bytes]:
    try:
        return path.name, path.read_bytes()
    except OSError as error:
        raise DocumentError(f"{path}: cannot be read: {error.strerror}.") from error


def _parse(response_model: type[ResponseModel], response: httpx.Response) -> ResponseModel:
    try:
        return response_model.model_validate_json(response.content)
    except ValidationError as error:  # sent by another server or by a proxy
        message = f"{response.url}: the response is not one of a FormNet service. Check the address."
        raise ServiceError(message, response.status_code, "unknown") from error


def _retry_delay(retry_after: str, attempt: int) -> float:
    """Return the seconds before a retry: the requested delay with exponential backoff and jitter."""
    seconds = float(retry_after) if retry_after.isdecimal() else 1.0
    return min(seconds * 1.5**attempt * random.uniform(1, 1.5), MAX_RETRY_DELAY)  # noqa: S311 - not a secret


def _parse_error(response: httpx.Response) -> ServiceError:
    try:
        error = ErrorResponse.model_validate_json(response.content).error
    except ValidationError:  # sent by another server or by a proxy
        message = f"the service responded with status {response.status_code}."
        return ServiceError(message, response.status_code, "unknown")
    return ServiceError(error.message, response.status_code, error.code)
