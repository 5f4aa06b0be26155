import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow.parquet import write_table

from formnet.io.limits import ReadLimits
from formnet.io.writers import write
from formnet.scale.bulk import records
from formnet.scale.bulk.plan import split_file
from formnet.scale.bulk.records import read_gzip_lines, read_lines, read_rows
from formnet.scale.bulk.storage import StoragePath, storage_path
from plain_documents import documents


@pytest.mark.parametrize("shard_size", [1, 3, 7, 1000])
def test_read_lines_of_all_shards_returns_each_line_once(shard_size: int, tmp_path: Path) -> None:
    texts = [b'{"a": %d}' % (10**k) for k in range(40)]
    source = tmp_path / "a.jsonl"
    source.write_bytes(b"\n\n".join(texts))  # with blank lines, and without a final newline
    for path, read in ((storage_path(str(source)), read_lines), (_compress(source), read_gzip_lines)):
        ranges = list(split_file(path, shard_size) or ())
        raw = [record.raw for part in ranges for record in read(path, part.start, part.stop)]
        assert [line.strip() for line in raw if line] == texts


def _compress(source: Path) -> StoragePath:
    compressed = source.with_name("b.jsonl.gz")
    compressed.write_bytes(gzip.compress(source.read_bytes()))
    return storage_path(str(compressed))


def test_read_lines_too_long_or_truncated_gzip_reports_errors(tmp_path: Path) -> None:
    limits = ReadLimits(max_line_bytes=20)
    source = tmp_path / "a.jsonl"
    source.write_bytes(b'{"a": 1}\n' + b"x" * 50 + b'\n{"a": 2}\n')
    found = list(read_lines(storage_path(str(source)), 0, 1000, limits))
    assert [record.raw for record in found] == [b'{"a": 1}\n', None, b'{"a": 2}\n']
    assert "longer than" in (found[1].error or "")
    truncated = tmp_path / "a.jsonl.gz"
    truncated.write_bytes(gzip.compress(b'{"a": 1}\n' * 3)[:-4])
    *good, last = read_gzip_lines(storage_path(str(truncated)), 0, None, limits)
    assert len(good) == 3
    assert "cannot be decompressed" in (last.error or "")


def test_read_rows_of_all_shards_returns_each_row_once(tmp_path: Path) -> None:
    source = tmp_path / "a.parquet"
    write(documents(150), source)  # in row groups of 64
    ranges = list(split_file(storage_path(str(source)), 20) or ())
    assert [part.joins_previous for part in ranges] == [False, True, True, True, False, True, True, False]
    found = [
        json.loads(record.raw or b"")["id"]
        for part in ranges
        for record in read_rows(storage_path(str(source)), part.start, part.stop)
    ]
    assert found == [f"document {number}" for number in range(150)]


def test_read_rows_oversized_row_fails_alone(tmp_path: Path) -> None:
    page = {"width": 9.0, "height": 9.0, "boxes": [[0.0, 0.0, 1.0, 1.0]]}
    rows = [{"id": name, "words": [word], **page} for name, word in (("a", "w" * (80 << 20)), ("b", "w"))]
    write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet", compression="zstd")
    large, small = read_rows(storage_path(str(tmp_path / "a.parquet")), 0, 2)
    assert "longer than 64 MiB" in (large.error or "")
    assert json.loads(small.raw or b"")["words"] == ["w"]


def test_read_rows_memory_error_loses_rest_of_row_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, iter_rows = tmp_path / "a.parquet", records.iter_rows
    write_table(pa.table({"id": list("abcdefg")}), file, row_group_size=3)

    def raise_at_b(opened: object, groups: list[int], columns: list[str], limits: ReadLimits) -> Iterator[object]:
        for row in iter_rows(opened, groups, columns, limits):
            if row["id"][0].as_py() == "b":
                raise MemoryError
            yield row

    monkeypatch.setattr(records, "iter_rows", raise_at_b)
    found = list(read_rows(storage_path(str(file)), 0, 6))
    assert [record.position for record in found] == [*range(6)]
    assert [record.raw and json.loads(record.raw)["id"] for record in found] == ["a", None, None, "d", "e", "f"]
