"""Our own JSON: one document a line, plain or gzipped.

    {"schema": "formnet.document/1", "id": "a", "pages": [{"width": 612, "height": 792,
     "words": ["Total", "9.00"], "boxes": [[10, 10, 60, 20], [70, 10, 99, 20]]}],
     "entities": [{"label": "total", "words": [1]}], "links": [], "fields": {"total": "9.00"}}

Everything but pages may be left out; a document of one page may put the page's keys beside `id`.
"""

import gzip
import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from formnet.document import SCHEMA, Document
from formnet.document.builder import DocumentBuilder
from formnet.errors import DocumentError, LimitError
from formnet.io import images
from formnet.io.readers.fields import called, find_number

SUFFIXES = (".jsonl", ".jsonl.gz")

#: A line is a document: eleven thousand words take about half a megabyte.
LONGEST_LINE = 64 * 2**20


class Line(NamedTuple):
    """One line of a file, still unread."""

    file: Path
    number: int
    raw: bytes

    @property
    def text(self) -> str:
        """What the line says."""
        try:
            # The first line may begin with a mark of its encoding, and be all that there is.
            return self.raw.decode(json.detect_encoding(self.raw) if self.number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise DocumentError(f"is not UTF-8: {error}.") from error

    def __str__(self) -> str:
        return f"{self.file}, line {self.number}"


def each(path: Path) -> Iterator[Document | DocumentError]:
    """Give the documents in a file, one at a time, or why one cannot be had; those after it go on."""
    try:
        for line in lines(path):
            try:
                yield parse(line)
            except DocumentError as error:
                yield error
    except DocumentError as error:  # and what would follow is lost, too
        yield error


def count(path: Path) -> int:
    """Count the documents in a file."""
    return sum(1 for _ in lines(path))


def lines(path: Path) -> Iterator[Line]:
    """Give the lines of a file, none longer than the limit even when unpacked."""
    with path.open("rb") as file:
        is_packed = file.read(2) == b"\x1f\x8b"  # whatever it is called
    with gzip.open(path, "rb") if is_packed else path.open("rb") as file:
        number = 0
        while True:
            number += 1
            try:
                raw = file.readline(LONGEST_LINE + 1)
            except (OSError, EOFError, zlib.error) as error:
                raise DocumentError(f"{path}, line {number}: cannot be unpacked: {error}.") from error
            if len(raw) > LONGEST_LINE:
                raise LimitError(f"{path}, line {number}: is longer than {LONGEST_LINE >> 20} MiB; split the document.")
            if not raw:
                return
            if raw.strip():
                yield Line(path, number, raw)


def parse(line: Line) -> Document:
    """Give the document that a line says."""
    try:
        return from_json(loads(line), base=line.file.parent)
    except DocumentError as error:
        raise type(error)(f"{line}: {error}") from error


def from_json(data: Any, base: Path | None = None, *, words_only: bool = False) -> Document:
    """Give the document that parsed JSON says; a relative image path is taken from `base`, and no image without it.

    With `words_only`, what is known of it already (entities, links, fields) is not looked at.
    """
    if not isinstance(data, dict):
        raise DocumentError(f"a document is a JSON object, not {called(data)}.")
    schema = data.get("schema", SCHEMA)
    if schema != SCHEMA:
        raise DocumentError(f"schema {schema!r} is not known here; this version reads {SCHEMA!r}.")
    name = data.get("id")
    if not isinstance(name, str) or not name:
        raise DocumentError(f"a document needs an 'id' that is a string, not {called(name)}.")
    refuse_surrogates([name], name)
    builder = DocumentBuilder(name)
    pages = [data] if "words" in data else _items(data, "pages", name)
    if len(pages) > images.MOST_PAGES:
        raise LimitError(f"document {name!r}: has {len(pages):,} pages; the limit is {images.MOST_PAGES:,}. Split it.")
    for page in pages:
        builder.add_page(
            _texts(page, name),
            _items(page, "boxes", name),
            find_number(page, "width", f"document {name!r}"),
            find_number(page, "height", f"document {name!r}"),
            confidences=page.get("confidences"),
            image=_image(page, base, name),
            frame=_frame(page, name),
            text_source=_read_by(page, name),
        )
    if words_only:
        return builder.build()
    for entity in _items(data, "entities", name, optional=True):
        builder.add_entity(*_entity(entity, name))
    for link in _items(data, "links", name, optional=True):
        if not _are(link, int) or len(link) != 2:
            raise DocumentError(f"document {name!r}: a link is two entity numbers, not {link!r}.")
        builder.add_link(*link)
    return builder.build(_fields(data, name))


def _entity(entity: Any, name: str) -> tuple[str, list[int], float | None]:
    if not isinstance(entity, dict) or not isinstance(entity.get("label"), str) or not _are(entity.get("words"), int):
        raise DocumentError(f"document {name!r}: an entity needs a 'label' and 'words', a list of word numbers.")
    refuse_surrogates([entity["label"]], name)
    return entity["label"], entity["words"], find_number(entity, "score", f"document {name!r}")


def loads(line: Line) -> Any:
    """Give the JSON that a line holds; numbers that JSON does not have, and nesting without end, are refused."""
    try:
        return json.loads(line.text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise DocumentError(f"is not JSON: {error}.") from error


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number that JSON has")


def _items(data: Any, key: str, name: str, *, optional: bool = False) -> Sequence[Any]:
    value = data.get(key) if isinstance(data, dict) else None
    if value is None and optional:
        return ()
    if not isinstance(value, list):
        raise DocumentError(f"document {name!r}: {key!r} should be a list, not {called(value)}.")
    return value


def _texts(page: Any, name: str) -> Sequence[str]:
    texts = _items(page, "words", name)
    for i, text in enumerate(texts):
        if not isinstance(text, str):
            raise DocumentError(f"document {name!r}: word {i} is {text!r}; a word is a string.")
    refuse_surrogates(texts, name)
    return texts


def refuse_surrogates(texts: Iterable[str], name: str) -> None:
    """Refuse half of a character, which JSON can write and nothing can write again."""
    for text in texts:
        if not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text):
            raise DocumentError(f"document {name!r}: {text!r} holds half of a surrogate pair.")


def _image(page: Any, base: Path | None, name: str) -> Path | None:
    value = page.get("image")
    if value is None:
        return None
    if not isinstance(value, str) or "\0" in value:
        raise DocumentError(f"document {name!r}: 'image' should be a path, not {value!r}.")
    return None if base is None else base / value


def _frame(page: Any, name: str) -> int:
    value = page.get("frame") or 0
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**31:
        raise DocumentError(f"document {name!r}: 'frame' should be the number of a page in its file, not {value!r}.")
    return value


def _read_by(page: Any, name: str) -> str | None:
    value = page.get("text_source")
    if value is not None and not isinstance(value, str):
        raise DocumentError(f"document {name!r}: 'text_source' should be a name, not {value!r}.")
    if value is not None:
        refuse_surrogates([value], name)
    return value


def _fields(data: Any, name: str) -> dict[str, str]:
    fields = data.get("fields") or {}
    if not isinstance(fields, dict) or not _are(list(fields.values()), str):
        raise DocumentError(f"document {name!r}: 'fields' should map names to strings.")
    refuse_surrogates([*fields, *fields.values()], name)
    return fields


def _are(value: Any, kind: type) -> bool:
    return isinstance(value, list) and all(isinstance(item, kind) and not isinstance(item, bool) for item in value)
