"""An archive through Ray Data: the same answers as the extractor's, whatever dies on the way."""

import gzip
import json
import os
import random
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import psutil
import pytest
from pyarrow.parquet import ParquetFile, read_table

from formnet.extraction.extractor import Extractor
from formnet.extraction.output import entity_answer
from formnet.io.writers import write
from paper import text_pdf
from plain_documents import documents
from poison import CRASH, HANG, HARMLESS, MEMORY, draw

HELPERS = Path(__file__).parent / "helpers"
#: How often the driver is killed; 20 for the full test.
KILLS = int(os.environ.get("FORMNET_KILLS", "2"))
SHARD = 8


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
        "PYTHONPATH": f"{folder}:{HELPERS}",
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
def reference(archive: Path, model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a run writes that nothing happened to, on a Ray of its own."""
    output = tmp_path_factory.mktemp("reference") / "output"
    summary = json.loads(finish(start(archive, output, model, "--json")))
    assert (summary["documents"], summary["errors"], summary["shards_before"]) == (240, 0, 0)
    assert 50 < summary["driver_memory_half_way_mb"] <= summary["driver_memory_mb"] < 2000
    return output


def start(source: object, output: Path, model: Path, *words: object, **environment: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "formnet.cli", "bulk", source, output, "--model", model]
    command += ["--workers", 1, "--no-warm-up", "--day-first"]
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


def test_bulk_says_what_the_extractor_says(reference: Path, archive: Path, extractor: Extractor) -> None:
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
        told = [entity_answer(replace(e, day_first=True))["value"] for e in document.entities]
        assert [e["value"] for e in row["entities"]] == [value and value["value"] for value in told]
        scores = [e["score"] for e in row["entities"]], [e.score for e in document.entities]
        assert np.allclose(*scores, atol=2e-4)
    assert "2019-04-03" in {e["value"] for row in rows for e in row["entities"]}
    assert not list(reference.glob("errors/*"))
    assert json.loads((reference / "manifest.json").read_text())["documents"] is None  # nobody counted the lines


def test_other_settings_are_refused(reference: Path, archive: Path, model: Path, tmp_path: Path) -> None:
    told = finish(start(archive, reference, model, "--shard", 9), code=2)
    assert "a run with other settings was begun here (shard 8 and not 9)" in told
    other = tmp_path / "other"
    other.mkdir()
    told = (reference / "manifest.json").read_text().replace("formnet.bulk/", "formnet.bulk/0")
    (other / "manifest.json").write_text(told)
    assert "a run of another version" in finish(start(archive, other, model), code=2)
    told = finish(start(archive, reference, model, "--month-first"), code=2)
    assert "(day_first True and not False)" in told
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
    model: Path,
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


def test_poison_costs_only_itself(model: Path, cluster: dict[str, str], tmp_path: Path) -> None:
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
    assert names["a.png"]["text_source"] == ["poison 1"]
    assert names["a.png"]["id"] == str(folder / "a.png")
    errors = [row for part in sorted(output.glob("errors/*")) for row in read_table(part).to_pylist()]
    assert len(errors) == summary["errors"] == len([row for row in rows if row["status"] == "error"]) == 9


def test_a_full_disk_is_told_and_the_run_goes_on_when_there_is_room(
    reference: Path,
    archive: Path,
    model: Path,
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
    assert schema.names == ["id", "source", "status", "reason", "pages", "words", "text_source", "entities"]
