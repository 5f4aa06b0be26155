"""PDF files: each page by its text layer if usable, otherwise by OCR."""

from collections.abc import Callable, Iterator
from pathlib import Path

from PIL import Image

from formnet.document import Document
from formnet.document.builder import DocumentBuilder
from formnet.io.limits import DEFAULT_LIMITS, ReadLimits
from formnet.io.ocr import NoEngineError, OcrEngine
from formnet.io.pdfium import TextLayer, count_pages, open_pdf, render_page, text_layer
from formnet.io.readers.image import add_image_page

#: A page with at least this image coverage is a scan, unless its text layer covers at least `MIN_TEXT_COVERAGE`:
#: less text than that is a stamp.
SCAN_COVERAGE = 0.5
MIN_TEXT_COVERAGE = 0.015
TEXT_SOURCE = "PDF text"


def read(path: Path, engine: Callable[[], OcrEngine], limits: ReadLimits = DEFAULT_LIMITS) -> Iterator[Document]:
    """Read a file as one document."""
    builder = DocumentBuilder(str(path))
    missing_engine: NoEngineError | None = None
    with open_pdf(path, limits) as pages:
        for number in range(count_pages(pages)):
            layer = text_layer(pages, number, path, limits)
            image = None if has_usable_text_layer(layer) else render_page(pages, number)
            if image is not None and (layer.texts or not _is_blank(image)):
                try:
                    add_image_page(builder, image, engine(), path, number, layer.width / image.width)
                    continue
                except NoEngineError as error:
                    if layer.texts or layer.image_coverage:
                        raise
                    # Vector graphics only. They may be outlined text, which matters only if no other page has words.
                    missing_engine = error
            text_page = (layer.texts, layer.boxes, layer.width, layer.height)
            builder.add_page(*text_page, image=path, frame=number, text_source=TEXT_SOURCE)
    document = builder.build()
    if missing_engine is not None and not document.num_words:
        raise missing_engine
    yield document


def has_usable_text_layer(layer: TextLayer) -> bool:
    """Return whether the text layer represents the visible text; if not, the page is a scan or outlined text."""
    return layer.is_readable and (layer.image_coverage < SCAN_COVERAGE or layer.text_coverage >= MIN_TEXT_COVERAGE)


def _is_blank(image: Image.Image) -> bool:
    """Return whether all pixels have the same color."""
    low, high = image.convert("L").getextrema()
    return low == high
