"""Hidden positions in pre-training: the network predicts where some words are on the page.

Their boxes are replaced by one at the center of the page before the page is encoded, so neither attention nor the page
graph shows where they are. What remains is their text and their place in the reading order.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812
from transformers.modeling_outputs import MaskedLMOutput

from formnet.document import Document, Page
from formnet.encoding.collate import IGNORE_INDEX
from formnet.modeling import FormNetConfig, FormNetForMaskedLM, losses
from formnet.modeling.attention import choose_backend, compile_if

#: Number of equal parts of the page width and of the page height, which are the classes to predict.
POSITION_CLASSES = 32

Positions = NDArray[np.int64]  # [W, 2] classes along x and y, or −100 for words whose position is not hidden


def hide_positions(
    document: Document, probability: float, generator: np.random.Generator
) -> tuple[Document, Positions]:
    """Return the document with the boxes of random words hidden, and the positions of these words."""
    pages, positions = [], [np.empty((0, 2), np.int64)]
    for page in document.pages:
        hidden = generator.random(len(page.texts)) < probability
        pages.append(_hide(page, hidden))
        boxes = page.normalized_boxes
        classes = ((boxes[:, :2] + boxes[:, 2:]) / 2 * POSITION_CLASSES).astype(np.int64).clip(0, POSITION_CLASSES - 1)
        positions.append(np.where(hidden[:, None], classes, IGNORE_INDEX))
    return replace(document, pages=tuple(pages)), np.concatenate(positions)


def _hide(page: Page, hidden: NDArray[np.bool_]) -> Page:
    if not hidden.any():
        return page
    half_size = np.median(page.boxes[:, 2:] - page.boxes[:, :2], axis=0) / 2
    center = np.array([page.width, page.height]) / 2
    box = np.concatenate([center - half_size, center + half_size])
    return replace(page, boxes=np.where(hidden[:, None], box, page.boxes))


def collate_positions(positions: Sequence[Positions], word_ids: Tensor) -> Tensor:
    """Return the positions of each token's word: [B, P, 2], given the words of tokens [B, P], padded with −1."""
    padded = torch.full((*word_ids.shape, 2), IGNORE_INDEX)
    for row, words, own in zip(padded, word_ids, positions, strict=True):
        row[words >= 0] = torch.from_numpy(own)[words[words >= 0]]
    return padded


class FormNetForHiddenPositions(FormNetForMaskedLM):
    """Masked language model that also predicts the positions of words, for pre-training."""

    def __init__(self, config: FormNetConfig) -> None:
        super().__init__(config)
        self.position = nn.Linear(config.hidden_size, 2 * POSITION_CLASSES)
        self.post_init()

    def forward(
        self,
        labels: Tensor | None = None,
        num_items_in_batch: Tensor | int | None = None,
        positions: Tensor | None = None,
        **inputs: Any,
    ) -> MaskedLMOutput:
        """Score tokens; a hidden position [B, P, 2] counts in the loss like two masked tokens, one for each axis."""
        if labels is None or positions is None:
            return super().forward(labels, num_items_in_batch, **inputs)
        states = self.formnet(**inputs).last_hidden_state
        masked = labels != IGNORE_INDEX
        logits = self.score(states[masked])
        mean_loss = compile_if(choose_backend(self.formnet.attention_backend, logits), losses.mean_loss)
        loss = mean_loss(logits, labels[masked], num_items_in_batch)
        scores = self.position(states).unflatten(-1, (2, POSITION_CLASSES)).flatten(0, 2).float()
        of_positions = F.cross_entropy(scores, positions.flatten(), ignore_index=IGNORE_INDEX, reduction="sum")
        loss = loss + losses.divide_by_labels(of_positions, labels, num_items_in_batch)
        return MaskedLMOutput(loss=loss, logits=logits)
