import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from formnet.cli import app
from formnet.errors import DocumentError
from formnet.io.page_image import load_page_image
from formnet.io.readers import read


def test_page_canvas_missing_or_corrupt_image_draws_words(model: Path, tmp_path: Path) -> None:
    page = {"width": 50, "height": 9, "words": ["Total", "9.00"], "boxes": [[1, 1, 9, 9], [20, 1, 40, 9]]}
    (tmp_path / "broken.png").write_bytes(b"no picture at all")
    lines = [{"id": image, "pages": [{**page, "image": image}]} for image in ("gone.png", "broken.png")]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, lines)))
    arguments = ["extract", str(tmp_path / "a.jsonl"), "--model", str(model), "--overlay", str(tmp_path / "drawn")]
    result = CliRunner().invoke(app, [*arguments, "--report", str(tmp_path / "r.html"), "--format", "json"])
    assert result.exit_code == 0, result.output
    assert len(list((tmp_path / "drawn").iterdir())) == 2
    document = next(iter(read(tmp_path / "a.jsonl")))
    with pytest.raises(DocumentError, match=r"gone\.png: cannot open the page image"):
        load_page_image(document.pages[0])
