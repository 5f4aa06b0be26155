"""What every corpus has in common."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar

from formnet.document import Document
from formnet.document.reading_order import Order, reorder
from formnet.errors import CorpusError, DocumentError, FormNetError


class Corpus(ABC):
    """Labeled documents in a folder or file, read one at a time and never kept.

    A kind of corpus says how to list its sources (cheap) and how to parse one of them (the work), so that one
    bad document can be reported and passed over, and documents can be read in parallel.
    """

    #: The labels that are tagged and scored, in a fixed order; empty: whatever the documents say.
    entity_types: ClassVar[tuple[str, ...]] = ()
    #: Labels that the annotation has but the task does not ask for.
    untagged: ClassVar[tuple[str, ...]] = ()
    #: Other names for splits.
    aliases: ClassVar[dict[str, str]] = {}

    def __init__(self, path: Path, split: str | None = None, *, order: Order = "given", seed: int = 0) -> None:
        self.path, self.order, self.seed = path, order, seed
        if not path.exists():
            raise CorpusError(f"{path}: no such file or folder.")
        found = self.find_splits()
        if not found:
            raise CorpusError(f"{path}: {self.expected()}")
        self.split = split if split is None or split in found else self.aliases.get(split, split)
        if self.split is not None and self.split not in found:
            raise CorpusError(f"{path}: has no split {split!r}; found are {', '.join(found)}.")
        self.splits = found if self.split is None else (self.split,)

    @abstractmethod
    def find_splits(self) -> tuple[str, ...]:
        """Name the splits that are there, in their usual order."""

    @abstractmethod
    def expected(self) -> str:
        """Say in a sentence what should have been there."""

    @abstractmethod
    def sources(self, split: str) -> Iterator[Any]:
        """List a split's documents as things that `parse` understands and `str` names."""

    @abstractmethod
    def parse(self, source: Any) -> Document:
        """Read one document as the corpus gives it."""

    def read(self, source: Any) -> Document:
        """Read one document in the order asked for; an error names its source."""
        try:
            return reorder(self.parse(source), self.order, self.seed)
        except FormNetError as error:
            raise error if str(source) in str(error) else type(error)(f"{source}: {error}") from error
        except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, RecursionError, OSError) as error:
            raise DocumentError(f"{source}: not as this corpus writes it: {error!r}.") from error

    def __iter__(self) -> Iterator[Document]:
        for split in self.splits:
            for source in self.sources(split):
                yield self.read(source)

    def __len__(self) -> int:
        return sum(1 for split in self.splits for _ in self.sources(split))


def by_split(named: Iterable[tuple[str, Path]]) -> dict[str, Path]:
    """Give files by the name of their split; two of one name are a mistake."""
    files: dict[str, Path] = {}
    for name, file in named:
        if name in files:
            raise CorpusError(f"{file.parent}: both {files[name].name} and {file.name} are there; remove one.")
        files[name] = file
    return files


def files(folder: Path, pattern: str) -> Iterator[Path]:
    """List files in a stable order."""
    return iter(sorted(folder.glob(pattern)))
