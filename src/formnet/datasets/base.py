"""Base class of all corpora."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from formnet.document import Document
from formnet.document.reading_order import Order, reorder
from formnet.errors import CorpusError, DocumentError, FormNetError


class Corpus(ABC):
    """Labeled documents in a folder or file, read one at a time and not cached.

    Listing sources is cheap and separate from parsing them, so that a bad document can be reported and skipped, and
    documents can be parsed in parallel.
    """

    #: Labels that are tagged and scored, in a fixed order. If empty, the labels are those found in the documents.
    entity_types: tuple[str, ...] = ()
    #: Annotated labels that are not part of the task.
    untagged: ClassVar[tuple[str, ...]] = ()
    #: Names of labels in the canonical schema, where they differ.
    canonical_names: ClassVar[Mapping[str, str]] = {}
    #: Alternative split names, mapped to the name used on disk.
    aliases: ClassVar[dict[str, str]] = {}

    def __init__(
        self,
        path: Path,
        split: str | None = None,
        *,
        order: Order = "given",
        seed: int = 0,
        canonical: bool = False,
    ) -> None:
        """Open a corpus.

        Args:
            path: Folder or file.
            split: Split to read; default: all.
            order: Reading order of the words of each page.
            seed: Seed of a random order.
            canonical: Use the names of the canonical schema as labels, and record in documents which labels the
                corpus has.
        """
        self.path, self.order, self.seed, self.canonical = path, order, seed, canonical
        if canonical:
            self.entity_types = tuple(self.canonical_names.get(label, label) for label in self.entity_types)
        if not path.exists():
            raise CorpusError(f"{path}: no such file or folder. Check the path.")
        available = self.find_splits()
        if not available:
            raise CorpusError(f"{path}: {self.expected()}")
        self.split = split if split is None or split in available else self.aliases.get(split, split)
        if self.split is not None and self.split not in available:
            raise CorpusError(f"{path}: no split {split!r}. Available splits: {', '.join(available)}.")
        self.splits = available if self.split is None else (self.split,)

    @abstractmethod
    def find_splits(self) -> tuple[str, ...]:
        """Return the names of the available splits, in their usual order."""

    @abstractmethod
    def expected(self) -> str:
        """Return the error message for a path that holds no split of this corpus."""

    @abstractmethod
    def sources(self, split: str) -> Iterator[Any]:
        """Yield the documents of a split as inputs for `parse`; `str` of a source is its name in messages."""

    @abstractmethod
    def parse(self, source: Any) -> Document:
        """Parse one document, with words in the order of the corpus."""

    def read(self, source: Any) -> Document:
        """Parse one document and apply the reading order; errors include the source."""
        try:
            document = reorder(self.parse(source), self.order, self.seed)
        except FormNetError as error:
            raise error if str(source) in str(error) else type(error)(f"{source}: {error}") from error
        except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, RecursionError, OSError) as error:
            raise DocumentError(f"{source}: unexpected format: {error!r}.") from error
        if not self.canonical:
            return document
        annotated = frozenset(self.entity_types) or None
        return replace(document.rename_labels(self.canonical_names), annotated=annotated)

    def __iter__(self) -> Iterator[Document]:
        for split in self.splits:
            for source in self.sources(split):
                yield self.read(source)

    def __len__(self) -> int:
        return sum(1 for split in self.splits for _ in self.sources(split))


def files_by_split(named_files: Iterable[tuple[str, Path]]) -> dict[str, Path]:
    """Map split names to files; raise `CorpusError` if two files have the same split name."""
    files: dict[str, Path] = {}
    for name, file in named_files:
        if name in files:
            raise CorpusError(f"{file.parent}: {files[name].name} and {file.name} are both split {name!r}; remove one.")
        files[name] = file
    return files


def sorted_files(folder: Path, pattern: str) -> Iterator[Path]:
    """Yield the files of a folder that match a pattern, sorted by path."""
    return iter(sorted(folder.glob(pattern)))
