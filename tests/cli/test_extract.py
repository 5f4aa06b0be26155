import csv
import json
import os
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from openpyxl import load_workbook

from command_line import run_for_stdout, runner
from formnet.cli import app
from formnet.cli.terminal import print_document
from formnet.document.builder import DocumentBuilder
from formnet.errors import DocumentError, SettingsError
from formnet.extraction.extractor import Extractor
from formnet.extraction.schema import Schema
from formnet.io.readers import read, read_one
from formnet.io.writers import write


def extract(*arguments: object) -> str:
    """Run `formnet extract`, which must succeed, and return its standard output."""
    return run_for_stdout("extract", *map(str, arguments))


def test_extract_formats_contain_the_same_fields(model: Path, extractor: Extractor, pdf: Path, tmp_path: Path) -> None:
    expected = [(e.label, e.text) for e in extractor.extract(pdf).entities]
    (output,) = json.loads(extract(pdf, "--model", model))
    assert [(e["label"], e["text"]) for e in output["entities"]] == expected
    assert output["pages"][0]["text_source"] == "PDF text"
    lines = extract(pdf, pdf, "--model", model, "--format", "jsonl").splitlines()
    assert [json.loads(line) for line in lines] == [output, output]
    rows = list(csv.reader(StringIO(extract(pdf, "--model", model, "--format", "csv"))))
    assert rows[0] == ["document", "currency", "company", "date", "total", "review", "failed_checks"]
    assert len(rows) == 2
    assert rows[1][0] == str(pdf)
    for name, cell in zip(rows[0][2:5], rows[1][2:5], strict=True):
        values = [field["value"] for field in output["fields"].get(name, []) if field["value"] is not None]
        assert cell == "; ".join(map(str, values))
    table = extract(pdf, "--model", model, "--format", "table", "--min-score", "1")
    assert expected[0][0] in table
    assert "?" in table
    extract(pdf, "--model", model, "-o", tmp_path / "fields.xlsx")
    (header, values) = load_workbook(tmp_path / "fields.xlsx")["documents"].iter_rows(values_only=True)
    assert list(header) == rows[0]
    assert values[0] == str(pdf)
    file = tmp_path / "fields.csv"
    assert extract(pdf, "--model", model, "-o", file) == ""
    assert list(csv.reader(StringIO(file.read_text()))) == rows


def test_extract_corrupt_file_is_reported_and_skipped(model: Path, pdf: Path, tmp_path: Path) -> None:
    corrupt = tmp_path / "bad.pdf"
    corrupt.write_bytes(b"%PDF-1.4 nonsense")
    result = runner.invoke(app, ["extract", str(corrupt), str(pdf), "--model", str(model), "--format", "jsonl"])
    assert result.exit_code == 1
    assert len(result.stdout.splitlines()) == 1
    assert f"formnet: {corrupt}: cannot be opened as a PDF" in result.stderr
    assert "1 of 2 files could not be read" in result.stderr


def test_extract_invalid_line_is_reported_and_skipped(model: Path, examples: Path, tmp_path: Path) -> None:
    file = tmp_path / "many.jsonl"
    valid = (examples / "documents.jsonl").read_text().splitlines()
    file.write_text("\n".join([valid[0], "{}", valid[1]]))
    result = runner.invoke(app, ["extract", str(file), "--model", str(model), "--format", "jsonl"])
    assert result.exit_code == 1
    assert len(result.stdout.splitlines()) == 2
    assert f"formnet: {file}, line 2: a document needs an 'id'" in result.stderr


def test_extract_folder_is_searched_recursively(model: Path, pdf: Path, tmp_path: Path) -> None:
    (tmp_path / "deeper").mkdir()
    (tmp_path / "deeper" / "two.pdf").write_bytes(pdf.read_bytes())
    (tmp_path / "notes.txt").write_text("not a document")
    assert len(extract(tmp_path, "--model", model, "--format", "jsonl").splitlines()) == 2
    (tmp_path / "empty").mkdir()
    with pytest.raises(DocumentError, match="contains no readable file"):
        extract(tmp_path / "empty", "--model", model)


def test_extract_glob_pattern_is_expanded(model: Path, pdf: Path, tmp_path: Path) -> None:
    bracketed = tmp_path / "scan [1].pdf"  # a file name that looks like a pattern
    bracketed.write_bytes(pdf.read_bytes())
    assert len(extract(tmp_path / "*.pdf", "--model", model, "--format", "jsonl").splitlines()) == 2
    assert len(extract(bracketed, "--model", model, "--format", "jsonl").splitlines()) == 1
    with pytest.raises(DocumentError, match="contains no readable file"):
        extract(tmp_path / "*.png", "--model", model)


def test_print_document_replaces_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    builder = DocumentBuilder("a\x1b[2J")
    builder.add_page(["\x1b]0;owned\x079.00"], [[0, 0, 10, 10]], 20, 20)
    builder.add_entity("total", [0], 0.9)
    print_document(builder.build(), Schema.flat(["total"]))
    printed = capsys.readouterr().out
    assert "9.00" in printed
    assert "\x1b" not in printed


def test_extract_values_are_json_in_a_terminal_too(model: Path, pdf: Path) -> None:
    pty = pytest.importorskip("pty", reason="terminals are emulated on POSIX only")
    terminal, stdout = pty.openpty()
    command = [sys.executable, "-m", "formnet.cli", "extract", str(pdf), "--model", str(model), "--values"]
    result = subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, text=True)
    os.close(stdout)
    assert result.returncode == 0, result.stderr
    assert os.read(terminal, 1000).split()[:2] == [b"[", b"{"]
    os.close(terminal)


def test_extract_table_with_output_file_is_rejected(model: Path, pdf: Path, tmp_path: Path) -> None:
    existing = tmp_path / "kept.txt"
    existing.write_text("mine")
    result = runner.invoke(app, ["extract", str(pdf), "--model", str(model), "--format", "table", "-o", str(existing)])
    assert result.exit_code == 2
    assert existing.read_text() == "mine"


@pytest.mark.parametrize("option", ["--out", "--report"])
def test_extract_output_that_cannot_be_written_is_reported_before_reading(option: str, tmp_path: Path) -> None:
    source = tmp_path / "empty.json"
    source.touch()
    for name, reason in (("none/fields.json", "the folder does not exist"), ("folder.json", "is a folder")):
        (tmp_path / "folder.json").mkdir(exist_ok=True)
        result = runner.invoke(app, ["extract", str(source), "--model", "none", option, str(tmp_path / name)])
        assert isinstance(result.exception, SettingsError)
        assert str(result.exception).startswith(f"{tmp_path / name}: {reason}. C")


def test_extract_file_name_not_utf8_is_written_with_replacement(model: Path, pdf: Path, tmp_path: Path) -> None:
    latin1 = Path(os.fsdecode(bytes(tmp_path) + b"/caf\xe9.pdf"))
    latin1.write_bytes(pdf.read_bytes())
    for output_format in ("json", "jsonl", "csv"):
        out = tmp_path / f"out.{output_format}"
        result = runner.invoke(app, ["extract", str(latin1), "--model", str(model), "-o", str(out)])
        assert result.exit_code == 0, result.output
        assert "caf\ufffd" in out.read_text(encoding="utf-8")
    write([read_one(latin1)], tmp_path / "out.jsonl")
    assert next(iter(read(tmp_path / "out.jsonl"))).id.endswith("caf\ufffd.pdf")
