import json
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from command_line import run_command, runner
from formnet.cli import app
from formnet.datasets.ocr_words import find_images, read_images
from formnet.datasets.views import TURNED
from formnet.document import Document
from formnet.document.builder import DocumentBuilder
from formnet.errors import CorpusError, FormNetError
from formnet.io.ocr import OcrResult, find_engine
from paper import picture


class CountingEngine:
    """Reads one word, which names the size of the image."""

    def __init__(self, name: str = "counting 1") -> None:
        self.name, self.calls = name, 0

    def read(self, image: Image.Image) -> OcrResult:
        self.calls += 1
        return OcrResult(
            [f"{image.width}×{image.height}", "DATE:21/03/2018"], [(0, 0, 9, 9), (10, 0, 40, 9)], [0.9, 0.8]
        )


def documents(count: int = 3) -> list[Document]:
    made = []
    for number in range(count):
        builder = DocumentBuilder(f"r{number}")
        builder.add_page(["9.00"], [(1, 1, 5, 5)], 60, 80)
        made.append(builder.build({"total": "9.00"}))
    return made


def save_images(folder: Path, *names: str) -> Path:
    folder.mkdir()
    for name in names:
        Image.new("RGB", (60, 80)).save(folder / f"{name}.png")
    (folder / "r2.txt").write_text("not an image")
    return folder


def test_find_images_takes_files_named_after_documents(tmp_path: Path) -> None:
    folder = save_images(tmp_path / "images", "r0", "r1", "other")
    found = find_images(documents(), folder)
    assert [(d.id, d.pages[0].image) for d in found] == [("r0", folder / "r0.png"), ("r1", folder / "r1.png")]
    assert find_images(documents(), None) == []
    assert find_images(found, None) == found


def test_read_images_continues_where_it_stopped(tmp_path: Path) -> None:
    found = find_images(documents(), save_images(tmp_path / "images", "r0", "r1"))
    engine, output = CountingEngine(), tmp_path / "readings" / "words.jsonl"
    first = next(read_images(found, engine, output))
    assert first.texts == ("60×80", "DATE:", "21/03/2018")
    assert first.fields == {"total": "9.00"}
    assert engine.calls == 1
    with output.open("a") as file:
        file.write('{"id": "r1", "pages": [{"wid')  # as if killed while writing
    complete = list(read_images(found, engine, output))
    assert engine.calls == 2
    assert [d.id for d in complete] == ["r0", "r1"]
    assert list(read_images(found, engine, output)) == complete
    assert engine.calls == 2
    assert [json.loads(line)["id"] for line in output.read_text().splitlines()] == ["r0", "r1"]
    with pytest.raises(CorpusError, match=r"was read by counting 1, not counting 2\. Use another file"):
        list(read_images(found, CountingEngine("counting 2"), output))


@pytest.mark.parametrize("content", ['{"id": "mine"', '{"id": "mine", "pages": []}\n{"id": "m', "my notes"])
def test_read_images_leaves_other_files_alone(tmp_path: Path, content: str) -> None:
    output = tmp_path / "mine.jsonl"
    output.write_text(content)
    found = find_images(documents(1), save_images(tmp_path / "images", "r0"))
    with pytest.raises(FormNetError, match=r"mine\.jsonl"):
        list(read_images(found, CountingEngine(), output))
    assert output.read_text() == content


def test_read_images_takes_field_values_from_the_corpus(tmp_path: Path) -> None:
    found = find_images(documents(1), save_images(tmp_path / "images", "r0"))
    output = tmp_path / "words.jsonl"
    list(read_images(found, CountingEngine(), output))
    corrected = [replace(found[0], fields={"total": "8.00"})]
    assert next(read_images(corrected, CountingEngine(), output)).fields == {"total": "8.00"}


def test_find_images_two_of_one_name_raises(tmp_path: Path) -> None:
    folder = save_images(tmp_path / "images", "r0")
    save_images(folder / "more", "r0")
    with pytest.raises(CorpusError, match="has the same name"):
        find_images(documents(1), folder)


