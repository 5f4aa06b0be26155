"""Hostile requests: API keys, paths, parameters, uploads, request bodies, files and file names."""

import json
import zlib
from collections.abc import Callable, Iterator
from io import BytesIO
from typing import Any

from PIL import Image

from benchmarks.attacks import CLIENT_TIMEOUT, PAGES, Attacker, Attempt, Outcome
from formnet.scale.service.openapi import EXAMPLE_DOCUMENT

_JSON = {"Content-Type": "application/json"}
_EXTRACT = "/v1/extract"
_BODY = json.dumps(EXAMPLE_DOCUMENT).encode()


def attempts() -> Iterator[Attempt]:
    """Yield all attempts."""
    yield from _keys()
    yield from _requests()
    yield from _uploads()
    yield from _bodies()
    yield from _files()
    yield from _names()


def _keys() -> Iterator[Attempt]:
    keys: dict[str, bytes | str] = {
        "no key": "",
        "wrong key": "not the key of this service",
        "invalid UTF-8": b"\xff\xfe\xfd\xfc\xfb\xfa\xf9\xf8",
        "key of 60,000 characters": "x" * 60_000,
    }
    for name, key in keys.items():
        accepted = (401, 0, 400, 431) if len(key) > 1000 else (401,)
        yield Attempt("key", f"{name}: POST /v1/extract", accepted, _post(key=key))
        for route in ("/v1/models", "/metrics"):
            yield Attempt("key", f"{name}: GET {route}", accepted, _request("GET", route, key=key))
    basic = {"Authorization": "Basic YTpi"}
    yield Attempt("key", "basic authentication", (401,), _request("GET", "/v1/models", key="", headers=basic))
    yield Attempt(
        "key", "key in the query string", (401,), lambda a: a.request("GET", f"/v1/models?api_key={a.key}", key="")
    )
    yield Attempt(
        "key", "key without its last character", (401,), lambda a: a.request("GET", "/v1/models", key=a.key[:-1])
    )


def _requests() -> Iterator[Attempt]:
    paths = ("/../../etc/passwd", "/page/..%2f..%2fauth.py", "/page/%2e%2e/routes.py", "/%00", "/v1/extract/../../x")
    for route in paths:
        yield Attempt("path", f"GET {route}", (400, 404, 405), _request("GET", route), forbidden="root:")
    for method in ("PUT", "DELETE", "PATCH", "TRACE"):
        yield Attempt("method", f"{method} /v1/extract", (405,), _request(method, "/v1/extract"))
    ids = {"65 characters": "x" * 65, "markup": "<script>alert(1)</script>", "forged log line": "a%0d%0aforged"}
    for name, value in ids.items():
        headers = {"X-Request-ID": value}
        yield Attempt("request id", name, (400,), _request("GET", "/v1/models", headers=headers), forbidden="<script>")
    queries = {"path as model name": "model=../../etc", "markup": "model=<script>", "min_score of 2": "min_score=2"}
    for name, query in queries.items():
        yield Attempt("parameter", name, (404, 422), _post(query=query))


def _uploads() -> Iterator[Attempt]:
    chunk = b"%x\r\n%s\r\n" % (2**16, b" " * 2**16)
    compressed = {**_JSON, "Content-Encoding": "gzip"}
    multipart = {"Content-Type": "multipart/form-data"}
    many = [("files", ("a.pdf", b"x"))] * 33
    yield Attempt("upload", "Content-Length of 1 TB", (413,), lambda a: a.raw(length=10**12))
    yield Attempt("upload", "endless body", (413, 0), lambda a: a.raw(*[chunk] * 4096))
    yield Attempt(
        "upload", "one byte per second", (408,), lambda a: a.raw(*[b" "] * CLIENT_TIMEOUT, pause=1, length=1000)
    )
    yield Attempt("upload", "Content-Length of 1,000 without a body", (408,), lambda a: a.raw(length=1000))
    yield Attempt(
        "upload", "gzip-compressed body", (415,), _request("POST", _EXTRACT, content=b"x", headers=compressed)
    )
    yield Attempt("upload", "no Content-Type", (415,), _request("POST", _EXTRACT, content=b"x"))
    yield Attempt(
        "upload",
        "incomplete multipart form",
        (400,),
        _request("POST", _EXTRACT, content=b"incomplete", headers=multipart),
    )
    yield Attempt("upload", "33 files", (400, 413), _request("POST", _EXTRACT, files=many))


