"""An archive through Ray Data: the same answers as the extractor's, whatever dies on the way."""

import gzip
import json
import os
import random
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import pytest
from pyarrow.parquet import ParquetFile, read_table

from formnet.builder import DocumentBuilder
from formnet.cli.options import size
from formnet.document import Document
from formnet.errors import SettingsError
from formnet.extractor import Extractor
from formnet.scale import places, plan, records
from formnet.scale.places import find_place
from formnet.writers import write
from paper import text_pdf
from poison import CRASH, HANG, HARMLESS, MEMORY, draw
from test_extract import extractor, model, tokenizer  # noqa: F401 - the same network that has learnt nothing

TESTS = Path(__file__).parent
#: How often the driver is killed; 20 for the full test.
KILLS = int(os.environ.get("FORMNET_KILLS", "2"))
SHARD = 8


def documents(count: int) -> Iterator[Document]:
    for number in range(count):
        build = DocumentBuilder(f"document {number}")
        words = f"acme stores invoice {number} date 03/04/2019 total {number}.50".split() * (1 + number % 5)
        build.add_page(words, [[10, 20 * i, 90, 20 * i + 10] for i in range(len(words))], 100, 20 * len(words) + 20)
        yield build.done()


# Without Ray: places, records, plans


def test_a_place_is_a_path_or_a_url(tmp_path: Path) -> None:
    for address in (str(tmp_path), tmp_path.as_uri(), f"local://{tmp_path}"):  # pyarrow's, and fsspec's
        folder = find_place(address) / "a" / "b"
        folder.make_folder()
        (folder / "two.pdf").write(b"2")
        (folder / "one.pdf").write(b"1")
        assert [file.address for file in find_place(address).files()] == [
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
        find_place("nowhere://at/all")


def test_a_url_keeps_its_options() -> None:
    place = places.Place("s3://bucket/folder?region=eu-west-1", None, "bucket/folder") / "a.pdf"
    assert (place.address, place.path) == ("s3://bucket/folder/a.pdf?region=eu-west-1", "bucket/folder/a.pdf")


def test_a_file_has_its_name_only_when_it_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = find_place(str(tmp_path)) / "part.parquet"
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
        (list(plan._cut(find_place(str(source)), shard) or ()), records.lines),
        (list(plan._cut(_packed(source), shard) or ()), records.packed_lines),
    ):
        place = find_place(str(source if read is records.lines else _packed(source).path))
        found = [record.raw for one in ranges for record in read(place, one.start, one.stop)]
        assert [raw.strip() for raw in found if raw] == texts


def _packed(source: Path) -> places.Place:
    packed = source.with_name("b.jsonl.gz")
    packed.write_bytes(gzip.compress(source.read_bytes()))
    return find_place(str(packed))


def test_lines_too_long_and_packing_that_ends_early(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "LONGEST_LINE", 20)
    source = tmp_path / "a.jsonl"
    source.write_bytes(b'{"a": 1}\n' + b"x" * 50 + b'\n{"a": 2}\n')
    found = list(records.lines(find_place(str(source)), 0, 1000))
    assert [record.raw for record in found] == [b'{"a": 1}\n', None, b'{"a": 2}\n']
    assert "is longer than" in (found[1].reason or "")
    broken = tmp_path / "a.jsonl.gz"
    broken.write_bytes(gzip.compress(b'{"a": 1}\n' * 3)[:-4])
    *good, last = records.packed_lines(find_place(str(broken)), 0)
    assert len(good) == 3
    assert "cannot be unpacked" in (last.reason or "")


def test_rows_are_read_by_row_group(tmp_path: Path) -> None:
    source = tmp_path / "a.parquet"
    write(documents(150), source)  # in groups of 64
    ranges = list(plan._cut(find_place(str(source)), 20) or ())
    assert [one.follows for one in ranges] == [False, True, True, True, False, True, True, False]
    found = [json.loads(r.raw)["id"] for one in ranges for r in records.rows(find_place(str(source)), *one[2:4])]
    assert found == [f"document {number}" for number in range(150)]


def test_inputs_of_every_kind_are_listed_in_order(tmp_path: Path) -> None:
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
    with pytest.raises(SettingsError, match="no such file or folder"):
        names(f"{tmp_path}/nothing")
    with pytest.raises(SettingsError, match="holds no file that can be read"):
        plan.write_plan(f"{tmp_path}/*.tiff", find_place(str(tmp_path)), 1)


def test_few_blocks_for_many_shards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scans = tmp_path / "scans"
    scans.mkdir()
    for number in range(30):
        (scans / f"{number:02}.pdf").write_bytes(b"x")
    output = find_place(str(tmp_path))
    written = plan.write_plan(str(scans), output, 2)
    assert written == (15, 30)
    assert len(plan.read_plan(output, np.zeros(15, np.bool_))) == 15
    monkeypatch.setattr(plan, "MOST_BLOCKS", 4)
    done = np.arange(15) == 3
    blocks = plan.read_plan(output, done)
    assert len(blocks) <= 4
    assert pa.concat_tables(blocks)["number"].to_pylist() == [n for n in range(15) if n != 3]


