from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from formnet.document import Document
from formnet.document.builder import DocumentBuilder
from formnet.extraction.extractor import Extractor
from formnet.io import images
from formnet.visualization.overlay import draw_entities, safe_file_name, save_overlays
from linked_receipts import read_receipt


@pytest.mark.slow
def test_draw_entities_extracted_fields_are_framed(extractor: Extractor, pdf: Path, tmp_path: Path) -> None:
    document = extractor.extract(pdf)
    plain = dict(draw_entities(Document(document.id, document.pages)))
    marked = dict(draw_entities(document))
    for number, image in marked.items():
        difference = np.abs(np.asarray(image, int) - np.asarray(plain[number], int)).max(axis=2)
        entities = [entity for entity in document.entities if entity.page == number]
        assert bool(entities) == bool(difference.any())
        scale = image.width / document.pages[number].width
        for entity in entities:
            x0, y0, x1, _ = (c * scale for c in entity.boxes[0])
            assert difference[max(round(y0) - 6, 0) : round(y0) + 3, round(x0) : round(x1)].max() > 60
    to_review = replace(document, entities=tuple(replace(entity, review=True) for entity in document.entities))
    dashed = dict(draw_entities(to_review))
    assert any(np.asarray(dashed[n]).tobytes() != np.asarray(marked[n]).tobytes() for n in marked)
    written = save_overlays(document, tmp_path / "overlays")
    assert [images.load_frame(file).size for file in written] == [image.size for image in marked.values()]


@pytest.mark.parametrize("name", ["../../etc/passwd", "a/b\\c.pdf", "..", "", "x" * 500, "nul\0byte", "日本.pdf"])
def test_safe_file_name_hostile_id_stays_in_folder(name: str, tmp_path: Path) -> None:
    file = tmp_path / safe_file_name(name)
    assert file.parent.resolve() == tmp_path.resolve()
    assert file.resolve() != tmp_path.resolve()
    file.write_text("x")


def test_save_overlays_same_file_name_writes_separate_images(extractor: Extractor, tmp_path: Path) -> None:
    names: dict[str, str] = {}
    files = []
    for folder in ("2024", "2025", "2025"):  # the last two documents have the same ID
        builder = DocumentBuilder(f"{folder}/invoice.pdf")
        builder.add_page(["total"], [[1, 1, 5, 2]], 10, 10)
        files += save_overlays(extractor.extract(builder.build()), tmp_path, names=names)
    assert len(set(files)) == 3
    assert files[0].name == "invoice.pdf-1.png"


def test_draw_entities_links_join_owners_and_parts() -> None:
    receipt = read_receipt(2)
    (_, linked), *_ = draw_entities(receipt)
    (_, plain), *_ = draw_entities(replace(receipt, links=()))
    difference = np.abs(np.asarray(linked, int) - np.asarray(plain, int)).max(axis=2)
    scale = linked.width / receipt.pages[0].width

    def has_line(top: float, bottom: float) -> bool:
        rows, columns = (slice(round(a * scale), round(b * scale)) for a, b in ((top, bottom), (50, 80)))
        return bool(difference[rows, columns].any())

    # Names end at 30 and prices start at 90; the lines of text are from 10 to 18 and from 20 to 28.
    assert has_line(13, 15)
    assert has_line(23, 25)
    assert not has_line(17, 21)
