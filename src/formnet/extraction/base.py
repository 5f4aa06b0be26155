"""What an extractor offers, however it finds annotations: reading, extraction from paths and documents, streams."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import overload

from formnet.document import Document, Entity
from formnet.extraction.annotations import Annotations
from formnet.extraction.options import ExtractionOptions
from formnet.extraction.schema import Schema
from formnet.io.limits import ReadLimits
from formnet.io.ocr import OcrEngine
from formnet.io.readers import read_one

Source = Document | str | Path


class DocumentExtractor(ABC):
    """Documents in, annotated documents out."""

    schema: Schema  # of the output
    ocr: str | OcrEngine
    limits: ReadLimits

    @abstractmethod
    def iter_annotations(
        self,
        documents: Sequence[Document],
        head: str | None = None,
        options: Sequence[ExtractionOptions] | None = None,
    ) -> Iterator[tuple[int, Annotations]]:
        """Yield each document's index and annotations as batches finish, longest documents first."""

    @abstractmethod
    def count_tokens(self, document: Document) -> int:
        """Count the tokens of a document; raise `LimitError` if it has too many to extract from."""

    @property
    @abstractmethod
    def labels(self) -> tuple[str, ...]:
        """Labels that entities may have."""

    @abstractmethod
    def warm_up(self) -> None:
        """Load and compile everything now."""

    @overload
    def extract(self, source: Document | str | Path) -> Document: ...  # type: ignore[overload-overlap]
    @overload
    def extract(self, source: Sequence[Document | str | Path]) -> list[Document]: ...
    def extract(self, source: Source | Sequence[Source]) -> Document | list[Document]:
        """Return the document, or the documents, with their entities; paths are read first.

        >>> Extractor.from_pretrained("receipts").extract("receipt.jpg").entities  # doctest: +SKIP
        (Entity(total: '9.00', page 1, 0.998),)
        """
        if isinstance(source, Document | str | Path):
            return self.extract([source])[0]
        return list(self.annotate(item if isinstance(item, Document) else self.read(item) for item in source))

    def read(self, path: str | Path) -> Document:
        """Read a file with one document, by this extractor's OCR engine and limits."""
        return read_one(path, self.ocr, self.limits)

    def annotate(self, documents: Iterable[Document], drop_below: float = 0.0, chunk: int = 64) -> Iterator[Document]:
        """Yield documents with predicted annotations instead of their own, without entities of a lower score."""
        stream = iter(documents)
        while batch := list(islice(stream, chunk)):
            annotations = dict(self.iter_annotations(batch))
            for i, document in enumerate(batch):
                yield annotations[i].drop_below(drop_below).apply_to(document)

    def entities(self, documents: Sequence[Document], head: str | None = None) -> list[list[Entity]]:
        """Return each document's entities in reading order, of all heads or of one."""
        annotations = dict(self.iter_annotations(documents, head))
        return [annotations[i].entities for i in range(len(documents))]
