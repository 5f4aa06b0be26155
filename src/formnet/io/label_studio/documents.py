"""Conversion of annotated tasks to documents.

A task written by FormNet contains its document: words are restored from it, and only labels are taken from the regions.
In other tasks, the text of a region becomes its words, and a region without text covers the words whose center lies in
it. These are the words of other regions, or of a document with the same name that the caller provides.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote

import numpy as np

from formnet.document import Document, Entity, Repair
from formnet.document.boxes import Box, Boxes, split_line
from formnet.errors import DocumentError, LimitError
from formnet.io.file_types import SUFFIXES
from formnet.io.label_studio.regions import Region, read_regions
from formnet.io.label_studio.tasks import LOCAL_FILES, region_id, relative_box
from formnet.io.readers.jsonl import Line, from_json, parse_json

#: Maximum size of a task file in bytes; all of its tasks are held in memory.
MAX_FILE_BYTES = 256 * 2**20
#: Maximum results per annotation; each region is compared with all words of its page.
MAX_RESULTS = 100_000
#: Maximum distance between a region and the box of an entity that count as the same, relative to the page.
BOX_TOLERANCE = 0.001


def load_tasks(path: Path) -> list[Any]:
    """Load the tasks of a Label Studio export in JSON format."""
    if path.stat().st_size > MAX_FILE_BYTES:
        raise LimitError(f"{path}: larger than {MAX_FILE_BYTES >> 20} MiB; export it in parts.")
    try:
        tasks = parse_json(Line(path, 1, path.read_bytes()))
    except DocumentError as error:
        raise type(error)(f"{path}: {error}") from error
    if not isinstance(tasks, list):
        raise DocumentError(f"{path}: not a list of tasks. Export as JSON from Label Studio.")
    return tasks


def is_labeled(task: Any) -> bool:
    """Return whether a task has an annotation that was not canceled; malformed annotations count as labeled."""
    try:
        return _result(task) is not None
    except DocumentError:
        return True


def from_task(task: Any, documents: Mapping[str, Document] | None = None, base: Path | None = None) -> Document:
    """Convert a task to a document; without annotations, return the document that the task contains.

    `documents` provides words for tasks without any, keyed by the file name of the scan, with or without folder and
    suffix. Relative image paths are resolved against `base`; without it they are dropped.
    """
    data = task.get("data") if isinstance(task, dict) else None
    if not isinstance(data, dict):
        raise DocumentError(f"{_task_name(task)}: no 'data'. Export as JSON, not as JSON-MIN.")
    names = [*_document_names(data), _task_name(task)]
    if "formnet" in data:
        source: Document | None = from_json(data["formnet"], base)
    else:
        source = next((documents[name] for name in names if name in documents), None) if documents else None
    result = _result(task)
    if result is None:
        if source is None:
            raise DocumentError(
                f"{_task_name(task)}: not annotated and contains no document. Annotate it and export again."
            )
        return source
    regions, relations = read_regions(result, _task_name(task))
    region_words: dict[str, list[int]] = {}
    if source is None:
        source, region_words = _document_from_regions(regions, names[0], _task_name(task))
    return _apply_labels(source, regions, region_words, relations)


def _task_name(task: Any) -> str:
    number = task.get("id") if isinstance(task, dict) else None
    return f"task {number}" if isinstance(number, int) and abs(number) < 2**63 else "task"


def _document_names(data: dict[str, Any]) -> Iterator[str]:
    """Yield possible ids of the document of a task, from the file name of its scan; the first one is the default."""
    for value in (data.get("ocr"), data.get("image"), data.get("pages"), *data.values()):
        first = value[0] if isinstance(value, list) and value else value
        first = next(iter(first.values()), None) if isinstance(first, dict) else first  # {"page": "a.png"}
        if isinstance(first, str):
            file = PurePosixPath(unquote(first.partition(LOCAL_FILES)[2] or first.partition("?")[0]))
            if file.suffix.lower() in SUFFIXES:
                original = re.sub("^[0-9a-f]{8}-", "", file.name)  # Label Studio adds a prefix to uploaded files
                yield from (PurePosixPath(original).stem, original, file.stem, file.name, str(file))
                return


def _result(task: Any) -> list[dict[str, Any]] | None:
    """Return the results of the ground-truth annotation, or else of the last annotation that was not canceled."""
    name = _task_name(task)
    annotations = task.get("annotations") if isinstance(task, dict) else None
    if annotations is None:
        return None
    if not isinstance(annotations, list) or not all(isinstance(item, dict) for item in annotations):
        raise DocumentError(f"{name}: 'annotations' must be a list of objects. Export as JSON, not as JSON-MIN.")
    completed = [item for item in annotations if not item.get("was_canceled")]
    if not completed:
        return None
    result = next((item for item in completed if item.get("ground_truth")), completed[-1]).get("result")
    if not isinstance(result, list) or not all(isinstance(item, dict) for item in result):
        raise DocumentError(f"{name}: an annotation needs a 'result', which must be a list of objects.")
    if len(result) > MAX_RESULTS:
        raise LimitError(f"{name}: {len(result):,} results (limit {MAX_RESULTS:,}). Split the document.")
    return result


def _document_from_regions(
    regions: Mapping[str, Region], name: str, task_name: str
) -> tuple[Document, dict[str, list[int]]]:
    """Build a document from the text of regions, in their order; also return the word indices of each region."""
    pages: list[dict[str, Any]] = []
    region_words: dict[str, list[int]] = {}
    count = 0
    by_page: dict[int, list[tuple[str, Region]]] = {}
    for key, region in regions.items():
        by_page.setdefault(region.page or 0, []).append((key, region))
    for number in range(max(by_page, default=0) + 1):
        page_regions = by_page.get(number, [])
        width, height = next((region.size for _, region in page_regions if region.size), (None, None))
        if page_regions and (width is None or height is None):
            raise DocumentError(f"{task_name}, page {number + 1}: no 'original_width' and 'original_height'.")
        texts: list[str] = []
        boxes: list[Box] = []
        for key, region in page_regions:
            words, word_boxes = _split_words(region, width or 1.0, height or 1.0)
            if words:
                region_words[key] = list(range(count + len(texts), count + len(texts) + len(words)))
            texts += words
            boxes += word_boxes
        count += len(texts)
        pages.append({"words": texts, "boxes": boxes, "width": width, "height": height})
    return from_json({"id": name, "pages": pages}), region_words


def _split_words(region: Region, width: float, height: float) -> tuple[list[str], list[Box]]:
    """Split the text of a region into words with boxes; its lines divide its height evenly."""
    x0, y0, x1, y1 = region.box
    line_height = (y1 - y0) / max(len(region.lines), 1)
    words: list[str] = []
    boxes: list[Box] = []
    for number, line in enumerate(region.lines):
        top = y0 + number * line_height
        line_words, line_boxes = split_line(line, (x0 * width, top * height, x1 * width, (top + line_height) * height))
        words += line_words
        boxes += line_boxes
    return words, boxes


def _apply_labels(
    source: Document,
    regions: Mapping[str, Region],
    region_words: Mapping[str, Sequence[int]],
    relations: Sequence[tuple[str, str]],
) -> Document:
    """Return the document with the entities and links of the regions instead of its own."""
    entities: list[dict[str, Any]] = []
    entity_of: dict[str, int] = {}
    repairs: list[Repair] = []
    index = _SourceIndex(source)
    for name, region in regions.items():
        if not region.labels:
            continue
        original = None if name in region_words else index.match_entity(name, region)
        words = list(region_words.get(name) or (original.words if original else index.words_inside(region)))
        entity_of[name] = len(entities)
        for label in region.labels:
            score = original.score if original and original.label == label else None
            entities.append({"label": label, "words": words, "score": score})
        text, transcription = " ".join(source.texts[i] for i in words), " ".join(region.lines)
        if words and transcription and transcription.split() != text.split():
            repairs.append(Repair("corrected text not taken", region.page or 0, None, f"{text!r} → {transcription!r}"))
    links = [[entity_of[start], entity_of[end]] for start, end in relations if {start, end} <= entity_of.keys()]
    if len(links) < len(relations):
        missing = len(relations) - len(links)
        repairs.append(Repair("link to a region without label dropped", 0, None, f"{missing} in total"))
    document = from_json({**source.to_json(), "entities": entities, "links": links}, base=Path())
    return replace(document, repairs=(*source.repairs, *document.repairs, *repairs))


class _SourceIndex:
    """Positions of the words and entities of a document before annotation."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._entities = document.entities
        self._matched: set[int] = set()

    @cached_property
    def _boxes(self) -> Boxes:
        boxes = [relative_box(entity, self._document.pages[entity.page]) for entity in self._entities]
        return np.array(boxes).reshape(-1, 4)

    @cached_property
    def _centers(self) -> list[Boxes]:
        boxes = [page.normalized_boxes for page in self._document.pages]
        return [(box[:, :2] + box[:, 2:]) / 2 for box in boxes]  # [W, 2] each

    def match_entity(self, name: str, region: Region) -> Entity | None:
        """Return the entity with the same box as a region; among several, prefer the region id, then the label."""
        same_box = (np.abs(self._boxes - region.box) <= BOX_TOLERANCE).all(axis=1)
        candidates = [i for i in np.flatnonzero(same_box).tolist() if self._entities[i].page == region.page]
        unmatched = [i for i in candidates if i not in self._matched]
        if not unmatched:
            return None
        name = name.partition("#")[0]  # Label Studio may append the number of the annotation
        best = min(unmatched, key=lambda i: (region_id(i) != name, self._entities[i].label not in region.labels))
        self._matched.add(best)
        return self._entities[best]

    def words_inside(self, region: Region) -> list[int]:
        """Return the words whose center lies in a region."""
        assert region.page is not None
        if region.page >= len(self._centers):
            raise DocumentError(
                f"document {self._document.id!r}: a region is on page {region.page + 1}, "
                f"but the document has {len(self._centers)}."
            )
        centers = self._centers[region.page]
        mask = ((centers >= region.box[:2]) & (centers <= region.box[2:])).all(axis=1)
        first = sum(len(page) for page in self._centers[: region.page])
        return [first + i for i in np.flatnonzero(mask).tolist()]
