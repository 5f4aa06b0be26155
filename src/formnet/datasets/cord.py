"""CORD: Indonesian receipts with line items, sums and payment in 30 categories.

The public original: Park et al., 2019. CC-BY-4.0. Two packagings are read: v1, a JSON file a receipt in
`{train,dev,test}/json`, and v2, a CSV with the JSON in its column `ground_truth`. One `valid_line` is one entity.
"""

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from formnet.datasets.base import Corpus, files
from formnet.document import Document
from formnet.document.builder import DocumentBuilder
from formnet.errors import CorpusError
from formnet.io.images import size_of
from formnet.io.readers.jsonl import LONGEST_LINE

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


class Row(NamedTuple):
    """A row of the v2 packaging."""

    file: Path
    name: str
    ground_truth: str

    def __str__(self) -> str:
        return f"{self.file}, {self.name}"


class Cord(Corpus):
    """Receipts of the CORD corpus."""

    entity_types = CATEGORIES
    aliases = {"validation": "dev", "val": "dev"}  # noqa: RUF012

    def find_splits(self) -> tuple[str, ...]:
        """Name the splits that are there: folders in v1, the file itself in v2."""
        if self.path.is_file():
            named = next((split for split in ("train", "test") if split in self.path.stem), "dev")
            return (named,) if self.path.suffix == ".csv" else ()
        return tuple(split for split in ("train", "dev", "test") if (self.path / split / "json").is_dir())

    def expected(self) -> str:
        """Say what should have been there."""
        return "holds no CORD; expected {train,dev,test}/json in a folder, or a CSV file of the v2 packaging."

    def sources(self, split: str) -> Iterator[Path | Row]:
        """List the receipts' files or rows."""
        return self._rows() if self.path.is_file() else files(self.path / split / "json", "*.json")

    def parse(self, source: Path | Row) -> Document:
        """Read one receipt."""
        if isinstance(source, Row):
            return receipt(Path(source.name).stem, json.loads(source.ground_truth))
        image = source.parent.parent / "image" / f"{source.stem}.png"
        return receipt(source.stem, json.loads(source.read_text(encoding="utf-8")), image)

    def _rows(self) -> Iterator[Row]:
        csv.field_size_limit(LONGEST_LINE)
        with self.path.open(encoding="utf-8", newline="") as file:
            rows = csv.DictReader(file)
            try:
                if not {"filename", "ground_truth"} <= set(rows.fieldnames or ()):
                    raise CorpusError(f"{self.path}: a CORD v2 file has the columns 'filename' and 'ground_truth'.")
                for row in rows:
                    yield Row(self.path, row["filename"], row["ground_truth"])
            except (UnicodeDecodeError, csv.Error) as error:
                raise CorpusError(f"{self.path}: is not CSV in UTF-8: {error}.") from error


def receipt(name: str, data: Any, image: Path | None = None) -> Document:
    """Build a document of one receipt's JSON, either packaging."""
    lines = data["valid_line"]
    words = [word for line in lines for word in line["words"]]
    size = (size_of(image) if image else None) or tuple(data["meta"]["image_size"][k] for k in ("width", "height"))
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
        builder.add_entity(line["category"].replace(".sub.", ".sub_"), range(start, stop))  # v2's name → v1's
        start = stop
    return builder.build()


def quad_box(quad: dict[str, float]) -> tuple[float, float, float, float]:
    """Give the upright box around a quadrilateral, whose corners go round from the top left.

    One that goes round from elsewhere gives an inverted box, which the builder turns and reports.
    """
    left, right = min(quad["x1"], quad["x4"]), max(quad["x2"], quad["x3"])
    return left, min(quad["y1"], quad["y2"]), right, max(quad["y3"], quad["y4"])


CORPUS = Cord
