from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from encoding_inputs import UNUSUAL_WORDS
from formnet.datasets import open_corpus
from formnet.document.builder import DocumentBuilder
from formnet.document.tags import TagScheme
from formnet.encoding import EncodedDocument, Encoder
from formnet.encoding.encoder import PAGE_GAP
from plain_documents import row_of_words


def check_word_mapping(encoded: EncodedDocument, num_words: int) -> None:
    assert encoded.num_words == num_words
    assert len(set(encoded.word_ids.tolist())) == num_words  # every word has a token
    tokens = [token for word in range(num_words) for token in encoded.word_to_tokens(word)]
    assert tokens == list(range(len(encoded)))  # tokens → words → tokens
    for word in range(num_words):
        assert (encoded.word_ids[list(encoded.word_to_tokens(word))] == word).all()


@given(st.lists(st.text(max_size=8) | st.sampled_from(UNUSUAL_WORDS), min_size=1, max_size=20))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_encoder_any_text_maps_tokens_to_words_and_back(small_tokenizer: Tokenizer, texts: list[str]) -> None:
    document = row_of_words([text if text.strip() else "x" for text in texts])
    check_word_mapping(Encoder(small_tokenizer)(document), len(texts))


def test_encoder_divides_word_boxes_by_characters(small_tokenizer: Tokenizer) -> None:
    builder = DocumentBuilder("form")
    builder.add_page(["totals", "9.00"], [[0, 0, 60, 10], [100, 20, 140, 30]], 500, 1000)
    encoded = Encoder(small_tokenizer)(builder.build())
    assert encoded.token_boxes.tolist() == [
        [0, 0, 50, 10],
        [50, 0, 60, 10],
        [100, 20, 110, 30],
        [110, 20, 120, 30],
        [120, 20, 130, 30],
        [130, 20, 140, 30],
    ]
    assert encoded.first_token.tolist() == [0, 2]


def test_encoder_join_cells_encodes_the_lines_of_a_cell_together(small_tokenizer: Tokenizer) -> None:
    builder = DocumentBuilder("invoice")
    boxes = [[0, 0, 30, 10], [45, 0, 55, 10], [70, 0, 90, 10], [0, 12, 30, 22]]
    builder.add_page(["first", "1", "9.00", "second"], boxes, 100, 100)
    builder.add_entity("item", [0, 3])
    builder.add_entity("price", [2])
    document = builder.build()
    scheme = TagScheme.from_documents([document])
    encoded = Encoder(small_tokenizer, scheme, join_cells=True)(document)
    assert encoded.tags is not None
    assert [scheme.names[tag] for tag in encoded.tags] == ["B-item", "E-item", "O", "S-price"]
    assert encoded.token_boxes[encoded.first_token, 1].tolist() == pytest.approx([0, 120, 0, 0])


def test_encoder_several_pages_stacks_boxes_and_separates_graphs(small_tokenizer: Tokenizer) -> None:
    encoded = Encoder(small_tokenizer)(row_of_words(["a", "b", "total"], pages=3))
    tops = encoded.token_boxes[::3, 1]
    assert np.diff(tops).tolist() == pytest.approx([tops[1] - tops[0]] * 2)
    assert tops[1] - tops[0] >= PAGE_GAP
    page = np.arange(9) // 3
    for word, row in enumerate(encoded.neighbors):
        assert (page[row[row >= 0]] == page[word]).all()
        assert (row >= 0).any()


def test_encoder_eleven_thousand_words_are_not_truncated(data: Path, bert_tokenizer: Tokenizer) -> None:
    longest = max(open_corpus(f"adbuy:{data}/adbuy@test"), key=lambda document: document.num_words)
    assert longest.num_words > 11_000
    encoded = Encoder(bert_tokenizer)(longest)
    assert len(encoded) >= longest.num_words
    check_word_mapping(encoded, longest.num_words)
    assert (
        np.diff(encoded.token_boxes[encoded.first_token][np.flatnonzero(np.diff(longest.page_of_word)), 1]) > 0
    ).all()
