import warnings
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
from formnet.document.tags import Span, TagScheme
from formnet.evaluation import entity_counts, word_counts
from formnet.evaluation.counts import sum_counts
from formnet.evaluation.entities import entity_spans, gold_spans
from formnet.evaluation.evaluate import predict_and_compare
from formnet.extraction.extractor import Extractor
from random_spans import SCHEME, random_spans

#: Gold spans, predicted spans and the number of words.
Case = tuple[list[Span], list[Span], int]


def make_cases(data: Path) -> list[Case]:
    """Return random spans, and FUNSD's spans with errors of all kinds."""
    generator = np.random.default_rng(5)
    cases = []
    for _ in range(40):
        words = int(generator.integers(0, 60))
        gold = random_spans(generator, words)
        predicted = [span for span in gold if generator.random() < 0.7] if generator.random() < 0.7 else []
        cases.append((gold, predicted or random_spans(generator, words), words))
    for document in open_corpus(f"funsd:{data / 'funsd'}@test"):
        gold = gold_spans(document, SCHEME)
        predicted = [_with_error(span, generator) for span in gold if generator.random() < 0.9]
        cases.append((gold, [span for span in predicted if span.stop > span.start], document.num_words))
    return cases


def _with_error(span: Span, generator: np.random.Generator) -> Span:
    value = generator.random()
    if value < 0.1:
        return span._replace(label=SCHEME.entity_types[generator.integers(3)])
    return span._replace(stop=span.stop - 1) if value < 0.2 else span


@pytest.mark.slow
def test_entity_counts_match_seqeval_and_nervaluate(data: Path) -> None:
    assert_others_agree(make_cases(data), SCHEME)
    receipts = list(islice(open_corpus(f"cord:{data / 'cord'}@test"), 20))
    results, scheme, _ = predict_and_compare(Extractor.from_pretrained("receipts"), receipts)
    cases = [(list(result.gold), entity_spans(result.predicted), result.document.num_words) for result in results]
    assert_others_agree(cases, scheme)


def assert_others_agree(cases: list[Case], scheme: TagScheme) -> None:
    counts = sum_counts(entity_counts(gold, predicted) for gold, predicted, _ in cases)
    gold, predicted = ([[scheme.names[tag] for tag in scheme.tags(case[i], case[2])] for case in cases] for i in (0, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        strict: dict[str, Any] = {"mode": "strict", "scheme": IOBES}
        theirs = [
            f(gold, predicted, **strict) for f in (metrics.precision_score, metrics.recall_score, metrics.f1_score)
        ]
        by_type = metrics.classification_report(gold, predicted, output_dict=True, **strict)
        macro = metrics.f1_score(gold, predicted, average="macro", **strict)
    assert np.allclose(counts.micro.score, theirs)
    assert np.isclose(counts.macro_f1, macro)
    for label, tally in counts.by_type.items():
        row = by_type.get(label, {"precision": 0.0, "recall": 0.0, "f1-score": 0.0, "support": 0})
        assert np.allclose(tally.score, (row["precision"], row["recall"], row["f1-score"]))
        assert tally.gold == row["support"]
    as_dicts = [
        [[{"label": s.label, "start": s.start, "end": s.stop - 1} for s in case[i]] for case in cases] for i in (0, 1)
    ]
    evaluated = nervaluate.Evaluator(*as_dicts, tags=list(scheme.entity_types), loader="dict").evaluate()
    result = evaluated["overall"]["strict"]
    assert np.allclose(counts.micro.score, (result.precision, result.recall, result.f1))


@given(st.integers(0, 10_000))
def test_entity_counts_f1_is_one_only_for_equal_spans(seed: int) -> None:
    generator = np.random.default_rng(seed)
    gold, predicted = random_spans(generator, 20), random_spans(generator, 20)
    score = entity_counts(gold, predicted).micro.score
    assert all(0 <= share <= 1 for share in score)
    assert (score.f1 == 1) == (set(gold) == set(predicted) and bool(gold))
    perfect = entity_counts(gold, gold).micro.score
    assert perfect.f1 == (1.0 if gold else 0.0)
    words = word_counts(gold, predicted).micro
    assert words.gold == sum(s.stop - s.start for s in gold)
