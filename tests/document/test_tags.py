from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from formnet.document.builder import DocumentBuilder
from formnet.document.tags import Span, TagScheme, contiguous_runs
from formnet.errors import LabelError

SCHEME = TagScheme(("header", "question", "answer"))


@st.composite
def spans_and_length(draw: st.DrawFn) -> tuple[list[Span], int]:
    spans, position = [], 0
    for gap, length, label in draw(
        st.lists(st.tuples(st.integers(0, 3), st.integers(1, 4), st.sampled_from(SCHEME.entity_types)))
    ):
        spans.append(Span(label, position + gap, position + gap + length))
        position += gap + length
    return spans, position + draw(st.integers(0, 3))


@given(spans_and_length())
def test_tags_then_spans_returns_same_spans(case: tuple[list[Span], int]) -> None:
    spans, length = case
    tags = SCHEME.tags(spans, length)
    assert SCHEME.is_legal(tags)
    assert SCHEME.spans(tags) == spans


@given(st.lists(st.integers(0, len(SCHEME) - 1), max_size=6))
def test_spans_then_tags_returns_same_tags_or_raises(tags: list[int]) -> None:
    array = np.array(tags, np.int64)
    if SCHEME.is_legal(array):
        assert SCHEME.tags(SCHEME.spans(array), len(tags)).tolist() == tags
    else:
        with pytest.raises(LabelError, match="decode with constraints"):
            SCHEME.spans(array)


def test_transitions_follow_bioes_rules() -> None:
    def may_follow(before: str, after: str) -> bool:
        is_open = before[0] in "BI"
        if is_open:
            return after[0] in "IE" and before[2:] == after[2:]
        return after[0] in "OBS"

    for i, before in enumerate(SCHEME.names):
        for j, after in enumerate(SCHEME.names):
            assert SCHEME.transitions[i, j] == may_follow(before, after), (before, after)
    assert [n for n, legal in zip(SCHEME.names, SCHEME.starts, strict=True) if legal] == [
        n for n in SCHEME.names if n[0] in "OBS"
    ]
    assert [n for n, legal in zip(SCHEME.names, SCHEME.ends, strict=True) if legal] == [
        n for n in SCHEME.names if n[0] in "OES"
    ]


@given(st.lists(st.integers(0, len(SCHEME) - 1), min_size=1, max_size=8))
def test_is_legal_requires_legal_start_end_and_transitions(tags: list[int]) -> None:
    legal_transitions = all(SCHEME.transitions[a, b] for a, b in pairwise(tags))
    assert SCHEME.is_legal(np.array(tags)) == bool(
        SCHEME.starts[tags[0]] and SCHEME.ends[tags[-1]] and legal_transitions
    )


def test_tags_inconsistent_spans_raises() -> None:
    with pytest.raises(LabelError, match="overlaps"):
        SCHEME.tags([Span("answer", 0, 2), Span("answer", 1, 3)], 3)
    with pytest.raises(LabelError, match="within 3 words"):
        SCHEME.tags([Span("answer", 2, 4)], 3)
    with pytest.raises(LabelError, match="'total' is not among"):
        SCHEME.tags([Span("total", 0, 1)], 3)
    with pytest.raises(LabelError, match="distinct"):
        TagScheme(("a", "a"))


def test_document_tags_scattered_entity_is_split_and_untagged_labels_omitted() -> None:
    builder = DocumentBuilder("form")
    builder.add_page(list("abcd"), [[i, 0, i + 1, 1] for i in range(4)], 9, 9)
    builder.add_entity("answer", [3, 0, 1])
    builder.add_entity("other", [2])
    document = builder.build()
    assert contiguous_runs(document.entities[0]) == [Span("answer", 0, 2), Span("answer", 3, 4)]
    scheme = TagScheme(("answer",), untagged=("other",))
    assert [scheme.names[t] for t in scheme.document_tags(document)] == ["B-answer", "E-answer", "O", "S-answer"]
    with pytest.raises(LabelError, match=r"'form'.*other"):
        TagScheme(("answer",)).document_tags(document)
    assert TagScheme.from_documents([document]).entity_types == ("answer", "other")