def test_read_images_turns_pages_first(tmp_path: Path) -> None:
    found = find_images(documents(1), save_images(tmp_path / "images", "r0"))
    assert next(read_images(found, CountingEngine(), tmp_path / "words.jsonl", "90")).texts[0] == "80×60"


@pytest.mark.ocr
@pytest.mark.slow
def test_commands_read_images_and_score_what_was_read(tmp_path: Path) -> None:
    images = tmp_path / "images"
    images.mkdir()
    picture().save(images / "slip.png")
    page = {
        "width": 600,
        "height": 800,
        "words": ["Total", "12.50"],
        "boxes": [[40, 310, 140, 350], [150, 310, 250, 350]],
    }
    corpus = tmp_path / "slips.jsonl"
    corpus.write_text(json.dumps({"id": "slip", **page, "fields": {"total": "12.50", "date": "03/04/2019"}}) + "\n")
    output = tmp_path / "words.jsonl"
    printed = run_command("data", "read", f"jsonl:{corpus}", str(output), "--images", str(images), "--ocr", "rapidocr")
    assert "1 documents" in printed
    words = json.loads(output.read_text())["pages"][0]["words"]
    assert {"Total", "12.50", "03/04/2019"} <= set(words)
    results, readings = tmp_path / "ocr.json", tmp_path / "readings"
    options = ["--images", str(images), "--ocr", "rapidocr", "--view", "upright", "--view", "180"]
    run_command(
        "evaluate-ocr", "receipts", f"jsonl:{corpus}", *options, "--readings", str(readings), "--out", str(results)
    )
    record = json.loads(results.read_text())
    (engine,) = record["engines"].values()
    views = engine["views"]
    assert record["documents"] == 1
    for view in ("upright", "180"):
        assert views[view]["oracle"]["recall"] == 1, view
        assert views[view]["within_one_character"]["f1"] >= views[view]["f1"]
    assert sorted(file.name for file in readings.iterdir()) == ["rapidocr-180.jsonl", "rapidocr-upright.jsonl"]


def test_read_without_images_says_what_to_do(tmp_path: Path) -> None:
    corpus = tmp_path / "slips.jsonl"
    page = {"width": 60, "height": 80, "words": ["9.00"], "boxes": [[1, 1, 5, 5]]}
    corpus.write_text(json.dumps({"id": "slip", **page}) + "\n")
    result = runner.invoke(app, ["data", "read", f"jsonl:{corpus}", str(tmp_path / "words.jsonl")])
    assert result.exit_code == 2
    assert "no document with page images. Use --images" in " ".join(result.output.replace("│", " ").split())


@pytest.mark.ocr
@pytest.mark.slow
def test_read_images_turned_view_reuses_words_as_if_read_again(tmp_path: Path) -> None:
    pytest.importorskip("rapidocr")
    folder = tmp_path / "images"
    folder.mkdir()
    picture().save(folder / "r0.png")
    found, engine = find_images(documents(1), folder), find_engine("rapidocr")
    upright = {d.id: d for d in read_images(found, engine, tmp_path / "upright.jsonl")}
    for view in TURNED:
        (fast,) = read_images(found, engine, tmp_path / f"fast-{view}.jsonl", view, upright)
        (plain,) = read_images(found, engine, tmp_path / f"plain-{view}.jsonl", view)
        assert plain.texts == fast.texts == upright["r0"].texts
        assert (plain.boxes == fast.boxes).all()
        assert (plain.pages[0].rotation + int(view)) % 360 == 0


def test_read_images_turned_view_of_engine_without_orientation_is_read(tmp_path: Path) -> None:
    found = find_images(documents(1), save_images(tmp_path / "images", "r0"))
    engine = CountingEngine()
    upright = {d.id: d for d in read_images(found, engine, tmp_path / "upright.jsonl")}
    (turned,) = read_images(found, engine, tmp_path / "90.jsonl", "90", upright)
    assert (turned.texts[0], engine.calls) == ("80×60", 2)
