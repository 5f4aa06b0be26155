"""What people look at: fields on the page, attention, and the report."""

import json
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from formnet.cli import app
from formnet.document import Document
from formnet.document.builder import DocumentBuilder
from formnet.errors import DocumentError, SettingsError
from formnet.extraction.extractor import Extractor
from formnet.io import images
from formnet.io.page_image import scan_of
from formnet.io.readers import read
from formnet.visualization.overlay import draw_entities, file_name, save_overlays
from formnet.visualization.report import write_report
from paper import picture

run = CliRunner()


def formnet(*words: object, code: int = 0) -> str:
    result = run.invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert result.exit_code == code, result.output
    return result.stdout


def test_overlays_frame_what_was_found(extractor: Extractor, pdf: Path, tmp_path: Path) -> None:
    document = extractor.extract(pdf)
    plain = dict(draw_entities(Document(document.id, document.pages)))
    marked = dict(draw_entities(document))
    for number, image in marked.items():
        difference = np.abs(np.asarray(image, int) - np.asarray(plain[number], int)).max(axis=2)
        there = [entity for entity in document.entities if entity.page == number]
        assert bool(there) == bool(difference.any())
        scale = image.width / document.pages[number].width
        for entity in there:
            x0, y0, x1, _ = (c * scale for c in entity.boxes[0])
            assert difference[max(round(y0) - 6, 0) : round(y0) + 3, round(x0) : round(x1)].max() > 60
    doubtful = dict(draw_entities(document, least=1.0))
    assert any(np.asarray(doubtful[n]).tobytes() != np.asarray(marked[n]).tobytes() for n in marked)
    written = save_overlays(document, tmp_path / "pictures")
    assert [images.frame(file).size for file in written] == [image.size for image in marked.values()]


def test_captions_cover_no_word_of_tight_rows() -> None:
    builder = DocumentBuilder("receipt")
    tops = [600 + 44 * row for row in range(5)]
    boxes = [[x, y, x + width, y + 31] for y in tops for x, width in ((167, 17), (188, 17), (209, 142))]
    builder.add_page(["2", "x", "TEA"] * len(tops), boxes, 1000, 1348)
    for word in range(len(boxes)):
        builder.add_entity("menu.name" if word % 3 == 2 else "menu.count", [word], 0.9)
    document = builder.build()
    plain = dict(draw_entities(Document(document.id, document.pages)))[0]
    marked = dict(draw_entities(document))[0]
    scale = plain.width / 1000
    for x0, y0, x1, y1 in document.pages[0].boxes * scale:
        inside = np.s_[round(y0) + 2 : round(y1) - 2, round(x0) + 2 : round(x1) - 2]
        assert np.array_equal(np.asarray(marked)[inside], np.asarray(plain)[inside])


@pytest.mark.parametrize("name", ["../../etc/passwd", "a/b\\c.pdf", "..", "", "x" * 500, "nul\0byte", "日本.pdf"])
def test_no_name_leaves_the_folder(name: str, tmp_path: Path) -> None:
    file = tmp_path / file_name(name)
    assert file.parent.resolve() == tmp_path.resolve()
    assert file.resolve() != tmp_path.resolve()
    file.write_text("x")


def test_attention_is_what_the_network_weighs(extractor: Extractor, pdf: Path) -> None:
    document = next(iter(read(pdf)))
    weights = extractor.attention(document, 0)
    heads = extractor.model.config.num_attention_heads
    assert weights.shape == (heads, document.num_words, document.num_words)
    assert np.allclose(weights.sum(-1), 1, atol=1e-4)
    with pytest.raises(SettingsError, match="no layer 9"):
        extractor.attention(document, 9)
    long = DocumentBuilder("long")
    long.add_page(["a"] * 40, [[i, 0, i + 1, 1] for i in range(40)], 40, 40)
    apart = np.abs(np.subtract.outer(np.arange(40), np.arange(40)))
    seen = extractor.attention(long.build(), 0)
    assert (seen[:, apart > extractor.model.config.radius] == 0).all()
    assert (seen[:, apart <= extractor.model.config.radius] > 0).all()


