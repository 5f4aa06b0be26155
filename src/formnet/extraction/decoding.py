"""Scores → the best legal tag path, exact probabilities, and entities with the probability of their whole span.

Under BIOES every path is a walk between two kinds of state: closed (after O, E or S, or at the start) and open in one
entity type (after B or I). So a step costs as many operations as there are tags, not their square, and the sums over
all legal paths are exact.

B documents, W words, T tags, K entity types.
"""

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from formnet.document import Document, Entity
from formnet.document.tags import Span, TagScheme
from formnet.document.values.parse import amount, day, fold
from formnet.errors import LabelError

Scores = NDArray[np.float64]
NEVER = -np.inf
#: An entity less likely than this is none; of a type that a document has once, so many places are looked at.
LEAST_CHANCE, CANDIDATES = 0.3, 8


@dataclass(frozen=True)
class Lattice:
    """All legal paths over words, with what they score: emissions taken apart by role, and running sums both ways."""

    outside: Scores  # [B, W]
    begin: Scores  # [B, W, K]
    inside: Scores
    end: Scores
    single: Scores
    forward: Scores  # [B, W + 1] log of all paths that are closed before word w
    forward_open: Scores  # [B, W + 1, K]
    backward: Scores  # [B, W + 1] log of all ways to go on from a closed state before word w
    backward_open: Scores  # [B, W + 1, K]

    @property
    def log_total(self) -> Scores:
        """The logarithm of the sum over all legal paths: [B]."""
        return self.forward[:, -1]


def viterbi(scores: NDArray[np.floating], lengths: NDArray[np.integer], scheme: TagScheme) -> list[NDArray[np.int64]]:
    """Give each document's best legal path of tags; `scores` is [B, W, T], padding is ignored."""
    outside, begin, inside, end, single = _roles(scores, lengths, scheme)
    batch, words, types = begin.shape
    closed, opened = np.zeros(batch), np.full((batch, types), NEVER)
    # How a state was best reached: closed by O (0), S of a type (1 + k) or E of a type (1 + K + k); open by B or I.
    how_closed = np.zeros((words, batch), np.int64)
    went_on = np.zeros((words, batch, types), np.bool_)
    for w in range(words):
        ways = np.concatenate(
            [(closed + outside[:, w])[:, None], closed[:, None] + single[:, w], opened + end[:, w]], axis=1
        )
        starts, goes_on = closed[:, None] + begin[:, w], opened + inside[:, w]
        how_closed[w] = ways.argmax(axis=1)
        went_on[w] = goes_on > starts
        closed, opened = ways.max(axis=1), np.maximum(starts, goes_on)
    return [_trace(how_closed[:n, b], went_on[:n, b], types) for b, n in enumerate(lengths.tolist())]


def _trace(how_closed: NDArray[np.int64], went_on: NDArray[np.bool_], types: int) -> NDArray[np.int64]:
    """Walk back from the end, where every legal path is closed."""
    tags = np.zeros(len(how_closed), np.int64)
    inside = -1  # the type that the walk is open in
    for w in range(len(tags) - 1, -1, -1):
        if inside >= 0:
            tags[w] = 1 + 4 * inside + (1 if went_on[w, inside] else 0)  # I or B
            inside = inside if went_on[w, inside] else -1
            continue
        way = int(how_closed[w])
        if way > types:
            inside = way - 1 - types
            tags[w] = 1 + 4 * inside + 2  # E
        elif way > 0:
            tags[w] = 1 + 4 * (way - 1) + 3  # S
    return tags


