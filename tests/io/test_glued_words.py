import numpy as np
import pytest

from formnet.document.builder import DocumentBuilder
from formnet.io.glued_words import split_glued_words, split_word


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("05/28/20-06/03/20", ("05/28/20", "-", "06/03/20")),
        ("(9/1/2020–10/3/2020)", ("(9/1/2020", "–", "10/3/2020)")),
        ("5/28-6/3/20", ("5/28", "-", "6/3/20")),
        ("28.05.2020-03.06.2020", ("28.05.2020", "-", "03.06.2020")),
        ("2020-05-28", ("2020-05-28",)),
        ("05/28/20", ("05/28/20",)),
        ("1/2-3/4", ("1/2-3/4",)),
        ("555-0199", ("555-0199",)),
        ("1.50-2.50", ("1.50-2.50",)),
        ("05/28/20-", ("05/28/20-",)),
        ("DATE:21/03/2018", ("DATE:", "21/03/2018")),
        ("AMOUNT:$6.90", ("AMOUNT:", "$6.90")),
        ("CC*7185:RM111.90", ("CC*7185:", "RM111.90")),
        ("21/05/2018TIME:", ("21/05/2018", "TIME:")),
        (":21/05/2018", (":", "21/05/2018")),
        (":9.00", (":", "9.00")),
        (":300-C0001", (":300-C0001",)),
        (":", (":",)),
        ("14/03/20185:57:07PM", ("14/03/2018", "5:57:07PM")),
        ("14-03-1817:05", ("14-03-18", "17:05")),
        ("01/03/2019:14", ("01/03/20", "19:14")),
        ("2018-03-1417:05:59", ("2018-03-14", "17:05:59")),
        ("14/03/2018", ("14/03/2018",)),
        ("99/99/9912:30", ("99/99/9912:30",)),
        (":21/05/2018-22/05/2018", (":", "21/05/2018", "-", "22/05/2018")),
        ("17:05:59", ("17:05:59",)),
        ("BHD(728384-M)", ("BHD", "(728384-M)")),
        ("BHD.(974306-T)", ("BHD.", "(974306-T)")),
        ("TIME:12:30", ("TIME:12:30",)),
        ("TEL:03-77289", ("TEL:03-77289",)),
        ("NO:12", ("NO:12",)),
        ("12:30", ("12:30",)),
        ("CO.(M)", ("CO.(M)",)),
        ("ICE(2)", ("ICE(2)",)),
        ("http://9.00", ("http://9.00",)),
        ("", ("",)),
        ("1/1-" * 1000, ("1/1-" * 1000,)),
    ],
)
def test_split_word_splits_only_glued_values(text: str, parts: tuple[str, ...]) -> None:
    assert split_word(text) == parts
    assert "".join(split_word(text)) == text


def test_split_glued_words_divides_box_and_keeps_entities() -> None:
    builder = DocumentBuilder("order")
    builder.add_page(
        ["Flight", "05/28/20-06/03/20"], [[0, 0, 60, 10], [100, 0, 270, 10]], 300, 50, confidences=[0.9, 0.8]
    )
    builder.add_page(["Total", "9.00"], [[0, 0, 50, 10], [60, 0, 90, 10]], 300, 50)
    builder.add_entity("flight", [1])
    builder.add_entity("total", [3])
    document = split_glued_words(builder.build())
    assert document.texts == ("Flight", "05/28/20", "-", "06/03/20", "Total", "9.00")
    assert np.allclose(document.boxes[1:4], [[100, 0, 180, 10], [180, 0, 190, 10], [190, 0, 270, 10]])
    assert document.pages[0].confidences is not None
    assert document.pages[0].confidences.tolist() == [0.9, 0.8, 0.8, 0.8]
    assert [(e.label, e.words, e.page) for e in document.entities] == [("flight", (1, 2, 3), 0), ("total", (5,), 1)]
    assert [str(repair) for repair in document.repairs] == ["page 1, word 1: date range split: 05/28/20-06/03/20"]
    assert split_glued_words(document) is document
