from formnet.document.builder import DocumentBuilder
from formnet.extraction.output import entity_output


def test_entity_output_boxes_keep_six_digits_in_any_unit() -> None:
    builder = DocumentBuilder("small")
    builder.add_page(["total", "9.00"], [[0.12345, 0.51234, 0.2, 0.52], [0.3, 0.51, 0.4, 0.52]], 1, 1)
    output = entity_output(builder.build().entity("total", [0]))
    assert output.model_dump(mode="json")["boxes"] == [[0.12345, 0.51234, 0.2, 0.52]]
