"""CORD (Park et al., 2019): Indonesian receipts with line items, totals and payment in 30 categories.

Two layouts are supported: v1, one JSON file per receipt in `{train,dev,test}/json`, and v2, a CSV file with the JSON in
the column `ground_truth`. Each `valid_line` is one entity, with its key words; links connect the name of an item to its
parts, and to its modifiers with theirs. License: CC-BY-4.0.
"""

import csv
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from formnet.datasets.base import Corpus, sorted_files
from formnet.document import Document
from formnet.document.builder import DocumentBuilder
from formnet.errors import CorpusError
from formnet.io.images import image_size
from formnet.io.limits import DEFAULT_LIMITS

_ITEM = "nm num unitprice cnt discountprice price itemsubtotal vatyn etc"
_SUB_ITEM = "sub_nm sub_unitprice sub_cnt sub_price sub_etc"
CATEGORIES: tuple[str, ...] = (
    *(f"menu.{name}" for name in f"{_ITEM} {_SUB_ITEM}".split()),
    *(f"void_menu.{name}" for name in ["nm", "price"]),
    *(
        f"sub_total.{name}"
        for name in ["subtotal_price", "discount_price", "service_price", "othersvc_price", "tax_price", "etc"]
    ),
    *(
        f"total.{name}"
        for name in ["total_price", "total_etc", "cashprice", "changeprice", "creditcardprice", "emoneyprice"]
    ),
    *(f"total.{name}" for name in ["menutype_cnt", "menuqty_cnt"]),
)


#: Names of the categories in the canonical schema.
CANONICAL_NAMES = {
    "menu.nm": "line_items.description",
    "menu.num": "line_items.product_code",
    "menu.unitprice": "line_items.unit_price",
    "menu.cnt": "line_items.quantity",
    "menu.discountprice": "line_items.discount",
    "menu.price": "line_items.total",
    "menu.itemsubtotal": "line_items.subtotal",
    "menu.vatyn": "line_items.tax_flag",
    "menu.etc": "line_items.other",
    "menu.sub_nm": "line_items.modifiers.description",
    "menu.sub_unitprice": "line_items.modifiers.unit_price",
    "menu.sub_cnt": "line_items.modifiers.quantity",
    "menu.sub_price": "line_items.modifiers.total",
    "menu.sub_etc": "line_items.modifiers.other",
    "void_menu.nm": "voided_items.description",
    "void_menu.price": "voided_items.total",
    "sub_total.subtotal_price": "subtotal",
    "sub_total.discount_price": "discount",
    "sub_total.service_price": "service_charge",
    "sub_total.othersvc_price": "other_charges",
    "sub_total.tax_price": "tax",
    "sub_total.etc": "other_subtotals",
    "total.total_price": "total",
    "total.total_etc": "other_totals",
    "total.cashprice": "payments.cash",
    "total.changeprice": "change",
    "total.creditcardprice": "payments.card",
    "total.emoneyprice": "payments.e_money",
    "total.menutype_cnt": "item_count",
    "total.menuqty_cnt": "total_quantity",
}
#: Categories whose groups are items.
_ITEM_KINDS = ("menu", "void_menu")


class CordRow(NamedTuple):
    """One row of a v2 CSV file."""

    file: Path
    name: str
    ground_truth: str

    def __str__(self) -> str:
        return f"{self.file}, {self.name}"


class Cord(Corpus):
    """The CORD corpus."""

    entity_types = CATEGORIES
    canonical_names = CANONICAL_NAMES
    aliases = {"validation": "dev", "val": "dev"}  # noqa: RUF012

    def find_splits(self) -> tuple[str, ...]:
        """Return the available splits: folders in v1; in v2, the split named by the file, or dev."""
        if self.path.is_file():
            name = next((split for split in ("train", "test") if split in self.path.stem), "dev")
            return (name,) if self.path.suffix == ".csv" else ()
        return tuple(split for split in ("train", "dev", "test") if (self.path / split / "json").is_dir())

    def expected(self) -> str:
        """Return the error message for a path without CORD files."""
        return "no CORD files found. Expected a folder with {train,dev,test}/json, or a v2 CSV file."

    def sources(self, split: str) -> Iterator[Path | CordRow]:
        """Yield the JSON files (v1) or CSV rows (v2)."""
        return self._rows() if self.path.is_file() else sorted_files(self.path / split / "json", "*.json")

    def parse(self, source: Path | CordRow) -> Document:
        """Parse one receipt."""
        if isinstance(source, CordRow):
            return receipt_document(Path(source.name).stem, json.loads(source.ground_truth))
        image = source.parent.parent / "image" / f"{source.stem}.png"
        return receipt_document(source.stem, json.loads(source.read_text(encoding="utf-8")), image)

    def _rows(self) -> Iterator[CordRow]:
        csv.field_size_limit(DEFAULT_LIMITS.max_line_bytes)
        with self.path.open(encoding="utf-8", newline="") as file:
            rows = csv.DictReader(file)
            try:
                if not {"filename", "ground_truth"} <= set(rows.fieldnames or ()):
                    raise CorpusError(f"{self.path}: no columns 'filename' and 'ground_truth'. Use a CORD v2 file.")
                for row in rows:
                    yield CordRow(self.path, row["filename"], row["ground_truth"])
            except (UnicodeDecodeError, csv.Error) as error:
                raise CorpusError(f"{self.path}: not a UTF-8 CSV file: {error}.") from error


