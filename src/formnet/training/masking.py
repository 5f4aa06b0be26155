"""The masked language task: some pieces are hidden, and the network says what they were (Devlin et al., 2018)."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from formnet.encoding import EncodedDocument
from formnet.encoding.collate import IGNORED_TAG
from formnet.encoding.tokenizer import mask_id

#: Of what is to be guessed, so much is hidden and so much replaced by something else; the rest stays as it is.
HIDDEN, REPLACED = 0.8, 0.1


class Masker:
    """Hides pieces, whole words at a time if asked."""

    def __init__(self, tokenizer: Tokenizer, share: float = 0.15, *, whole_words: bool = True) -> None:
        self.mask_id, self.share, self.whole_words = mask_id(tokenizer), share, whole_words
        self.vocabulary = tokenizer.get_vocab_size()

    def __call__(
        self, document: EncodedDocument, generator: np.random.Generator
    ) -> tuple[EncodedDocument, NDArray[np.int64]]:
        """Give the document with pieces hidden, and what is to be guessed: [P], −100 where nothing is."""
        unit = document.piece_word if self.whole_words else np.arange(len(document))
        count = document.num_words if self.whole_words else len(document)
        asked = generator.random(count) < self.share
        if count and not asked.any():
            asked[generator.integers(count)] = True
        fate = generator.random(count)
        hidden = (asked & (fate < HIDDEN))[unit]
        replaced = (asked & (fate >= HIDDEN) & (fate < HIDDEN + REPLACED))[unit]
        anything = generator.integers(self.vocabulary, size=len(document))
        ids = np.where(hidden, self.mask_id, np.where(replaced, anything, document.piece_ids))
        labels = np.where(asked[unit], document.piece_ids, IGNORED_TAG)
        return replace(document, piece_ids=ids), labels
