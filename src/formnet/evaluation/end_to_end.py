"""From the picture to the fields, and what was lost on the way: by OCR, by its reading order, or by the network."""

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
from formnet.evaluation.counts import bootstrap
from formnet.evaluation.fields import best_values, field_counts, same_value
from formnet.extraction.extractor import Extractor
from formnet.io.date_ranges import split_ranges
from formnet.io.ocr import OcrEngine
from formnet.io.page_image import scan_of
from formnet.io.readers.image import add_picture

#: Why a keyed-in value was not given back.
LOSSES = {
    "misread": "no words that the engine saw say it",
    "scattered": "the engine saw its words, but does not read them one after the other",
    "network": "missed with the corpus's own words, too",
    "unsettled": "the engine's words say it, and with the corpus's own words it was found",
}


def end_to_end(
    extractor: Extractor, documents: Sequence[Document], engines: Sequence[OcrEngine], head: str
) -> dict[str, Any]:
    """Score fields with the corpus's own words and with each engine's, and count what each loss is made of."""
    names = extractor.heads[head].entity_types
    found_in_own = extractor.entities(documents, head)
    own = [best_values(found, names) for found in found_in_own]
    by_engine: dict[str, Any] = {}
    for engine in engines:
        start, busy = perf_counter(), _core_seconds()
        seen = [read_again(document, engine) for document in documents]
        seconds, busy = perf_counter() - start, _core_seconds() - busy
        found = extractor.entities(seen, head)
        causes = Counter(
            _cause(document, name, value, before)
            for document, after, before in zip(seen, [best_values(one, names) for one in found], own, strict=True)
            for name, value in document.fields.items()
            if name in names and not (name in after and same_value(value, after[name]))
        )
        by_line = [reorder(document, "raster") for document in seen]
        by_engine[engine.name] = {
            "fields": _score(seen, found, names),
            "fields_in_raster_order": _score(by_line, extractor.entities(by_line, head), names),
            "seconds_a_page": seconds / max(len(documents), 1),
            "core_seconds_a_page": busy / max(len(documents), 1),
            "lost": {cause: causes[cause] for cause in LOSSES},
        }
    own_words = _score(documents, found_in_own, names)
    return {"documents": len(documents), "own_words": own_words, "engines": by_engine, "losses": LOSSES}


def _core_seconds() -> float:
    """How long cores have worked for this process and for programs that it ran."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def read_again(document: Document, engine: OcrEngine) -> Document:
    """Give a document with an engine's words instead of its own, and the same keyed-in values."""
    builder = DocumentBuilder(document.id)
    for page in document.pages:
        assert page.image is not None
        add_picture(builder, scan_of(page), engine, page.image, page.frame)
    return replace(split_ranges(builder.build()), fields=document.fields)


def _score(documents: Sequence[Document], found: Sequence[Sequence[Entity]], names: Sequence[str]) -> dict[str, Any]:
    counts = field_counts(documents, found, names)
    return {**counts.to_json(), "interval": bootstrap(counts.by_document)}


def _cause(document: Document, name: str, value: str, before: Mapping[str, str]) -> str:
    """Say why a value was lost."""
    alone = replace(document, fields={name: value}, entities=())
    matched = align(alone).matches.get(name)
    if matched is None or not same_value(value, " ".join(document.texts[i] for i in matched.words)):
        return "misread"
    words = sorted(matched.words)
    if words[-1] - words[0] + 1 != len(words):
        return "scattered"
    return "unsettled" if name in before and same_value(value, before[name]) else "network"
