"""FormNet JSON: one document per line, optionally compressed with gzip.

    {"schema": "formnet.document/1", "id": "a", "pages": [{"width": 612, "height": 792,
     "words": ["Total", "9.00"], "boxes": [[10, 10, 60, 20], [70, 10, 99, 20]]}],
     "entities": [{"label": "total", "words": [1]}], "links": [], "fields": {"total": "9.00"}}

`id` and `pages` are required. A document of one page may have the keys of the page next to `id` instead of `pages`.
"""

import gzip
import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from io import BufferedIOBase
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, NoReturn

from formnet.document import SCHEMA, Document
from formnet.document.builder import DocumentBuilder
from formnet.errors import DocumentError, LimitError
from formnet.io.limits import DEFAULT_LIMITS, ReadLimits
from formnet.io.readers.fields import find_number, type_name

SUFFIXES = (".jsonl", ".jsonl.gz")
#: Maximum characters of a document's ID, as long as a path can be.
MAX_ID_LENGTH = 4096


class Line(NamedTuple):
    """A line of a file, not yet parsed."""

    file: Path
    number: int
    raw: bytes

    @property
    def text(self) -> str:
        """The decoded line."""
        try:
            # Only the first line can have a byte order mark. UTF-16 is supported for files of a single line.
            return self.raw.decode(json.detect_encoding(self.raw) if self.number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise DocumentError(f"is not UTF-8: {error}.") from error

    def __str__(self) -> str:
        return f"{self.file}, line {self.number}"


def read_each(path: Path, limits: ReadLimits = DEFAULT_LIMITS, skip: int = 0) -> Iterator[Document | DocumentError]:
    """Iterate over the documents in a file after the first `skip`, yielding the error for each invalid line."""
    try:
        for line in islice(iter_lines(path, limits), skip, None):
            try:
                yield parse(line, limits)
            except DocumentError as error:
                yield error
    except DocumentError as error:  # ends the iteration: the following lines cannot be read
        yield error


def count(path: Path, limits: ReadLimits = DEFAULT_LIMITS) -> int:
    """Count the documents in a file."""
    return sum(1 for _ in iter_lines(path, limits))


def iter_lines(path: Path, limits: ReadLimits = DEFAULT_LIMITS) -> Iterator[Line]:
    """Iterate over the non-blank lines of a file, decompressed if necessary."""
    with path.open("rb") as file:
        is_gzip = file.read(2) == b"\x1f\x8b"  # regardless of the suffix
    number = 0
    with gzip.open(path, "rb") if is_gzip else path.open("rb") as file:
        try:
            for number, (_, raw) in enumerate(split_lines(file, limits), 1):
                if raw is None:
                    limit = f"{limits.max_line_bytes >> 20} MiB (the limit)"
                    raise LimitError(f"{path}, line {number}: longer than {limit}. Split the document.")
                if raw.strip():
                    yield Line(path, number, raw)
        except (OSError, EOFError, zlib.error) as error:
            raise DocumentError(f"{path}, line {number + 1}: cannot be decompressed: {error}.") from error


def split_lines(
    file: BinaryIO | BufferedIOBase, limits: ReadLimits = DEFAULT_LIMITS, position: int = 0
) -> Iterator[tuple[int, bytes | None]]:
    """Iterate over the lines of an open file: the position of the first byte, counted from `position`, and the content.

    The content of a line over the limit is None; the rest of the line is skipped when the iteration continues.
    """
    while raw := file.readline(limits.max_line_bytes + 1):
        is_too_long = len(raw) > limits.max_line_bytes
        yield position, None if is_too_long else raw
        position += len(raw)
        if is_too_long and not raw.endswith(b"\n"):
            position += skip_line(file)


def skip_line(file: BinaryIO | BufferedIOBase) -> int:
    """Advance an open file to the next line, and return the number of bytes skipped."""
    skipped = 0
    while raw := file.readline(2**20):
        skipped += len(raw)
        if raw.endswith(b"\n"):
            break
    return skipped


def parse(line: Line, limits: ReadLimits = DEFAULT_LIMITS) -> Document:
    """Parse the document on a line."""
    try:
        return from_json(parse_json(line), base=line.file.parent, limits=limits)
    except DocumentError as error:
        raise type(error)(f"{line}: {error}") from error


def from_json(
    data: Any, base: Path | None = None, *, words_only: bool = False, limits: ReadLimits = DEFAULT_LIMITS
) -> Document:
    """Build a document from parsed JSON.

    Args:
        data: The parsed JSON.
        base: Directory that image paths are relative to. Without it, images are dropped.
        words_only: Ignore annotations: entities, links and fields.
        limits: Limits on the input.
    """
    if not isinstance(data, dict):
        raise DocumentError(f"a document is a JSON object, not {type_name(data)}.")
    schema = data.get("schema", SCHEMA)
    if schema != SCHEMA:
        raise DocumentError(f"unknown schema {schema!r}; this version reads {SCHEMA!r}.")
    name = data.get("id")
    if not isinstance(name, str) or not name:
        raise DocumentError(f"a document needs an 'id' that is a string, not {type_name(name)}.")
    if len(name) > MAX_ID_LENGTH:
        raise LimitError(f"the 'id' of a document is longer than {MAX_ID_LENGTH:,} characters (the limit). Shorten it.")
    check_surrogates([name], name)
    builder = DocumentBuilder(name)
    pages = [data] if "words" in data else _get_list(data, "pages", name)
    if len(pages) > limits.max_pages:
        raise LimitError(f"document {name!r}: {len(pages):,} pages (limit {limits.max_pages:,}). Split the document.")
    for page in pages:
        builder.add_page(
            _parse_texts(page, name),
            _get_list(page, "boxes", name),
            find_number(page, "width", f"document {name!r}"),
            find_number(page, "height", f"document {name!r}"),
            confidences=page.get("confidences"),
            image=_parse_image(page, base, name),
            frame=_parse_frame(page, name),
            text_source=_parse_text_source(page, name),
            rotation=_parse_rotation(page, name),
        )
    if words_only:
        return builder.build()
    entities = [_parse_entity(entity, name) for entity in _get_list(data, "entities", name, optional=True)]
    if sum(len(words) for _, words, _, _ in entities) > limits.max_entity_overlap * max(builder.num_words, 1):
        raise LimitError(
            f"document {name!r}: its entities have more than {limits.max_entity_overlap} times as many words as the "
            "document. Remove overlapping entities."
        )
    for entity in entities:
        builder.add_entity(*entity)
    for link in _get_list(data, "links", name, optional=True):
        if not _is_list_of(link, int) or len(link) != 2:
            raise DocumentError(f"document {name!r}: a link is two entity numbers, not {link!r}.")
        builder.add_link(*link)
    return builder.build(_parse_fields(data, name))


def _parse_entity(entity: Any, name: str) -> tuple[str, list[int], float | None, list[int]]:
    """Return the label, the words, the score and the key words."""
    if (
        not isinstance(entity, dict)
        or not isinstance(entity.get("label"), str)
        or not _is_list_of(entity.get("words"), int)
    ):
        raise DocumentError(f"document {name!r}: an entity needs a 'label' and 'words', a list of word numbers.")
    check_surrogates([entity["label"]], name)
    words, keys = entity["words"], entity.get("key_words") or []
    if not _is_list_of(keys, int) or not {*keys} <= {*words}:
        raise DocumentError(f"document {name!r}: the 'key_words' of an entity must be among its words.")
    return entity["label"], words, find_number(entity, "score", f"document {name!r}"), keys


def parse_json(line: Line) -> Any:
    """Parse the JSON on a line; raise `DocumentError` if it is invalid, holds NaN or infinity, or nests too deeply."""
    try:
        return json.loads(line.text, parse_constant=_raise_constant)
    except (ValueError, RecursionError) as error:
        raise DocumentError(f"is not JSON: {error}.") from error


def _raise_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a valid JSON number")


def _get_list(data: Any, key: str, name: str, *, optional: bool = False) -> Sequence[Any]:
    value = data.get(key) if isinstance(data, dict) else None
    if value is None and optional:
        return ()
    if not isinstance(value, list):
        raise DocumentError(f"document {name!r}: {key!r} must be a list, not {type_name(value)}.")
    return value


def _parse_texts(page: Any, name: str) -> Sequence[str]:
    texts = _get_list(page, "words", name)
    for i, text in enumerate(texts):
        if not isinstance(text, str):
            raise DocumentError(f"document {name!r}: word {i} is {text!r}; a word must be a string.")
    check_surrogates(texts, name)
    return texts


def check_surrogates(texts: Iterable[str], name: str) -> None:
    """Raise `DocumentError` for lone surrogates, which JSON can represent but UTF-8 cannot."""
    for text in texts:
        if not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text):
            raise DocumentError(f"document {name!r}: {text!r} holds a lone surrogate.")


