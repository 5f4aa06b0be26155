"""Write documents to a file in the format given by its suffix.

Writes are atomic, so a corpus may be overwritten while it is being read.
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
from formnet.io.page_image import load_page_image
from formnet.io.readers import jsonl

SUFFIXES = (*jsonl.SUFFIXES, ".parquet", label_studio.SUFFIX)

_BATCH_ROWS = 64
#: Image formats that browsers display.
_BROWSER_SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp")


def write(
    documents: Iterable[Document], path: Path, *, model_version: str | None = None, images: str | None = None
) -> int:
    """Write documents and return their number; `model_version` and `images` are passed to `label_studio.to_task`."""
    if path.name.endswith(label_studio.SUFFIX):
        return _write_tasks(documents, path, model_version, images)
    if path.name.endswith(".parquet"):
        return _write_parquet(documents, path)
    if path.name.endswith(jsonl.SUFFIXES):
        return _write_jsonl(documents, path)
    raise DocumentError(f"{path}: unknown suffix. The file name must end in {', '.join(SUFFIXES)}.")


def _write_jsonl(documents: Iterable[Document], path: Path) -> int:
    """Write one document per line, compressed if the suffix is `.gz`."""
    count = 0
    with atomic_write(path) as part:
        compress = path.suffix == ".gz"
        with gzip.open(part, "wt", encoding="utf-8") if compress else part.open("w", encoding="utf-8") as file:
            for count, document in enumerate(documents, 1):  # noqa: B007
                file.write(json.dumps(document.to_json(), ensure_ascii=False, separators=(",", ":")) + "\n")
    return count


def _write_tasks(documents: Iterable[Document], path: Path, model_version: str | None, images: str | None) -> int:
    """Write a list of Label Studio tasks, and next to it the labeling interface for their labels."""
    count = 0
    labels: dict[str, None] = {}
    several_pages = False
    rendered: set[Path] = set()
    with atomic_write(path) as part, part.open("w", encoding="utf-8") as file:
        for document in documents:
            scans = [_browser_image(page, path, rendered) for page in document.pages]
            task = label_studio.to_task(document, model_version=model_version, images=images, scans=scans)
            file.write(("[\n" if count == 0 else ",\n") + json.dumps(task, ensure_ascii=False, separators=(",", ":")))
            labels |= dict.fromkeys([*(entity.label for entity in document.entities), *document.fields])
            several_pages |= len(document.pages) > 1
            count += 1
        file.write("[]\n" if count == 0 else "\n]\n")
    if labels:
        interface = label_studio.labeling_config(labels, several_pages=several_pages)
        with atomic_write(path.with_suffix(".xml")) as part:
            part.write_text(interface + "\n", encoding="utf-8")
    return count


def _browser_image(page: Page, tasks: Path, rendered: set[Path]) -> Path | None:
    """Return an image of a page that browsers display.

    Pages of PDF and TIFF files, and those that were set upright, are rendered to a directory next to the tasks. Two
    pages of one call never share a file.
    """
    if page.image is None or (page.image.suffix.lower() in _BROWSER_SUFFIXES and not page.rotation):
        return page.image
    folder = tasks.parent / f"{tasks.name.removesuffix(label_studio.SUFFIX)}-pages"
    folder.mkdir(exist_ok=True)
    file = folder / f"{page.image.name}-{page.frame + 1}.png"
    if file in rendered:  # files of the same name in different directories
        file = folder / f"{page.image.name}-{page.frame + 1}-{len(rendered)}.png"
    rendered.add(file)
    load_page_image(page).save(file)
    return file


def _write_parquet(documents: Iterable[Document], path: Path) -> int:
    """Write one row per document, with the keys of the JSON format as columns."""
    try:
        from pyarrow import RecordBatch
        from pyarrow.parquet import ParquetWriter
    except ImportError as error:
        raise DocumentError(f"{path}: writing Parquet requires pyarrow. Run pip install 'formnet[train]'.") from error
    count = 0
    schema = _schema()
    remaining = iter(documents)
    with atomic_write(path) as part, ParquetWriter(part, schema) as file:
        while batch := [_row(document) for document in islice(remaining, _BATCH_ROWS)]:
            file.write_batch(RecordBatch.from_pylist(batch, schema=schema))
            count += len(batch)
    return count


def _schema() -> Any:
    import pyarrow as pa

    text, number, integer = pa.string(), pa.float64(), pa.int64()
    page = {
        "width": number,
        "height": number,
        "words": pa.list_(text),
        "boxes": pa.list_(pa.list_(number)),
        "confidences": pa.list_(number),
        "image": text,
        "frame": integer,
        "text_source": text,
        "rotation": integer,
    }
    numbers = pa.list_(integer)
    entity = {"label": text, "text": text, "words": numbers, "key_words": numbers, "score": number}
    columns = {
        "schema": text,
        "id": text,
        "pages": pa.list_(pa.struct(list(page.items()))),
        "entities": pa.list_(pa.struct(list(entity.items()))),
        "links": pa.list_(pa.list_(integer)),
        "fields": pa.map_(text, text),
    }
    return pa.schema(list(columns.items()))


def _row(document: Document) -> dict[str, Any]:
    """Convert a document to a row: fields as pairs, because pyarrow builds maps from them, and `frame` always set."""
    row = document.to_json()
    return {**row, "pages": [{"frame": 0, **page} for page in row["pages"]], "fields": list(row["fields"].items())}


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """Yield a temporary path to write to; rename it to `path` on success, remove it on failure."""
    if not path.parent.is_dir():  # fail here, because writing would name the temporary file in its error
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path.parent))
    part = path.with_name(f".{path.name}.{uuid4().hex}.part")  # unique per writer
    try:
        yield part
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
