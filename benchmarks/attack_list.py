"""The list of what hostile clients try: keys, paths, parameters, uploads, files and their names."""

import json
import zlib
from collections.abc import Callable, Iterator
from io import BytesIO
from typing import Any

from PIL import Image

from benchmarks.attacks import PAGES, PATIENCE, Attacker, Attempt, Outcome
from formnet.scale.service.openapi import DOCUMENT

_JSON = {"Content-Type": "application/json"}
_EXTRACT = "/v1/extract"
_BODY = json.dumps(DOCUMENT).encode()


def attempts() -> Iterator[Attempt]:
    """List what is tried."""
    yield from _keys()
    yield from _requests()
    yield from _uploads()
    yield from _bodies()
    yield from _files()
    yield from _names()


def _keys() -> Iterator[Attempt]:
    keys: dict[str, bytes | str] = {
        "no key": "",
        "a wrong key": "not the key of this service",
        "bytes that are no text": b"\xff\xfe\xfd\xfc\xfb\xfa\xf9\xf8",
        "a key of 60,000 characters": "x" * 60_000,
    }
    for name, key in keys.items():
        right = (401, 0, 400, 431) if len(key) > 1000 else (401,)
        yield Attempt("key", f"{name}: POST /v1/extract", right, _post(key=key))
        for route in ("/v1/models", "/metrics"):
            yield Attempt("key", f"{name}: GET {route}", right, _ask("GET", route, key=key))
    basic = {"Authorization": "Basic YTpi"}
    yield Attempt("key", "basic authorisation", (401,), _ask("GET", "/v1/models", key="", headers=basic))
    yield Attempt("key", "the key in the query", (401,), lambda a: a.ask("GET", f"/v1/models?api_key={a.key}", key=""))
    yield Attempt("key", "the key less its last letter", (401,), lambda a: a.ask("GET", "/v1/models", key=a.key[:-1]))


def _requests() -> Iterator[Attempt]:
    paths = ("/../../etc/passwd", "/page/..%2f..%2fkeys.py", "/page/%2e%2e/ingress.py", "/%00", "/v1/extract/../../x")
    for route in paths:
        yield Attempt("path", f"GET {route}", (400, 404, 405), _ask("GET", route), never="root:")
    for method in ("PUT", "DELETE", "PATCH", "TRACE"):
        yield Attempt("method", f"{method} /v1/extract", (405,), _ask(method, "/v1/extract"))
    ids = {"65 letters": "x" * 65, "markup": "<script>alert(1)</script>", "a line of the log": "a%0d%0aforged"}
    for name, value in ids.items():
        headers = {"X-Request-ID": value}
        yield Attempt("request id", name, (400,), _ask("GET", "/v1/models", headers=headers), never="<script>")
    queries = {"a model's path": "model=../../etc", "markup": "model=<script>", "a score of 2": "min_score=2"}
    for name, query in queries.items():
        yield Attempt("parameter", name, (404, 422), _post(query=query))


def _uploads() -> Iterator[Attempt]:
    space = b"%x\r\n%s\r\n" % (2**16, b" " * 2**16)
    packed = {**_JSON, "Content-Encoding": "gzip"}
    torn = {"Content-Type": "multipart/form-data"}
    many = [("files", ("a.pdf", b"x"))] * 33
    yield Attempt("upload", "says that it has 1 TB", (413,), lambda a: a.raw(length=10**12))
    yield Attempt("upload", "never ends", (413, 0), lambda a: a.raw(*[space] * 4096))
    yield Attempt("upload", "a byte a second", (408,), lambda a: a.raw(*[b" "] * PATIENCE, pause=1, length=1000))
    yield Attempt("upload", "says 1,000 bytes, sends none", (408,), lambda a: a.raw(length=1000))
    yield Attempt("upload", "packed by gzip", (415,), _ask("POST", _EXTRACT, content=b"x", headers=packed))
    yield Attempt("upload", "of no kind", (415,), _ask("POST", _EXTRACT, content=b"x"))
    yield Attempt("upload", "a form without an end", (400,), _ask("POST", _EXTRACT, content=b"torn", headers=torn))
    yield Attempt("upload", "33 files", (400, 413), _ask("POST", _EXTRACT, files=many))


