"""What a bulk run reads, and in which shards: places, records and plans, before Ray starts."""

import gzip
import json
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pyarrow as pa
import pytest
from fsspec.implementations.local import LocalFileSystem
from pyarrow.parquet import write_table

from formnet.cli.options import size
from formnet.errors import SettingsError
from formnet.io.writers import write
from formnet.scale.bulk import plan, records
from formnet.scale.bulk import read_stage as reading
from formnet.scale.bulk import retrying_file as patience
from formnet.scale.bulk import storage as places
from formnet.scale.bulk.run import Bulk, run
from formnet.scale.bulk.storage import StoragePath, storage_path
from formnet.scale.isolation import within_memory
from plain_documents import documents


def test_a_place_is_a_path_or_a_url(tmp_path: Path) -> None:
    for address in (str(tmp_path), tmp_path.as_uri(), f"local://{tmp_path}"):  # pyarrow's, and fsspec's
        folder = storage_path(address) / "a" / "b"
        folder.make_folder()
        (folder / "two.pdf").write(b"2")
        (folder / "one.pdf").write(b"1")
        assert [file.address for file in storage_path(address).files()] == [
            f"{address}/a/b/one.pdf",
            f"{address}/a/b/two.pdf",
        ]
        assert folder.names() == ["one.pdf", "two.pdf"]
        with (folder / "two.pdf").open() as file:
            assert file.read() == b"2"
        assert (folder / "one.pdf").kind == "file"
        assert (folder / "three.pdf").kind == "nothing"
        shutil.rmtree(tmp_path / "a")
    with pytest.raises(SettingsError, match="no filesystem that is known here"):
        storage_path("nowhere://at/all")


def test_a_url_keeps_its_options() -> None:
    place = places.StoragePath("s3://bucket/folder?region=eu-west-1", None, "bucket/folder") / "a.pdf"
    assert (place.address, place.path) == ("s3://bucket/folder/a.pdf?region=eu-west-1", "bucket/folder/a.pdf")


