from benchmarks.reference_lists import benchmark
from formnet.document import Document
from formnet.document.builder import DocumentBuilder
from formnet.extraction.extractor import Extractor


def receipt(company: str, printed: str | None = None) -> Document:
    """Return a receipt on which the company is printed at the top, perhaps misread."""
    lines = [printed or company, "12, JALAN KENARI 5, 47100 PUCHONG", "TAX INVOICE", "Date : 14/06/2024", "TOTAL 37.90"]
    builder = DocumentBuilder("receipt")
    texts, boxes = [], []
    for row, line in enumerate(lines):
        for column, word in enumerate(line.split()):
            texts.append(word)
            boxes.append((20 + 70 * column, 20 + 30 * row, 80 + 70 * column, 40 + 30 * row))
    builder.add_page(texts, boxes, 600, 800)
    return builder.build({"merchant.name": company})


def test_reference_list_corrects_a_listed_company_and_leaves_others() -> None:
    known = [receipt("KEDAI KOPI MELUR SDN BHD"), receipt("PERNIAGAAN ZHENG HUI")]
    test = [receipt("KEDAI KOPI MELUR SDN BHD", "KEDAI KUPI MELUR SDN BHD"), receipt("SYARIKAT MAJU JAYA SDN BHD")]
    result = benchmark(Extractor.from_pretrained("receipts"), known, test, "merchant.name")
    assert result["entries"] == 2
    assert (result["listed"]["correct"]["right"], result["listed"]["correct_with_list"]["right"]) == (0, 1)
    assert result["not_listed"]["matched"]["right"] == 0
    assert result["not_listed"]["correct"] == result["not_listed"]["correct_with_list"]
