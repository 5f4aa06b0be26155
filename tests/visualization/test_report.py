import json
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from typer.testing import CliRunner

from formnet.cli import app
from formnet.document.builder import DocumentBuilder
from formnet.extraction.extractor import Extractor
from formnet.visualization.report import write_report
from linked_receipts import SCHEMA, read_receipt
from paper import picture


def test_write_report_hostile_text_is_escaped(extractor: Extractor, tmp_path: Path) -> None:
    builder = DocumentBuilder("<script>alert(1)</script>")
    words = ["<img src=x onerror=alert(1)>", "&", '"quoted"', "Total", "9.00"]
    builder.add_page(words, [[10, 20 * i, 90, 20 * i + 10] for i in range(len(words))], 100, 120)
    document = extractor.extract(builder.build())
    entities = tuple(replace(entity, review=(entity.score or 0.0) < 0.5) for entity in document.entities)
    file = tmp_path / "report.html"
    write_report([replace(document, entities=entities)], file, extractor.schema, "model <b>")
    tags: list[tuple[str, dict[str, str | None]]] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
            tags.append((tag, dict(attributes)))

    Reader().feed(file.read_text())
    assert [tag for tag, _ in tags].count("script") == 1
    assert all(a["src"].startswith("data:image/jpeg;base64,") for tag, a in tags if tag == "img")
    assert not any(name.startswith("on") for _, attributes in tags for name in attributes)
    rows = [a["data-e"] for tag, a in tags if tag == "tr" and "data-e" in a]
    assert len(rows) == len(document.entities) > 0
    assert {a["data-e"] for tag, a in tags if tag == "rect"} == set(rows)


def test_write_report_shows_items_and_checks(tmp_path: Path) -> None:
    write_report([read_receipt(3)], tmp_path / "report.html", SCHEMA)
    text = (tmp_path / "report.html").read_text()
    assert "<caption>items</caption><thead><tr><th>description<th class=n>quantity<th class=n>total</tr>" in text
    # The entities of a row are numbered in reading order: count, name, price.
    assert '<tr class=review tabindex=0 data-e="0-0 0-1 0-2"><td>Tea<td class=n>1<td class=n>0.50</tr>' in text
    assert "<td>extra milk" in text
    assert "total<td class=t>3.00<br><small>Total: 3.00</small><td class=n>0.90" in text
    assert "<li class=failed>items failed: 4.50 is not 3.00" in text


@pytest.mark.ocr
def test_extract_photograph_writes_overlay_and_report(model: Path, tmp_path: Path) -> None:
    file = tmp_path / "photo.jpg"
    picture().save(file)
    report = tmp_path / "report.html"
    result = CliRunner().invoke(
        app,
        ["extract", str(file), "--model", str(model), "--overlay", str(tmp_path / "o"), "--report", str(report)],
        catch_exceptions=False,
    )
    assert result.exit_code == 0
    (output,) = json.loads(result.stdout)
    assert all(entity["ocr_score"] > 0.5 for entity in output["entities"])
    assert (tmp_path / "o" / "photo.jpg-1.png").is_file()
    assert "photo.jpg" in report.read_text()
