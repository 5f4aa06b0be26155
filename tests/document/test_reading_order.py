from formnet.document.builder import DocumentBuilder
from formnet.document.reading_order import reorder


def form() -> DocumentBuilder:
    builder = DocumentBuilder("form")
    builder.add_page(["right", "left", "below"], [[50, 1, 60, 11], [0, 0, 10, 10], [0, 20, 10, 30]], 100, 100)
    builder.add_page(["second"], [[0, 0, 10, 10]], 100, 100)
    builder.add_entity("pair", [1, 0], key_words=[1])
    return builder


def test_reorder_raster_sorts_by_line_and_renumbers_entities() -> None:
    document = reorder(form().build(), "raster")
    assert document.texts == ("left", "right", "below", "second")
    assert document.entities[0].words == (0, 1)
    assert (document.entities[0].text, document.entities[0].key_text) == ("right", "left")
    assert document.entities[0].key_words == (0,)


def test_reorder_shuffled_is_reproducible_and_stays_within_pages() -> None:
    document = form().build()
    orders = [reorder(document, "shuffled", seed).texts for seed in range(20)]
    assert reorder(document, "shuffled", 3).texts == orders[3]
    assert len(set(orders)) > 3
    assert all(order[3] == "second" for order in orders)
    shuffled = reorder(document, "shuffled", 1)
    assert [shuffled.texts[i] for i in shuffled.entities[0].words] == ["left", "right"]
