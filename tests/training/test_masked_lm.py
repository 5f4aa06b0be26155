from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer

from formnet.document import Document
from formnet.encoding import Encoder, load_tokenizer
from formnet.errors import TokenizerError
from formnet.training.masked_lm import Masker


@pytest.fixture(scope="session")
def tokenizer(vocabulary: Path) -> Tokenizer:
    return load_tokenizer(vocabulary)


@pytest.mark.parametrize("whole_words", [True, False])
def test_masker_masks_share_and_returns_labels(
    documents: list[Document], tokenizer: Tokenizer, whole_words: bool
) -> None:
    encoded = Encoder(tokenizer)(documents[1])
    masker = Masker(tokenizer, 0.3, whole_words=whole_words)
    shares = []
    for seed in range(60):
        masked, labels = masker(encoded, np.random.default_rng(seed))
        predicted = labels >= 0
        assert (labels[predicted] == encoded.token_ids[predicted]).all()
        assert (masked.token_ids[~predicted] == encoded.token_ids[~predicted]).all()
        if whole_words:
            by_word = [set(predicted[list(encoded.word_to_tokens(word))].tolist()) for word in range(encoded.num_words)]
            assert all(len(values) == 1 for values in by_word)
        shares.append((predicted.mean(), (masked.token_ids[predicted] == masker.mask_id).mean()))
    predicted_share, masked_share = np.mean(shares, axis=0)
    assert abs(predicted_share - 0.3) < 0.03
    assert abs(masked_share - 0.8) < 0.05


def test_masker_without_mask_token_raises(tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text("[PAD]\n[UNK]\na")
    with pytest.raises(TokenizerError, match="MASK"):
        Masker(load_tokenizer(tmp_path))
