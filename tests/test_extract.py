"""From a file to its fields: the object and the command."""

import csv
import json
import os
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
import torch
from torch._dynamo.utils import counters
from typer.testing import CliRunner

from formnet.cli import app
from formnet.cli.extract import _print as print_table
from formnet.document import Document
from formnet.document.builder import DocumentBuilder
from formnet.errors import DocumentError, SettingsError
from formnet.extraction.extractor import Extractor
from formnet.extraction.output import COLUMNS, entity_answer, rows, safe_cell
from formnet.extraction.pretrained import find_model, portable
from formnet.io.readers import read, read_one
from formnet.io.writers import write
from paper import LINES

EXAMPLES = Path(__file__).parent.parent / "examples"

# The object

run = CliRunner()


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
    builder = DocumentBuilder("scan")
    words = " ".join(LINES).split()
    boxes = [[10, 20 * i, 90, 20 * i + 10] for i in range(len(words))]
    certain = np.linspace(0.5, 1, len(words))
    builder.add_page(words, boxes, 100, 300, confidences=certain.tolist(), text_source="eyes")
    for entity in extractor.extract(builder.build()).entities:
        assert entity.ocr_score == pytest.approx(certain[list(entity.words)].min())


def test_a_file_of_many_documents_is_not_one(extractor: Extractor, examples: Path) -> None:
    with pytest.raises(DocumentError, match="holds several documents, not just one"):
        extractor.extract(examples / "documents.jsonl")
    assert len(list(extractor.label(read(examples / "documents.jsonl")))) == 2


def test_documents_without_words_have_no_fields(extractor: Extractor) -> None:
    empty = Document("empty", ())
    builder = DocumentBuilder("blank")
    builder.add_page([], [], 100, 100)
    assert [d.entities for d in extractor.extract([empty, builder.build()])] == [(), ()]


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
    monkeypatch.setattr("formnet.extraction.extractor.WARM_UP", ((700,), (300,)))  # all take a minute
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


def test_a_head_that_is_not_there_is_told(extractor: Extractor, pdf: Path) -> None:
    with pytest.raises(SettingsError, match="there is no head 'typo'"):
        extractor.entities([read_one(pdf)], "typo")


def test_a_shipped_name_is_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "receipts").mkdir()
    (tmp_path / "mine").mkdir()
    monkeypatch.chdir(tmp_path)
    assert portable("receipts") == "receipts"
    assert portable("mine") == str(tmp_path / "mine")
    assert portable("some/repository") == "some/repository"


def test_one_folder_holds_one_form_of_a_model(model: Path, extractor: Extractor, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"holds a model already, as model\.safetensors"):
        extractor.save_pretrained(model, compact=True)
    told = run.invoke(app, ["export", str(model), str(model)])
    assert "holds a model already" in str(told.exception)
    extractor.save_pretrained(tmp_path, compact=True)
    extractor.save_pretrained(tmp_path, compact=True)
    with pytest.raises(SettingsError, match="as model-int8"):
        extractor.save_pretrained(tmp_path)


@pytest.mark.parametrize(
    "change", [{"hidden_size": "wide"}, {"heads": ["a"]}, {"heads": {"a": "b"}}, {"id2label": {"0": 7}}], ids=str
)
def test_a_broken_configuration_is_told(change: dict[str, object], model: Path, tmp_path: Path) -> None:
    for file in model.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    config = json.loads((model / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**config, **change}))
    with pytest.raises(SettingsError, match="is no model that can be loaded"):
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
    assert told["pages"][0]["text_source"] == "PDF text"
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


def test_dates_are_read_as_the_model_knows_them(extractor: Extractor, model: Path, pdf: Path) -> None:
    assert Extractor.from_pretrained("receipts").day_first
    assert all(entity.day_first is None for entity in extractor.extract(pdf).entities)
    told = Extractor.from_pretrained(model, day_first=True).extract(pdf).entities[0]
    date = replace(told, label="date", text="03/04/2018")
    assert entity_answer(date)["value"] == {"kind": "date", "value": "2018-04-03", "ambiguous": True}
    assert entity_answer(replace(date, day_first=None))["value"]["value"] == "2018-03-04"
    builder = DocumentBuilder("a")
    builder.add_page(["03/04/2018"], [[0, 0, 9, 1]], 10, 10)
    document = builder.build()
    document = replace(document, entities=(document.entity("date", [0]),))
    (row,) = rows(document)
    assert dict(zip(COLUMNS, row, strict=True))["ambiguous"] == "yes"


