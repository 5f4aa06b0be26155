"""Extracted entities drawn on their pages: a frame and a caption each, and lines from owners to their parts."""

from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path

from PIL import Image, ImageDraw

from formnet.document import Document, Entity
from formnet.visualization.canvas import OVERSAMPLING, page_canvas
from formnet.visualization.captions import Captions, Color, Rectangle

#: The palette of Okabe and Ito, which is safe for color blindness, without colors that are too light on white.
PALETTE: tuple[Color, ...] = (
    (0, 114, 178),
    (213, 94, 0),
    (0, 130, 95),
    (170, 70, 130),
    (160, 110, 0),
    (30, 120, 170),
    (90, 90, 90),
)
_LINK_COLOR: Color = (120, 120, 120)


def label_colors(labels: Iterable[str]) -> dict[str, Color]:
    """Assign a color to each label; the same set of labels always gets the same colors."""
    return {label: PALETTE[i % len(PALETTE)] for i, label in enumerate(sorted(set(labels)))}


def save_overlays(document: Document, folder: Path, names: dict[str, str] | None = None) -> list[Path]:
    """Write an image of each page with words or a scan, named after the document and the page number.

    `names` holds the file names already used in the folder, and is updated.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    name = unique_file_name(document.id, {} if names is None else names)
    for number, image in draw_entities(document):
        file = folder / f"{name}-{number + 1}.png"
        image.save(file)
        written.append(file)
    return written


def safe_file_name(document_id: str) -> str:
    """Convert a document ID to a file name: its last path component, without separators or special characters."""
    last = document_id.replace("\\", "/").rstrip("/").rpartition("/")[2]
    name = "".join(c if c.isalnum() or c in "-_." else "-" for c in last).strip(".")
    return name.encode()[:100].decode(errors="ignore") or "document"


def unique_file_name(document_id: str, names: dict[str, str]) -> str:
    """Return a file name that no other document uses, and add it to `names`, which maps names to document IDs."""
    name = safe_file_name(document_id)
    if name in names and names[name] != document_id:
        name = f"{name}-{sha256(document_id.encode('utf-8', 'surrogateescape')).hexdigest()[:8]}"
    unique, number = name, 1
    while unique in names:  # documents with the same ID
        number += 1
        unique = f"{name}-no-{number}"
    names[unique] = document_id
    return unique


def draw_entities(document: Document) -> Iterator[tuple[int, Image.Image]]:
    """Yield page indices and images of pages with words or a scan; entities to review have a dashed frame."""
    colors = label_colors(entity.label for entity in document.entities)
    for number, page in enumerate(document.pages):
        if not page.texts and page.image is None:
            continue
        canvas = page_canvas(page, 0.35)
        numbers = [i for i, entity in enumerate(document.entities) if entity.page == number]
        entities = [document.entities[i] for i in numbers]
        # Entities of several heads with the same words get concentric frames.
        rings = [1 + sum(other.words == entity.words for other in entities[:i]) for i, entity in enumerate(entities)]
        frames = [
            [_expand(_scale(box, canvas.scale), ring) for box in entity.boxes]
            for entity, ring in zip(entities, rings, strict=True)
        ]
        frames_by_number = dict(zip(numbers, frames, strict=True))
        for owner, part in document.links:
            if owner in frames_by_number and part in frames_by_number:
                ends = _nearest_points(frames_by_number[owner][0], frames_by_number[part][0])
                canvas.pen.line(ends, _LINK_COLOR, OVERSAMPLING)
        for entity, entity_frames in zip(entities, frames, strict=True):
            for frame in entity_frames:
                _draw_frame(canvas.pen, frame, colors[entity.label], dashed=entity.review)
        words = [_scale(box, canvas.scale) for box in page.boxes.tolist()]
        occupied = [*words, *(frame for entity_frames in frames for frame in entity_frames)]
        captions = Captions(canvas.pen, canvas.image.size, occupied)
        for frame, group in _group_adjacent(entities, [first for first, *_ in frames]):
            captions.write(frame, _caption(group), colors[group[0].label])
        yield number, canvas.finish()


def _group_adjacent(
    entities: Sequence[Entity], frames: Sequence[Rectangle]
) -> Iterator[tuple[Rectangle, list[Entity]]]:
    """Group consecutive entities of one label with adjacent frames on a line; each group gets one caption."""
    group: list[Entity] = []
    union = (0.0, 0.0, 0.0, 0.0)
    for entity, frame in zip(entities, frames, strict=True):
        if group and entity.label == group[0].label and _are_adjacent(union, frame):
            union = union[0], min(union[1], frame[1]), frame[2], max(union[3], frame[3])
            group.append(entity)
            continue
        if group:
            yield union, group
        group, union = [entity], frame
    if group:
        yield union, group


def _are_adjacent(left: Rectangle, right: Rectangle) -> bool:
    height = min(left[3] - left[1], right[3] - right[1])
    is_close = -height / 2 < right[0] - left[2] < height / 2
    return is_close and min(left[3], right[3]) - max(left[1], right[1]) > height / 2


def _caption(entities: Sequence[Entity]) -> str:
    scores = (f"{entity.score:.2f}" for entity in entities if entity.score is not None)
    return " ".join([entities[0].label, *scores])


def _scale(box: Sequence[float], scale: float) -> Rectangle:
    x0, y0, x1, y1 = box
    return x0 * scale, y0 * scale, x1 * scale, y1 * scale


def _expand(box: Rectangle, ring: int) -> Rectangle:
    margin = 4 * ring * OVERSAMPLING - OVERSAMPLING
    x0, y0, x1, y1 = box
    return x0 - margin, y0 - margin, x1 + margin, y1 + margin


def _nearest_points(a: Rectangle, b: Rectangle) -> Rectangle:
    """Return the ends of the shortest line between two frames, at the middle of the side that they share.

    >>> _nearest_points((0, 0, 4, 2), (9, 0, 12, 2)), _nearest_points((0, 0, 4, 2), (2, 5, 6, 7))
    ((4, 1.0, 9, 1.0), (3.0, 2, 3.0, 5))
    """

    def between(low_a: float, high_a: float, low_b: float, high_b: float) -> tuple[float, float]:
        if high_a < low_b:
            return high_a, low_b
        if high_b < low_a:
            return low_a, high_b
        middle = (max(low_a, low_b) + min(high_a, high_b)) / 2
        return middle, middle

    (xa, xb), (ya, yb) = between(a[0], a[2], b[0], b[2]), between(a[1], a[3], b[1], b[3])
    return xa, ya, xb, yb


def _draw_frame(pen: ImageDraw.ImageDraw, frame: Rectangle, color: Color, *, dashed: bool) -> None:
    width = 2 * OVERSAMPLING
    if not dashed:
        pen.rectangle(frame, outline=color, width=width)
        return
    x0, y0, x1, y1 = frame
    for ax, ay, bx, by in ((x0, y0, x1, y0), (x1, y0, x1, y1), (x1, y1, x0, y1), (x0, y1, x0, y0)):
        length = max(abs(bx - ax), abs(by - ay), 1.0)
        step = 10.0 * OVERSAMPLING
        offset = 0.0
        while offset < length:
            start, stop = offset / length, min(offset + step * 0.55, length) / length
            pen.line(
                (ax + (bx - ax) * start, ay + (by - ay) * start, ax + (bx - ax) * stop, ay + (by - ay) * stop),
                color,
                width,
            )
            offset += step
