"""A page with the entities found on it: a frame and a label each, in colors that the color-blind can tell apart."""

from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path

from PIL import Image, ImageDraw

from formnet.document import Document, Entity
from formnet.extraction.output import needs_review
from formnet.visualization.canvas import OVERSAMPLING, page_canvas
from formnet.visualization.captions import Captions, Color, Place

#: Okabe and Ito's colors, without those that vanish on paper.
PALETTE: tuple[Color, ...] = (
    (0, 114, 178),
    (213, 94, 0),
    (0, 130, 95),
    (170, 70, 130),
    (160, 110, 0),
    (30, 120, 170),
    (90, 90, 90),
)


def colors_of(labels: Iterable[str]) -> dict[str, Color]:
    """Give each label its color, the same wherever the same labels are."""
    return {label: PALETTE[i % len(PALETTE)] for i, label in enumerate(sorted(set(labels)))}


def save_overlays(
    document: Document, folder: Path, least: float = 0.0, names: dict[str, str] | None = None
) -> list[Path]:
    """Write a picture of each page that shows anything, named after the document and the page.

    `names` are those of other documents in the same folder, which are not written over.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    name = free_name(document.id, {} if names is None else names)
    for number, image in draw_entities(document, least):
        file = folder / f"{name}-{number + 1}.png"
        image.save(file)
        written.append(file)
    return written


def file_name(identity: str) -> str:
    """Make a document's id the name of a file: its last part, and nothing that a path could be made of."""
    last = identity.replace("\\", "/").rstrip("/").rpartition("/")[2]
    name = "".join(c if c.isalnum() or c in "-_." else "-" for c in last).strip(".")
    return name.encode()[:100].decode(errors="ignore") or "document"


def free_name(identity: str, names: dict[str, str]) -> str:
    """Make an id the name of a file that no other document has, and remember it: `names` are ids by name."""
    name = file_name(identity)
    if name in names and names[name] != identity:
        name = f"{name}-{sha256(identity.encode('utf-8', 'surrogateescape')).hexdigest()[:8]}"
    free, number = name, 1
    while free in names:  # two documents may have one id
        number += 1
        free = f"{name}-no-{number}"
    names[free] = identity
    return free


def draw_entities(document: Document, least: float = 0.0) -> Iterator[tuple[int, Image.Image]]:
    """Draw each page that shows anything, by number; entities that are less sure than `least` have a dashed frame."""
    colors = colors_of(entity.label for entity in document.entities)
    for number, page in enumerate(document.pages):
        if not page.texts and page.image is None:
            continue
        canvas = page_canvas(page, 0.35)
        found = [entity for entity in document.entities if entity.page == number]
        # What two heads found has two frames, one around the other.
        rings = [1 + sum(other.words == entity.words for other in found[:i]) for i, entity in enumerate(found)]
        frames = [
            [_grown(_scaled(box, canvas.scale), ring) for box in entity.boxes]
            for entity, ring in zip(found, rings, strict=True)
        ]
        for entity, places in zip(found, frames, strict=True):
            for place in places:
                _frame(canvas.pen, place, colors[entity.label], dashed=needs_review(entity, least))
        words = [_scaled(box, canvas.scale) for box in page.boxes.tolist()]
        captions = Captions(canvas.pen, canvas.image.size, [*words, *(place for places in frames for place in places)])
        for frame, entities in _neighbors(found, [first for first, *_ in frames]):
            captions.write(frame, _said(entities), colors[entities[0].label])
        yield number, canvas.finish()


def _neighbors(found: Sequence[Entity], frames: Sequence[Place]) -> Iterator[tuple[Place, list[Entity]]]:
    """Put entities of one label whose frames touch, one after the other in a line, under one frame for one caption."""
    group: list[Entity] = []
    around = (0.0, 0.0, 0.0, 0.0)
    for entity, frame in zip(found, frames, strict=True):
        if group and entity.label == group[0].label and _touch(around, frame):
            around = around[0], min(around[1], frame[1]), frame[2], max(around[3], frame[3])
            group.append(entity)
            continue
        if group:
            yield around, group
        group, around = [entity], frame
    if group:
        yield around, group


def _touch(left: Place, right: Place) -> bool:
    height = min(left[3] - left[1], right[3] - right[1])
    beside = -height / 2 < right[0] - left[2] < height / 2
    return beside and min(left[3], right[3]) - max(left[1], right[1]) > height / 2


def _said(entities: Sequence[Entity]) -> str:
    scores = (f"{entity.score:.2f}" for entity in entities if entity.score is not None)
    return " ".join([entities[0].label, *scores])


def _scaled(box: Sequence[float], scale: float) -> Place:
    x0, y0, x1, y1 = box
    return x0 * scale, y0 * scale, x1 * scale, y1 * scale


def _grown(place: Place, rings: int) -> Place:
    by = 4 * rings * OVERSAMPLING - OVERSAMPLING
    x0, y0, x1, y1 = place
    return x0 - by, y0 - by, x1 + by, y1 + by


def _frame(pen: ImageDraw.ImageDraw, place: Place, color: Color, *, dashed: bool) -> None:
    width = 2 * OVERSAMPLING
    if not dashed:
        pen.rectangle(place, outline=color, width=width)
        return
    x0, y0, x1, y1 = place
    for ax, ay, bx, by in ((x0, y0, x1, y0), (x1, y0, x1, y1), (x1, y1, x0, y1), (x0, y1, x0, y0)):
        length = max(abs(bx - ax), abs(by - ay), 1.0)
        step = 10.0 * OVERSAMPLING
        at = 0.0
        while at < length:
            start, stop = at / length, min(at + step * 0.55, length) / length
            pen.line(
                (ax + (bx - ax) * start, ay + (by - ay) * start, ax + (bx - ax) * stop, ay + (by - ay) * stop),
                color,
                width,
            )
            at += step