def test_a_bad_file_is_told_and_the_others_go_on(model: Path, pdf: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.pdf"
    bad.write_bytes(b"%PDF-1.4 nonsense")
    result = run.invoke(app, ["extract", str(bad), str(pdf), "--model", str(model), "--format", "jsonl"])
    assert result.exit_code == 1
    assert len(result.stdout.splitlines()) == 1
    assert f"formnet: {bad}: cannot be opened as a PDF" in result.stderr
    assert "1 of 2 files could not be read" in result.stderr


def test_a_bad_line_is_told_and_the_others_go_on(model: Path, tmp_path: Path) -> None:
    file = tmp_path / "many.jsonl"
    good = (EXAMPLES / "documents.jsonl").read_text().splitlines()
    file.write_text("\n".join([good[0], "{}", good[1]]))
    result = run.invoke(app, ["extract", str(file), "--model", str(model), "--format", "jsonl"])
    assert result.exit_code == 1
    assert len(result.stdout.splitlines()) == 2
    assert f"formnet: {file}, line 2: a document needs an 'id'" in result.stderr


def test_what_warming_up_chose_is_not_saved(extractor: Extractor, tmp_path: Path) -> None:
    extractor.model.config.attention_backend = "compiled"
    try:
        extractor.save_pretrained(tmp_path)
        assert extractor.model.config.attention_backend == "compiled"
    finally:
        extractor.model.config.attention_backend = "auto"
    assert json.loads((tmp_path / "config.json").read_text())["attention_backend"] == "auto"


def test_a_folder_is_searched(model: Path, pdf: Path, tmp_path: Path) -> None:
    (tmp_path / "deeper").mkdir()
    (tmp_path / "deeper" / "two.pdf").write_bytes(pdf.read_bytes())
    (tmp_path / "notes.txt").write_text("not a document")
    assert len(formnet("extract", tmp_path, "--model", model, "--format", "jsonl").splitlines()) == 2
    (tmp_path / "empty").mkdir()
    with pytest.raises(DocumentError, match="holds no file that can be read"):
        formnet("extract", tmp_path / "empty", "--model", model)


def test_a_pattern_is_looked_up(model: Path, pdf: Path, tmp_path: Path) -> None:
    strange = tmp_path / "scan [1].pdf"  # a file's name that looks like a pattern
    strange.write_bytes(pdf.read_bytes())
    assert len(formnet("extract", tmp_path / "*.pdf", "--model", model, "--format", "jsonl").splitlines()) == 2
    assert len(formnet("extract", strange, "--model", model, "--format", "jsonl").splitlines()) == 1
    with pytest.raises(DocumentError, match="holds no file that can be read"):
        formnet("extract", tmp_path / "*.png", "--model", model)


def test_a_spreadsheet_runs_nothing() -> None:
    assert [safe_cell(cell) for cell in ("=1+1", "@x", "-5.00", "RM 5", 3)] == ["'=1+1", "'@x", "-5.00", "RM 5", 3]
    assert safe_cell("-1+cmd|' /C calc'!A0").startswith("'")
    assert [safe_cell(cell)[0] for cell in ("\n=1+1", "\uff1d1+1", " +1")] == ["'"] * 3


def test_a_document_does_not_command_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    builder = DocumentBuilder("a\x1b[2J")
    builder.add_page(["\x1b]0;owned\x079.00"], [[0, 0, 10, 10]], 20, 20)
    builder.add_entity("total", [0], 0.9)
    print_table(builder.build(), 0.0)
    shown = capsys.readouterr().out
    assert "9.00" in shown
    assert "\x1b" not in shown


def test_boxes_keep_their_figures_whatever_the_unit() -> None:
    builder = DocumentBuilder("small")
    builder.add_page(["total", "9.00"], [[0.12345, 0.51234, 0.2, 0.52], [0.3, 0.51, 0.4, 0.52]], 1, 1)
    bare = builder.build()
    told = entity_answer(bare.entity("total", [0]))
    assert told["boxes"] == [[0.12345, 0.51234, 0.2, 0.52]]


def test_doctor_tells_what_there_is() -> None:
    result = run.invoke(app, ["doctor", "--json"])
    found = {line["name"]: line for line in json.loads(result.stdout)}
    assert found["torch"]["found"].startswith(torch.__version__)
    assert {"models", "rapidocr", "tesseract", "compiler"} <= set(found)


def test_a_table_is_for_terminals(model: Path, pdf: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept.txt"
    kept.write_text("mine")
    told = run.invoke(app, ["extract", str(pdf), "--model", str(model), "--format", "table", "-o", str(kept)])
    assert told.exit_code == 2
    assert kept.read_text() == "mine"


def test_a_name_that_is_no_utf8_is_shown_as_it_can_be(model: Path, pdf: Path, tmp_path: Path) -> None:
    old = Path(os.fsdecode(bytes(tmp_path) + b"/caf\xe9.pdf"))
    old.write_bytes(pdf.read_bytes())
    for form in ("json", "jsonl", "csv"):
        out = tmp_path / f"out.{form}"
        told = run.invoke(app, ["extract", str(old), "--model", str(model), "-o", str(out)])
        assert told.exit_code == 0, told.output
        assert "caf\ufffd" in out.read_text(encoding="utf-8")
    write([read_one(old)], tmp_path / "out.jsonl")
    assert next(iter(read(tmp_path / "out.jsonl"))).id.endswith("caf\ufffd.pdf")
