"""The picture that a page's words were read off."""

from PIL import Image

from formnet.document import Page
from formnet.errors import DocumentError
from formnet.io.images import frame
from formnet.io.pdfium import page_picture


def scan_of(page: Page) -> Image.Image:
    """Give the page's scan, or its drawing where it is a page of a PDF."""
    assert page.image is not None
    try:
        with page.image.open("rb") as file:
            is_pdf = b"%PDF-" in file.read(1024)
    except OSError as error:
        raise DocumentError(f"{page.image}: the picture of a page cannot be opened: {error.strerror}.") from error
    return page_picture(page.image, page.frame) if is_pdf else frame(page.image, page.frame)