def _bodies() -> Iterator[Attempt]:
    bodies = {
        "truncated document": b'{"id": "a", "pages": [',
        "100,000 nested brackets": b"[" * 100_000,
        "NaN in a box": b'{"id": "a", "pages": [{"words": ["x"], "boxes": [[NaN, 1, 2, 3]]}]}',
        "1e999 in a box": b'{"id": "a", "pages": [{"words": ["x"], "boxes": [[1e999, 1, 2, 3]]}]}',
        "lone surrogate": b'{"id": "a", "pages": [{"words": ["\\ud800"], "boxes": [[0, 1, 2, 3]]}]}',
        "number of 5,000 digits": b'{"id": ' + b"9" * 5000 + b"}",
        "invalid UTF-8": b"\xff\xfe",
    }
    for name, body in bodies.items():
        yield Attempt("JSON", name, (422,), _post(body))
    (page,) = EXAMPLE_DOCUMENT["pages"]
    from_disk = json.dumps({**EXAMPLE_DOCUMENT, "pages": [{**page, "image": "/etc/passwd"}]}).encode()
    yield Attempt("JSON", "image path on the service's disk", (200, 422), _post(from_disk, "images=true"), "root:")
    too_many: dict[str, Any] = {
        "20,001 words": {"id": "a", "pages": [{"words": ["a"] * 20_001, "boxes": [[0, 0, 1, 1]] * 20_001}]},
        f"{PAGES + 1} pages": {"id": "a", "pages": [{"words": [], "boxes": []}] * (PAGES + 1)},
        "33 documents": [EXAMPLE_DOCUMENT] * 33,
        "2,100 words of eight tokens": {
            "id": "a", "pages": [{"words": ["#-#-#-#-"] * 2100, "boxes": [[0, 0, 1, 1]] * 2100}]
        },
    }  # fmt: skip
    for name, content in too_many.items():
        yield Attempt("JSON", name, (413,), _post(json.dumps(content, ensure_ascii=False).encode()))
    yield Attempt("JSON", "300,000 empty lists", (413,), _post(b"[" + b"[]," * 300_000 + b"[]]"))


def _files() -> Iterator[Attempt]:
    large_image = _png(20_000, 20_000)
    entities = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 10))
    expansion = f'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY l0 "ha">{entities}]><alto>&l9;</alto>'
    external = '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><alto>&x;</alto>'
    files = {
        "empty file": b"",
        "corrupt PDF": b"%PDF-1.4 nonsense",
        "corrupt JPEG": b"\xff\xd8\xff\xe0 nonsense",
        "ELF executable": b"\x7fELF\x02\x01\x01" + b"\0" * 64,
        "ZIP archive": b"PK\x03\x04" + b"\0" * 64,
        "image of 400 million pixels in a few kilobytes": large_image,
        "the same image, truncated": large_image[: len(large_image) // 2],
        "XML entity expansion (billion laughs)": expansion.encode(),
        "XML with an external entity: file": external.encode(),
        "XML with an external entity: URL": external.replace("file:///etc/passwd", "http://127.0.0.1:1/").encode(),
        "hOCR with a character reference of 5,000 digits": _hocr(f"&#{'9' * 5000};"),
        "1,000 overlapping entities": _overlapping_entities(),
        "gzip bomb as JSONL": zlib.compress(b"\0" * 2**26, wbits=31),
        "PDF that takes half a minute to read": slow_pdf(),
        "corrupt Parquet file": b"PAR1" + b"\xff" * 64 + b"PAR1",
    }
    for name, content in files.items():
        yield Attempt("file", name, (413, 422), _file(content), forbidden="root:")
    yield Attempt("file", "hOCR with one word of 300,000 characters", (200,), _file(_hocr("#-" * 150_000)))


def _names() -> Iterator[Attempt]:
    paths = ("../../etc/passwd", "/etc/passwd", "C:\\windows\\win.ini", "a\0b.pdf")
    for name in (*paths, "<img src=x onerror=alert(1)>.pdf", "x" * 5000):
        shown = name if len(name) < 60 else f"{len(name):,} characters"
        yield Attempt("file name", shown, (400, 422), _file(b"%PDF-1.4 nonsense", name), forbidden="/etc/")


def _request(method: str, route: str, **parts: Any) -> Callable[[Attacker], Outcome]:
    return lambda attacker: attacker.request(method, route, **parts)


def _file(content: bytes, name: str = "a") -> Callable[[Attacker], Outcome]:
    return lambda attacker: attacker.file(content, name)


def _post(content: bytes = _BODY, query: str = "", **parts: Any) -> Callable[[Attacker], Outcome]:
    return _request("POST", f"{_EXTRACT}?{query}", content=content, headers=_JSON, **parts)


def _hocr(word: str) -> bytes:
    span = f"<span class='ocrx_word' title='bbox 1 1 9 9'>{word}</span>"
    return f"<html><body><div class='ocr_page' title='bbox 0 0 99 99'>{span}</div></body></html>".encode()


def _overlapping_entities() -> bytes:
    entities = [{"label": "a", "words": list(range(100))}] * 1000
    page = {"words": ["a"] * 100, "boxes": [[0, 0, 1, 1]] * 100}
    return json.dumps({"id": "a", "pages": [page], "entities": entities}).encode()


def _png(width: int, height: int) -> bytes:
    file = BytesIO()
    Image.new("1", (width, height)).save(file, "PNG")
    return file.getvalue()


def slow_pdf() -> bytes:
    """Build a small PDF whose pages hold nearly the maximum number of characters."""
    content = b"".join(b"BT /F1 1 Tf 9 %d Td (%s) Tj ET\n" % (y, b"abc " * 6000) for y in range(20))
    compressed = zlib.compress(content)
    pages = b" ".join(b"%d 0 R" % (5 + i) for i in range(PAGES))
    shared = b"/MediaBox [0 0 600 800] /Resources << /Font << /F1 3 0 R >> >>"
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [%s] /Count %d %s >>" % (pages, PAGES, shared),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream" % (len(compressed), compressed),
        *[b"<< /Type /Page /Parent 2 0 R /Contents 4 0 R >>"] * PAGES,
    ]
    body = b"%PDF-1.4\n" + b"".join(b"%d 0 obj\n%s\nendobj\n" % (i, o) for i, o in enumerate(objects, 1))
    return body + b"trailer << /Root 1 0 R >>\n%%EOF\n"  # without a cross-reference table, which readers reconstruct
