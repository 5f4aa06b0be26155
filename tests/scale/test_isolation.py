import sys
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow.parquet import write_table

from formnet.scale.bulk.records import read_rows
from formnet.scale.bulk.storage import storage_path
from formnet.scale.isolation import iter_within_memory


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory can be limited on Linux only")
def test_iter_within_memory_decompression_bomb_fails_rows_only(tmp_path: Path) -> None:
    file = tmp_path / "bomb.parquet"
    write_table(pa.table({"id": ["x" * 2**22] * 256}), file)
    assert file.stat().st_size < 2**20
    records = list(iter_within_memory(read_rows(storage_path(str(file)), 0, 256), 2**26))
    assert len(records) == 256
    assert all(record.raw is None and "cannot be read" in str(record.error) for record in records)
