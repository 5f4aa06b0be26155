from dataclasses import replace

from formnet.document.builder import DocumentBuilder
from formnet.extraction.fields import plain_values
from formnet.extraction.options import ExtractionOptions
from formnet.extraction.output import entity_output, to_output
from linked_receipts import SCHEMA


def test_entity_output_boxes_keep_six_digits_in_any_unit() -> None:
    builder = DocumentBuilder("small")
    builder.add_page(["total", "9.00"], [[0.12345, 0.51234, 0.2, 0.52], [0.3, 0.51, 0.4, 0.52]], 1, 1)
    output = entity_output(builder.build().entity("total", [0]))
    assert output.model_dump(mode="json")["boxes"] == [[0.12345, 0.51234, 0.2, 0.52]]


def test_to_output_joins_the_parts_of_a_row_on_a_page_that_was_turned() -> None:
    builder = DocumentBuilder("turned")
    boxes = [[10, 10, 20, 20], [80, 10, 95, 20], [10, 40, 20, 50], [80, 40, 95, 50]]
    builder.add_page(["2x", "9.00", "3x", "6.00"], boxes, 100, 200, rotation=90)
    for number, label in enumerate(("count", "price", "count", "price")):
        builder.add_entity(label, [number])
    document = builder.build()
    options = ExtractionOptions()
    entities = tuple(options.apply(entity, SCHEMA.by_label[entity.label]) for entity in document.entities)
    output = to_output(replace(document, entities=entities), SCHEMA)
    assert plain_values(output.fields) == {"items": [{"quantity": 2, "total": 9.0}, {"quantity": 3, "total": 6.0}]}
