"""Image files, read by an OCR engine; one page per frame."""

from collections.abc import Callable, Iterator
from pathlib import Path

from PIL import Image

from formnet.document import Document
from formnet.document.builder import DocumentBuilder
from formnet.errors import OcrError
from formnet.io.images import iter_frames
from formnet.io.limits import DEFAULT_LIMITS, ReadLimits
from formnet.io.ocr import OcrEngine


def read(path: Path, engine: Callable[[], OcrEngine], limits: ReadLimits = DEFAULT_LIMITS) -> Iterator[Document]:
    """Read a file as one document."""
    builder = DocumentBuilder(str(path))
    for number, image in enumerate(iter_frames(path, limits)):
        add_image_page(builder, image, engine(), path, number)
    yield builder.build()


def add_image_page(
    builder: DocumentBuilder, image: Image.Image, engine: OcrEngine, path: Path, frame: int, scale: float = 1.0
) -> None:
    """Add a page with the words that an engine recognizes on its image; `scale` is page units per pixel."""
    try:
        result = engine.read(image)
    except OcrError as error:
        raise OcrError(f"{path}, page {frame + 1}: {error}") from error
    width, height = image.size if result.rotation % 180 == 0 else image.size[::-1]
    builder.add_page(
        result.texts,
        [[coordinate * scale for coordinate in box] for box in result.boxes],
        width * scale,
        height * scale,
        confidences=result.confidences,
        image=path,
        frame=frame,
        text_source=engine.name,
        rotation=result.rotation,
    )
