"""Hidden positions in pre-training."""

import numpy as np
import torch

from formnet.document import Document
from formnet.encoding.collate import IGNORE_INDEX
from formnet.training.hidden_positions import POSITION_CLASSES, collate_positions, hide_positions


def test_hide_positions_moves_words_to_the_center_and_returns_where_they_were(documents: list[Document]) -> None:
    document = documents[0]
    hidden, positions = hide_positions(document, 0.5, np.random.default_rng(0))
    moved = positions[:, 0] != IGNORE_INDEX
    assert 0.3 < moved.mean() < 0.7
    page, own = hidden.pages[0], document.pages[0]
    assert len(hidden.pages) == 1
    assert page.texts == own.texts
    np.testing.assert_array_equal(page.boxes[~moved], own.boxes[~moved])
    center = (page.boxes[moved, :2] + page.boxes[moved, 2:]) / 2
    np.testing.assert_allclose(center, np.broadcast_to([own.width / 2, own.height / 2], center.shape))
    was = (own.boxes[moved, :2] + own.boxes[moved, 2:]) / 2 / (own.width, own.height)
    np.testing.assert_array_equal(positions[moved], (was * POSITION_CLASSES).astype(int))


def test_collate_positions_repeats_them_for_the_tokens_of_a_word() -> None:
    positions = [np.array([[1, 2], [IGNORE_INDEX, IGNORE_INDEX]]), np.array([[3, 4]])]
    batch = collate_positions(positions, torch.tensor([[0, 0, 1], [0, -1, -1]]))
    nothing = [IGNORE_INDEX, IGNORE_INDEX]
    assert batch.tolist() == [[[1, 2], [1, 2], nothing], [[3, 4], nothing, nothing]]
