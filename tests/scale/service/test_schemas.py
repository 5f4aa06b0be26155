from unittest.mock import ANY

from formnet.extraction.output import to_output
from formnet.extraction.schema import Schema
from formnet.scale.service.schemas import to_service_document
from plain_documents import words_and_boxes

SCHEMA = Schema.flat(["total"])


def test_to_service_document_without_images_equals_output() -> None:
    document = words_and_boxes()
    found, expected = to_service_document(document, SCHEMA), to_output(document, SCHEMA)
    assert found.model_dump() == expected.model_dump() | {"pages": ANY}
    assert [page.model_dump(exclude_unset=True) for page in found.pages] == [
        page.model_dump() for page in expected.pages
    ]


def test_to_service_document_with_images_adds_them_to_pages() -> None:
    document = words_and_boxes()
    for image in ("data:,", None):
        (page,) = to_service_document(document, SCHEMA, [image]).model_dump(exclude_unset=True)["pages"]
        assert page["image"] == image
