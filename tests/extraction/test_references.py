import csv
import json
from pathlib import Path

import pytest

from formnet.document import Document
from formnet.document.builder import DocumentBuilder
from formnet.errors import SettingsError
from formnet.extraction.output import to_output
from formnet.extraction.references import ReferenceList
from formnet.extraction.schema import FieldSchema, Schema
from formnet.extraction.writers import CsvWriter
from formnet.scale.bulk.output import _to_parquet, result_row, row_schema

SCHEMA = Schema(
    fields=(
        FieldSchema(label="company", path="merchant.name"),
        FieldSchema(label="total", path="total", type="amount"),
        FieldSchema(label="item", path="line_items[].description", anchor=True),
    )
)
VENDORS = """merchant.name,vendor_id
KEDAI KOPI MELUR,V-7
KEDAI KOPI MAWAR,V-8
NESCAFE CLASSIC 500G,V-9
KEDAI RUNCIT ABC,V-10
KEDAI RUNCIT ABC,V-11
- Sdn Bhd,V-12
"""


def receipt(company: str = "KEDAI K0PI MELUR", item: str = "TEH O A1S") -> Document:
    texts = [*company.split(), *item.split(), "9.00"]
    builder = DocumentBuilder("receipt")
    builder.add_page(texts, [(10 * i, 0, 10 * i + 9, 9) for i in range(len(texts))], 200, 20)
    words = len(company.split())
    builder.add_entity("company", range(words))
    builder.add_entity("item", range(words, len(texts) - 1))
    builder.add_entity("total", [len(texts) - 1])
    return builder.build()


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "vendor"),
    [
        ("KEDAI KOPI MELUR", "V-7"),
        ("Kedai K0pi Me1ur", "V-7"),
        ("KEDAIKOPIMELUR", "V-7"),
        ("KEDAI KOPI MAWAR.", "V-8"),
        ("KEDAI KOPI MAWAR SDN. BHD.", "V-8"),
        ("& Co", None),
        ("NESCAFE CLASSIC 500G", "V-9"),
        ("NESCAFE CLASSIC S00G", "V-9"),
        ("NESCAFE CLASSIC 600G", None),
        ("KEDAI RUNCIT ABC", None),
        ("KEDAI BUKU MELUR", None),
        ("MELUR", None),
        ("...", None),
        ("", None),
    ],
)
def test_match_finds_an_entry_with_few_different_characters(tmp_path: Path, text: str, vendor: str | None) -> None:
    match = ReferenceList.read(write(tmp_path / "vendors.csv", VENDORS)).match(text)
    assert (None if match is None else match.entry["vendor_id"]) == vendor


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_read_accepts_separators_and_byte_order_marks(tmp_path: Path, separator: str) -> None:
    rows = [["merchant.name", "vendor_id", "city"], ["CAFÉ MÜLLER", "1", "Ulm"], ["", "2", ""], []]
    text = "\ufeff" + "\n".join(separator.join(row) for row in rows)
    vendors = ReferenceList.read(write(tmp_path / "vendors.csv", text))
    assert vendors.columns == ("merchant.name", "vendor_id", "city")
    assert vendors.rows == (("CAFÉ MÜLLER", "1", "Ulm"),)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no entries"),
        (b"merchant.name\n", "no entries"),
        (b"merchant.name,id\nA\n", "'A' has 1 columns, not 2"),
        (b"merchant.name,id, id\nA,1,2\n", "column names must differ"),
        (b"merchant.name,score\nA,1\n", "none may be 'score'"),
        (b"merchant.name\n\xff\xfe\n", "not a CSV file in UTF-8"),
        (b'merchant.name\n"A\n', "not a CSV file"),
    ],
)
def test_read_names_the_problem(tmp_path: Path, content: bytes, message: str) -> None:
    file = tmp_path / "vendors.csv"
    file.write_bytes(content)
    with pytest.raises(SettingsError, match=message) as raised:
        ReferenceList.read(file)
    assert str(file) in str(raised.value)
    with pytest.raises(SettingsError, match="cannot be read"):
        ReferenceList.read(tmp_path / "missing.csv")


def test_read_keeps_line_breaks_in_quotes(tmp_path: Path) -> None:
    vendors = ReferenceList.read(
        write(tmp_path / "vendors.csv", 'merchant.name,city\n"A\u2028B","12 Jalan\nPuchong"\n')
    )
    assert vendors.rows == (("A\u2028B", "12 Jalan\nPuchong"),)


