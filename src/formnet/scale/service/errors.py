"""Errors of the API: an HTTP status, a code for programs, and a message for people."""

import logging
import traceback

from formnet.errors import DocumentError, FormNetError, LimitError, OcrError, ReaderError, ReadTimeoutError

_LOG = logging.getLogger("ray.serve")

#: Status and code by exception class; the first match applies.
_STATUS_CODES = (
    (ReadTimeoutError, 422, "processing_timeout"),
    (LimitError, 413, "too_large"),
    (DocumentError, 422, "invalid_document"),
    (OcrError, 422, "ocr_failed"),
    (ReaderError, 503, "overloaded"),
    (FormNetError, 400, "invalid_request"),
)
#: Seconds after which a client may retry a request that was rejected with 503.
RETRY_AFTER = 1


class ApiError(Exception):
    """An error response. It is raised in the ingress, and returned as a value from other deployments."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(status, code, message)
        self.status, self.code, self.message = status, code, message

    @property
    def headers(self) -> dict[str, str]:
        """Additional response headers: when to retry, or that the rest of the body will not be read."""
        if self.status == 503:
            return {"Retry-After": str(RETRY_AFTER)}
        return {"Connection": "close"} if self.status in (408, 413) else {}


def to_api_error(error: FormNetError, message: str | None = None) -> ApiError:
    """Convert an exception of the package, optionally with another message."""
    status, code = next((status, code) for kind, status, code in _STATUS_CODES if isinstance(error, kind))
    return ApiError(status, code, str(error) if message is None else message)


def overloaded_error() -> ApiError:
    """Build the error for a request that exceeds the capacity of a queue."""
    return ApiError(503, "overloaded", "The service is overloaded. Retry after the delay given in Retry-After.")


def storage_error() -> ApiError:
    """Build the error for a file that cannot be stored because the disk is full."""
    return ApiError(503, "storage_full", "The service has no disk space for uploads. Retry later, or send words.")


def internal_error(error: BaseException) -> ApiError:
    """Log the stack of an unexpected error, without its message, which may quote the document; build the response."""
    frames = traceback.extract_tb(error.__traceback__)[-8:]
    locations = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
    _LOG.error("unexpected error", extra={"error": type(error).__name__, "frames": locations})
    return ApiError(500, "internal_error", "Internal error. See the service log.")
