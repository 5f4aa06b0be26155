"""Small files that take gigabytes or minutes to read without limits."""

import json
import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

_MIB = 2**20


def write_hostile_files(folder: Path, scale: float = 1.0) -> Iterator[Path]:
    """Write the files; a smaller scale writes smaller ones, for tests."""
    for name, write in _FILES.items():
        write(folder / name, scale)
        yield folder / name


def write_pdf(path: Path, lines: list[str]) -> None:
    """Write a PDF of one page with a text layer."""
    text = "".join(f"1 0 0 1 50 {800 - 20 * i} Tm ({line}) Tj " for i, line in enumerate(lines))
    _write_pdf(path, {4: ({}, f"BT /F1 11 Tf {text}ET".encode())})


def _overlapping_entities(path: Path, scale: float) -> None:
    entity = {"label": "a", "words": list(range(10))}
    page = {"words": ["x" * int(30_000 * scale)] * 10, "boxes": [[0, 0, 1, 1]] * 10}
    path.write_text(json.dumps({"id": "a", "pages": [page], "entities": [entity] * 30_000}))


def _nested_forms(path: Path, scale: float) -> None:
    """Each form draws the next one ten times, so that the last one is drawn millions of times."""
    depth = 4 + round(4 * scale)
    streams: dict[int, tuple[dict[str, str], bytes]] = {4: ({}, b"/X0 Do")}
    for level in range(depth):
        content = f"/X{level + 1} Do ".encode() * 10 if level + 1 < depth else b"BT /F1 9 Tf 9 9 Td (total 12.50) Tj ET"
        streams[5 + level] = ({"Type": "/XObject", "Subtype": "/Form", "BBox": "[0 0 600 800]"}, content)
    _write_pdf(path, streams)


def _doubly_compressed(path: Path, scale: float) -> None:
    compressor = zlib.compressobj(9)
    spaces = b" " * _MIB
    compressed = b"".join(compressor.compress(spaces) for _ in range(int(1900 * scale))) + compressor.flush()
    twice = zlib.compress(compressed, 9)
    _write_pdf(path, {4: ({"Filter": "[/FlateDecode /FlateDecode]"}, twice)})


def _write_pdf(path: Path, streams: dict[int, tuple[dict[str, str], bytes]]) -> None:
    """Write a PDF of one page with a font F1, whose content is stream 4; stream 5 + n is the form Xn."""
    forms = " ".join(f"/X{number - 5} {number} 0 R" for number in streams if number > 4)
    font = "/F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
    resources = f"<< /Font << {font} >> /XObject << {forms} >> >>"
    objects = {
        1: b"<< /Type /Catalog /Pages 2 0 R >>",
        2: b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        3: f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 842] /Contents 4 0 R /Resources {resources} >>".encode(),
    }
    for number, (entries, content) in streams.items():
        keys = " ".join(f"/{name} {value}" for name, value in entries.items())
        head = f"<< {keys} /Resources {resources} /Length {len(content)} >>"
        objects[number] = head.encode() + b"\nstream\n" + content + b"\nendstream"
    body = b"%PDF-1.7\n"
    offsets = {}
    for number, content in objects.items():
        offsets[number] = len(body)
        body += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = "".join(f"{offsets[number]:010} 00000 n \n" for number in sorted(objects))
    count = len(objects) + 1
    end = f"xref\n0 {count}\n0000000000 65535 f \n{table}trailer\n<< /Size {count} /Root 1 0 R >>\n"
    path.write_bytes(body + f"{end}startxref\n{len(body)}\n%%EOF\n".encode())


def _parquet_dictionary(path: Path, scale: float) -> None:
    """All rows refer to the same value of 4 MiB."""
    import pyarrow as pa
    from pyarrow.parquet import write_table

    value = pa.array(["x" * (4 * _MIB)])
    rows = pa.DictionaryArray.from_arrays(pa.array([0] * int(900 * scale), pa.int32()), value)
    write_table(pa.table({"id": rows}), path, compression="zstd")


def _long_word(path: Path, scale: float) -> None:
    span = f"<span class='ocrx_word' title='bbox 1 1 9 9'>{'#-' * int(7_500_000 * scale)}</span>"
    path.write_text(f"<html><body><div class='ocr_page' title='bbox 0 0 99 99'>{span}</div></body></html>")


def _endless_reference(path: Path, _: float) -> None:
    span = f"<span class='ocrx_word' title='bbox 1 1 9 9'>&#{'9' * 5000};</span>"
    path.write_text(f"<html><body><div class='ocr_page' title='bbox 0 0 99 99'>{span}</div></body></html>")


def _many_large_pages(path: Path, _: float) -> None:
    """1,999 pages of 100 million pixels that share their compressed data."""
    side = 10_000
    data = zlib.compress(bytes(side * side // 8), 9)
    parts = [b"II*\0" + struct.pack("<I", 8 + len(data)), data]
    position = 8 + len(data)
    tags = ((256, side), (257, side), (258, 1), (259, 8), (262, 1), (273, 8), (278, side), (279, len(data)))
    size = 2 + 12 * len(tags) + 4
    for number in range(1999):
        entries = b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in tags)
        following = position + size if number < 1998 else 0
        parts.append(struct.pack("<H", len(tags)) + entries + struct.pack("<I", following))
        position += size
    path.write_bytes(b"".join(parts))


_FILES: dict[str, Callable[[Path, float], None]] = {
    "overlapping-entities.json": _overlapping_entities,
    "nested-forms.pdf": _nested_forms,
    "doubly-compressed.pdf": _doubly_compressed,
    "dictionary.parquet": _parquet_dictionary,
    "long-word.hocr": _long_word,
    "character-reference.hocr": _endless_reference,
    "many-large-pages.tiff": _many_large_pages,
}
