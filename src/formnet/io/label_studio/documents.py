"""A labeled task as a document.

A task that FormNet wrote carries its document, so that its words come back as they were and only labels are read off
the regions. In any other task a region's own text is its words, and a region without text takes the words whose middle
lies in it: those of other regions, or those of a document of the same name that somebody gives.
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
from formnet.io.label_studio.regions import Region, read_regions
from formnet.io.label_studio.tasks import LOCAL_FILES, region_id, shares
from formnet.io.readers import SUFFIXES
from formnet.io.readers.jsonl import Line, from_json, loads

#: All tasks of a file are in memory at once, and a task's regions are compared with its words.
LARGEST_FILE, MOST_RESULTS = 256 * 2**20, 100_000
#: A region that is off an entity's box by less than this share of the page was not moved.
UNMOVED = 0.001


def load_tasks(path: Path) -> list[Any]:
    """Read a file of tasks, as Label Studio exports them under the name JSON."""
    if path.stat().st_size > LARGEST_FILE:
        raise LimitError(f"{path}: is larger than {LARGEST_FILE >> 20} MiB; export it in parts.")
    try:
        tasks = loads(Line(path, 1, path.read_bytes()))
    except DocumentError as error:
        raise type(error)(f"{path}: {error}") from error
    if not isinstance(tasks, list):
        raise DocumentError(f"{path}: is no list of tasks; export as JSON from Label Studio.")
    return tasks


def is_labeled(task: Any) -> bool:
    """Tell whether somebody has labeled a task and not passed it over; one that is spoilt counts as labeled."""
    try:
        return _result(task) is not None
    except DocumentError:
        return True


def from_task(task: Any, documents: Mapping[str, Document] | None = None, base: Path | None = None) -> Document:
    """Give the document that a task says: what a person labeled, or the document as it was if nobody has.

    `documents` give words to tasks that carry none, by id: the scan's file name, with its folder and suffix or without.
    A relative path of a scan is taken from `base`, and there is none without it.
    """
    data = task.get("data") if isinstance(task, dict) else None
    if not isinstance(data, dict):
        raise DocumentError(f"{_place(task)}: has no 'data'; export as JSON, not as JSON-MIN.")
    names = [*_names(data), _place(task)]
    if "formnet" in data:
        source: Document | None = from_json(data["formnet"], base)
    else:
        source = next((documents[name] for name in names if name in documents), None) if documents else None
    result = _result(task)
    if result is None:
        if source is None:
            raise DocumentError(f"{_place(task)}: nobody has labeled it, and it carries no document.")
        return source
    regions, relations = read_regions(result, _place(task))
    own: dict[str, list[int]] = {}
    if source is None:
        source, own = _document_of(regions, names[0], _place(task))
    return _labeled(source, regions, own, relations)


def _place(task: Any) -> str:
    number = task.get("id") if isinstance(task, dict) else None
    return f"task {number}" if isinstance(number, int) and abs(number) < 2**63 else "task"


def _names(data: dict[str, Any]) -> Iterator[str]:
    """List what a task's document may be called, by the file name of its scan; the first is what it is called here."""
    for value in (data.get("ocr"), data.get("image"), data.get("pages"), *data.values()):
        first = value[0] if isinstance(value, list) and value else value
        first = next(iter(first.values()), None) if isinstance(first, dict) else first  # {"page": "a.png"}
        if isinstance(first, str):
            file = PurePosixPath(unquote(first.partition(LOCAL_FILES)[2] or first.partition("?")[0]))
            if file.suffix.lower() in SUFFIXES:
                plain = re.sub("^[0-9a-f]{8}-", "", file.name)  # Label Studio numbers what is uploaded
                yield from (PurePosixPath(plain).stem, plain, file.stem, file.name, str(file))
                return


def _result(task: Any) -> list[dict[str, Any]] | None:
    """Find the results that count: of the annotation marked as true, or of the last that was not passed over."""
    place = _place(task)
    annotations = task.get("annotations") if isinstance(task, dict) else None
    if annotations is None:
        return None
    if not isinstance(annotations, list) or not all(isinstance(item, dict) for item in annotations):
        raise DocumentError(f"{place}: 'annotations' should be a list of objects; export as JSON, not as JSON-MIN.")
    finished = [item for item in annotations if not item.get("was_canceled")]
    if not finished:
        return None
    result = next((item for item in finished if item.get("ground_truth")), finished[-1]).get("result")
    if not isinstance(result, list) or not all(isinstance(item, dict) for item in result):
        raise DocumentError(f"{place}: an annotation needs a 'result', a list of objects.")
    if len(result) > MOST_RESULTS:
        raise LimitError(f"{place}: has {len(result):,} results; the limit is {MOST_RESULTS:,}.")
    return result


