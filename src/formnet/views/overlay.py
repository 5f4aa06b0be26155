"""A page with the entities found on it: a frame and a label each, in colours that the colour-blind can tell apart."""

from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from formnet.answers import needs_review
from formnet.document import Document, Entity
from formnet.views.canvas import OVERSAMPLING, page_canvas

Colour = tuple[int, int, int]
#: Okabe and Ito's colours, without those that vanish on paper.
PALETTE: tuple[Colour, ...] = (
    (0, 114, 178),
    (213, 94, 0),
    (0, 130, 95),
    (170, 70, 130),
    (160, 110, 0),
    (30, 120, 170),
    (90, 90, 90),
)
_PAPER = (255, 255, 255)
_Place = tuple[float, float, float, float]


def colours_of(labels: Iterable[str]) -> dict[str, Colour]:
    """Give each label its colour, the same wherever the same labels are."""
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
    if names.setdefault(name, identity) != identity:
        name = f"{name}-{sha256(identity.encode('utf-8', 'surrogateescape')).hexdigest()[:8]}"
        names[name] = identity
    return name


def draw_entities(document: Document, least: float = 0.0) -> Iterator[tuple[int, Image.Image]]:
    """Draw each page that shows anything, by number; entities that are less sure than `least` have a dashed frame."""
    colours = colours_of(entity.label for entity in document.entities)
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
                _frame(canvas.pen, place, colours[entity.label], dashed=needs_review(entity, least))
        taken = [place for places in frames for place in places]
        for entity, (first, *_) in zip(found, frames, strict=True):
            _caption(canvas.pen, first, _said(entity), colours[entity.label], taken, canvas.image.size)
        yield number, canvas.finish()


def _said(entity: Entity) -> str:
    return entity.label if entity.score is None else f"{entity.label} {entity.score:.2f}"


def _scaled(box: Sequence[float], scale: float) -> _Place:
    x0, y0, x1, y1 = box
    return x0 * scale, y0 * scale, x1 * scale, y1 * scale


def _grown(place: _Place, rings: int) -> _Place:
    by = 4 * rings * OVERSAMPLING - OVERSAMPLING
    x0, y0, x1, y1 = place
    return x0 - by, y0 - by, x1 + by, y1 + by


def _frame(pen: ImageDraw.ImageDraw, place: _Place, colour: Colour, *, dashed: bool) -> None:
    width = 2 * OVERSAMPLING
    if not dashed:
        pen.rectangle(place, outline=colour, width=width)
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
                colour,
                width,
            )
            at += step


def _caption(
    pen: ImageDraw.ImageDraw, box: _Place, text: str, colour: Colour, taken: list[_Place], size: tuple[int, int]
) -> None:
    """Write beside a frame where nothing is written yet: above, below, to the right, to the left, at the corners."""
    font = ImageFont.load_default(19 * OVERSAMPLING)
    gap = 2 * OVERSAMPLING
    middle = (box[1] + box[3]) / 2
    wanted: Sequence[tuple[tuple[float, float], str]] = (
        ((box[0], box[1] - gap), "lb"),
        ((box[0], box[3] + gap), "lt"),
        ((box[2] + gap, middle), "lm"),
        ((box[0] - gap, middle), "rm"),
        ((box[2], box[1] - gap), "rb"),
        ((box[2], box[3] + gap), "rt"),
        ((box[2] + gap, box[1]), "lb"),
        ((box[2] + gap, box[3]), "lt"),
    )
    places = [(at, anchor, pen.textbbox(at, text, font, anchor=anchor)) for at, anchor in wanted]
    inside = [p for p in places if p[2][0] >= 0 and p[2][1] >= 0 and p[2][2] <= size[0] and p[2][3] <= size[1]]
    choices = inside or places
    at, anchor, place = min(choices, key=lambda p: sum(_overlap(p[2], other) for other in taken))
    pen.rectangle((place[0] - gap, place[1] - gap, place[2] + gap, place[3] + gap), fill=_PAPER)
    pen.text(at, text, colour, font, anchor=anchor)
    taken.append(place)


def _overlap(a: _Place, b: _Place) -> float:
    return max(min(a[2], b[2]) - max(a[0], b[0]), 0.0) * max(min(a[3], b[3]) - max(a[1], b[1]), 0.0)
