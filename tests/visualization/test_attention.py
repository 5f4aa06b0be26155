from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from formnet.cli import app
from formnet.document.builder import DocumentBuilder
from formnet.errors import SettingsError
from formnet.extraction.extractor import Extractor
from formnet.io.readers import read


def test_extractor_attention_returns_weights_within_radius(extractor: Extractor, pdf: Path) -> None:
    document = next(iter(read(pdf)))
    weights = extractor.attention(document, 0)
    heads = extractor.model.config.num_attention_heads
    assert weights.shape == (heads, document.num_words, document.num_words)
    assert np.allclose(weights.sum(-1), 1, atol=1e-4)
    with pytest.raises(SettingsError, match="layer 9 is out of range"):
        extractor.attention(document, 9)
    builder = DocumentBuilder("long")
    builder.add_page(["a"] * 40, [[i, 0, i + 1, 1] for i in range(40)], 40, 40)
    distance = np.abs(np.subtract.outer(np.arange(40), np.arange(40)))
    weights = extractor.attention(builder.build(), 0)
    assert (weights[:, distance > extractor.model.config.radius] == 0).all()
    assert (weights[:, distance <= extractor.model.config.radius] > 0).all()


@pytest.mark.slow
def test_view_attention_two_models_are_side_by_side(model: Path, pdf: Path, tmp_path: Path) -> None:
    arguments = ["view", "attention", str(pdf), "--model", str(model), "--model", str(model), "--layer", "0"]
    result = CliRunner().invoke(app, [*arguments, "--out", str(tmp_path / "a.png")])
    assert result.exit_code == 0, result.output
    with Image.open(tmp_path / "a.png") as image:
        both = np.asarray(image)
    width = (both.shape[1] - 40) // 2
    assert np.array_equal(both[:, :width], both[:, -width:])
    colors = {tuple(color) for color in both.reshape(-1, 3).tolist()}
    assert any(max(color) - min(color) > 60 for color in colors)  # colored lines, not only text
