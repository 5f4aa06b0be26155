"""What extraction costs over the bare network: pieces, graphs, batches and decoding beside the forward pass."""

from collections import defaultdict
from collections.abc import Sequence
from time import perf_counter
from typing import Any

import numpy as np
import torch

from benchmarks.timing import seconds_of
from formnet.document import Document
from formnet.encoding import buckets, collate
from formnet.extraction.extractor import Extractor


def benchmark(extractor: Extractor, documents: Sequence[Document], repeats: int = 5) -> dict[str, Any]:
    """Extract, and run the bare network over the same batches made beforehand, in turn; give medians over repeats."""
    encoded = [extractor.encoder(document) for document in documents]
    batches = []
    for part in buckets([len(document) for document in encoded], extractor.max_batch_tokens):
        batch = collate([encoded[i] for i in part], extractor.encoder.padding_id)
        del batch["ids"]
        batches.append(batch)

    def bare() -> None:
        with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16, enabled=extractor.bf16):
            for batch in batches:
                extractor.model(**batch)

    extractor.warm_up()
    bare()  # whatever is cached is by now
    extractor.entities(documents)
    bare_seconds, whole_seconds = [], []
    for _ in range(repeats):
        bare_seconds.append(seconds_of(bare))
        whole_seconds.append(seconds_of(lambda: extractor.entities(documents)))
    ratios = np.divide(bare_seconds, whole_seconds)
    return {
        "ratio_to_model": float(np.median(ratios)),
        "ratio_spread": [float(ratios.min()), float(ratios.max())],
        "documents": len(documents),
        "pieces": sum(map(len, encoded)),
        "documents_per_second": len(documents) / float(np.median(whole_seconds)),
        "milliseconds_per_document": {
            "whole": float(np.median(whole_seconds)) / len(documents) * 1e3,
            "bare": float(np.median(bare_seconds)) / len(documents) * 1e3,
            **profile(extractor, documents),
        },
    }


def profile(extractor: Extractor, documents: Sequence[Document]) -> dict[str, float]:
    """Time what stands around the network, part by part, in milliseconds a document."""
    spent: dict[str, float] = defaultdict(float)
    start = perf_counter()
    encoded = [extractor.encoder(document) for document in documents]
    spent["encoding"] = perf_counter() - start
    scores = extractor.scores(documents)
    for part in buckets([len(document) for document in encoded], extractor.max_batch_tokens):
        start = perf_counter()
        collate([encoded[i] for i in part], extractor.encoder.padding_id)
        spent["collating"] += perf_counter() - start
        some = [documents[i] for i in part]
        longest = max(document.num_words for document in some)
        padded = np.stack([np.pad(scores[i], ((0, longest - len(scores[i])), (0, 0))) for i in part])
        start = perf_counter()
        for name, own in extractor.split_heads(padded).items():
            extractor.decode(name, own, some)
        spent["decoding"] += perf_counter() - start
    return {name: seconds / len(documents) * 1e3 for name, seconds in spent.items()}
