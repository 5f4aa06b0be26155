"""Label Studio annotations: a JSON export, or a folder with one export per split.

Tasks written by FormNet contain their words. For other tasks, a `documents.jsonl` in the same folder can provide the
words of each scan, with the file name of the scan as `id`. Tasks without annotations are skipped.
"""

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from formnet.datasets.base import Corpus, files_by_split
from formnet.document import Document
from formnet.errors import CorpusError
from formnet.io.label_studio import SUFFIX, from_task, is_labeled, load_tasks
from formnet.io.readers import jsonl

#: File with the words of scans whose tasks contain none.
WORDS_FILE = "documents.jsonl"


class Task(NamedTuple):
    """One task of an export; `number` counts from 1."""

    file: Path
    number: int
    content: Any

    def __str__(self) -> str:
        return f"{self.file}, task {self.number} of the list"


class LabelStudio(Corpus):
    """Documents annotated in Label Studio."""

    aliases = {"dev": "validation", "val": "validation"}  # noqa: RUF012

    def find_splits(self) -> tuple[str, ...]:
        """Return the stems of the export files."""
        return tuple(self._files())

    def expected(self) -> str:
        """Return the error message for a path without exports."""
        return "no Label Studio exports found. Expected a .json file, or a folder with one per split."

    def sources(self, split: str) -> Iterator[Task]:
        """Yield the tasks that have annotations."""
        file = self._files()[split]
        tasks = load_tasks(file)
        labeled = [Task(file, number, task) for number, task in enumerate(tasks, 1) if is_labeled(task)]
        if tasks and not labeled:
            raise CorpusError(f"{file}: none of the {len(tasks):,} tasks is annotated. Annotate some and export again.")
        return iter(labeled)

    def parse(self, source: Task) -> Document:
        """Parse one task."""
        return from_task(source.content, self._words, base=source.file.parent)

    @cached_property
    def _words(self) -> dict[str, Document]:
        file = (self.path.parent if self.path.is_file() else self.path) / WORDS_FILE
        lines = jsonl.iter_lines(file) if file.is_file() else ()
        return {document.id: document for document in map(jsonl.parse, lines)}

    def _files(self) -> dict[str, Path]:
        files = [self.path] if self.path.is_file() else sorted(self.path.glob("*.json"))
        return files_by_split(
            (file.name.removesuffix(SUFFIX).removesuffix(".json"), file) for file in files if file.suffix == ".json"
        )


CORPUS = LabelStudio