def _document_of(regions: Mapping[str, Region], name: str, place: str) -> tuple[Document, dict[str, list[int]]]:
    """Make a document of the texts in regions, in the order in which they were made; say which words each became."""
    pages: list[dict[str, Any]] = []
    own: dict[str, list[int]] = {}
    count = 0
    by_page: dict[int, list[tuple[str, Region]]] = {}
    for key, region in regions.items():
        by_page.setdefault(region.page or 0, []).append((key, region))
    for number in range(max(by_page, default=0) + 1):
        here = by_page.get(number, [])
        width, height = next((region.size for _, region in here if region.size), (None, None))
        if here and (width is None or height is None):
            raise DocumentError(f"{place}: page {number + 1} has no 'original_width' and 'original_height'.")
        texts: list[str] = []
        boxes: list[Box] = []
        for key, region in here:
            words, places = _words(region, width or 1.0, height or 1.0)
            if words:
                own[key] = list(range(count + len(texts), count + len(texts) + len(words)))
            texts += words
            boxes += places
        count += len(texts)
        pages.append({"words": texts, "boxes": boxes, "width": width, "height": height})
    return from_json({"id": name, "pages": pages}), own


def _words(region: Region, width: float, height: float) -> tuple[list[str], list[Box]]:
    """Split a region's text into words; its lines share its height."""
    x0, y0, x1, y1 = region.box
    step = (y1 - y0) / max(len(region.lines), 1)
    words: list[str] = []
    boxes: list[Box] = []
    for number, line in enumerate(region.lines):
        top = y0 + number * step
        texts, places = split_line(line, (x0 * width, top * height, x1 * width, (top + step) * height))
        words += texts
        boxes += places
    return words, boxes


def _labeled(
    source: Document,
    regions: Mapping[str, Region],
    own: Mapping[str, Sequence[int]],
    relations: Sequence[tuple[str, str]],
) -> Document:
    """Give the document with entities and links as the regions say."""
    entities: list[dict[str, Any]] = []
    entity_of: dict[str, int] = {}
    repairs: list[Repair] = []
    before = _Before(source)
    for name, region in regions.items():
        if not region.labels:
            continue
        old = None if name in own else before.unmoved(name, region)
        words = list(own.get(name) or (old.words if old else before.inside(region)))
        entity_of[name] = len(entities)
        for label in region.labels:
            score = old.score if old and old.label == label else None
            entities.append({"label": label, "words": words, "score": score})
        said, typed = " ".join(source.texts[i] for i in words), " ".join(region.lines)
        if words and typed and typed.split() != said.split():
            repairs.append(Repair("corrected text not taken", region.page or 0, None, f"{said!r} → {typed!r}"))
    links = [[entity_of[one], entity_of[other]] for one, other in relations if {one, other} <= entity_of.keys()]
    if len(links) < len(relations):
        missing = len(relations) - len(links)
        repairs.append(Repair("link to a region without label dropped", 0, None, f"{missing} in all"))
    document = from_json({**source.to_json(), "entities": entities, "links": links}, base=Path())
    return replace(document, repairs=(*source.repairs, *document.repairs, *repairs))


class _Before:
    """The document before it was labeled: where its words and the entities that it had stand."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._entities = document.entities
        self._found: set[int] = set()

    @cached_property
    def _boxes(self) -> Boxes:
        boxes = [shares(entity, self._document.pages[entity.page]) for entity in self._entities]
        return np.array(boxes).reshape(-1, 4)

    @cached_property
    def _middles(self) -> list[Boxes]:
        boxes = [page.normalized_boxes for page in self._document.pages]
        return [(box[:, :2] + box[:, 2:]) / 2 for box in boxes]  # [W, 2] each

    def unmoved(self, name: str, region: Region) -> Entity | None:
        """Find the entity whose box a region still has: by name if there are several, else by label."""
        near = (np.abs(self._boxes - region.box) <= UNMOVED).all(axis=1)
        places = [i for i in np.flatnonzero(near).tolist() if self._entities[i].page == region.page]
        left = [i for i in places if i not in self._found]
        if not left:
            return None
        name = name.partition("#")[0]  # behind it Label Studio may put the annotation's number
        best = min(left, key=lambda i: (region_id(i) != name, self._entities[i].label not in region.labels))
        self._found.add(best)
        return self._entities[best]

    def inside(self, region: Region) -> list[int]:
        """List the words whose middle lies in a region."""
        assert region.page is not None
        if region.page >= len(self._middles):
            raise DocumentError(
                f"document {self._document.id!r}: a region is on page {region.page + 1}, "
                f"but there are {len(self._middles)}."
            )
        middle = self._middles[region.page]
        found = ((middle >= region.box[:2]) & (middle <= region.box[2:])).all(axis=1)
        first = sum(len(page) for page in self._middles[: region.page])
        return [first + i for i in np.flatnonzero(found).tolist()]
