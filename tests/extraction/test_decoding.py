import time
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formnet.document.builder import DocumentBuilder
from formnet.document.tags import Span, TagScheme
from formnet.errors import LabelError
from formnet.extraction.decoding import best_spans, decode, span_probability, viterbi
from formnet.modeling.crf import forward_backward

SCHEME = TagScheme(("a", "b"))


def legal_paths(scores: np.ndarray, scheme: TagScheme) -> list[tuple[float, tuple[int, ...]]]:
    """Enumerate all legal tag paths with their scores."""
    paths = product(range(len(scheme)), repeat=len(scores))
    return [
        (sum(scores[w, t] for w, t in enumerate(path)), path) for path in paths if scheme.is_legal(np.array(path, int))
    ]


@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.floats(0.1, 30))
@settings(max_examples=60, deadline=None)
def test_decoding_equals_enumeration_of_paths(seed: int, words: int, scale: float) -> None:
    generator = np.random.default_rng(seed)
    lengths = np.array([words, generator.integers(1, words + 1)])
    scores = generator.normal(0, scale, (2, words, len(SCHEME)))
    best, lattice = viterbi(scores, lengths), forward_backward(scores, np.arange(words) < lengths[:, None])
    marginals = lattice.marginals()
    for b, length in enumerate(lengths.tolist()):
        paths = legal_paths(scores[b, :length], SCHEME)
        top, path = max(paths)
        assert tuple(best[b].tolist()) == path
        total = np.logaddexp.reduce([score for score, _ in paths])
        assert lattice.log_total[b] == pytest.approx(total, abs=1e-9)
        expected = np.zeros((length, len(SCHEME)))
        spans: dict[Span, float] = {}
        for score, path in paths:
            probability = np.exp(score - total)
            expected[np.arange(length), list(path)] += probability
            for span in SCHEME.spans(np.array(path)):
                spans[span] = spans.get(span, 0.0) + probability
        assert marginals[b, :length] == pytest.approx(expected, abs=1e-9)
        for span, probability in spans.items():
            assert span_probability(lattice, b, span, SCHEME) == pytest.approx(probability, abs=1e-9)
        assert top == pytest.approx(sum(scores[b, w, t] for w, t in enumerate(best[b])))
        log, start = best_spans(lattice)
        for word, (kind, label) in product(range(length), enumerate(SCHEME.entity_types)):
            highest = max(p for span, p in spans.items() if span.label == label and span.stop == word + 1)
            assert np.exp(log[b, word, kind]) == pytest.approx(highest, abs=1e-9)
            chosen = Span(label, int(start[b, word, kind]), word + 1)
            assert spans[chosen] == pytest.approx(highest, abs=1e-9)


@pytest.mark.slow
def test_decoding_hundred_thousand_words_is_fast_and_legal() -> None:
    scheme = TagScheme(tuple("abcdef"))
    scores = np.random.default_rng(0).normal(0, 3, (1, 100_000, len(scheme)))
    start = time.process_time()
    (path,) = viterbi(scores, np.array([100_000]))
    lattice = forward_backward(scores, np.ones((1, 100_000), np.bool_))
    assert time.process_time() - start < 60
    assert scheme.is_legal(path)
    assert np.isfinite(lattice.log_total).all()
    assert lattice.forward[:, -1] == pytest.approx(lattice.backward[:, 0])
    assert lattice.marginals().sum(-1) == pytest.approx(1.0)


def test_decode_entities_never_cross_page_break() -> None:
    builder = DocumentBuilder("form")
    for _ in range(2):
        builder.add_page(["x", "y"], [[0, 0, 4, 4], [5, 0, 9, 4]], 10, 10)
    document = builder.build()
    scores = np.zeros((1, 5, len(SCHEME)))
    tags = ["O", "B-a", "E-a", "S-b"]
    for word, tag in enumerate(tags):
        scores[0, word, SCHEME.names.index(tag)] = 6
    (entities,) = decode(scores, [document], SCHEME)
    assert all(e.page == (0 if max(e.words) < 2 else 1) for e in entities)
    assert ("b", (3,)) in [(e.label, e.words) for e in entities]
    assert all(0 < e.score <= 1 for e in entities)  # type: ignore[operator]
    with pytest.raises(LabelError, match="do not fit"):
        decode(scores[..., 1:], [document], SCHEME)