def _bodies() -> Iterator[Attempt]:
    bodies = {
        "half a document": b'{"id": "a", "pages": [',
        "100,000 brackets": b"[" * 100_000,
        "NaN for a box": b'{"id": "a", "pages": [{"words": ["x"], "boxes": [[NaN, 1, 2, 3]]}]}',
        "1e999 for a box": b'{"id": "a", "pages": [{"words": ["x"], "boxes": [[1e999, 1, 2, 3]]}]}',
        "half a character": b'{"id": "a", "pages": [{"words": ["\\ud800"], "boxes": [[0, 1, 2, 3]]}]}',
        "a number of 5,000 digits": b'{"id": ' + b"9" * 5000 + b"}",
        "bytes that are no text": b"\xff\xfe",
    }
    for name, body in bodies.items():
        yield Attempt("JSON", name, (422,), _post(body))
    (page,) = DOCUMENT["pages"]
    from_disk = json.dumps({**DOCUMENT, "pages": [{**page, "image": "/etc/passwd"}]}).encode()
    yield Attempt("JSON", "a picture from the service's disk", (200, 422), _post(from_disk, "pictures=true"), "root:")
    too_many: dict[str, Any] = {
        "20,001 words": {"id": "a", "pages": [{"words": ["a"] * 20_001, "boxes": [[0, 0, 1, 1]] * 20_001}]},
        f"{PAGES + 1} pages": {"id": "a", "pages": [{"words": [], "boxes": []}] * (PAGES + 1)},
        "33 documents": [DOCUMENT] * 33,
    }
    for name, content in too_many.items():
        yield Attempt("JSON", name, (413,), _post(json.dumps(content).encode()))


def _files() -> Iterator[Attempt]:
    large = _png(20_000, 20_000)
    entities = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 10))
    laughs = f'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY l0 "ha">{entities}]><alto>&l9;</alto>'
    outside = '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><alto>&x;</alto>'
    files = {
        "no bytes": b"",
        "a PDF of nonsense": b"%PDF-1.4 nonsense",
        "a JPEG of nonsense": b"\xff\xd8\xff\xe0 nonsense",
        "a program": b"\x7fELF\x02\x01\x01" + b"\0" * 64,
        "a zip archive": b"PK\x03\x04" + b"\0" * 64,
        "400 million pixels in a few kilobytes": large,
        "the same, cut off": large[: len(large) // 2],
        "a billion laughs": laughs.encode(),
        "XML that asks for a file": outside.encode(),
        "XML that asks for an address": outside.replace("file:///etc/passwd", "http://127.0.0.1:1/").encode(),
        "a gzip bomb as JSONL": zlib.compress(b"\0" * 2**26, wbits=31),
        "a PDF that takes half a minute": slow_pdf(),
        "Parquet of nonsense": b"PAR1" + b"\xff" * 64 + b"PAR1",
    }
    for name, content in files.items():
        yield Attempt("file", name, (413, 422), _file(content), never="root:")


def _names() -> Iterator[Attempt]:
    paths = ("../../etc/passwd", "/etc/passwd", "C:\\windows\\win.ini", "a\0b.pdf")
    for name in (*paths, "<img src=x onerror=alert(1)>.pdf", "x" * 5000):
        shown = name if len(name) < 60 else f"{len(name):,} letters"
        yield Attempt("file name", shown, (400, 422), _file(b"%PDF-1.4 nonsense", name), never="/etc/")


def _ask(method: str, route: str, **parts: Any) -> Callable[[Attacker], Outcome]:
    return lambda attacker: attacker.ask(method, route, **parts)


def _file(content: bytes, name: str = "a") -> Callable[[Attacker], Outcome]:
    return lambda attacker: attacker.file(content, name)


def _post(content: bytes = _BODY, query: str = "", **parts: Any) -> Callable[[Attacker], Outcome]:
    return _ask("POST", f"{_EXTRACT}?{query}", content=content, headers=_JSON, **parts)


def _png(width: int, height: int) -> bytes:
    file = BytesIO()
    Image.new("1", (width, height)).save(file, "PNG")
    return file.getvalue()


def slow_pdf() -> bytes:
    """Make a small file whose pages hold nearly as many characters as a page may."""
    shown = b"".join(b"BT /F1 1 Tf 9 %d Td (%s) Tj ET\n" % (y, b"abc " * 6000) for y in range(20))
    packed = zlib.compress(shown)
    pages = b" ".join(b"%d 0 R" % (5 + i) for i in range(PAGES))
    shared = b"/MediaBox [0 0 600 800] /Resources << /Font << /F1 3 0 R >> >>"
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [%s] /Count %d %s >>" % (pages, PAGES, shared),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream" % (len(packed), packed),
        *[b"<< /Type /Page /Parent 2 0 R /Contents 4 0 R >>"] * PAGES,
    ]
    body = b"%PDF-1.4\n" + b"".join(b"%d 0 obj\n%s\nendobj\n" % (i, o) for i, o in enumerate(objects, 1))
    return body + b"trailer << /Root 1 0 R >>\n%%EOF\n"  # without a table of places; readers mend that
