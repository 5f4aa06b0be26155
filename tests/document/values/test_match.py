from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from formnet.datasets import open_corpus
from formnet.document import Document
from formnet.document.builder import DocumentBuilder
from formnet.document.values.match import is_attainable, values_match
from formnet.document.values.parse import MAX_PARSED_LENGTH, fold


@pytest.mark.parametrize(
    ("gold", "predicted", "same"),
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
def test_values_match_compares_parsed_values(gold: str, predicted: str, same: bool) -> None:
    assert values_match(gold, predicted) is same


def test_values_match_dates_with_points_match() -> None:
    assert values_match("2018-03-25", "25.03.18")
    assert not values_match("2018-03-25", "26.03.18")


@pytest.mark.parametrize(
    ("value", "attainable"),
    [
        ("Elm Street 9", True),
        ("elm street", True),
        ("street-9", True),
        ("Elm 9", False),
        ("RM 1,234.50", True),
        ("1234.5", True),
        ("234.50", False),
        ("2018-03-21", True),
        ("2018-03-22", False),
        ("Street 9 RM", False),
        ("--", False),
    ],
)
def test_is_attainable_needs_consecutive_words_of_a_page(value: str, attainable: bool) -> None:
    builder = DocumentBuilder("receipt")
    for texts in (["Elm", "-", "Street", "9"], ["RM", "1234.50", "21", "March", "2018"]):
        builder.add_page(texts, [[0, i, 10, i + 1] for i in range(len(texts))], 10, len(texts))
    assert is_attainable(builder.build(), value) is attainable


def all_runs(document: Document, value: str) -> Iterator[str]:
    """Yield all consecutive words, except those that are too long to be parsed and differ in length if folded."""
    length = len(fold(value))
    for page in document.pages:
        texts = page.texts
        folded_ends = np.cumsum([0, *(len(fold(text)) for text in texts)])
        joined_ends = np.cumsum([0, *(len(text) + 1 for text in texts)])
        folded, joined = (np.subtract.outer(ends, ends).T for ends in (folded_ends, joined_ends))
        for start, stop in np.argwhere(np.triu((folded == length) | (joined - 1 <= MAX_PARSED_LENGTH), 1)).tolist():
            yield " ".join(texts[start:stop])


@pytest.mark.slow
def test_is_attainable_sroie_test_equals_comparison_with_all_runs(data: Path) -> None:
    missing: Counter[str] = Counter()
    for document in open_corpus(f"sroie:{data}/sroie@test"):
        for name, value in document.fields.items():
            expected = any(values_match(value, run) for run in {*all_runs(document, value)})
            assert is_attainable(document, value) is expected, (document.id, value)
            missing[name] += not expected
    assert missing.total() == 27
