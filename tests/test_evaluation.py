import warnings
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import nervaluate
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from seqeval import metrics
from seqeval.scheme import IOBES

from formnet.datasets import open_corpus
from formnet.document import Document, Entity
from formnet.document.builder import DocumentBuilder
from formnet.document.tags import Span, TagScheme
from formnet.evaluation import entity_counts, field_counts, word_counts
from formnet.evaluation.calibration import fit_temperature, passing_share, reliability
from formnet.evaluation.counts import Counts, bootstrap, sum_counts
from formnet.evaluation.entities import gold_spans, spans_of
from formnet.evaluation.evaluate import DocumentResult, judge, unknown_labels
from formnet.evaluation.fields import best_values, right_entities, same_value
from formnet.extraction.decoding import decode
from formnet.extraction.extractor import Extractor

SCHEME = TagScheme(("header", "question", "answer"))


def test_a_value_is_missed_once_and_found_anywhere() -> None:
    builder = DocumentBuilder("a")
    builder.add_page(list("abcdef"), [[i, 0, i + 1, 1] for i in range(6)], 6, 1)
    places = [Span("total", 1, 2), Span("total", 4, 5), Span("date", 0, 1), Span("date", 3, 4), Span("line", 5, 6)]
    document = builder.build({"total": "b", "date": "a"})
    found = [Entity("total", "e", (4,), 0, ()), Entity("date", "c", (2,), 0, ())]
    one = DocumentResult(document, found, places)
    assert one.missed == {Span("date", 0, 1), Span("line", 5, 6)}
    assert one.counts.micro.right == 1
    assert one.counts.micro.gold == 3


def random_spans(generator: np.random.Generator, words: int) -> list[Span]:
    spans, at = [], 0
    while at < words:
        length = int(generator.integers(1, 4))
        if generator.random() < 0.6 and at + length <= words:
            spans.append(Span(SCHEME.entity_types[generator.integers(3)], at, at + length))
        at += length
    return spans


#: What there is, what was found, and how many words.
Pair = tuple[list[Span], list[Span], int]


def pairs(data: Path) -> list[Pair]:
    """Gold and predicted spans: random ones, and FUNSD's with errors of all kinds."""
    generator = np.random.default_rng(5)
    made = []
    for _ in range(40):
        words = int(generator.integers(0, 60))
        gold = random_spans(generator, words)
        found = [span for span in gold if generator.random() < 0.7] if generator.random() < 0.7 else []
        made.append((gold, found or random_spans(generator, words), words))
    for document in open_corpus(f"funsd:{data / 'funsd'}@test"):
        gold = gold_spans(document, SCHEME)
        found = [_err(span, generator) for span in gold if generator.random() < 0.9]
        made.append((gold, [span for span in found if span.stop > span.start], document.num_words))
    return made


def _err(span: Span, generator: np.random.Generator) -> Span:
    dice = generator.random()
    if dice < 0.1:
        return span._replace(label=SCHEME.entity_types[generator.integers(3)])
    return span._replace(stop=span.stop - 1) if dice < 0.2 else span


def test_the_metric_agrees_with_seqeval_and_nervaluate(data: Path) -> None:
    assert_others_count_so(pairs(data), SCHEME)
    receipts = list(islice(open_corpus(f"cord:{data / 'cord'}@test"), 20))
    judged, scheme = judge(Extractor.from_pretrained("receipts"), receipts)
    found = [(list(one.gold), spans_of(one.found), one.document.num_words) for one in judged]
    assert_others_count_so(found, scheme)


