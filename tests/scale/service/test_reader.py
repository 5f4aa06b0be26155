import pytest

from formnet.document.builder import DocumentBuilder
from formnet.errors import LimitError
from formnet.scale.service.reader import MAX_CHARACTERS_PER_WORD, check_document_size
from formnet.scale.service.settings import ServiceSettings


def test_check_document_size_too_many_characters_raises() -> None:
    builder = DocumentBuilder("long")
    builder.add_page(["x" * (MAX_CHARACTERS_PER_WORD * 1000), "x"], [[0, 0, 1, 1], [1, 0, 2, 1]], 2, 1)
    with pytest.raises(LimitError, match="characters"):
        check_document_size(builder.build(), ServiceSettings(max_pages=20, max_words=1000))
