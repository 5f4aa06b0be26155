"""The β-skeleton drawn over its page, as in the paper's figure."""

from PIL import Image

from formnet.document import Page
from formnet.encoding.graph import Edges
from formnet.visualization.canvas import OVERSAMPLING, page_canvas

#: Along a line of text, between lines, and neither; apart for the color-blind too.
ALONG, ACROSS, SLANTED = (0, 114, 178), (213, 94, 0), (0, 158, 115)
_NODE = (20, 20, 20)


def draw_graph(page: Page, edges: Edges) -> Image.Image:
    """Draw the words' centers and the edges between them, colored by their direction."""
    canvas = page_canvas(page)
    pen = canvas.pen
    centers = ((page.boxes[:, :2] + page.boxes[:, 2:]) / 2 * canvas.scale).tolist()
    for start, stop in edges.T.tolist():
        if start < stop:
            one, other = centers[start], centers[stop]
            pen.line((*one, *other), fill=_color(one, other), width=3 * OVERSAMPLING)
    dot = 3 * OVERSAMPLING
    for x, y in centers:
        pen.ellipse((x - dot, y - dot, x + dot, y + dot), fill=_NODE)
    return canvas.finish()


def _color(one: list[float], other: list[float]) -> tuple[int, int, int]:
    across, down = abs(one[0] - other[0]), abs(one[1] - other[1])
    if across > 4 * down:
        return ALONG
    return ACROSS if down > 2 * across else SLANTED