def receipt_document(name: str, data: Any, image: Path | None = None) -> Document:
    """Build a document from the JSON of one receipt, v1 or v2."""
    lines = data["valid_line"]
    words = [word for line in lines for word in line["words"]]
    size = (image_size(image) if image else None) or tuple(data["meta"]["image_size"][k] for k in ("width", "height"))
    builder = DocumentBuilder(name)
    builder.add_page(
        [word["text"] for word in words],
        [quad_box(word["quad"]) for word in words],
        *size,
        image=image if image and image.is_file() else None,
    )
    start = 0
    labels = [line["category"].replace(".sub.", ".sub_") for line in lines]  # v2 name → v1 name
    for label, line in zip(labels, lines, strict=True):
        stop = start + len(line["words"])
        keys = [number for number, word in enumerate(line["words"], start) if word.get("is_key")]
        builder.add_entity(label, range(start, stop), key_words=keys)
        start = stop
    for owner, part in item_links(labels, lines):
        builder.add_link(owner, part)
    return builder.build()


def item_links(labels: Sequence[str], lines: Sequence[Any]) -> Iterator[tuple[int, int]]:
    """Yield the links of items: from a name to its parts and modifiers, and from a modifier to its parts.

    The first name of a group owns the others, which are continuation lines. In a group without a name, the first entity
    owns the others.
    """
    groups: dict[tuple[str, Any], list[int]] = {}
    for number, (label, line) in enumerate(zip(labels, lines, strict=True)):
        kind = label.partition(".")[0]
        if kind in _ITEM_KINDS:
            groups.setdefault((kind, line["group_id"]), []).append(number)
    for numbers in groups.values():
        item = _first(numbers, labels, ".nm")
        yield from ((item, number) for number in numbers if number != item and ".sub_" not in labels[number])
        for parts in _modifiers([number for number in numbers if ".sub_" in labels[number]], labels, lines):
            modifier = _first(parts, labels, ".sub_nm")
            if modifier != item:
                yield item, modifier
            yield from ((modifier, number) for number in parts if number not in (modifier, item))


def _modifiers(numbers: Sequence[int], labels: Sequence[str], lines: Sequence[Any]) -> Iterable[list[int]]:
    """Group the parts of modifiers: by `sub_group_id` in v2, and by printed line in v1, which lacks it."""
    keys = {number: _modifier_key(lines[number]) for number in numbers}
    named = {keys[number] for number in numbers if labels[number].endswith(".sub_nm")}
    groups: dict[Any, list[int]] = {}
    latest: Any = None
    for number in numbers:
        if keys[number] in named or latest is None:
            latest = keys[number]
        groups.setdefault(latest, []).append(number)  # a part on a line without a name belongs to the line above
    return groups.values()


def _modifier_key(line: Any) -> Any:
    return line["sub_group_id"] if "sub_group_id" in line else next((w.get("row_id") for w in line["words"]), None)


def _first(numbers: Sequence[int], labels: Sequence[str], suffix: str) -> int:
    """Return the first entity with a label of this ending, or the first of all."""
    return next((number for number in numbers if labels[number].endswith(suffix)), numbers[0])


def quad_box(quad: dict[str, float]) -> tuple[float, float, float, float]:
    """Return the axis-aligned box around a quadrilateral whose corners run clockwise from the top left.

    Other corner orders yield an inverted box, which `DocumentBuilder` repairs and records.
    """
    left, right = min(quad["x1"], quad["x4"]), max(quad["x2"], quad["x3"])
    return left, min(quad["y1"], quad["y2"]), right, max(quad["y3"], quad["y4"])


CORPUS = Cord