def test_match_same_vendor_written_in_two_ways() -> None:
    vendors = ReferenceList(["merchant.name", "id"], [["MR. D.I.Y. SDN BHD", "1"], ["MR D.I.Y.", "1"], ["OTHER", "2"]])
    match = vendors.match("MR. D.I.Y. Sdn Bhd")
    assert match is not None
    assert match.entry == {"merchant.name": "MR. D.I.Y. SDN BHD", "id": "1"}


def test_match_prefers_the_entry_without_look_alikes() -> None:
    vendors = ReferenceList(["merchant.name", "id"], [["BAKERIES (KI)", "1"], ["BAKERIES (KL)", "2"]])
    assert [vendors.match(text).entry["id"] for text in ("BAKERIES (KL)", "BAKERIES (KI)")] == ["2", "1"]  # type: ignore[union-attr]


def test_schema_refuses_lists_for_other_fields(tmp_path: Path) -> None:
    other = ReferenceList.read(write(tmp_path / "other.csv", "vendor\nA\n"))
    with pytest.raises(SettingsError, match=r"first column is 'vendor'.*line_items\.description, merchant\.name"):
        SCHEMA.with_references([other])
    amounts = ReferenceList(["total"], [["9.00"]])
    with pytest.raises(SettingsError, match="not a text field"):
        SCHEMA.with_references([amounts])
    vendors = ReferenceList(["merchant.name"], [["A"]])
    with pytest.raises(SettingsError, match="a second list"):
        SCHEMA.with_references([vendors, vendors])


def test_output_has_the_entry_next_to_the_printed_text(tmp_path: Path) -> None:
    vendors = ReferenceList.read(write(tmp_path / "vendors.csv", VENDORS))
    products = ReferenceList(["line_items.description", "sku"], [["TEH O AIS", "T1"]])
    schema = SCHEMA.with_references([vendors, products])
    output = to_output(receipt(), schema)
    merchant = output.fields["merchant"]["name"]
    assert (merchant.value, merchant.text) == ("KEDAI K0PI MELUR", "KEDAI K0PI MELUR")
    assert merchant.reference.entry == {"merchant.name": "KEDAI KOPI MELUR", "vendor_id": "V-7"}
    assert merchant.reference.score == 1
    assert output.fields["line_items"][0]["description"].reference.entry["sku"] == "T1"
    assert output.fields["total"].reference is None
    assert to_output(receipt("SOMEONE ELSE"), schema).fields["merchant"]["name"].reference is None
    assert "references" not in json.loads(schema.model_dump_json())


def test_tables_and_parquet_have_columns_for_entries(tmp_path: Path) -> None:
    products = ReferenceList(["line_items.description", "sku"], [["TEH O AIS", "T1"]])
    vendors = ReferenceList.read(write(tmp_path / "vendors.csv", VENDORS))
    schema = SCHEMA.with_references([vendors, products])
    with (tmp_path / "d.csv").open("w") as file, (tmp_path / "i.csv").open("w") as items:
        writer = CsvWriter(file, schema, items)
        writer.write(receipt())
        writer.write(receipt("SOMEONE ELSE", "SOMETHING"))
    with (tmp_path / "d.csv").open() as file:
        first, second = csv.DictReader(file)
    names = [f"merchant.name{suffix}" for suffix in ("", ".match", ".match.vendor_id", ".match.score")]
    assert [first[name] for name in names] == ["KEDAI K0PI MELUR", "KEDAI KOPI MELUR", "V-7", "1.0"]
    assert [second[name] for name in names] == ["SOMEONE ELSE", "", "", ""]
    with (tmp_path / "i.csv").open() as file:
        item, other = csv.DictReader(file)
    assert [item[name] for name in ("description", "description.match", "description.match.sku")] == [
        "TEH O A1S", "TEH O AIS", "T1"
    ]  # fmt: skip
    assert other["description.match"] == ""
    rows = [result_row(receipt(), "a", schema), result_row(receipt("SOMEONE ELSE"), "b", schema)]
    import pyarrow.parquet as pq

    table = pq.read_table(_to_parquet(rows, row_schema(schema))).to_pylist()
    assert table[0]["fields"]["merchant"]["name"]["reference"]["entry"]["vendor_id"] == "V-7"
    assert table[1]["fields"]["merchant"]["name"]["reference"] is None
    assert "reference" not in table[0]["fields"]["total"]
