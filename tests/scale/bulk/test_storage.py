import shutil
from pathlib import Path

import pytest

from formnet.errors import SettingsError
from formnet.scale.bulk import storage
from formnet.scale.bulk.storage import StoragePath, storage_path


@pytest.mark.parametrize("name", ["a b.pdf", "a#b.pdf", "a?b.pdf", "a%20b.pdf", "ä.pdf"])
def test_storage_path_address_of_special_name_round_trips(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(name.encode())
    (found,) = storage_path(f"file://{tmp_path}").files()
    again = storage_path(found.address)
    assert again.open().read() == name.encode()
    assert again.path == found.path == str(tmp_path / name)


def test_storage_path_path_and_urls_behave_alike(tmp_path: Path) -> None:
    for address in (str(tmp_path), tmp_path.as_uri(), f"local://{tmp_path}"):  # a path, pyarrow, and fsspec
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
    with pytest.raises(SettingsError, match="unsupported filesystem"):
        storage_path("nowhere://at/all")


def test_storage_path_join_keeps_url_options() -> None:
    path = StoragePath("s3://bucket/folder?region=eu-west-1", None, "bucket/folder") / "a.pdf"
    assert (path.address, path.path) == ("s3://bucket/folder/a.pdf?region=eu-west-1", "bucket/folder/a.pdf")


def test_write_disk_full_keeps_previous_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = storage_path(str(tmp_path)) / "part.parquet"
    path.write(b"old")

    def raise_disk_full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(storage.os, "fsync", raise_disk_full)
    with pytest.raises(OSError, match="No space left"):
        path.write(b"new")
    assert [file.name for file in tmp_path.iterdir()] == ["part.parquet"]
    assert (tmp_path / "part.parquet").read_bytes() == b"old"