def lattice(scores: NDArray[np.floating], lengths: NDArray[np.integer], scheme: TagScheme) -> Lattice:
    """Sum over all legal paths, forwards and backwards."""
    outside, begin, inside, end, single = roles = _roles(scores, lengths, scheme)
    batch, words, types = begin.shape
    forward, backward = np.zeros((batch, words + 1)), np.zeros((batch, words + 1))
    forward_open, backward_open = (np.full((batch, words + 1, types), NEVER) for _ in range(2))
    with np.errstate(divide="ignore"):
        stay = np.logaddexp(outside, _log_sum(single))  # [B, W] closed before a word and after it
        for w in range(words):
            closed, opened = forward[:, w], forward_open[:, w]
            forward_open[:, w + 1] = np.logaddexp(closed[:, None] + begin[:, w], opened + inside[:, w])
            forward[:, w + 1] = np.logaddexp(closed + stay[:, w], _log_sum(opened + end[:, w]))
        for w in range(words - 1, -1, -1):
            closed, opened = backward[:, w + 1], backward_open[:, w + 1]
            backward[:, w] = np.logaddexp(closed + stay[:, w], _log_sum(begin[:, w] + opened))
            backward_open[:, w] = np.logaddexp(end[:, w] + closed[:, None], inside[:, w] + opened)
    return Lattice(*roles, forward, forward_open, backward, backward_open)


def marginals(of: Lattice) -> NDArray[np.float64]:
    """Give the probability of every tag at every word, over all legal paths: [B, W, T]."""
    closed, opened = of.forward[:, :-1, None], of.forward_open[:, :-1]
    then, then_open = of.backward[:, 1:, None], of.backward_open[:, 1:]
    by_role = np.stack(
        [
            closed + of.begin + then_open,
            opened + of.inside + then_open,
            opened + of.end + then,
            closed + of.single + then,
        ],
        axis=-1,
    )  # [B, W, K, 4]
    outside = closed + of.outside[..., None] + then
    batch, words = of.outside.shape
    logs = np.concatenate([outside, by_role.reshape(batch, words, -1)], axis=-1)
    return np.exp(logs - of.log_total[:, None, None])


def span_probability(of: Lattice, document: int, span: Span, scheme: TagScheme) -> float:
    """Give the probability that a document's path holds just this entity."""
    kind = scheme.entity_types.index(span.label)
    start, stop = span.start, span.stop
    if stop - start == 1:
        inner = of.single[document, start, kind]
    else:
        inner = of.begin[document, start, kind] + of.inside[document, start + 1 : stop - 1, kind].sum()
        inner += of.end[document, stop - 1, kind]
    log = of.forward[document, start] + inner + of.backward[document, stop] - of.log_total[document]
    return float(np.exp(min(log, 0.0)))


def best_spans(of: Lattice) -> tuple[Scores, NDArray[np.int64]]:
    """Give the log probability of the likeliest entity of each type that ends at each word, and where it begins.

    Both are [B, W, K].
    """
    batch, words, types = of.begin.shape
    log = np.full((batch, words, types), NEVER)
    start = np.broadcast_to(np.arange(words)[None, :, None], log.shape).copy()
    opened, since = np.full((batch, types), NEVER), np.zeros((batch, types), np.int64)  # the best way to be open
    for w in range(words):
        before, after = of.forward[:, w, None], of.backward[:, w + 1, None]
        alone, closes = before + of.single[:, w], opened + of.end[:, w]
        log[:, w] = np.maximum(alone, closes) + after
        start[:, w] = np.where(closes > alone, since, w)
        begins, goes_on = before + of.begin[:, w], opened + of.inside[:, w]
        since = np.where(begins > goes_on, w, since)
        opened = np.maximum(begins, goes_on)
    return np.minimum(log - of.log_total[:, None, None], 0.0), start


def decode(
    scores: NDArray[np.floating],
    documents: list[Document],
    scheme: TagScheme,
    *,
    once: bool = False,
    everywhere: bool = False,
    least: float = LEAST_CHANCE,
) -> list[list[Entity]]:
    """Give each document's entities, with the probability of each: `scores` is [B, W, T].

    These are the entities on the best path; or, if a document has every type `once`, the likeliest value of each type,
    which was learned in one place of a document or `everywhere` that it stands.
    What is less likely than `least` is left out: it would more often be wrong than right, by far. No entity runs
    over a page break.
    """
    lengths = np.array([document.num_words for document in documents])
    if scores.shape[0] != len(documents) or scores.shape[2] != len(scheme) or (lengths > scores.shape[1]).any():
        raise LabelError(
            f"scores of shape {scores.shape} do not fit {len(documents)} documents and {len(scheme)} tags."
        )
    scores = np.array(scores, np.float64)
    for row, document in zip(scores, documents, strict=True):
        _close_at_page_breaks(row, document, scheme)
    sums = lattice(scores, lengths, scheme)
    if once:
        log, start = best_spans(sums)
        return [_values(log[b], start[b], document, scheme, everywhere, least) for b, document in enumerate(documents)]
    paths = viterbi(scores, lengths, scheme)
    return [
        [
            document.entity(span.label, range(span.start, span.stop), chance)
            for span in scheme.spans(tags)
            if (chance := span_probability(sums, b, span, scheme)) >= least
        ]
        for b, (document, tags) in enumerate(zip(documents, paths, strict=True))
    ]


