"""Models chosen per document by a classifier on the global token."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from command_line import run_command, runner
from formnet.cli import app
from formnet.document import Document, DocumentType
from formnet.document.builder import DocumentBuilder
from formnet.errors import SettingsError
from formnet.extraction.auto import AutoExtractor, load_extractor
from formnet.extraction.extractor import Extractor
from formnet.extraction.output import to_output
from formnet.extraction.schema import FieldSchema, Schema
from formnet.extraction.tables import document_columns, document_row
from formnet.io.writers import write
from formnet.modeling.onnx import export_onnx
from formnet.training.document_types import add_type_classifier
from linked_receipts import linked_receipt


def letter(lines: int) -> Document:
    builder = DocumentBuilder(f"letter-{lines}")
    words = [f"word{number}" for number in range(15)]
    texts = [words[(number + lines) % len(words)] for number in range(8 * lines)]
    boxes = [[60 * (n % 8), 20 * (n // 8), 60 * (n % 8) + 50, 20 * (n // 8) + 12] for n in range(len(texts))]
    builder.add_page(texts, boxes, 500, 700)
    return builder.build()


EXAMPLES = Path(__file__).parents[2] / "examples"
RECEIPTS = [linked_receipt(items, f"receipt-{items}") for items in range(1, 9)]
LETTERS = [letter(lines) for lines in range(2, 10)]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("models")
    first = Extractor.from_pretrained("receipts")
    recall = add_type_classifier(first, {"receipts": RECEIPTS[:5], "invoices": LETTERS[:5]})
    assert recall == {"receipts": 1, "invoices": 1}
    first.save_pretrained(folder / "receipts")
    Extractor.from_pretrained("invoices").save_pretrained(folder / "invoices", quantized=True)
    return {name: folder / name for name in ("receipts", "invoices")}


@pytest.fixture(scope="module")
def auto(models: dict[str, Path]) -> AutoExtractor:
    return AutoExtractor.from_pretrained(models)


def test_auto_each_document_is_read_by_the_model_of_its_type(auto: AutoExtractor) -> None:
    documents = [document for pair in zip(LETTERS[5:], RECEIPTS[5:], strict=True) for document in pair]
    letters, receipts = auto.extract(documents)[::2], auto.extract(documents)[1::2]
    assert {document.type.name for document in letters} == {"invoices"}
    assert {document.type.name for document in receipts} == {"receipts"}
    assert all(0.5 < document.type.score <= 1 for document in letters + receipts)
    for name, found in (("receipts", receipts), ("invoices", letters)):
        alone = Extractor.from_pretrained(name).extract(found)
        for expected, document in zip(alone, found, strict=True):
            assert [(e.label, e.words) for e in document.entities] == [(e.label, e.words) for e in expected.entities]


def test_auto_output_has_type_and_the_checks_of_its_schema(auto: AutoExtractor) -> None:
    receipt, other = auto.extract([RECEIPTS[3], LETTERS[3]])
    output = to_output(receipt, auto.schema)
    assert (output.type, output.type_score) == ("receipts", round(receipt.type.score, 4))
    assert output.fields == to_output(receipt, Extractor.from_pretrained("receipts").schema).fields
    assert {check.name for check in output.checks} >= {"total"}
    assert {check.name for check in to_output(other, auto.schema).checks} == {"items", "total", "amount_due"}
    unknown = replace(receipt, type=DocumentType("letters", 1.0))  # read by the first model
    assert to_output(unknown, auto.schema).checks == output.checks
    columns = document_columns(auto.schema)
    assert {"type", "total", "merchant.name", "invoice_number"} <= set(columns)
    assert document_row(output, auto.schema)["type"] == "receipts"
    assert len(set(columns)) == len(columns)


def test_load_extractor_auto_reads_a_receipt_and_an_invoice_by_their_models() -> None:
    extractor = load_extractor("auto")
    receipt, invoice = extractor.extract([RECEIPTS[4], extractor.read(EXAMPLES / "invoice.pdf")])
    assert (receipt.type.name, invoice.type.name) == ("receipts", "invoices")
    fields = to_output(invoice, extractor.schema).fields
    assert fields["vendor"]["name"].value == "Larch & Hazel Joinery Ltd"
    assert [item["total"].value for item in fields["line_items"]] == [1280, 222, 120]
    assert "failed" not in {check.status for check in to_output(invoice, extractor.schema).checks}
    assert isinstance(load_extractor("invoices"), Extractor)


def test_auto_model_without_classifier_raises(models: dict[str, Path]) -> None:
    with pytest.raises(SettingsError, match="does not recognize documents of type invoices, receipts"):
        AutoExtractor.from_pretrained(dict(reversed(models.items())))


def test_type_classifier_survives_saving_quantizing_and_export(models: dict[str, Path], tmp_path: Path) -> None:
    extractor = Extractor.from_pretrained(models["receipts"])
    extractor.save_pretrained(tmp_path / "int8", quantized=True)
    export_onnx(extractor.model, tmp_path / "onnx")
    extractor.save_files(tmp_path / "onnx")
    expected = extractor.extract(LETTERS[1]).type
    for name in ("int8", "onnx"):
        found = Extractor.from_pretrained(tmp_path / name).extract(LETTERS[1]).type
        assert found == DocumentType(expected.name, pytest.approx(expected.score, abs=0.02))


def test_add_types_command_writes_a_model_that_tells_them_apart(tmp_path: Path) -> None:
    for name, documents in (("receipts", RECEIPTS), ("letters", LETTERS)):
        write(documents, tmp_path / f"{name}.jsonl")
    options = [f"--type={name}=jsonl:{tmp_path / f'{name}.jsonl'}" for name in ("receipts", "letters")]
    message = run_command("add-types", "receipts", str(tmp_path / "model"), *options)
    assert "recognizes receipts (100.0% of every fifth of 8), letters (100.0% of every fifth of 8)" in message
    assert json.loads((tmp_path / "model" / "config.json").read_text())["document_types"] == ["receipts", "letters"]
    assert Extractor.from_pretrained(tmp_path / "model").extract(LETTERS[0]).type.name == "letters"


def test_add_types_command_bad_option_raises(tmp_path: Path) -> None:
    result = runner.invoke(app, ["add-types", "receipts", str(tmp_path / "model"), "--type=receipts"])
    assert result.exit_code == 2
    assert "is not of the form TYPE=CORPUS" in " ".join(result.output.split())
    write(RECEIPTS, tmp_path / "receipts.jsonl")
    with pytest.raises(SettingsError, match="at least two types with 5 documents each are needed"):
        run_command("add-types", "receipts", str(tmp_path), f"--type=receipts=jsonl:{tmp_path / 'receipts.jsonl'}")


def test_schema_union_keeps_what_is_an_item_in_each_type() -> None:
    first, second = (
        Schema(fields=(FieldSchema(label="item", path="items[].name", anchor=True, alone=alone),))
        for alone in (True, False)
    )
    union = Schema.union({"receipts": first, "invoices": second})
    assert [union.for_type(DocumentType(name, 1.0)).fields[0].alone for name in union.by_type] == [True, False]


def test_schema_union_of_contradicting_schemas_raises() -> None:
    date, other_date = (Schema(fields=(FieldSchema(label="date", path=path),)) for path in ("date", "invoice_date"))
    with pytest.raises(SettingsError, match="the label 'date' has another field in the schema of invoices"):
        Schema.union({"receipts": date, "invoices": other_date})
    listed = Schema(fields=(FieldSchema(label="day", path="date[]"),))
    with pytest.raises(SettingsError, match="the schemas of receipts, invoices contradict each other"):
        Schema.union({"receipts": date, "invoices": listed})