def test_sizes() -> None:
    assert [size(text) for text in ("2GiB", "512 MB", "1k", "7")] == [2 * 2**30, 512 * 10**6, 1024, 7]


# With Ray: as a user runs it


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """A cluster of one machine that runs share, and what in the environment names it."""
    folder = tmp_path_factory.mktemp("sites")
    # A document that kills whoever parses it, as a fault in a native library would.
    (folder / "sitecustomize.py").write_text(
        "import json, os\nreal = json.loads\n"
        "def loads(text, *a, **k):\n"
        "    if isinstance(text, str) and 'kills its worker' in text:\n        os.abort()\n"
        "    return real(text, *a, **k)\njson.loads = loads\n"
    )
    shared = {
        "PYTHONPATH": f"{folder}:{TESTS}",
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
    }
    code = (
        "import ray, sys; ray.init('local', num_cpus=2, include_dashboard=False, log_to_driver=False);"
        "print(ray.get_runtime_context().gcs_address, flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **shared},
        text=True,
    ) as process:
        assert process.stdout
        assert process.stdin
        yield {**shared, "RAY_ADDRESS": process.stdout.readline().strip()}
        process.stdin.close()
        process.wait(30)


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("archive") / "documents.jsonl"
    write(documents(240), file)
    return file


