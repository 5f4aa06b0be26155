"""Receipts of our own making, with line items, captions and links."""

from dataclasses import replace

from formnet.document import Document
from formnet.document.builder import DocumentBuilder
from formnet.extraction.options import ExtractionOptions
from formnet.extraction.schema import Check, FieldSchema, Schema

NAMES = ("Tea", "Cake", "Soup", "Bread", "Juice")


def linked_receipt(items: int, name: str = "receipt") -> Document:
    """Return a receipt whose items have a count, a name, a price and, every second one, a modifier on the next line."""
    texts, boxes, entities, links = [], [], [], []
    top = 0.0

    def add(label: str, text: str, left: float, keys: int = 0) -> int:
        words = text.split()
        first = len(texts)
        for number, word in enumerate(words):
            texts.append(word)
            boxes.append([left + 12 * number, top, left + 12 * number + 10, top + 8])
        numbers = range(first, len(texts))
        entities.append((label, numbers, list(numbers)[:keys]))
        return len(entities) - 1

    for item in range(items):
        top += 10
        count = add("count", f"{item + 1}x", 0)
        owner = add("name", NAMES[item % len(NAMES)], 20)
        price = add("price", f"{item}.50", 90)
        links += [(owner, count), (owner, price)]
        if item % 2:
            top += 10
            modifier = add("modifier", "extra milk", 25)
            links.append((owner, modifier))
    top += 20
    add("total", f"Total: {items}.00", 20, keys=1)
    builder = DocumentBuilder(name)
    builder.add_page(texts, boxes, 110, top + 20)
    for label, words, keys in entities:
        builder.add_entity(label, words, key_words=keys)
    for link in links:
        builder.add_link(*link)
    return builder.build()


def tilt(document: Document, slope: float) -> Document:
    """Return a document of one page on which lines of text drop by this much per unit of width."""
    (page,) = document.pages
    builder = DocumentBuilder(document.id)
    boxes = page.boxes.copy()
    boxes[:, 1::2] += slope * boxes[:, 0::2].mean(axis=1, keepdims=True) + max(0.0, -slope) * page.width
    builder.add_page(page.texts, boxes, page.width, page.height + abs(slope) * page.width)
    for entity in document.entities:
        builder.add_entity(entity.label, entity.words, key_words=entity.key_words)
    for link in document.links:
        builder.add_link(*link)
    return builder.build()


SCHEMA = Schema(
    fields=(
        FieldSchema(label="name", path="items[].description", anchor=True),
        FieldSchema(label="count", path="items[].quantity", type="quantity"),
        FieldSchema(label="price", path="items[].total", type="amount"),
        FieldSchema(label="modifier", path="items[].modifiers[].description", anchor=True),
        FieldSchema(label="total", path="total", type="amount"),
    ),
    checks=(Check(name="items", any_of=("sum(items.total) = total",)),),
)


def read_receipt(items: int) -> Document:
    """Return a linked receipt with normalized values, as an extractor returns it."""
    receipt = linked_receipt(items)
    options = ExtractionOptions(day_first=True)
    entities = (options.apply(replace(entity, score=0.9), SCHEMA.by_label[entity.label]) for entity in receipt.entities)
    return replace(receipt, entities=tuple(entities))
