"""Overhead of extraction over the bare model, and of structure (links, captions, fields and checks) over entities."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from copy import deepcopy
from time import perf_counter
from typing import Any

import numpy as np
import torch

from benchmarks.timing import time_call
from formnet.document import Document, Entity
from formnet.encoding import buckets, collate
from formnet.extraction.annotations import Annotations
from formnet.extraction.extractor import Extractor
from formnet.extraction.output import to_entities, to_output
from formnet.modeling import FormNetForTokenClassification


class EntityExtractor(Extractor):
    """An extractor that finds entities and no structure."""

    @classmethod
    def from_extractor(cls, extractor: Extractor) -> "EntityExtractor":
        """Return a copy without the heads for structure."""
        model = extractor.model
        if isinstance(model, FormNetForTokenClassification):
            model = deepcopy(model)
            model.key_classifier = model.link_head = None
        tokenizer = extractor.encoder.tokenizer
        schema = extractor.own_schema
        return cls(model, tokenizer, max_batch_tokens=extractor.max_batch_tokens, bf16=extractor.bf16, schema=schema)

    def add_structure(self, _: Document, found: Mapping[str, Sequence[Entity]], __: object) -> Annotations:
        """Sort the entities of all heads."""
        return Annotations(sorted((e for own in found.values() for e in own), key=lambda e: e.words), [])


def benchmark(extractor: Extractor, documents: Sequence[Document], repeats: int = 5) -> dict[str, Any]:
    """Time extraction and the bare model on the same batches alternately, and return medians over repeats."""
    encoded = [extractor.encoder(document) for document in documents]
    batches = []
    for indices in buckets([len(document) for document in encoded], extractor.max_batch_tokens):
        batch = collate([encoded[i] for i in indices], extractor.encoder.padding_id)
        del batch["ids"]
        batches.append(batch)

    def run_model() -> None:
        with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16, enabled=extractor.bf16):
            for batch in batches:
                extractor.model(**batch)

    extractor.warm_up()
    run_model()  # fills the caches
    entity_extractor = EntityExtractor.from_extractor(extractor)

    def extract_structure() -> None:
        for document in extractor.annotate(documents):
            to_output(document, extractor.schema)

    def extract_entities() -> None:
        for document in entity_extractor.annotate(documents):
            to_entities(document)

    extract_structure()
    extract_entities()
    model_seconds, extraction_seconds, structure_seconds, entity_seconds = [], [], [], []
    for _ in range(repeats):
        model_seconds.append(time_call(run_model))
        extraction_seconds.append(time_call(lambda: extractor.entities(documents)))
        structure_seconds.append(time_call(extract_structure))
        entity_seconds.append(time_call(extract_entities))
    ratios = np.divide(model_seconds, extraction_seconds)
    structure_ratios = np.divide(structure_seconds, entity_seconds)
    return {
        "ratio_to_model": float(np.median(ratios)),
        "ratio_spread": [float(ratios.min()), float(ratios.max())],
        "structure_to_entities": float(np.median(structure_ratios)),
        "structure_to_entities_spread": [float(structure_ratios.min()), float(structure_ratios.max())],
        "documents": len(documents),
        "pieces": sum(map(len, encoded)),
        "documents_per_second": len(documents) / float(np.median(extraction_seconds)),
        "milliseconds_per_document": {
            "whole": float(np.median(extraction_seconds)) / len(documents) * 1e3,
            "bare": float(np.median(model_seconds)) / len(documents) * 1e3,
            **profile(extractor, documents),
        },
    }


def profile(extractor: Extractor, documents: Sequence[Document]) -> dict[str, float]:
    """Time each step other than the forward pass, in milliseconds per document."""
    elapsed: dict[str, float] = defaultdict(float)
    start = perf_counter()
    encoded = [extractor.encoder(document) for document in documents]
    elapsed["encoding"] = perf_counter() - start
    scores = extractor.scores(documents)
    for indices in buckets([len(document) for document in encoded], extractor.max_batch_tokens):
        start = perf_counter()
        collate([encoded[i] for i in indices], extractor.encoder.padding_id)
        elapsed["collating"] += perf_counter() - start
        batch = [documents[i] for i in indices]
        max_words = max(document.num_words for document in batch)
        padded = np.stack([np.pad(scores[i], ((0, max_words - len(scores[i])), (0, 0))) for i in indices])
        start = perf_counter()
        for head, head_scores in extractor.split_heads(padded).items():
            extractor.decode(head, head_scores, batch)
        elapsed["decoding"] += perf_counter() - start
    return {name: seconds / len(documents) * 1e3 for name, seconds in elapsed.items()}
