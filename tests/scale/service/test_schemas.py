from formnet.extraction.output import to_output
from formnet.scale.service.schemas import to_service_document
from plain_documents import words_and_boxes


def test_to_service_document_without_images_equals_output() -> None:
    document = words_and_boxes()
    assert to_service_document(document).model_dump(exclude_unset=True) == to_output(document).model_dump()


def test_to_service_document_with_images_adds_them_to_pages() -> None:
    document = words_and_boxes()
    for image in ("data:,", None):
        (page,) = to_service_document(document, [image]).model_dump(exclude_unset=True)["pages"]
        assert page["image"] == image
