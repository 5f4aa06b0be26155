"""The β-skeleton graph drawn over its page, as in the paper's figure."""

from PIL import Image

from formnet.document import Page
from formnet.encoding.graph import Edges
from formnet.visualization.canvas import OVERSAMPLING, page_canvas

#: Colors of edges within a text line, between lines, and other edges; distinguishable with color blindness.
HORIZONTAL, VERTICAL, DIAGONAL = (0, 114, 178), (213, 94, 0), (0, 158, 115)
_NODE = (20, 20, 20)


def draw_graph(page: Page, edges: Edges) -> Image.Image:
    """Draw the centers of words and the edges between them, colored by direction."""
    canvas = page_canvas(page)
    pen = canvas.pen
    centers = ((page.boxes[:, :2] + page.boxes[:, 2:]) / 2 * canvas.scale).tolist()
    for i, j in edges.T.tolist():
        if i < j:
            pen.line((*centers[i], *centers[j]), fill=_edge_color(centers[i], centers[j]), width=3 * OVERSAMPLING)
    radius = 3 * OVERSAMPLING
    for x, y in centers:
        pen.ellipse((x - radius, y - radius, x + radius, y + radius), fill=_NODE)
    return canvas.finish()


def _edge_color(start: list[float], end: list[float]) -> tuple[int, int, int]:
    dx, dy = abs(start[0] - end[0]), abs(start[1] - end[1])
    if dx > 4 * dy:
        return HORIZONTAL
    return VERTICAL if dy > 2 * dx else DIAGONAL