def _values(
    log: Scores, start: NDArray[np.int64], document: Document, scheme: TagScheme, everywhere: bool, least: float
) -> list[Entity]:
    """Give the likeliest value of each type, in its likeliest place; none has a word of another.

    Learnt in one place, a value stands in this or in that one, and their chances add up to the value's. Learnt
    everywhere, it does not become likelier by standing in several places: they are not independent witnesses.
    """
    places = [
        (float(np.exp(log[last, kind])), label, range(int(start[last, kind]), last + 1))
        for kind, label in enumerate(scheme.entity_types)
        for last in np.argsort(-log[: document.num_words, kind], kind="stable")[:CANDIDATES].tolist()
    ]
    said = {words: _said(document.texts[words.start : words.stop]) for _, _, words in places}
    chances: dict[tuple[str, Hashable], float] = defaultdict(float)
    for chance, label, words in places:
        value = label, said[words]
        chances[value] = max(chances[value], chance) if everywhere else min(chances[value] + chance, 1.0)
    found: list[Entity] = []
    for _, label, words in sorted(places, key=lambda place: (-chances[place[1], said[place[2]]], -place[0])):
        chance = chances[label, said[words]]
        taken = any(label == entity.label or set(words).intersection(entity.words) for entity in found)
        if chance >= least and not taken:
            found.append(document.entity(label, words, chance))
    return sorted(found, key=lambda entity: entity.words)


def _said(texts: Sequence[str]) -> Hashable:
    """Give what words say, however it is written: an amount, a day, or else letters; signs alone are what they are.

    >>> _said(["RM", "9.00"]) == _said(["9.00"]), _said(["9.00"]) == _said(["900"])
    (True, False)
    """
    text = " ".join(texts)
    return amount(text) or day(text) or fold(text) or text


def _close_at_page_breaks(scores: Scores, document: Document, scheme: TagScheme) -> None:
    first = np.flatnonzero(np.diff(document.page_of_word)) + 1  # the first word of each page but the first
    scores[np.ix_(first, ~scheme.starts)] = NEVER
    scores[np.ix_(first - 1, ~scheme.ends)] = NEVER


def _roles(
    scores: NDArray[np.floating], lengths: NDArray[np.integer], scheme: TagScheme
) -> tuple[Scores, Scores, Scores, Scores, Scores]:
    """Take scores [B, W, T] apart into O [B, W] and B, I, E, S [B, W, K]; padding is O and costs nothing."""
    scores = np.asarray(scores, np.float64)
    padding = np.arange(scores.shape[1])[None] >= np.asarray(lengths)[:, None]
    outside = np.where(padding, 0.0, scores[:, :, 0])
    by_role = scores[:, :, 1:].reshape(*scores.shape[:2], len(scheme.entity_types), 4)
    by_role = np.where(padding[..., None, None], NEVER, by_role)
    begin, inside, end, single = (np.ascontiguousarray(by_role[..., i]) for i in range(4))
    return outside, begin, inside, end, single


def _log_sum(values: Scores) -> Scores:
    """Sum exponentials over the last axis."""
    if values.shape[-1] == 0:
        return np.full(values.shape[:-1], NEVER)
    top = values.max(axis=-1)
    safe = np.where(np.isfinite(top), top, 0.0)
    total: Scores = np.log(np.exp(values - safe[..., None]).sum(axis=-1)) + safe
    return total
