"""What people labeled in Label Studio: its JSON export, or a folder with one export a split.

Tasks that FormNet wrote carry their words. For others, a `documents.jsonl` beside the export may hold the words of each
scan, with the scan's file name as `id`. Tasks that nobody has labeled yet are passed over.
"""

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from formnet.datasets.base import Corpus, by_split
from formnet.document import Document
from formnet.errors import CorpusError
from formnet.io.label_studio import SUFFIX, from_task, is_labeled, load_tasks
from formnet.io.readers import jsonl

WORDS = "documents.jsonl"


class Task(NamedTuple):
    """One task of an export."""

    file: Path
    number: int
    content: Any

    def __str__(self) -> str:
        return f"{self.file}, task {self.number} of the list"


class LabelStudio(Corpus):
    """Documents labeled in Label Studio."""

    aliases = {"dev": "validation", "val": "validation"}  # noqa: RUF012

    def find_splits(self) -> tuple[str, ...]:
        """Name the exports by their stems."""
        return tuple(self._files())

    def expected(self) -> str:
        """Say what should have been there."""
        return "holds no .json file that Label Studio exported."

    def sources(self, split: str) -> Iterator[Task]:
        """List the tasks that somebody has labeled."""
        file = self._files()[split]
        tasks = load_tasks(file)
        labeled = [Task(file, number, task) for number, task in enumerate(tasks, 1) if is_labeled(task)]
        if tasks and not labeled:
            raise CorpusError(f"{file}: nobody has labeled any of its {len(tasks):,} tasks; label some and export.")
        return iter(labeled)

    def parse(self, source: Task) -> Document:
        """Read one task."""
        return from_task(source.content, self._words, base=source.file.parent)

    @cached_property
    def _words(self) -> dict[str, Document]:
        file = (self.path.parent if self.path.is_file() else self.path) / WORDS
        return {document.id: document for document in map(jsonl.parse, jsonl.lines(file))} if file.is_file() else {}

    def _files(self) -> dict[str, Path]:
        files = [self.path] if self.path.is_file() else sorted(self.path.glob("*.json"))
        return by_split(
            (file.name.removesuffix(SUFFIX).removesuffix(".json"), file) for file in files if file.suffix == ".json"
        )


CORPUS = LabelStudio
