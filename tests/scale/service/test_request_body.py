import json
import time

import pytest

from formnet.errors import DocumentError, LimitError
from formnet.scale.service.errors import ApiError
from formnet.scale.service.request_body import MAX_BUFFERED_BODIES, BodyBuffer, _parse_documents, display_name
from formnet.scale.service.settings import ServiceSettings

SETTINGS = ServiceSettings(max_pages=20, max_words=1000)


def test_parse_documents_over_limit_raises_before_building() -> None:
    start = time.process_time()
    pages = [{"words": [], "boxes": []}] * 200_000
    with pytest.raises(LimitError, match="200,000 pages"):
        _parse_documents(json.dumps({"id": "a", "pages": pages}).encode(), SETTINGS)
    words = [{"words": ["a"] * 100_000, "boxes": [[9, 9, 0, 0]] * 100_000}]
    with pytest.raises(LimitError, match="100,000 words"):
        _parse_documents(json.dumps([{"id": "a", "pages": words}]).encode(), SETTINGS)
    assert time.process_time() - start < 5


def test_parse_documents_malformed_pages_raises() -> None:
    for malformed in (b'{"pages": 3}', b'{"pages": [3]}', b'{"pages": [{"words": 3}]}'):
        with pytest.raises(DocumentError):
            _parse_documents(malformed, SETTINGS)


def test_parse_documents_ignores_annotations() -> None:
    settings = ServiceSettings(max_words=10)
    page = {"id": "a", "width": 9, "height": 9, "words": ["w"] * 20, "boxes": [[0, 0, 1, 1]] * 20}
    with pytest.raises(LimitError, match=r"20 words \(limit 10\)"):
        _parse_documents(json.dumps(page).encode(), settings)
    page |= {"words": ["w"], "boxes": [[0, 0, 1, 1]], "entities": [{"label": "a", "words": [99]}], "links": "none"}
    (document,) = _parse_documents(json.dumps(page).encode(), settings)
    assert document.entities == ()


def test_body_buffer_full_rejects_with_503() -> None:
    buffer = BodyBuffer(ServiceSettings(max_bytes=100))
    with buffer.reserve() as first, buffer.reserve() as second:
        first(100 * MAX_BUFFERED_BODIES)
        with pytest.raises(ApiError) as rejected:
            second(1)
        assert rejected.value.status == 503
    assert buffer.used_bytes == 0


@pytest.mark.parametrize(
    "name", ["/etc/passwd", "..", "a/../../b", "C:\\x\\b", "nul\0b", "\u202eb", "x" * 999, "", None]
)
def test_display_name_is_short_printable_and_not_a_path(name: str | None) -> None:
    assert 0 < len(display_name(name)) <= 200
    assert not {*"/\\\0\u202e"} & set(display_name(name))