def test_attention_is_drawn_for_several_models(model: Path, pdf: Path, tmp_path: Path) -> None:
    words = ["view", "attention", str(pdf), "--model", str(model), "--model", str(model), "--layer", "0"]
    result = run.invoke(app, [*words, "--out", str(tmp_path / "a.png")])
    assert result.exit_code == 0, result.output
    with Image.open(tmp_path / "a.png") as image:
        both = np.asarray(image)
    page = (both.shape[1] - 40) // 2
    assert np.array_equal(both[:, :page], both[:, -page:])
    colors = {tuple(color) for color in both.reshape(-1, 3).tolist()}
    assert any(max(color) - min(color) > 60 for color in colors)  # lines, not only ink


def test_the_report_is_one_safe_file(extractor: Extractor, tmp_path: Path) -> None:
    builder = DocumentBuilder("<script>alert(1)</script>")
    words = ["<img src=x onerror=alert(1)>", "&", '"quoted"', "Total", "9.00"]
    builder.add_page(words, [[10, 20 * i, 90, 20 * i + 10] for i in range(len(words))], 100, 120)
    document = extractor.extract(builder.build())
    file = tmp_path / "report.html"
    write_report([document], file, 0.5, "model <b>")
    tags: list[tuple[str, dict[str, str | None]]] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
            tags.append((tag, dict(attributes)))

    Reader().feed(file.read_text())
    assert [tag for tag, _ in tags].count("script") == 1
    assert all(a["src"].startswith("data:image/jpeg;base64,") for tag, a in tags if tag == "img")
    assert not any(name.startswith("on") for _, attributes in tags for name in attributes)
    rows = [a["data-e"] for tag, a in tags if tag == "tr" and "data-e" in a]
    assert len(rows) == len(document.entities) > 0
    assert {a["data-e"] for tag, a in tags if tag == "rect"} == set(rows)


def test_a_photograph_goes_all_the_way(model: Path, tmp_path: Path) -> None:
    file = tmp_path / "photo.jpg"
    picture().save(file)
    report = tmp_path / "report.html"
    result = run.invoke(
        app,
        ["extract", str(file), "--model", str(model), "--overlay", str(tmp_path / "o"), "--report", str(report)],
        catch_exceptions=False,
    )
    assert result.exit_code == 0
    (told,) = json.loads(result.stdout)
    assert all(entity["ocr_score"] > 0.5 for entity in told["entities"])
    assert (tmp_path / "o" / "photo.jpg-1.png").is_file()
    assert "photo.jpg" in report.read_text()


def test_documents_of_one_name_get_pictures_of_their_own(extractor: Extractor, tmp_path: Path) -> None:
    names: dict[str, str] = {}
    files = []
    for folder in ("2024", "2025", "2025"):  # the last two have one id
        builder = DocumentBuilder(f"{folder}/invoice.pdf")
        builder.add_page(["total"], [[1, 1, 5, 2]], 10, 10)
        files += save_overlays(extractor.extract(builder.build()), tmp_path, names=names)
    assert len(set(files)) == 3
    assert files[0].name == "invoice.pdf-1.png"


def test_a_picture_that_is_gone_does_no_harm(model: Path, tmp_path: Path) -> None:
    page = {"width": 50, "height": 9, "words": ["Total", "9.00"], "boxes": [[1, 1, 9, 9], [20, 1, 40, 9]]}
    (tmp_path / "broken.png").write_bytes(b"no picture at all")
    lines = [{"id": image, "pages": [{**page, "image": image}]} for image in ("gone.png", "broken.png")]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, lines)))
    words = ["extract", str(tmp_path / "a.jsonl"), "--model", str(model), "--overlay", str(tmp_path / "drawn")]
    told = run.invoke(app, [*words, "--report", str(tmp_path / "r.html"), "--format", "json"])
    assert told.exit_code == 0, told.output
    assert len(list((tmp_path / "drawn").iterdir())) == 2
    with pytest.raises(DocumentError, match=r"gone\.png: the picture of a page cannot be opened"):
        scan_of(read_one_of(tmp_path / "a.jsonl").pages[0])


def read_one_of(path: Path) -> Document:
    return next(iter(read(path)))
