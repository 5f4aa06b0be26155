"""Field scores with the words of OCR engines, and the causes of lost values: OCR errors, reading order or the model."""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any

from formnet.datasets.alignment import align
from formnet.document import Document, Entity
from formnet.document.builder import DocumentBuilder
from formnet.document.reading_order import reorder
from formnet.document.values.match import values_match
from formnet.evaluation.counts import bootstrap_interval
from formnet.evaluation.fields import best_values, field_counts
from formnet.extraction.extractor import Extractor
from formnet.io.glued_words import split_glued_words
from formnet.io.ocr import OcrEngine
from formnet.io.page_image import load_page_image
from formnet.io.readers.image import add_image_page

#: Causes of a lost value, as they are named in results.
LOSS_CAUSES = {
    "misread": "the OCR output does not contain the value",
    "scattered": "the OCR output contains the words of the value, but not in consecutive order",
    "network": "the model also misses the value with the words of the corpus",
    "unexplained": "the OCR output contains the value, and the model finds it with the words of the corpus",
}


def evaluate_ocr(
    extractor: Extractor, documents: Sequence[Document], engines: Sequence[OcrEngine], head: str
) -> dict[str, Any]:
    """Score fields with the words of the corpus and of each OCR engine, and count the causes of lost values."""
    names = extractor.heads[head].entity_types
    reference_entities = extractor.entities(documents, head)
    reference_values = [best_values(entities, names) for entities in reference_entities]
    by_engine: dict[str, Any] = {}
    for engine in engines:
        start, cpu_start = perf_counter(), _cpu_seconds()
        recognized = [run_ocr(document, engine) for document in documents]
        seconds, cpu_seconds = perf_counter() - start, _cpu_seconds() - cpu_start
        predicted = extractor.entities(recognized, head)
        ocr_values = [best_values(entities, names) for entities in predicted]
        causes = Counter(
            _loss_cause(document, name, value, reference)
            for document, values, reference in zip(recognized, ocr_values, reference_values, strict=True)
            for name, value in document.fields.items()
            if name in names and not (name in values and values_match(value, values[name]))
        )
        in_raster_order = [reorder(document, "raster") for document in recognized]
        by_engine[engine.name] = {
            "fields": _score(recognized, predicted, names),
            "fields_in_raster_order": _score(in_raster_order, extractor.entities(in_raster_order, head), names),
            "seconds_a_page": seconds / max(len(documents), 1),
            "core_seconds_a_page": cpu_seconds / max(len(documents), 1),
            "lost": {cause: causes[cause] for cause in LOSS_CAUSES},
        }
    reference_score = _score(documents, reference_entities, names)
    return {"documents": len(documents), "own_words": reference_score, "engines": by_engine, "losses": LOSS_CAUSES}


def _cpu_seconds() -> float:
    """Return the CPU time of this process and its finished child processes."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def run_ocr(document: Document, engine: OcrEngine) -> Document:
    """Return the document with its words replaced by OCR output, keeping the field values."""
    builder = DocumentBuilder(document.id)
    for page in document.pages:
        assert page.image is not None
        add_image_page(builder, load_page_image(page), engine, page.image, page.frame)
    return replace(split_glued_words(builder.build()), fields=document.fields)


def _score(
    documents: Sequence[Document], predicted: Sequence[Sequence[Entity]], names: Sequence[str]
) -> dict[str, Any]:
    counts = field_counts(documents, predicted, names)
    return {**counts.to_json(), "interval": bootstrap_interval(counts.by_document)}


def _loss_cause(document: Document, name: str, value: str, reference: Mapping[str, str]) -> str:
    """Return why a value was lost; `reference` holds the values found with the words of the corpus."""
    single_field = replace(document, fields={name: value}, entities=())
    match = align(single_field).matches.get(name)
    if match is None or not values_match(value, " ".join(document.texts[i] for i in match.words)):
        return "misread"
    words = sorted(match.words)
    if words[-1] - words[0] + 1 != len(words):
        return "scattered"
    return "unexplained" if name in reference and values_match(value, reference[name]) else "network"
