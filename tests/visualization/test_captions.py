import numpy as np

from formnet.document import Document
from formnet.document.builder import DocumentBuilder
from formnet.visualization.overlay import draw_entities


def test_captions_tight_rows_cover_no_word() -> None:
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
