"""Captions of keyed-in values: the words before a value on its line, such as "TOTAL (RM):"."""

from collections.abc import Collection
from dataclasses import replace

from formnet.document import Document, Entity

#: Maximum words of a caption.
MAX_CAPTION_WORDS = 6
#: Maximum distance between a caption and its value, in line heights; columns of totals may lie far apart.
_MAX_GAP = 40.0


def with_captions(document: Document, labels: Collection[str]) -> Document:
    """Return the document with captions added to the entities of these labels, as their key words."""
    used = {word for entity in document.entities for word in entity.words}
    entities = [
        _with_caption(document, entity, used) if entity.label in labels and not entity.key_words else entity
        for entity in document.entities
    ]
    return replace(document, entities=tuple(entities))


def _with_caption(document: Document, entity: Entity, used: Collection[int]) -> Entity:
    """Add the words directly before an entity in reading order that are on its line, not numbers, and not labeled."""
    boxes, first = document.boxes, entity.words[0]
    keys: list[int] = []
    right = first
    while len(keys) < MAX_CAPTION_WORDS:
        left = right - 1
        if left < 0 or left in used or document.page_of_word[left] != entity.page:
            break
        (_, top, end, bottom), (start, y0, _, y1) = boxes[left].tolist(), boxes[right].tolist()
        height = min(bottom - top, y1 - y0)
        is_same_line = min(bottom, y1) - max(top, y0) > height / 2
        is_left = end <= start + height and start - end <= _MAX_GAP * height
        if not (is_same_line and is_left) or any(c.isdigit() for c in document.texts[left]):
            break
        keys.insert(0, left)
        right = left
    return document.entity(entity.label, [*keys, *entity.words], entity.score, keys) if keys else entity