def test_decode_high_scores_give_probability_one() -> None:
    builder = DocumentBuilder("form")
    builder.add_page(list("wxyz"), [[i * 5, 0, i * 5 + 4, 4] for i in range(4)], 30, 10)
    scores = np.zeros((1, 4, len(SCHEME)))
    for word, tag in enumerate(["B-a", "I-a", "E-a", "O"]):
        scores[0, word, SCHEME.names.index(tag)] = 40
    ((entity,),) = decode(scores, [builder.build()], SCHEME)
    assert (entity.label, entity.words, entity.text) == ("a", (0, 1, 2), "w x y")
    assert entity.score == pytest.approx(1.0)


def test_decode_single_value_returns_most_probable_value() -> None:
    builder = DocumentBuilder("receipt")
    builder.add_page(["9.00", "8.00", "9.00", "Elm", "."], [[i * 5, 0, i * 5 + 4, 4] for i in range(5)], 30, 10)
    document = builder.build()
    scores = np.full((1, 7, len(SCHEME)), -30.0)  # two words of padding
    scores[0, :, 0] = 0
    for word, probability in ((0, 0.4), (1, 0.48), (2, 0.38)):  # all below one half
        scores[0, word, SCHEME.names.index("S-a")] = np.log(probability / (1 - probability))
    scores[0, 3, SCHEME.names.index("S-b")] = np.log(0.2 / 0.8)  # below the minimum
    assert decode(scores - 1e-6 * np.arange(len(SCHEME)), [document], SCHEME) == [[]]
    ((entity,),) = decode(scores, [document], SCHEME, single_value=True, label_all_occurrences=True)
    assert (entity.label, entity.text, entity.score) == ("a", "8.00", pytest.approx(0.48))
    ((entity,),) = decode(scores, [document], SCHEME, single_value=True)  # two occurrences of one value add up
    assert (entity.label, entity.text, entity.words, entity.score) == ("a", "9.00", (0,), pytest.approx(0.78))
    scores[0, 3, SCHEME.names.index("S-b")] = scores[0, 3, SCHEME.names.index("S-a")] = np.log(0.45 / 0.1)
    assert len(decode(scores, [document], SCHEME, single_value=True)[0]) == 2  # values do not share words
    assert decode(scores[:, :0], [DocumentBuilder("empty").build()], SCHEME, single_value=True) == [[]]


def test_decode_single_value_label_missing_on_best_path_is_its_most_probable_value() -> None:
    builder = DocumentBuilder("receipt")
    words = ["Total", "9.00", "8.00", "9.00", "Elm"]
    builder.add_page(words, [[i * 5, 0, i * 5 + 4, 4] for i in range(5)], 30, 10)
    document = builder.build()
    scores = np.full((1, 5, len(SCHEME)), -30.0)
    scores[0, :, 0] = 0
    scores[0, 2, SCHEME.names.index("S-a")] = np.log(0.35 / 0.65)  # none is on the best path
    scores[0, 3, SCHEME.names.index("S-a")] = np.log(0.25 / 0.75)
    begin, end = (SCHEME.names.index(name) for name in ("B-a", "E-a"))
    scores[0, 0, begin] = scores[0, 1, end] = np.log(0.2 / 0.8) / 2
    scores[0, 4, SCHEME.names.index("S-b")] = 6
    ((other,),) = decode(scores, [document], SCHEME, single_value_labels=["b"])
    assert other.label == "b"
    (entities,) = decode(scores, [document], SCHEME, single_value_labels=["a", "b"])
    assert [(e.label, e.text) for e in entities] == [("a", "9.00"), ("b", "Elm")]  # with and without caption
    assert entities[0].score == pytest.approx(0.45, abs=0.01)
    scores[0, 2, SCHEME.names.index("S-b")] = 8  # the label has a value, and "8.00" another label
    (entities,) = decode(scores, [document], SCHEME, single_value_labels=["a", "b"])
    assert [(e.label, e.text) for e in entities] == [("b", "8.00"), ("a", "9.00"), ("b", "Elm")]
