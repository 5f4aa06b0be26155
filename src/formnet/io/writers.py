"""Documents → a file; which kind, its name says.

A file takes its name only when it is whole, so that a corpus may be written over itself.
"""

import errno
import gzip
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any
from uuid import uuid4

from formnet.document import Document, Page
from formnet.errors import DocumentError
from formnet.io import label_studio
from formnet.io.page_image import scan_of
from formnet.io.readers import jsonl

SUFFIXES = (*jsonl.SUFFIXES, ".parquet", label_studio.SUFFIX)

_ROWS = 64
#: What browsers show.
_SHOWN = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp")


def write(
    documents: Iterable[Document], path: Path, *, model_version: str | None = None, images: str | None = None
) -> int:
    """Write documents and give their number; the model and the scans' address are for `label_studio.to_task`."""
    if path.name.endswith(label_studio.SUFFIX):
        return _write_tasks(documents, path, model_version, images)
    if path.name.endswith(".parquet"):
        return _write_parquet(documents, path)
    if path.name.endswith(jsonl.SUFFIXES):
        return _write_lines(documents, path)
    raise DocumentError(f"{path}: the name should end in {', '.join(SUFFIXES)}.")


def _write_lines(documents: Iterable[Document], path: Path) -> int:
    """Write a document a line, gzipped if the name says so."""
    count = 0
    with whole_file(path) as part:
        packed = path.suffix == ".gz"
        with gzip.open(part, "wt", encoding="utf-8") if packed else part.open("w", encoding="utf-8") as file:
            for count, document in enumerate(documents, 1):  # noqa: B007
                file.write(json.dumps(document.to_json(), ensure_ascii=False, separators=(",", ":")) + "\n")
    return count


def _write_tasks(documents: Iterable[Document], path: Path, model_version: str | None, images: str | None) -> int:
    """Write tasks as a list, and beside them the labeling interface for the labels that they have."""
    count = 0
    labels: dict[str, None] = {}
    several_pages = False
    drawn: set[Path] = set()
    with whole_file(path) as part, part.open("w", encoding="utf-8") as file:
        for document in documents:
            scans = [_picture(page, path, drawn) for page in document.pages]
            task = label_studio.to_task(document, model_version=model_version, images=images, scans=scans)
            file.write(("[\n" if count == 0 else ",\n") + json.dumps(task, ensure_ascii=False, separators=(",", ":")))
            labels |= dict.fromkeys([*(entity.label for entity in document.entities), *document.fields])
            several_pages |= len(document.pages) > 1
            count += 1
        file.write("[]\n" if count == 0 else "\n]\n")
    if labels:
        interface = label_studio.labeling_config(labels, several_pages=several_pages)
        with whole_file(path.with_suffix(".xml")) as part:
            part.write_text(interface + "\n", encoding="utf-8")
    return count


def _picture(page: Page, tasks: Path, drawn: set[Path]) -> Path | None:
    """Give a file that a browser shows; a page of a PDF or of a TIFF is drawn into a folder beside the tasks.

    Those drawn before are not written over.
    """
    if page.image is None or page.image.suffix.lower() in _SHOWN:
        return page.image
    folder = tasks.parent / f"{tasks.name.removesuffix(label_studio.SUFFIX)}-pages"
    folder.mkdir(exist_ok=True)
    file = folder / f"{page.image.name}-{page.frame + 1}.png"
    if file in drawn:  # two files of one name, from two folders
        file = folder / f"{page.image.name}-{page.frame + 1}-{len(drawn)}.png"
    drawn.add(file)
    scan_of(page).save(file)
    return file


def _write_parquet(documents: Iterable[Document], path: Path) -> int:
    """Write a row a document, in the columns that our JSON has as keys."""
    try:
        from pyarrow import RecordBatch
        from pyarrow.parquet import ParquetWriter
    except ImportError as error:
        raise DocumentError(f"{path}: writing Parquet needs pyarrow; run pip install 'formnet[train]'.") from error
    count = 0
    schema = _schema()
    waiting = iter(documents)
    with whole_file(path) as part, ParquetWriter(part, schema) as file:
        while some := [_row(document) for document in islice(waiting, _ROWS)]:
            file.write_batch(RecordBatch.from_pylist(some, schema=schema))
            count += len(some)
    return count


def _schema() -> Any:
    import pyarrow as pa

    text, number, count = pa.string(), pa.float64(), pa.int64()
    page = {
        "width": number,
        "height": number,
        "words": pa.list_(text),
        "boxes": pa.list_(pa.list_(number)),
        "confidences": pa.list_(number),
        "image": text,
        "frame": count,
        "text_source": text,
    }
    entity = {"label": text, "text": text, "words": pa.list_(count), "score": number}
    columns = {
        "schema": text,
        "id": text,
        "pages": pa.list_(pa.struct(list(page.items()))),
        "entities": pa.list_(pa.struct(list(entity.items()))),
        "links": pa.list_(pa.list_(count)),
        "fields": pa.map_(text, text),
    }
    return pa.schema(list(columns.items()))


def _row(document: Document) -> dict[str, Any]:
    """Give a document as a row; Parquet writes a map as pairs, and leaves no number out."""
    row = document.to_json()
    return {**row, "pages": [{"frame": 0, **page} for page in row["pages"]], "fields": list(row["fields"].items())}


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Give a file to write; it is renamed if all goes well, and removed if not."""
    if not path.parent.is_dir():  # and not a file with a name that nobody gave
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path.parent))
    part = path.with_name(f".{path.name}.{uuid4().hex}.part")  # its own, whoever else writes there
    try:
        yield part
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
