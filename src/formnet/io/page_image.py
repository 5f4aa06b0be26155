"""Load the image that a page was read from."""

from PIL import Image

from formnet.document import Page
from formnet.errors import DocumentError
from formnet.io.file_types import detect_file_type
from formnet.io.images import load_frame, turn
from formnet.io.limits import DEFAULT_LIMITS, ReadLimits
from formnet.io.pdfium import render_page_of


def load_page_image(page: Page, limits: ReadLimits = DEFAULT_LIMITS) -> Image.Image:
    """Load the scan of a page, upright, or render it if its file is a PDF."""
    assert page.image is not None
    try:
        load = render_page_of if detect_file_type(page.image) == "pdf" else load_frame
    except OSError as error:
        raise DocumentError(f"{page.image}: cannot open the page image: {error.strerror}.") from error
    return turn(load(page.image, page.frame, limits), page.rotation)
