"""Pictures: scans and photographs, read by an OCR engine, one page a frame."""

from collections.abc import Callable, Iterator
from pathlib import Path

from PIL import Image

from formnet.document import Document
from formnet.document.builder import DocumentBuilder
from formnet.errors import OcrError
from formnet.io.images import frames
from formnet.io.ocr import OcrEngine


def read(path: Path, engine: Callable[[], OcrEngine]) -> Iterator[Document]:
    """Give the file as one document."""
    builder = DocumentBuilder(str(path))
    for number, image in enumerate(frames(path)):
        add_picture(builder, image, engine(), path, number)
    yield builder.build()


def add_picture(
    builder: DocumentBuilder, image: Image.Image, engine: OcrEngine, path: Path, frame: int, unit: float = 1.0
) -> None:
    """Add a page with the words that an engine sees on its picture; a pixel is so many units of the page."""
    try:
        seen = engine.read(image)
    except OcrError as error:
        raise OcrError(f"{path}, page {frame + 1}: {error}") from error
    builder.add_page(
        seen.texts,
        [[side * unit for side in box] for box in seen.boxes],
        image.width * unit,
        image.height * unit,
        confidences=seen.confidences,
        image=path,
        frame=frame,
        text_source=engine.name,
    )
