"""Words that an OCR engine reads on the page images of a corpus, in place of the words of the corpus."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from formnet.datasets.views import View, change_view
from formnet.document import Document
from formnet.document.builder import DocumentBuilder
from formnet.errors import CorpusError
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
    files = {file.stem: file for file in find_files(folder) if detect_file_type(file) == "image"}
    return [
        replace(d, pages=(replace(d.pages[0], image=files[d.id], frame=0, rotation=0),))
        for d in documents
        if len(d.pages) == 1 and d.id in files
    ]


def read_images(
    documents: Iterable[Document], engine: OcrEngine, output: Path, view: View = "upright"
) -> Iterator[Document]:
    """Yield each document with the words that an engine reads, its field values, and neither entities nor links.

    Documents are appended to `output` as they are read, and those already in the file are not read again.
    """
    stored = {document.id: document for document in _stored_documents(output, engine)}
    output.parent.mkdir(parents=True, exist_ok=True)
    with output.open("a", encoding="utf-8") as file:
        for document in documents:
            if document.id not in stored:
                recognized = _read_document(document, engine, view)
                file.write(json.dumps(recognized.to_json(), ensure_ascii=False, separators=(",", ":")) + "\n")
                file.flush()
                stored[document.id] = recognized
            # A rule for glued words may be newer than the file.
            yield split_glued_words(stored[document.id])


def _read_document(document: Document, engine: OcrEngine, view: View) -> Document:
    builder = DocumentBuilder(document.id)
    for page in document.pages:
        assert page.image is not None
        image = change_view(load_page_image(page), view, f"{document.id}, {page.frame}")
        add_image_page(builder, image, engine, page.image, page.frame)
    return replace(split_glued_words(builder.build()), fields=document.fields)


def _stored_documents(output: Path, engine: OcrEngine) -> Iterator[Document]:
    """Yield the documents of an unfinished file; a line that was not written to its end is cut off."""
    if not output.is_file():
        return
    content = output.read_bytes()
    complete = content.rfind(b"\n") + 1
    if complete < len(content):
        with output.open("r+b") as file:
            file.truncate(complete)
    for document in jsonl.read_each(output):
        if isinstance(document, Exception):
            raise document
        others = {page.text_source for page in document.pages} - {engine.name}
        if others:
            raise CorpusError(f"{output}: was read by {others.pop()}, not {engine.name}. Use another file.")
        yield document