def test_a_file_has_its_name_only_when_it_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = storage_path(str(tmp_path)) / "part.parquet"
    place.write(b"old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(places.os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        place.write(b"new")
    assert [file.name for file in tmp_path.iterdir()] == ["part.parquet"]
    assert (tmp_path / "part.parquet").read_bytes() == b"old"


@pytest.mark.parametrize("shard", [1, 3, 7, 1000])
def test_every_line_is_in_one_shard(shard: int, tmp_path: Path) -> None:
    texts = [b'{"a": %d}' % (10**k) for k in range(40)]
    source = tmp_path / "a.jsonl"
    source.write_bytes(b"\n\n".join(texts))  # blank lines, and no end of the last
    for ranges, read in (
        (list(plan._cut(storage_path(str(source)), shard) or ()), records.lines),
        (list(plan._cut(_packed(source), shard) or ()), records.packed_lines),
    ):
        place = storage_path(str(source if read is records.lines else _packed(source).path))
        found = [record.raw for one in ranges for record in read(place, one.start, one.stop)]
        assert [raw.strip() for raw in found if raw] == texts


def _packed(source: Path) -> places.StoragePath:
    packed = source.with_name("b.jsonl.gz")
    packed.write_bytes(gzip.compress(source.read_bytes()))
    return storage_path(str(packed))


def test_lines_too_long_and_packing_that_ends_early(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "LONGEST_LINE", 20)
    source = tmp_path / "a.jsonl"
    source.write_bytes(b'{"a": 1}\n' + b"x" * 50 + b'\n{"a": 2}\n')
    found = list(records.lines(storage_path(str(source)), 0, 1000))
    assert [record.raw for record in found] == [b'{"a": 1}\n', None, b'{"a": 2}\n']
    assert "is longer than" in (found[1].reason or "")
    broken = tmp_path / "a.jsonl.gz"
    broken.write_bytes(gzip.compress(b'{"a": 1}\n' * 3)[:-4])
    *good, last = records.packed_lines(storage_path(str(broken)), 0)
    assert len(good) == 3
    assert "cannot be unpacked" in (last.reason or "")


def test_rows_are_read_by_row_group(tmp_path: Path) -> None:
    source = tmp_path / "a.parquet"
    write(documents(150), source)  # in groups of 64
    ranges = list(plan._cut(storage_path(str(source)), 20) or ())
    assert [one.follows for one in ranges] == [False, True, True, True, False, True, True, False]
    found = [json.loads(r.raw)["id"] for one in ranges for r in records.rows(storage_path(str(source)), *one[2:4])]
    assert found == [f"document {number}" for number in range(150)]


def test_rows_that_unpack_without_end_are_refused_alone(tmp_path: Path) -> None:
    pages = {"width": 9.0, "height": 9.0, "boxes": [[0.0, 0.0, 1.0, 1.0]]}
    rows = [{"id": name, "words": [word], **pages} for name, word in (("a", "w" * (80 << 20)), ("b", "w"))]
    write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet", compression="zstd")
    large, small = records.rows(storage_path(str(tmp_path / "a.parquet")), 0, 2)
    assert "longer than 64 MiB" in (large.reason or "")
    assert json.loads(small.raw or b"")["words"] == ["w"]


@pytest.mark.skipif(sys.platform != "linux", reason="where memory can be limited")
def test_a_few_bytes_that_unpack_to_many_cost_only_themselves(tmp_path: Path) -> None:
    file = tmp_path / "bomb.parquet"
    write_table(pa.table({"id": ["x" * 2**22] * 256}), file)
    assert file.stat().st_size < 2**20
    found = list(within_memory(records.rows(storage_path(str(file)), 0, 256), 2**26))
    assert len(found) == 256
    assert all(record.raw is None and "cannot be read" in str(record.reason) for record in found)


def test_a_row_that_cannot_be_had_costs_its_group_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, real = tmp_path / "a.parquet", records.each_row
    write_table(pa.table({"id": list("abcdefg")}), file, row_group_size=3)

    def starving(opened: object, groups: list[int], columns: list[str]) -> Iterator[object]:
        for row in real(opened, groups, columns):
            if row["id"][0].as_py() == "b":
                raise MemoryError
            yield row

    monkeypatch.setattr(records, "each_row", starving)
    found = list(records.rows(storage_path(str(file)), 0, 6))
    assert [record.position for record in found] == [*range(6)]
    assert [record.raw and json.loads(record.raw)["id"] for record in found] == ["a", None, None, "d", "e", "f"]


def test_inputs_of_every_kind_are_listed_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("b/2.pdf", "a.pdf", "b/1.png", "notes.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"x")
    (tmp_path / "b" / "again").symlink_to(tmp_path)
    (tmp_path / "list.txt").write_text("b/1.png\n\n" + str(tmp_path / "a.pdf") + "\n")

    def names(source: str) -> list[str]:
        return [file.path.removeprefix(f"{tmp_path}/") for file in plan.find_files(source)]

    assert names(str(tmp_path)) == ["a.pdf", "b/1.png", "b/2.pdf"]
    assert names(f"{tmp_path}/**/*.p*") == ["a.pdf", "b/1.png", "b/2.pdf"]
    assert names(f"{tmp_path}/*.pdf") == names(f"file://{tmp_path}/*.pdf") == ["a.pdf"]
    assert names(f"{tmp_path}/list.txt") == ["b/1.png", "a.pdf"]
    (tmp_path / "[2019]").mkdir()
    (tmp_path / "[2019]" / "c.pdf").write_bytes(b"x")
    monkeypatch.chdir(tmp_path / "[2019]")
    assert names("*.pdf") == ["[2019]/c.pdf"]
    with pytest.raises(SettingsError, match="no such file or folder"):
        names(f"{tmp_path}/nothing")
    with pytest.raises(SettingsError, match="holds no file that can be read"):
        plan.write_plan(f"{tmp_path}/*.tiff", storage_path(str(tmp_path)), 1)


def test_few_blocks_for_many_shards(tmp_path: Path) -> None:
    scans = tmp_path / "scans"
    scans.mkdir()
    for number in range(30):
        (scans / f"{number:02}.pdf").write_bytes(b"x")
    output = storage_path(str(tmp_path))
    written = plan.write_plan(str(scans), output, 2)
    assert written == (15, 30)
    assert len(plan.in_blocks(plan.missing_shards(output, np.zeros(15, np.bool_)), 100)) == 15
    blocks = plan.in_blocks(plan.missing_shards(output, np.arange(15) == 3), 4)
    assert len(blocks) <= 4
    assert pa.concat_tables(blocks)["number"].to_pylist() == [n for n in range(15) if n != 3]


def test_sizes() -> None:
    assert [size(text) for text in ("2GiB", "512 MB", "1k", "7")] == [2 * 2**30, 512 * 10**6, 1024, 7]


@pytest.mark.parametrize("below", ["", "out"])
def test_the_output_is_not_in_the_input(below: str, tmp_path: Path, examples: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes((examples / "documents.jsonl").read_bytes())
    with pytest.raises(SettingsError, match="is the input or inside of it"):
        run(Bulk(str(tmp_path), str(tmp_path / below), "receipts"), shown=False)


def test_a_name_that_is_no_utf8_is_told(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    Path(os.fsdecode(bytes(tmp_path / "in") + b"/caf\xe9.pdf")).write_bytes(b"%PDF-")
    with pytest.raises(SettingsError, match=r"name in the input is no UTF-8"):
        run(Bulk(str(tmp_path / "in"), str(tmp_path / "out"), "receipts"), shown=False)


class Stumbling(LocalFileSystem):
    """A store on this disk: whenever it has given some bytes, it fails so many times."""

    protocol = "stumbling"
    cachable = False
    fails = left = 0

    def stumble(self) -> None:
        if self.left:
            self.left -= 1
            raise OSError("slow down")

    def _open(self, path: str, mode: str = "rb", **options: Any) -> Any:
        self.stumble()
        file, store = super()._open(path, mode, **options), self

        class Unsteady:
            def read(self, size: int = -1) -> Any:
                store.stumble()
                store.left = store.fails
                return file.read(size)

            def __getattr__(self, name: str) -> Any:
                return getattr(file, name)

        return Unsteady()


@pytest.mark.parametrize("fails", [2, 3])
@pytest.mark.parametrize("name", ["many.parquet", "many.jsonl", "many.jsonl.gz"])
def test_a_store_that_stumbles_is_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, fails: int
) -> None:
    fsspec.register_implementation("stumbling", Stumbling, clobber=True)
    monkeypatch.setattr(Stumbling, "fails", fails)
    monkeypatch.setattr(patience, "PAUSES", (0.0, 0.0))
    write(documents(40), tmp_path / name)
    place = storage_path(f"stumbling://{tmp_path}/{name}")
    kind = {"many.parquet": "rows", "many.jsonl": "lines", "many.jsonl.gz": "packed"}[name]

    def taken(place: StoragePath) -> list[Any]:
        return list(records.READERS[kind](place, 0, 2**40 if kind != "rows" else 40))

    if fails == 2:
        assert taken(place) == taken(storage_path(str(tmp_path / name)))
        (tmp_path / "fetched").mkdir()
        copy = reading._fetched(place, tmp_path / "fetched")
        assert copy.read_bytes() == (tmp_path / name).read_bytes()
    elif kind == "rows":  # once more than it is asked
        assert all(record.reason and "slow down" in record.reason for record in taken(place))
    else:
        with pytest.raises(OSError, match="slow down"):
            taken(place)
    with pytest.raises(FileNotFoundError):
        storage_path(f"stumbling://{tmp_path}/none").open()
