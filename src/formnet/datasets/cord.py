"""CORD (Park et al., 2019): Indonesian receipts with line items, totals and payment in 30 categories.

Two layouts are supported: v1, one JSON file per receipt in `{train,dev,test}/json`, and v2, a CSV file with the JSON in
the column `ground_truth`. Each `valid_line` is one entity. License: CC-BY-4.0.
"""

import csv
import json
from collections.abc import Iterator
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
    for line in lines:
        stop = start + len(line["words"])
        builder.add_entity(line["category"].replace(".sub.", ".sub_"), range(start, stop))  # v2 name → v1 name
        start = stop
    return builder.build()


def quad_box(quad: dict[str, float]) -> tuple[float, float, float, float]:
    """Return the axis-aligned box around a quadrilateral whose corners run clockwise from the top left.

    Other corner orders yield an inverted box, which `DocumentBuilder` repairs and records.
    """
    left, right = min(quad["x1"], quad["x4"]), max(quad["x2"], quad["x3"])
    return left, min(quad["y1"], quad["y2"]), right, max(quad["y3"], quad["y4"])


CORPUS = Cord
