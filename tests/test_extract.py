"""From a file to its fields: the object, the command, the pictures and the page."""

import csv
import json
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from tokenizers import Tokenizer
from torch._dynamo.utils import counters
from typer.testing import CliRunner

from formnet import images
from formnet.answers import COLUMNS, entity_answer, safe_cell
from formnet.builder import DocumentBuilder
from formnet.cli import app
from formnet.document import Document
from formnet.encoding import load_tokenizer
from formnet.errors import DocumentError, SettingsError
from formnet.extractor import Extractor, labels_of
from formnet.labels import TagScheme
from formnet.modeling import FormNetConfig, FormNetForTagging
from formnet.models import find_model
from formnet.readers import read, read_one
from formnet.views.overlay import draw_entities, file_name, save_overlays
from formnet.views.report import write_report
from paper import LINES, picture, text_pdf

run = CliRunner()
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrstuvwxyz0123456789.,/:-#"]
WORDS += [f"##{piece}" for piece in WORDS[5:]]


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    file = tmp_path_factory.mktemp("vocabulary") / "vocab.txt"
    file.write_text("\n".join(WORDS))
    return load_tokenizer(file)


@pytest.fixture(scope="module")
def model(tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A network that has learnt nothing, but finds something."""
    torch.manual_seed(1)
    labels = labels_of({"": TagScheme(("company", "date", "total"))})
    config = FormNetConfig.of_size("tiny", vocab_size=len(WORDS), attention_backend="blocked", **labels)
    network = FormNetForTagging(config).eval()
    with torch.no_grad():
        network.classifier.weight.normal_(std=0.5)
        network.classifier.bias[0] = -1.0
    folder = tmp_path_factory.mktemp("model")
    Extractor(network, tokenizer).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def extractor(model: Path) -> Extractor:
    return Extractor.from_pretrained(model)


@pytest.fixture
def pdf(tmp_path: Path) -> Path:
    file = tmp_path / "invoice.pdf"
    file.write_bytes(text_pdf([LINES, ("Page two",)]))
    return file


# The object


def test_a_path_a_document_and_a_list_of_either(extractor: Extractor, pdf: Path) -> None:
    (document,) = read(pdf)
    found = extractor.extract(pdf)
    assert found.entities
    assert found == extractor.extract(document)
    one, other = extractor.extract([str(pdf), document])
    for again in (one, other):
        assert [(e.label, e.words) for e in again.entities] == [(e.label, e.words) for e in found.entities]
    for entity in found.entities:
        assert 0 < entity.score <= 1
        assert entity.text == " ".join(found.texts[i] for i in entity.words)
        assert len(set(found.page_of_word[list(entity.words)])) == 1
    assert extractor.extract([]) == []


def test_the_score_of_ocr_stands_beside(extractor: Extractor) -> None:
    build = DocumentBuilder("scan")
    words = " ".join(LINES).split()
    boxes = [[10, 20 * i, 90, 20 * i + 10] for i in range(len(words))]
    certain = np.linspace(0.5, 1, len(words))
    build.add_page(words, boxes, 100, 300, confidences=certain.tolist(), read_by="eyes")
    for entity in extractor.extract(build.done()).entities:
        assert entity.ocr_score == pytest.approx(certain[list(entity.words)].min())


def test_a_file_of_many_documents_is_not_one(extractor: Extractor, examples: Path) -> None:
    with pytest.raises(DocumentError, match="holds several documents, not just one"):
        extractor.extract(examples / "documents.jsonl")
    assert len(list(extractor.label(read(examples / "documents.jsonl")))) == 2


def test_documents_without_words_have_no_fields(extractor: Extractor) -> None:
    empty = Document("empty", ())
    build = DocumentBuilder("blank")
    build.add_page([], [], 100, 100)
    assert [d.entities for d in extractor.extract([empty, build.done()])] == [(), ()]


def test_it_may_be_sent_shared_and_asked_again(extractor: Extractor, pdf: Path, examples: Path) -> None:
    documents = [*read(pdf), *read(examples / "documents.jsonl")]
    expected = extractor.extract(documents)
    assert pickle.loads(pickle.dumps(extractor)).extract(documents) == expected
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: extractor.extract(documents), range(12)):
            assert found == expected
    for one, many in zip(documents, expected, strict=True):  # batches do not matter
        alone = extractor.extract(one)
        assert [(e.label, e.words) for e in alone.entities] == [(e.label, e.words) for e in many.entities]
        assert np.allclose([e.score for e in alone.entities], [e.score for e in many.entities], atol=1e-4)


def test_warming_up_changes_nothing_and_spares_later_compiling(
    model: Path, extractor: Extractor, pdf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("formnet.extractor.WARM_UP", ((700,), (300,)))  # all take a minute
    warm = Extractor.from_pretrained(model)
    warm.warm_up()
    assert warm.model.config.attention_backend == "compiled"
    compiled = counters["stats"]["unique_graphs"]
    assert compiled
    page = read_one(pdf)
    document = replace(page, pages=page.pages * (200 // page.num_words))
    assert np.allclose(extractor.scores([document])[0], warm.scores([document])[0], atol=1e-4)
    assert counters["stats"]["unique_graphs"] == compiled


def test_models_are_found_or_explained(model: Path, tmp_path: Path) -> None:
    assert find_model(model) == model
    with pytest.raises(SettingsError, match=r"holds no config\.json"):
        find_model(tmp_path)
    with pytest.raises(SettingsError, match="there is no model 'nothing'"):
        find_model("nothing")
    with pytest.raises(SettingsError, match="the Hub gives none"):
        find_model("nobody/nothing")
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(SettingsError, match="no model that can be loaded"):
        Extractor.from_pretrained(tmp_path)
    (tmp_path / "config.json").write_bytes((model / "config.json").read_bytes())
    (tmp_path / "model-int8.safetensors").write_bytes(b"not weights")
    with pytest.raises(SettingsError, match="no model that can be loaded"):
        Extractor.from_pretrained(tmp_path)


# The command


def formnet(*words: object, code: int = 0) -> str:
    result = run.invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert result.exit_code == code, result.output
    return result.stdout


def test_every_format_says_the_same(model: Path, extractor: Extractor, pdf: Path, tmp_path: Path) -> None:
    expected = [(e.label, e.text) for e in extractor.extract(pdf).entities]
    (told,) = json.loads(formnet("extract", pdf, "--model", model))
    assert [(e["label"], e["text"]) for e in told["entities"]] == expected
    assert told["pages"][0]["read_by"] == "PDF text"
    lines = formnet("extract", pdf, pdf, "--model", model, "--format", "jsonl").splitlines()
    assert [json.loads(line) for line in lines] == [told, told]
    rows = list(csv.reader(StringIO(formnet("extract", pdf, "--model", model, "--format", "csv"))))
    assert tuple(rows[0]) == COLUMNS
    assert [(row[2], row[3]) for row in rows[1:]] == expected
    table = formnet("extract", pdf, "--model", model, "--format", "table", "--min-score", "1")
    assert expected[0][0] in table
    assert "?" in table
    file = tmp_path / "fields.csv"
    assert formnet("extract", pdf, "--model", model, "-o", file) == ""
    assert list(csv.reader(StringIO(file.read_text()))) == rows


def test_a_bad_file_is_told_and_the_others_go_on(model: Path, pdf: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.pdf"
    bad.write_bytes(b"%PDF-1.4 nonsense")
    result = run.invoke(app, ["extract", str(bad), str(pdf), "--model", str(model), "--format", "jsonl"])
    assert result.exit_code == 1
    assert len(result.stdout.splitlines()) == 1
    assert f"formnet: {bad}: cannot be opened as a PDF" in result.stderr
    assert "1 of 2 files could not be read" in result.stderr


def test_a_folder_is_searched(model: Path, pdf: Path, tmp_path: Path) -> None:
    (tmp_path / "deeper").mkdir()
    (tmp_path / "deeper" / "two.pdf").write_bytes(pdf.read_bytes())
    (tmp_path / "notes.txt").write_text("not a document")
    assert len(formnet("extract", tmp_path, "--model", model, "--format", "jsonl").splitlines()) == 2
    (tmp_path / "empty").mkdir()
    with pytest.raises(DocumentError, match="holds no file that can be read"):
        formnet("extract", tmp_path / "empty", "--model", model)


def test_a_spreadsheet_runs_nothing() -> None:
    assert [safe_cell(cell) for cell in ("=1+1", "@x", "-5.00", "RM 5", 3)] == ["'=1+1", "'@x", "-5.00", "RM 5", 3]
    assert safe_cell("-1+cmd|' /C calc'!A0").startswith("'")


def test_boxes_keep_their_figures_whatever_the_unit() -> None:
    build = DocumentBuilder("small")
    build.add_page(["total", "9.00"], [[0.12345, 0.51234, 0.2, 0.52], [0.3, 0.51, 0.4, 0.52]], 1, 1)
    bare = build.done()
    told = entity_answer(bare.entity("total", [0]))
    assert told["boxes"] == [[0.12345, 0.51234, 0.2, 0.52]]


def test_documents_of_one_name_get_pictures_of_their_own(extractor: Extractor, tmp_path: Path) -> None:
    names: dict[str, str] = {}
    files = []
    for folder in ("2024", "2025"):
        build = DocumentBuilder(f"{folder}/invoice.pdf")
        build.add_page(["total"], [[1, 1, 5, 2]], 10, 10)
        files += save_overlays(extractor.extract(build.done()), tmp_path, names=names)
    assert len(set(files)) == 2
    assert files[0].name == "invoice.pdf-1.png"


def test_doctor_tells_what_there_is() -> None:
    result = run.invoke(app, ["doctor", "--json"])
    found = {line["name"]: line for line in json.loads(result.stdout)}
    assert found["torch"]["found"].startswith(torch.__version__)
    assert {"models", "rapidocr", "tesseract", "compiler"} <= set(found)


# Pictures and the page


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
    seen = extractor.attention(long.done(), 0)
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
    colours = {tuple(colour) for colour in both.reshape(-1, 3).tolist()}
    assert any(max(colour) - min(colour) > 60 for colour in colours)  # lines, not only ink


def test_the_report_is_one_safe_file(extractor: Extractor, tmp_path: Path) -> None:
    build = DocumentBuilder("<script>alert(1)</script>")
    words = ["<img src=x onerror=alert(1)>", "&", '"quoted"', "Total", "9.00"]
    build.add_page(words, [[10, 20 * i, 90, 20 * i + 10] for i in range(len(words))], 100, 120)
    document = extractor.extract(build.done())
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
