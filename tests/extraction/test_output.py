from dataclasses import replace

from formnet.document.builder import DocumentBuilder
from formnet.extraction.options import ExtractionOptions
from formnet.extraction.output import COLUMNS, entity_output, escape_formula, to_output, to_rows
from formnet.extraction.schema import Schema


def test_to_rows_ambiguous_date_is_marked() -> None:
    builder = DocumentBuilder("a")
    builder.add_page(["03/04/2018"], [[0, 0, 9, 1]], 10, 10)
    document = builder.build()
    entity = ExtractionOptions().apply(document.entity("date", [0]))
    (row,) = to_rows(to_output(replace(document, entities=(entity,)), Schema.flat(["date"])))
    assert tuple(row) == COLUMNS
    assert row["ambiguous"] == "yes"


def test_entity_output_boxes_keep_six_digits_in_any_unit() -> None:
    builder = DocumentBuilder("small")
    builder.add_page(["total", "9.00"], [[0.12345, 0.51234, 0.2, 0.52], [0.3, 0.51, 0.4, 0.52]], 1, 1)
    output = entity_output(builder.build().entity("total", [0]))
    assert output.model_dump(mode="json")["boxes"] == [[0.12345, 0.51234, 0.2, 0.52]]


def test_escape_formula_quotes_formulas_only() -> None:
    cells = ("=1+1", "@x", "-5.00", "RM 5", 3)
    assert [escape_formula(cell) for cell in cells] == ["'=1+1", "'@x", "-5.00", "RM 5", 3]
    assert escape_formula("-1+cmd|' /C calc'!A0").startswith("'")
    assert escape_formula("Elm; =1+1;-2;x") == "Elm;' =1+1;'-2;x"
    assert [escape_formula(cell)[0] for cell in ("\n=1+1", "\uff1d1+1", " +1")] == ["'"] * 3
