"""Scores to entities: the best legal tag path, and the exact probability of each entity's span.

Shapes: B documents, W words, T tags, K entity types.
"""

import math
from collections import defaultdict
from collections.abc import Collection, Hashable, Sequence
from itertools import dropwhile

import numpy as np
from numpy.typing import NDArray

from formnet.document import Document, Entity
from formnet.document.tags import Span, TagScheme
from formnet.document.values.parse import fold, parse_amount, parse_date
from formnet.errors import LabelError
from formnet.modeling.crf import NEVER, Lattice, Scores, forward_backward, split_by_role

#: Entities with a lower probability are dropped: nearly all of them are wrong.
MIN_PROBABILITY = 0.3
#: Spans considered for each label of a single-value head.
MAX_CANDIDATES = 8


def decode(
    scores: NDArray[np.floating],
    documents: list[Document],
    scheme: TagScheme,
    *,
    single_value: bool = False,
    single_value_labels: Collection[str] = (),
    label_all_occurrences: bool = False,
) -> list[list[Entity]]:
    """Return each document's entities with their probabilities, from scores [B, W, T].

    These are the entities on the best tag path or, for `single_value` heads, the most probable value of each type. If
    the best path has no entity of one of the `single_value_labels`, the label's most probable value is taken. No entity
    crosses a page break.
    """
    lengths = np.array([document.num_words for document in documents])
    if scores.shape[0] != len(documents) or scores.shape[2] != len(scheme) or (lengths > scores.shape[1]).any():
        raise LabelError(
            f"scores of shape {scores.shape} do not fit {len(documents)} documents and {len(scheme)} tags."
        )
    scores = np.array(scores, np.float64)
    for row, document in zip(scores, documents, strict=True):
        _forbid_page_crossing(row, document, scheme)
    lattice = forward_backward(scores, np.arange(scores.shape[1])[None] < lengths[:, None])
    found: list[list[Entity]] = [[] for _ in documents]
    if not single_value:
        found = [
            [
                document.entity(span.label, range(span.start, span.stop), probability)
                for span in scheme.spans(tags)
                if (probability := span_probability(lattice, b, span, scheme)) >= MIN_PROBABILITY
            ]
            for b, (document, tags) in enumerate(zip(documents, viterbi(scores, lengths), strict=True))
        ]
    labels = [label for label in scheme.entity_types if single_value or label in single_value_labels]
    if not labels:
        return found
    log, start = best_spans(lattice)
    return [
        _add_best_values(own, labels, log[b], start[b], document, scheme, label_all_occurrences)
        for b, (own, document) in enumerate(zip(found, documents, strict=True))
    ]


def _forbid_page_crossing(scores: Scores, document: Document, scheme: TagScheme) -> None:
    first = np.flatnonzero(np.diff(document.page_of_word)) + 1  # first word of each page after the first
    scores[np.ix_(first, ~scheme.starts)] = NEVER
    scores[np.ix_(first - 1, ~scheme.ends)] = NEVER


def viterbi(scores: NDArray[np.floating], lengths: NDArray[np.integer]) -> list[NDArray[np.int64]]:
    """Return each document's best legal tag path, from scores [B, W, T]."""
    mask = np.arange(scores.shape[1])[None] < lengths[:, None]
    outside, begin, inside, end, single = split_by_role(scores, mask)
    batch, words, types = begin.shape
    closed, opened = np.zeros(batch), np.full((batch, types), NEVER)
    # Back-pointers: a closed state is reached by O (0), S of a type (1 + k) or E of a type (1 + K + k).
    closed_by = np.zeros((words, batch), np.int64)
    continued = np.zeros((words, batch, types), np.bool_)
    for w in range(words):
        candidates = np.concatenate(
            [(closed + outside[:, w])[:, None], closed[:, None] + single[:, w], opened + end[:, w]], axis=1
        )
        begun, kept_open = closed[:, None] + begin[:, w], opened + inside[:, w]
        closed_by[w] = candidates.argmax(axis=1)
        continued[w] = kept_open > begun
        closed, opened = candidates.max(axis=1), np.maximum(begun, kept_open)
    return [_backtrace(closed_by[:n, b], continued[:n, b], types) for b, n in enumerate(lengths.tolist())]


