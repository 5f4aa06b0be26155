from pathlib import Path
from typing import Any

import fsspec
import pytest
from fsspec.implementations.local import LocalFileSystem

from formnet.io.limits import DEFAULT_LIMITS
from formnet.io.writers import write
from formnet.scale.bulk import read_stage, retrying_file
from formnet.scale.bulk.records import READERS
from formnet.scale.bulk.storage import StoragePath, storage_path
from plain_documents import documents


class UnreliableFileSystem(LocalFileSystem):
    """Local storage that raises `failures` errors after each successful read."""

    protocol = "unreliable"
    cachable = False
    failures = remaining = 0

    def fail(self) -> None:
        if self.remaining:
            self.remaining -= 1
            raise OSError("slow down")

    def _open(self, path: str, mode: str = "rb", **options: Any) -> Any:
        self.fail()
        file, filesystem = super()._open(path, mode, **options), self

        class UnreliableFile:
            def read(self, size: int = -1) -> Any:
                filesystem.fail()
                filesystem.remaining = filesystem.failures
                return file.read(size)

            def __getattr__(self, name: str) -> Any:
                return getattr(file, name)

        return UnreliableFile()


@pytest.mark.parametrize("failures", [2, 3])
@pytest.mark.parametrize("name", ["many.parquet", "many.jsonl", "many.jsonl.gz"])
def test_open_unreliable_storage_retries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, failures: int
) -> None:
    fsspec.register_implementation("unreliable", UnreliableFileSystem, clobber=True)
    monkeypatch.setattr(UnreliableFileSystem, "failures", failures)
    monkeypatch.setattr(retrying_file, "RETRY_DELAYS", (0.0, 0.0))
    write(documents(40), tmp_path / name)
    path = storage_path(f"unreliable://{tmp_path}/{name}")
    kind = {"many.parquet": "rows", "many.jsonl": "lines", "many.jsonl.gz": "gzip_lines"}[name]

    def read(path: StoragePath) -> list[Any]:
        return list(READERS[kind](path, 0, 2**40 if kind != "rows" else 40, DEFAULT_LIMITS))

    if failures == 2:
        assert read(path) == read(storage_path(str(tmp_path / name)))
        (tmp_path / "downloads").mkdir()
        copy = read_stage._download(path, tmp_path / "downloads")
        assert copy.read_bytes() == (tmp_path / name).read_bytes()
    elif kind == "rows":  # one failure more than there are retries
        assert all(record.error and "slow down" in record.error for record in read(path))
    else:
        with pytest.raises(OSError, match="slow down"):
            read(path)
    with pytest.raises(FileNotFoundError):
        storage_path(f"unreliable://{tmp_path}/none").open()
