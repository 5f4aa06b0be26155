"""Random spans of FUNSD's entity types."""

import numpy as np

from formnet.document.tags import Span, TagScheme

SCHEME = TagScheme(("header", "question", "answer"))


def random_spans(generator: np.random.Generator, words: int) -> list[Span]:
    """Return spans of one to three words that do not overlap."""
    spans, start = [], 0
    while start < words:
        length = int(generator.integers(1, 4))
        if generator.random() < 0.6 and start + length <= words:
            spans.append(Span(SCHEME.entity_types[generator.integers(3)], start, start + length))
        start += length
    return spans
