"""Words that an OCR engine reads on the page images of a corpus, in place of the words of the corpus."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from os import SEEK_END
from pathlib import Path

from formnet.datasets.views import TURNED, View, change_view
from formnet.document import Document
from formnet.document.builder import DocumentBuilder
from formnet.errors import CorpusError, DocumentError
from formnet.io.file_types import detect_file_type
from formnet.io.glued_words import split_glued_words
from formnet.io.ocr import OcrEngine
from formnet.io.page_image import load_page_image
from formnet.io.readers import find_files, jsonl
from formnet.io.readers.image import add_image_page


def find_images(documents: Iterable[Document], folder: Path | None) -> list[Document]:
    """Return the documents that have an image of every page.

    Given a folder, the image of a document of one page is the file named after the document's ID.
    """
    if folder is None:
        return [d for d in documents if d.pages and all(page.image is not None for page in d.pages)]
    single_pages = {document.id: document for document in documents if len(document.pages) == 1}
    images: dict[str, Path] = {}
    for file in find_files(folder):
        if file.stem in single_pages and detect_file_type(file) == "image":
            if file.stem in images:
                raise CorpusError(f"{file}: {images[file.stem]} has the same name. Remove one of them.")
            images[file.stem] = file
    return [
        replace(document, pages=(replace(document.pages[0], image=images[name], frame=0, rotation=0),))
        for name, document in single_pages.items()
        if name in images
    ]


def read_images(
    documents: Iterable[Document],
    engine: OcrEngine,
    output: Path,
    view: View = "upright",
    upright: Mapping[str, Document] | None = None,
) -> Iterator[Document]:
    """Yield each document with the words that an engine reads, its field values, and neither entities nor links.

    Documents are appended to `output` as they are read, and those already in the file are not read again. A file holds
    the readings of one engine and view.

    Args:
        documents: Documents with page images.
        engine: The engine.
        output: JSONL file for the readings.
        view: Transformation of the images before they are read.
        upright: Readings of the upright images by document ID. An engine that sets a turned image exactly upright reads
            the same pixels again, so these words are used and only its orientation is determined.
    """
    stored = {document.id: document for document in _stored_documents(output, engine)}
    output.parent.mkdir(parents=True, exist_ok=True)
    with output.open("a", encoding="utf-8") as file:
        for document in documents:
            if document.id not in stored:
                same = (upright or {}).get(document.id)
                is_upright = same is not None and not any(page.rotation for page in same.pages)
                if same is not None and is_upright and _is_set_upright(document, engine, view):
                    recognized = replace(same, pages=tuple(replace(page, image=None) for page in same.pages))
                else:
                    recognized = _read_document(document, engine, view)
                file.write(json.dumps(recognized.to_json(), ensure_ascii=False, separators=(",", ":")) + "\n")
                file.flush()
                stored[document.id] = recognized
            # Rules for glued words and field values may be newer than the file.
            yield replace(split_glued_words(stored[document.id]), fields=document.fields)


def _is_set_upright(document: Document, engine: OcrEngine, view: View) -> bool:
    """Return whether an engine that determines the orientation first turns every page of a document exactly back."""
    find_rotation = getattr(engine, "find_rotation", None)
    if find_rotation is None or view not in TURNED:
        return False
    return all(
        (find_rotation(change_view(load_page_image(replace(page, rotation=0)), view, "")) + int(view)) % 360 == 0
        for page in document.pages
    )


def _read_document(document: Document, engine: OcrEngine, view: View) -> Document:
    builder = DocumentBuilder(document.id)
    for page in document.pages:
        assert page.image is not None
        as_stored = load_page_image(replace(page, rotation=0))
        add_image_page(
            builder, change_view(as_stored, view, f"{document.id}, {page.frame}"), engine, page.image, page.frame
        )
    recognized = split_glued_words(builder.build())
    if view != "upright":  # the boxes are not those of the image
        recognized = replace(recognized, pages=tuple(replace(page, image=None) for page in recognized.pages))
    return replace(recognized, fields=document.fields)


def _stored_documents(output: Path, engine: OcrEngine) -> list[Document]:
    """Return the documents of an unfinished file; a line that was not written to its end is cut off."""
    if not output.is_file():
        return []
    results = list(jsonl.read_each(output))
    content = output.read_bytes()
    is_cut = bool(results) and isinstance(results[-1], DocumentError) and not content.endswith(b"\n")
    documents = []
    for result in results[:-1] if is_cut else results:
        if isinstance(result, DocumentError):
            raise result
        sources = {page.text_source for page in result.pages}
        if sources != {engine.name}:
            readers = ", ".join(sorted(filter(None, sources))) or "no OCR engine"
            raise CorpusError(f"{output}: was read by {readers}, not {engine.name}. Use another file.")
        documents.append(result)
    if is_cut and not documents:
        raise CorpusError(f"{output}: is not a file of readings. Use another file.")
    if not content.endswith(b"\n"):
        with output.open("r+b") as file:
            file.truncate(content.rfind(b"\n") + 1 if is_cut else len(content))
            file.seek(0, SEEK_END)
            file.write(b"" if is_cut else b"\n")
    return documents
