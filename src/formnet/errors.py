"""What a user can get wrong, one tree.

    FormNetError
    ├── DocumentError      a document that cannot be what it says: bad boxes, bad JSON, a broken entity
    │   └── LimitError     input larger than we agree to read
    ├── OcrError           a picture that needs an OCR engine which is not there, or fails
    ├── CorpusError        a corpus that is not there, or not of the kind it was called
    ├── LabelError         entity types and tags that do not fit each other
    ├── TokenizerError     a tokenizer that cannot be loaded
    ├── SettingsError      a training run that was told something impossible, or a model folder that is none
    ├── LostError          bulk work: a process that did not come back with an answer
    └── ServiceError       the client: what the service refused

Every message names the place and says what to do. What only we can cause is an assertion, not one of these.
"""

#: A message may quote what is wrong; nobody reads more of it than this.
LONGEST_MESSAGE = 2_000


class FormNetError(Exception):
    """Base of everything that this package raises for a user to read."""

    def __init__(self, message: str) -> None:
        super().__init__(message if len(message) <= LONGEST_MESSAGE else f"{message[:LONGEST_MESSAGE]}…")


class DocumentError(FormNetError):
    """A document's content is impossible; the message names document, page and word."""


class LimitError(DocumentError):
    """Input is larger than the limits allow."""


class OcrError(FormNetError):
    """An OCR engine is not installed, or failed on a page."""


class CorpusError(FormNetError):
    """A corpus cannot be found or is not of the kind named."""


class LabelError(FormNetError):
    """Labels, spans or tags contradict each other."""


class TokenizerError(FormNetError):
    """A tokenizer cannot be loaded from where it was named."""


class SettingsError(FormNetError):
    """Settings of a run contradict each other, or name what is not there."""
