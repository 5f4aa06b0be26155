"""A client of the service: a document in, its fields out; waits and asks again when the service is busy."""

import random
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx
from pydantic import BaseModel, ValidationError

from formnet.document import Document
from formnet.errors import DocumentError, FormNetError
from formnet.scale.service.schemas import Answer, ErrorReply, ModelsReply, Reply

Message = TypeVar("Message", bound=BaseModel)
#: However long the service asks to wait, it is not longer than this, in seconds.
LONGEST_WAIT = 30.0


class ServiceError(FormNetError):
    """The service refused a request, or could not be reached; `status` is 0 then."""

    def __init__(self, message: str, status: int = 0, code: str = "unreachable") -> None:
        super().__init__(message)
        self.status, self.code = status, code


class Client:
    """Asks one service; threads may share it.

    >>> with Client("http://127.0.0.1:8000") as client:  # doctest: +SKIP
    ...     client.extract("receipt.jpg").entities
    [FieldAnswer(label='total', text='9.00', …)]
    """

    def __init__(self, url: str, api_key: str | None = None, *, timeout: float = 300.0, retries: int = 5) -> None:
        if api_key and not api_key.isascii():
            raise ServiceError("the key holds letters that no key can have.", code="wrong_key")
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
        pictures: bool = False,
    ) -> Answer:
        """Give the fields of a document: words and boxes, a file by its path, or a file's content."""
        told = {"model": model, "min_score": min_score, "day_first": day_first, "pictures": pictures}
        asked = {name: value for name, value in told.items() if value is not None}
        if isinstance(source, Document):
            return self._reply("/v1/extract", asked, json=_bare(source))
        name, content = ("document", source) if isinstance(source, bytes) else _file(Path(source))
        return self._reply("/v1/extract", asked, files={"files": (name, content)})

    def models(self) -> ModelsReply:
        """Name the models that can be asked, and the limits."""
        return _read(ModelsReply, self._send("GET", "/v1/models"))

    def close(self) -> None:
        """Let the connections go."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _reply(self, route: str, asked: dict[str, Any], **body: Any) -> Answer:
        (answer,) = _read(Reply, self._send("POST", route, params=asked, **body)).documents
        return answer

    def _send(self, method: str, route: str, **parts: Any) -> httpx.Response:
        for attempt in range(self.retries + 1):
            try:
                response = self._http.request(method, route, **parts)
            except httpx.HTTPError as error:
                raise ServiceError(
                    f"{self._http.base_url}: cannot be asked: {error or type(error).__name__}"
                ) from error
            if response.status_code != 503 or attempt == self.retries:
                break
            time.sleep(_wait(response.headers.get("retry-after", ""), attempt))
        if response.is_success:
            return response
        raise _error(response)


def _bare(document: Document) -> dict[str, Any]:
    """Give what a network looks at: no entities, no paths of this machine."""
    told = document.to_json()
    pages = [{key: value for key, value in page.items() if key not in ("image", "frame")} for page in told["pages"]]
    return {"schema": told["schema"], "id": told["id"], "pages": pages}


def _file(path: Path) -> tuple[str, bytes]:
    try:
        return path.name, path.read_bytes()
    except OSError as error:
        raise DocumentError(f"{path}: cannot be read: {error.strerror}.") from error


def _read(kind: type[Message], response: httpx.Response) -> Message:
    try:
        return kind.model_validate_json(response.content)
    except ValidationError as error:  # from something before the service
        told = f"{response.url}: answers, but not as the service does; is it its address?"
        raise ServiceError(told, response.status_code, "unknown") from error


def _wait(asked: str, attempt: int) -> float:
    """Give the seconds to wait: as asked, longer each time, and not in step with others who were turned away."""
    seconds = float(asked) if asked.isdecimal() else 1.0
    return min(seconds * 1.5**attempt * random.uniform(1, 1.5), LONGEST_WAIT)  # noqa: S311 - not a secret


def _error(response: httpx.Response) -> ServiceError:
    try:
        problem = ErrorReply.model_validate_json(response.content).error
    except ValidationError:  # from something before the service
        return ServiceError(f"the service answered {response.status_code}.", response.status_code, "unknown")
    return ServiceError(problem.message, response.status_code, problem.code)
