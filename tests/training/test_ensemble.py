from pathlib import Path

import numpy as np
import torch

from formnet.document import Document
from formnet.extraction.extractor import Extractor
from formnet.training.ensemble import Ensemble


def test_ensemble_averages_tag_scores(model: Path, documents: list[Document]) -> None:
    first, second = Extractor.from_pretrained(model), Extractor.from_pretrained(model)
    with torch.no_grad():
        second.model.classifier.weight.mul_(-1)
    expected = [(a + b) / 2 for a, b in zip(first.scores(documents), second.scores(documents), strict=True)]
    scores = Ensemble([first, second]).scores(documents)
    assert all(np.allclose(a, b, atol=1e-5) for a, b in zip(scores, expected, strict=True))
    assert not np.allclose(scores[0], first.scores(documents)[0], atol=1e-2)


def test_ensemble_of_one_model_finds_its_entities(extractor: Extractor, documents: list[Document]) -> None:
    found = extractor.entities(documents)
    assert any(found)
    assert Ensemble([extractor, extractor]).entities(documents) == found