def _backtrace(closed_by: NDArray[np.int64], continued: NDArray[np.bool_], types: int) -> NDArray[np.int64]:
    """Follow back-pointers from the end, where every legal path is closed."""
    tags = np.zeros(len(closed_by), np.int64)
    open_type = -1
    for w in range(len(tags) - 1, -1, -1):
        if open_type >= 0:
            tags[w] = 1 + 4 * open_type + (1 if continued[w, open_type] else 0)  # I or B
            open_type = open_type if continued[w, open_type] else -1
            continue
        pointer = int(closed_by[w])
        if pointer > types:
            open_type = pointer - 1 - types
            tags[w] = 1 + 4 * open_type + 2  # E
        elif pointer > 0:
            tags[w] = 1 + 4 * (pointer - 1) + 3  # S
    return tags


def span_probability(lattice: Lattice, document: int, span: Span, scheme: TagScheme) -> float:
    """Compute the probability that a document's tag path contains exactly this entity."""
    _, begin, inside, end, single = lattice.scores
    kind = scheme.entity_types.index(span.label)
    start, stop = span.start, span.stop
    if stop - start == 1:
        score = single[document, start, kind]
    else:
        score = begin[document, start, kind] + inside[document, start + 1 : stop - 1, kind].sum()
        score += end[document, stop - 1, kind]
    log = lattice.forward[document, start] + score + lattice.backward[document, stop] - lattice.log_total[document]
    return float(np.exp(min(log, 0.0)))


def best_spans(lattice: Lattice) -> tuple[Scores, NDArray[np.int64]]:
    """Compute, per word and type, the log-probability of the best entity that ends there, and its first word.

    Both are [B, W, K].
    """
    _, begin, inside, end, single = lattice.scores
    batch, words, types = begin.shape
    log = np.full((batch, words, types), NEVER)
    start = np.broadcast_to(np.arange(words)[None, :, None], log.shape).copy()
    best_open, open_since = np.full((batch, types), NEVER), np.zeros((batch, types), np.int64)
    for w in range(words):
        before, after = lattice.forward[:, w, None], lattice.backward[:, w + 1, None]
        one_word, ended = before + single[:, w], best_open + end[:, w]
        log[:, w] = np.maximum(one_word, ended) + after
        start[:, w] = np.where(ended > one_word, open_since, w)
        begun, kept_open = before + begin[:, w], best_open + inside[:, w]
        open_since = np.where(begun > kept_open, w, open_since)
        best_open = np.maximum(begun, kept_open)
    return np.minimum(log - lattice.log_total[:, None, None], 0.0), start


def _add_best_values(
    found: list[Entity],
    labels: Collection[str],
    log: Scores,
    start: NDArray[np.int64],
    document: Document,
    scheme: TagScheme,
    label_all_occurrences: bool,
) -> list[Entity]:
    """Add the most probable value of each label that was not found, at its most probable position, without overlap.

    Trained on one occurrence per value, the model splits a value's probability among its occurrences, so they add up.
    Trained on all occurrences, each has the value's probability by itself.
    """
    missing = {*labels} - {entity.label for entity in found}
    spans = [
        (float(np.exp(log[last, kind])), label, range(int(start[last, kind]), last + 1))
        for kind, label in enumerate(scheme.entity_types)
        if label in missing
        for last in np.argsort(-log[: document.num_words, kind], kind="stable")[:MAX_CANDIDATES].tolist()
        if math.exp(log[last, kind]) * MAX_CANDIDATES >= MIN_PROBABILITY  # or else all of them are not enough
    ]
    meanings = {words: _meaning(document.texts[words.start : words.stop]) for _, _, words in spans}
    totals: dict[tuple[str, Hashable], float] = defaultdict(float)
    for probability, label, words in spans:
        value = label, meanings[words]
        total = max(totals[value], probability) if label_all_occurrences else min(totals[value] + probability, 1.0)
        totals[value] = total
    entities = list(found)
    for _, label, words in sorted(spans, key=lambda span: (-totals[span[1], meanings[span[2]]], -span[0])):
        total = totals[label, meanings[words]]
        conflict = any(label == entity.label or set(words).intersection(entity.words) for entity in entities)
        if total >= MIN_PROBABILITY and not conflict:
            entities.append(document.entity(label, words, total))
    return sorted(entities, key=lambda entity: entity.words)


def _meaning(texts: Sequence[str]) -> Hashable:
    """Return a key that is equal for different spellings of one value: an amount, a date, or else folded text.

    The caption of an amount does not count.

    >>> _meaning(["Total", "RM", "9.00"]) == _meaning(["9.00"]), _meaning(["9.00"]) == _meaning(["900"])
    (True, False)
    """
    text = " ".join(texts)
    without_caption = " ".join(dropwhile(lambda word: not any(map(str.isdigit, word)), texts))
    return parse_amount(text) or parse_amount(without_caption) or parse_date(text) or fold(text) or text
