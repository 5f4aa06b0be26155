"""Exceptions raised for invalid input, configuration or environment.

    FormNetError
    ├── DocumentError      invalid document: bad boxes, malformed JSON or an inconsistent entity
    │   └── LimitError     input exceeds a limit
    │       └── ReadTimeoutError
    ├── ReaderError        the process that reads files did not start
    ├── OcrError           OCR engine required but not installed, or OCR failed
    ├── CorpusError        corpus missing or in the wrong format
    ├── LabelError         inconsistent entity types, spans or tags
    ├── TokenizerError     tokenizer cannot be loaded
    ├── SettingsError      invalid run configuration or model directory
    ├── IsolationError     bulk processing: worker process timed out or crashed (`formnet.scale.isolation`)
    └── ServiceError       client: request rejected by the service (`formnet.scale.client`)

Messages name the file, page or word concerned and the remedy. Internal errors are assertions.
"""

#: Maximum message length in characters; messages may quote the input.
MAX_MESSAGE_LENGTH = 2_000


class FormNetError(Exception):
    """Base class of all user-facing errors."""

    def __init__(self, message: str) -> None:
        super().__init__(message if len(message) <= MAX_MESSAGE_LENGTH else f"{message[:MAX_MESSAGE_LENGTH]}…")


class DocumentError(FormNetError):
    """A document is invalid; the message names the document, page and word."""


class LimitError(DocumentError):
    """Input exceeds a limit on its size, or on the time or memory that it takes."""


class ReadTimeoutError(LimitError):
    """Reading a document took longer than allowed."""


class ReaderError(FormNetError):
    """The process that reads files did not start; the file is not the cause."""


class OcrError(FormNetError):
    """An OCR engine is not installed, or failed on a page."""


class CorpusError(FormNetError):
    """A corpus cannot be found or is not in the named format."""


class LabelError(FormNetError):
    """Labels, spans or tags are inconsistent."""


class TokenizerError(FormNetError):
    """A tokenizer cannot be loaded."""


class SettingsError(FormNetError):
    """The configuration of a run is inconsistent or names a missing resource."""
