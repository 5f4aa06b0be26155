import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.pre_tokenizers import Whitespace

from encoding_inputs import UNUSUAL_WORDS, VOCABULARY
from formnet.encoding import load_tokenizer
from formnet.encoding.tokenizer import MAX_WORD_LENGTH, padding_id, tokenize_words, unknown_id
from formnet.errors import TokenizerError


def test_tokenize_words_unusual_words_have_at_least_one_token(bert_tokenizer: Tokenizer) -> None:
    tokens = tokenize_words(bert_tokenizer, UNUSUAL_WORDS)
    assert sorted(set(tokens.word_ids.tolist())) == list(range(len(UNUSUAL_WORDS)))
    assert (np.diff(tokens.word_ids) >= 0).all()
    assert (tokens.lengths >= 1).all()


@given(st.lists(st.sampled_from(["aab", "total", "totals", "x", "9.00", "中a", ""]), max_size=12))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_tokenize_words_repeated_words_equal_separate_calls(small_tokenizer: Tokenizer, words: list[str]) -> None:
    tokens = tokenize_words(small_tokenizer, words)
    separate = [tokenize_words(small_tokenizer, [word]) for word in words]
    assert tokens.ids.tolist() == [i for t in separate for i in t.ids.tolist()]
    assert tokens.lengths.tolist() == [n for t in separate for n in t.lengths.tolist()]
    assert tokens.word_ids.tolist() == [w for w, t in enumerate(separate) for _ in t.ids]


def test_load_tokenizer_files_and_directories_loads_without_truncation(small_vocabulary: Path, tmp_path: Path) -> None:
    from transformers import PreTrainedTokenizerFast

    vocabulary = {name: i for i, name in enumerate(VOCABULARY)}
    backend = Tokenizer(WordPiece(vocabulary, unk_token="[UNK]"))
    backend.pre_tokenizer = Whitespace()
    backend.enable_truncation(2)
    PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="[UNK]", pad_token="[PAD]").save_pretrained(tmp_path)
    for source in (small_vocabulary, small_vocabulary.parent, tmp_path, tmp_path / "tokenizer.json"):
        tokenizer = load_tokenizer(source)
        assert (unknown_id(tokenizer), padding_id(tokenizer)) == (1, 0)
        assert len(tokenize_words(tokenizer, ["a"] * 9).ids) == 9  # the saved truncation limit does not apply


def test_load_tokenizer_vocabulary_determines_casing(data: Path) -> None:
    cased = load_tokenizer(data / "vocab" / "bert-base-multilingual-cased-vocab.txt")
    uncased = load_tokenizer(data / "vocab" / "bert-base-uncased-vocab.txt")
    assert (cased.get_vocab_size(), uncased.get_vocab_size()) == (119_547, 30_522)
    assert tokenize_words(cased, ["Total"]).ids.tolist() != tokenize_words(cased, ["total"]).ids.tolist()
    assert tokenize_words(uncased, ["Total"]).ids.tolist() == tokenize_words(uncased, ["total"]).ids.tolist()


def test_load_tokenizer_invalid_source_raises(tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("just\nwords")
    (tmp_path / "bad.json").write_text(json.dumps({"model": 3}))
    (tmp_path / "empty").mkdir()
    shutil.copy(tmp_path / "words.txt", tmp_path / "binary.json")
    for source in ("words.txt", "bad.json", "binary.json", "empty"):
        with pytest.raises(TokenizerError, match=source):
            load_tokenizer(tmp_path / source)
    with pytest.raises(TokenizerError, match="no-such/model"):
        load_tokenizer("no-such/model")


def test_tokenize_words_long_word_is_truncated(tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text("[PAD]\n[UNK]\n.\n")
    tokens = tokenize_words(load_tokenizer(tmp_path / "vocab.txt"), ["." * 1_000_000, "."])
    assert np.bincount(tokens.word_ids).tolist() == [MAX_WORD_LENGTH, 1]