@pytest.fixture(scope="module")
def reference(archive: Path, model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: F811
    """What a run writes that nothing happened to, on a Ray of its own."""
    output = tmp_path_factory.mktemp("reference") / "output"
    summary = json.loads(finish(start(archive, output, model, "--json")))
    assert (summary["documents"], summary["errors"], summary["shards_before"]) == (240, 0, 0)
    return output


def start(source: object, output: Path, model: Path, *words: object, **environment: str) -> subprocess.Popen[str]:  # noqa: F811
    command = [sys.executable, "-m", "formnet.cli", "bulk", source, output, "--model", model, "--workers", 1]
    if "--shard" not in words:
        command += ["--shard", SHARD]
    return subprocess.Popen(
        [str(word) for word in (*command, *words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **environment},
        text=True,
    )


def finish(process: subprocess.Popen[str], code: int = 0) -> str:
    """Wait for a run and give what it says: to programs if it went well, to people if not."""
    out, err = process.communicate(timeout=120)
    assert process.returncode == code, err
    return err if code else out


def parts(output: Path) -> dict[str, bytes]:
    return {str(file.relative_to(output)): file.read_bytes() for file in sorted(output.glob("e*/*"))}


def test_bulk_says_what_the_extractor_says(reference: Path, archive: Path, extractor: Extractor) -> None:  # noqa: F811
    rows = [row for part in sorted(reference.glob("entities/*")) for row in read_table(part).to_pylist()]
    expected = extractor.extract(list(documents(240)))
    assert [row["id"] for row in rows] == [document.id for document in expected]
    assert any(row["entities"] for row in rows)
    for row, document in zip(rows, expected, strict=True):
        assert (row["status"], row["pages"], row["words"]) == ("ok", 1, document.num_words)
        assert row["source"].startswith(f"{archive}#byte=")
        assert [(e["label"], e["text"], e["words"]) for e in row["entities"]] == [
            (e.label, e.text, list(e.words)) for e in document.entities
        ]
        scores = [e["score"] for e in row["entities"]], [e.score for e in document.entities]
        assert np.allclose(*scores, atol=2e-4)
    assert not list(reference.glob("errors/*"))
    assert json.loads((reference / "manifest.json").read_text())["documents"] is None  # nobody counted the lines


def test_other_settings_are_refused(reference: Path, archive: Path, model: Path, tmp_path: Path) -> None:  # noqa: F811
    told = finish(start(archive, reference, model, "--shard", 9), code=2)
    assert "a run with other settings was begun here (shard 8 and not 9)" in told
    assert "there is no OCR engine 'eyes'" in finish(start(archive, tmp_path / "o", model, "--ocr", "eyes"), code=2)


def kill_worker() -> int:
    """Kill the process that holds the network, among those that these tests started."""
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            if " ".join(process.cmdline()).startswith("ray::MapWorker"):
                process.kill()
                return process.pid
    return 0


def settled(output: Path, seconds: float = 3.0) -> list[Path]:
    """Wait until a cluster has noticed that nobody asks any more: its workers may end a part after the driver's end."""
    since, there = time.monotonic(), sorted(output.glob("entities/part-*"))
    while time.monotonic() - since < seconds:
        time.sleep(0.1)
        now = sorted(output.glob("entities/part-*"))
        if now != there:
            since, there = time.monotonic(), now
    return there


def test_whoever_is_killed_the_next_run_does_what_is_missing(
    reference: Path,
    archive: Path,
    model: Path,  # noqa: F811
    cluster: dict[str, str],
    tmp_path: Path,
) -> None:
    output = tmp_path / "output"
    chance = random.Random(KILLS)
    for number in range(KILLS):
        there = len(list(output.glob("entities/part-*")))
        process = start(archive, output, model, **(cluster if number % 2 else {}))
        family = []
        wanted, latest = there + chance.randint(0, 3), time.monotonic() + chance.uniform(0, 30)
        while process.poll() is None and time.monotonic() < latest:
            if number % 3 != 2 and len(list(output.glob("entities/part-*"))) > wanted:
                break
            time.sleep(0.01)
        time.sleep(chance.uniform(0, 0.1))
        if process.poll() is None:
            family = psutil.Process(process.pid).children(recursive=True)
            process.send_signal(signal.SIGKILL)
        process.communicate()
        _, alive = psutil.wait_procs(family, timeout=90)
        assert not alive  # what it started goes with it
    there = settled(output)
    for part in there[2:]:
        part.unlink()
    (output / "entities" / ".part-0000005.parquet.0").write_bytes(b"half")
    process = start(archive, output, model, "--json", **cluster)
    killed = 0
    while process.poll() is None and not killed:
        if len(list(output.glob("entities/part-*"))) >= 5:
            killed = kill_worker()
        time.sleep(0.02)
    assert json.loads(finish(process))["shards_before"] == len(there[:2])
    assert killed
    assert parts(output) == parts(reference)


def test_poison_costs_only_itself(model: Path, cluster: dict[str, str], tmp_path: Path) -> None:  # noqa: F811
    folder, output = tmp_path / "scans", tmp_path / "output"
    folder.mkdir()
    for name, kind in {"a": HARMLESS, "b-crash": CRASH, "c-hang": HANG, "d-memory": MEMORY, "z": HARMLESS}.items():
        draw(kind).save(folder / f"{name}.png")
    (folder / "e-bad.pdf").write_bytes(b"%PDF-1.4 nonsense")
    (folder / "f-empty.pdf").write_bytes(b"")
    (folder / "g.pdf").write_bytes(text_pdf())
    first, second = documents(2)
    killer = json.dumps({**second.to_json(), "id": "kills its worker"})
    (folder / "h.jsonl").write_text(f"{json.dumps(first.to_json())}\nno JSON\n{killer}\n")
    (folder / "i.jsonl.gz").write_bytes(gzip.compress(json.dumps(first.to_json()).encode() + b"\n")[:-4])
    (folder / "j.parquet").write_bytes(b"PAR1 nonsense PAR1")
    words = ("--ocr", "poison:Engine", "--seconds-per-document", 10, "--memory-per-document", "1GiB", "--json")
    summary = json.loads(finish(start(folder, output, model, *words, "--shard", 4, **cluster)))
    rows = [row for part in sorted(output.glob("entities/*")) for row in read_table(part).to_pylist()]
    names = {Path(row["source"]).name.partition("#byte")[0]: row for row in rows if "h.jsonl" not in row["source"]}
    assert {name for name, row in names.items() if row["status"] == "ok"} == {
        "a.png",
        "g.pdf",
        "i.jsonl.gz#line=1",
        "z.png",
    }
    for name, reason in {
        "b-crash.png": "crashed its process",
        "c-hang.png": "took longer than 10 s",
        "d-memory.png": "took more than 1,024 MiB of memory",
        "e-bad.pdf": "cannot be opened as a PDF",
        "f-empty.pdf": "is empty",
        "i.jsonl.gz#line=2": "cannot be unpacked",
        "j.parquet": "is no Parquet that can be read",
    }.items():
        assert reason in names[name]["reason"], name
    lines = [row for row in rows if "h.jsonl" in row["source"]]
    assert [row["status"] for row in lines] == ["ok", "error", "error"]
    assert "is not JSON" in lines[1]["reason"]
    assert "extraction from it crashed" in lines[2]["reason"]
    assert names["a.png"]["read_by"] == ["poison 1"]
    assert names["a.png"]["id"] == str(folder / "a.png")
    errors = [row for part in sorted(output.glob("errors/*")) for row in read_table(part).to_pylist()]
    assert len(errors) == summary["errors"] == len([row for row in rows if row["status"] == "error"]) == 9


def test_a_full_disk_is_told_and_the_run_goes_on_when_there_is_room(
    reference: Path,
    archive: Path,
    model: Path,  # noqa: F811
    cluster: dict[str, str],
    tmp_path: Path,
) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)]
    if os.geteuid() or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("a small disk can be mounted only by root, where mounting is allowed")
    try:
        (disk / "ballast").write_bytes(bytes(2**20 - 100 * 2**10))
        told = finish(start(archive, disk / "output", model, **cluster), code=2)
        assert f"{disk}/output: cannot be written: " in told
        assert "No space left on device" in told
        written = parts(disk / "output")
        assert 0 < len(written) < len(parts(reference))
        assert written.items() <= parts(reference).items()
        (disk / "ballast").unlink()
        finish(start(archive, disk / "output", model, **cluster))
        assert parts(disk / "output") == parts(reference)
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_parts_can_be_read_as_one_table(reference: Path) -> None:
    assert read_table(reference / "entities").num_rows == 240
    schema = ParquetFile(next(reference.glob("entities/*"))).schema_arrow
    assert schema.names == ["id", "source", "status", "reason", "pages", "words", "read_by", "entities"]