def _parse_image(page: Any, base: Path | None, name: str) -> Path | None:
    value = page.get("image")
    if value is None:
        return None
    if not isinstance(value, str) or "\0" in value:
        raise DocumentError(f"document {name!r}: 'image' must be a path, not {value!r}.")
    return None if base is None else base / value


def _parse_frame(page: Any, name: str) -> int:
    value = page.get("frame") or 0
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**31:
        raise DocumentError(f"document {name!r}: 'frame' must be the number of a page in its file, not {value!r}.")
    return value


def _parse_rotation(page: Any, name: str) -> int:
    value = page.get("rotation") or 0
    if isinstance(value, bool) or not isinstance(value, int) or value not in (0, 90, 180, 270):
        raise DocumentError(f"document {name!r}: 'rotation' must be 0, 90, 180 or 270, not {value!r}.")
    return value


def _parse_text_source(page: Any, name: str) -> str | None:
    value = page.get("text_source")
    if value is not None and not isinstance(value, str):
        raise DocumentError(f"document {name!r}: 'text_source' must be a string, not {value!r}.")
    if value is not None:
        check_surrogates([value], name)
    return value


def _parse_fields(data: Any, name: str) -> dict[str, str]:
    fields = data.get("fields") or {}
    if not isinstance(fields, dict) or not _is_list_of(list(fields.values()), str):
        raise DocumentError(f"document {name!r}: 'fields' must map names to strings.")
    check_surrogates([*fields, *fields.values()], name)
    return fields


def _is_list_of(value: Any, item_type: type) -> bool:
    return isinstance(value, list) and all(isinstance(item, item_type) and not isinstance(item, bool) for item in value)
