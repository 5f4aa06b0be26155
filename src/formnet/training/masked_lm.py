"""Token masking for masked language modeling (Devlin et al., 2018)."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer

from formnet.encoding import EncodedDocument, Encoder, collate
from formnet.encoding.collate import IGNORE_INDEX
from formnet.encoding.tokenizer import mask_id
from formnet.training.sampling import TensorBatch

#: Shares of the predicted tokens that are masked and replaced by a random token; the others are not changed.
MASKED, REPLACED = 0.8, 0.1


class Masker:
    """Masks random tokens, or all tokens of random words."""

    def __init__(self, tokenizer: Tokenizer, probability: float = 0.15, *, whole_words: bool = True) -> None:
        self.mask_id, self.probability, self.whole_words = mask_id(tokenizer), probability, whole_words
        self.vocab_size = tokenizer.get_vocab_size()

    def __call__(
        self, document: EncodedDocument, generator: np.random.Generator
    ) -> tuple[EncodedDocument, NDArray[np.int64]]:
        """Return the masked document, and the labels [P], which are −100 for tokens that are not predicted."""
        units = document.word_ids if self.whole_words else np.arange(len(document))
        num_units = document.num_words if self.whole_words else len(document)
        predicted = generator.random(num_units) < self.probability
        if num_units and not predicted.any():
            predicted[generator.integers(num_units)] = True
        draw = generator.random(num_units)
        masked = (predicted & (draw < MASKED))[units]
        replaced = (predicted & (draw >= MASKED) & (draw < MASKED + REPLACED))[units]
        random_ids = generator.integers(self.vocab_size, size=len(document))
        ids = np.where(masked, self.mask_id, np.where(replaced, random_ids, document.token_ids))
        labels = np.where(predicted[units], document.token_ids, IGNORE_INDEX)
        return replace(document, token_ids=ids), labels


def masked_batch(
    pages: Sequence[EncodedDocument], masker: Masker, generator: np.random.Generator, encoder: Encoder
) -> TensorBatch:
    """Mask and collate pages; labels are [B, P]."""
    masked = [masker(page, generator) for page in pages]
    batch = collate([page for page, _ in masked], encoder.padding_id)
    del batch["ids"], batch["first_token"]
    labels = torch.full_like(batch["input_ids"], IGNORE_INDEX)
    for row, (_, page_labels) in zip(labels, masked, strict=True):
        row[: len(page_labels)] = torch.from_numpy(page_labels)
    return {**batch, "labels": labels}
