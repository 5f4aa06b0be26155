"""PDF: a page's own words where it has them, an OCR engine's where it is a picture; each page says which."""

from collections.abc import Callable, Iterator
from pathlib import Path

from PIL import Image

from formnet.document import Document
from formnet.document.builder import DocumentBuilder
from formnet.io.ocr import NoEngineError, OcrEngine
from formnet.io.pdfium import TextLayer, count_pages, open_pdf, picture, text_layer
from formnet.io.readers.image import add_picture

#: A page mostly covered by pictures, on which words of its own cover less than this, is a scan with a stamp on it.
STAMP = 0.015
COVERED = 0.5
OWN_TEXT = "PDF text"


def read(path: Path, engine: Callable[[], OcrEngine]) -> Iterator[Document]:
    """Give the file as one document."""
    builder = DocumentBuilder(str(path))
    unread: NoEngineError | None = None
    with open_pdf(path) as pages:
        for number in range(count_pages(pages)):
            layer = text_layer(pages, number, path)
            image = None if has_usable_text_layer(layer) else picture(pages, number)
            if image is not None and (layer.texts or not _is_blank(image)):
                try:
                    add_picture(builder, image, engine(), path, number, layer.width / image.width)
                    continue
                except NoEngineError as error:
                    if layer.texts or layer.pictured:
                        raise
                    unread = error  # lines and shapes may be letters; where other pages have words, they may not
            own = (layer.texts, layer.boxes, layer.width, layer.height)
            builder.add_page(*own, image=path, frame=number, text_source=OWN_TEXT)
    document = builder.build()
    if unread is not None and not document.num_words:
        raise unread
    yield document


def has_usable_text_layer(layer: TextLayer) -> bool:
    """Decide whether a page's own words are what it shows; without any, it may show outlines of letters, or a scan."""
    return layer.is_readable and (layer.pictured < COVERED or layer.written >= STAMP)


def _is_blank(image: Image.Image) -> bool:
    """Tell whether a picture is all of one color."""
    low, high = image.convert("L").getextrema()
    return low == high
