"""Values extracted from photos of US receipts, whose words and layouts no shipped model was trained on."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.records import select_fields
from formnet.datasets.ocr_words import read_images
from formnet.document import Document
from formnet.document.builder import DocumentBuilder
from formnet.document.values.match import is_attainable, values_nearly_match
from formnet.evaluation.counts import sum_counts
from formnet.evaluation.fields import count_values
from formnet.evaluation.records import Record, match_values, output_record, score_records
from formnet.extraction.extractor import Extractor
from formnet.extraction.output import to_output
from formnet.io.images import image_size
from formnet.io.ocr import OcrEngine

#: Paths in the output by name in the labels. The other labels are not reliable.
PATHS = {"merchant": "merchant.name", "date": "date", "time": "time", "tax": "tax", "total": "total"}
#: Labels of values that are not printed.
_ABSENT = ("", "0.0", "YYYY-MM-DD", "HH:MM:SS")
_TIME = re.compile(r"\d\d:\d\d:\d\d")


def benchmark(model: str, folder: Path, engine: OcrEngine, readings: Path) -> dict[str, Any]:
    """Score the values of `PATHS` in structured output; a value that is not labeled counts as spurious if found."""
    documents = list(read_images(read_labels(folder), engine, readings))
    extractor = Extractor.from_pretrained(model)
    results = [
        select_fields(output_record(to_output(document, extractor.schema).fields, PATHS.values()), PATHS)
        for document in extractor.annotate(documents)
    ]
    gold = [document.fields for document in documents]
    nearly = [count_values(g, result.fields, _nearly_match) for g, result in zip(gold, results, strict=True)]
    readable = [{name: value for name, value in d.fields.items() if _is_readable(d, value)} for d in documents]
    oracle = [count_values(g, r, match_values) for g, r in zip(gold, readable, strict=True)]
    return {
        "model": model,
        "engine": engine.name,
        **score_records([Record(fields) for fields in gold], results),
        "within_one_character": sum_counts(nearly).to_json(),
        "oracle": sum_counts(oracle).to_json(),
    }


def _nearly_match(gold: str, predicted: str) -> bool:
    return match_values(gold, predicted) or values_nearly_match(gold, predicted)


def _is_readable(document: Document, value: str) -> bool:
    """Return whether any consecutive words match a value."""
    if not _TIME.fullmatch(value):
        return is_attainable(document, value)
    texts = document.texts
    return any(match_values(value, " ".join(texts[i : i + length])) for i in range(len(texts)) for length in (1, 2))


def read_labels(folder: Path) -> Iterator[Document]:
    """Yield documents without words, with the image of the photo and the printed values among `PATHS`."""
    for line in (folder / "labels.jsonl").read_bytes().split(b"\n"):
        if not line.strip():
            continue
        label = json.loads(line)
        image = folder / label["image"]
        width, height = image_size(image) or (label["width"], label["height"])
        builder = DocumentBuilder(label["id"])
        builder.add_page([], [], width, height, image=image)
        values = {name: _text(label["fields"].get(name, "")) for name in PATHS}
        yield replace(builder.build(), fields={name: value for name, value in values.items() if value not in _ABSENT})


def _text(value: str | float | None) -> str:
    if value is None:
        return ""
    return f"{value:.2f}" if isinstance(value, float) and value else str(value)