def assert_others_count_so(both: list[Pair], scheme: TagScheme) -> None:
    counts = sum_counts(entity_counts(gold, found) for gold, found, _ in both)
    gold, found = ([[scheme.names[tag] for tag in scheme.tags(pair[i], pair[2])] for pair in both] for i in (0, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        strict: dict[str, Any] = {"mode": "strict", "scheme": IOBES}
        theirs = [f(gold, found, **strict) for f in (metrics.precision_score, metrics.recall_score, metrics.f1_score)]
        by_type = metrics.classification_report(gold, found, output_dict=True, **strict)
        macro = metrics.f1_score(gold, found, average="macro", **strict)
    assert np.allclose(counts.micro.score, theirs)
    assert np.isclose(counts.macro_f1, macro)
    for label, tally in counts.by_type.items():
        row = by_type.get(label, {"precision": 0.0, "recall": 0.0, "f1-score": 0.0, "support": 0})
        assert np.allclose(tally.score, (row["precision"], row["recall"], row["f1-score"]))
        assert tally.gold == row["support"]
    as_dicts = [
        [[{"label": s.label, "start": s.start, "end": s.stop - 1} for s in pair[i]] for pair in both] for i in (0, 1)
    ]
    judged = nervaluate.Evaluator(*as_dicts, tags=list(scheme.entity_types), loader="dict").evaluate()
    result = judged["overall"]["strict"]
    assert np.allclose(counts.micro.score, (result.precision, result.recall, result.f1))


@given(st.integers(0, 10_000))
def test_scores_are_shares_and_perfect_only_when_all_is_right(seed: int) -> None:
    generator = np.random.default_rng(seed)
    gold, found = random_spans(generator, 20), random_spans(generator, 20)
    score = entity_counts(gold, found).micro.score
    assert all(0 <= share <= 1 for share in score)
    assert (score.f1 == 1) == (set(gold) == set(found) and bool(gold))
    perfect = entity_counts(gold, gold).micro.score
    assert perfect.f1 == (1.0 if gold else 0.0)
    words = word_counts(gold, found).micro
    assert words.gold == sum(s.stop - s.start for s in gold)


def test_the_interval_holds_the_score_and_narrows_with_documents() -> None:
    generator = np.random.default_rng(0)

    def documents(count: int) -> list[Counts]:
        made = []
        for _ in range(count):
            gold = random_spans(generator, 40)
            made.append(entity_counts(gold, [span for span in gold if generator.random() < 0.8]))
        return made

    few, many = documents(10), documents(400)
    for counts in (few, many):
        low, high = bootstrap(counts)
        assert low <= sum_counts(counts).micro.score.f1 <= high
    widths = [high - low for low, high in (bootstrap(few), bootstrap(many))]
    assert widths[1] < widths[0] / 2
    assert bootstrap([]) == (0.0, 0.0)


# Fields


@pytest.mark.parametrize(
    ("keyed", "found", "same"),
    [
        ("$290.00", "290.00", True),
        ("$1,290.00", "1290", True),
        ("290", "$290.00", True),
        ("$290.00", "$29.00", False),
        ("03/27/20", "27 March 2020", True),
        ("03/27/20", "2020-03-28", False),
        ("03/27/20", "someday", False),
        ("Committee to Elect Mike Carr", "COMMITTEE TO ELECT MIKE CARR.", True),
        ("Committee to Elect", "Committee", False),
        ("2436316-1", "2436316 - 1", True),
        ("14086", "014086", False),
        ("---", "...", False),
    ],
)
def test_values_are_compared_by_what_they_say(keyed: str, found: str, same: bool) -> None:
    assert same_value(keyed, found) is same


def receipt(**fields: str) -> Document:
    builder = DocumentBuilder("receipt")
    builder.add_page(["Total", "9.00"], [[0, 0, 10, 10], [20, 0, 30, 10]], 40, 40)
    return builder.build(fields)


def entity(label: str, text: str, score: float) -> Entity:
    return Entity(label, text, (1,), 0, ((20, 0, 30, 10),), score)


def test_fields_count_once_and_the_likeliest_value_counts() -> None:
    found = [entity("total", "1.00", 0.2), entity("total", "RM9.00", 0.9), entity("date", "1/2/2020", 0.5)]
    assert best_values(found, ("total", "date")) == {"total": "RM9.00", "date": "1/2/2020"}
    score = field_counts([receipt(total="9.00", company="X")], [found], ("total", "date", "company"))
    by_meaning, exact = sum_counts(score.by_document), sum_counts(score.exact_by_document)
    assert (by_meaning.micro.gold, by_meaning.micro.found, by_meaning.micro.right) == (2, 2, 1)
    assert exact.micro.right == 0


def test_what_was_not_keyed_in_counts_as_it_was_marked() -> None:
    marked = receipt()
    marked = replace(marked, entities=(marked.entity("total", [1]),))
    found = [[entity("total", "9.00", 0.9)], [entity("total", "9.00", 0.9)]]
    score = field_counts([receipt(total="9.00"), marked], found, ("total",))
    assert sum_counts(score.by_document).micro.score.f1 == 1
    both = replace(marked, fields={"date": "x"})
    assert (
        sum_counts(field_counts([receipt(total="9.00"), both], found, ("total", "date")).by_document).micro.right == 2
    )
    wrong = [[entity("total", "9.00", 0.9)], [replace(entity("total", "Total", 0.9), words=(0,))]]
    assert sum_counts(field_counts([receipt(total="9.00"), marked], wrong, ("total",)).by_document).micro.right == 1


def test_labels_that_a_model_does_not_know_are_counted() -> None:
    document = receipt(total="9.00", shop="Elm")
    document = replace(document, entities=(document.entity("tip", [0]), document.entity("tip", [1])))
    assert unknown_labels([DocumentResult(document, [], [])], {"total"}) == {"tip": 1, "shop": 1}


def test_dates_with_points_are_dates() -> None:
    assert same_value("2018-03-25", "25.03.18")
    assert not same_value("2018-03-25", "26.03.18")


def test_an_entity_is_right_where_it_says_what_was_keyed_in() -> None:
    builder = DocumentBuilder("one")
    builder.add_page(["9.00", "RM", "9.00", "8.00", "Elm"], [[0, i, 10, i + 1] for i in range(5)], 10, 5)
    builder.add_entity("shop", [4])
    document = builder.build({"total": "9.00"})
    found = [document.entity("total", [0]), document.entity("total", [1, 2]), document.entity("total", [3])]
    found += [document.entity("shop", [4]), document.entity("shop", [3, 4])]
    assert right_entities(document, found, TagScheme(("shop", "total"))) == [True, True, False, True, False]


# Calibration


def test_reliability_is_exact_on_known_bins() -> None:
    result = reliability([0.95] * 10 + [0.15] * 10, [True] * 9 + [False] + [True] * 5 + [False] * 5)
    assert result.count.tolist() == [0, 10, 0, 0, 0, 0, 0, 0, 0, 10]
    assert np.isclose(result.ece, (0.05 * 10 + 0.35 * 10) / 20)
    assert reliability([], []).ece == 0.0
    assert reliability([1.0], [True]).ece == 0.0


def test_the_temperature_that_spoilt_scores_is_found() -> None:
    generator = np.random.default_rng(0)
    count, scheme = 4000, TagScheme(("a",))
    builder = DocumentBuilder("one")
    builder.add_page(["w"] * count, [[0, i, 10, i + 1] for i in range(count)], 10, count)
    scores = np.full((count, len(scheme)), -np.inf)  # only O and S: every word stands for itself
    scores[:, 0], scores[:, 4] = 0.0, generator.normal(0, 2, count)
    there = generator.random(count) < 1 / (1 + np.exp(-scores[:, 4]))
    bare = builder.build()
    document = replace(bare, entities=tuple(bare.entity("a", [int(i)]) for i in np.flatnonzero(there)))
    assert np.isclose(fit_temperature([scores * 3], [document], scheme), 3, rtol=0.15)
    assert fit_temperature([scores], [bare], scheme) == 1.0


def test_no_temperature_wins_by_leaving_nothing_to_be_wrong() -> None:
    generator = np.random.default_rng(0)
    scheme = TagScheme(tuple("abcdefgh"))
    builder = DocumentBuilder("one")
    builder.add_page(["w"] * 800, [[0, i, 10, i + 1] for i in range(800)], 10, 800)
    bare = builder.build()
    placed = [bare.entity("a", range(i, i + 4)) for i in range(0, 800, 8)]
    scores = scheme.document_tags(replace(bare, entities=tuple(placed)))
    scores = 6.0 * np.eye(len(scheme))[scores] + generator.normal(0, 1, (800, len(scheme)))
    right = replace(bare, entities=tuple(entity for entity in placed if generator.random() < 0.8))
    temperature = fit_temperature([scores], [right], scheme)
    assert decode(scores[None] / temperature, [bare], scheme)[0]
    assert temperature < 3
    assert 0.7 < fit_temperature([scores[:8]], [first_words(right, 8)], scheme) < 1.5  # one entity says little


def first_words(document: Document, count: int) -> Document:
    builder = DocumentBuilder(document.id)
    builder.add_page(document.texts[:count], document.boxes[:count].tolist(), 10, 800)
    bare = builder.build()
    return replace(bare, entities=tuple(e for e in document.entities if max(e.words) < count))


def test_the_share_that_passes_keeps_the_precision() -> None:
    probabilities = [0.99, 0.9, 0.8, 0.7]
    assert passing_share(probabilities, [True, True, False, True], 0.99) == (0.9, 0.5)
    assert passing_share(probabilities, [False] * 4) == (1.0, 0.0)
    assert passing_share([], []) == (1.0, 0.0)
    # What no threshold can tell apart passes together or not at all.
    assert passing_share([1.0, 1.0, 0.5], [True, False, True]) == passing_share([1.0, 1.0, 0.5], [False, True, True])
    assert passing_share([1.0, 1.0, 0.5], [True, False, True]) == (1.0, 0.0)
