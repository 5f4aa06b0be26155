from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from formnet.errors import SettingsError
from formnet.scale.bulk.plan import list_inputs, missing_shards, split_blocks, write_plan
from formnet.scale.bulk.storage import storage_path


def test_list_inputs_of_each_kind_returns_stable_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("b/2.pdf", "a.pdf", "b/1.png", "notes.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"x")
    (tmp_path / "b" / "again").symlink_to(tmp_path)
    (tmp_path / "list.txt").write_text("b/1.png\n\n" + str(tmp_path / "a.pdf") + "\n")

    def names(source: str) -> list[str]:
        return [file.path.removeprefix(f"{tmp_path}/") for file in list_inputs(source)]

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
    with pytest.raises(SettingsError, match="contains no supported file"):
        write_plan(f"{tmp_path}/*.tiff", storage_path(str(tmp_path)), 1)


def test_split_blocks_many_shards_returns_at_most_max_blocks(tmp_path: Path) -> None:
    scans = tmp_path / "scans"
    scans.mkdir()
    for number in range(30):
        (scans / f"{number:02}.pdf").write_bytes(b"x")
    output = storage_path(str(tmp_path))
    plan = write_plan(str(scans), output, 2)
    assert plan == (15, 30)
    assert len(split_blocks(missing_shards(output, np.zeros(15, np.bool_)), 100)) == 15
    blocks = split_blocks(missing_shards(output, np.arange(15) == 3), 4)
    assert len(blocks) <= 4
    assert pa.concat_tables(blocks)["number"].to_pylist() == [n for n in range(15) if n != 3]
