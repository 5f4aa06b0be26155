"""Requests that get an error for an answer: a status, a word for programs, a sentence for people."""

import logging
import traceback

from formnet.errors import DocumentError, FormNetError, LimitError, OcrError

_LOG = logging.getLogger("ray.serve")

#: The first that an error is an instance of, says how it is told.
_TOLD = (
    (LimitError, 413, "too_large"),
    (DocumentError, 422, "bad_document"),
    (OcrError, 422, "ocr_failed"),
    (FormNetError, 400, "bad_request"),
)
#: Seconds after which a client that was turned away may ask again.
RETRY_AFTER = 1


class ApiError(Exception):
    """Why a request is not answered with fields; raised at the door, a plain value between processes."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(status, code, message)
        self.status, self.code, self.message = status, code, message

    @property
    def headers(self) -> dict[str, str]:
        """What a client should know besides: when to come back, or that nobody reads the rest of what it sends."""
        if self.status == 503:
            return {"Retry-After": str(RETRY_AFTER)}
        return {"Connection": "close"} if self.status in (408, 413) else {}


def api_error(error: FormNetError, message: str | None = None) -> ApiError:
    """Tell an error of the package as a refusal."""
    status, code = next((status, code) for kind, status, code in _TOLD if isinstance(error, kind))
    return ApiError(status, code, str(error) if message is None else message)


def too_busy() -> ApiError:
    """Turn a request away because too many are waiting."""
    return ApiError(503, "busy", "Too many documents are waiting; try the same again in a moment.")


def unexpected(error: BaseException) -> ApiError:
    """Log where an error of our own came from, but not what it says: it may quote the document."""
    where = traceback.extract_tb(error.__traceback__)[-8:]
    frames = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in where]
    _LOG.error("unexpected error", extra={"error": type(error).__name__, "frames": frames})
    return ApiError(500, "internal", "Something went wrong inside the service; its log says more.")
