from pathlib import Path

import pytest

from formnet.document import Document
from formnet.io.readers import read


def test_read_parquet_returns_same_pages(tmp_path: Path, documents: list[Document]) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rows = [{"id": d.id, "pages": d.to_json()["pages"]} for d in documents]
    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "pages.parquet")
    for expected, document in zip(documents, read(tmp_path / "pages.parquet"), strict=True):
        assert expected.pages == document.pages
