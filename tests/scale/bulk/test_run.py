"""Bulk runs on Ray: equal to the extractor, resumable, and unaffected by documents that crash a process."""

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
from pathlib import Path

import numpy as np
import psutil
import pytest
from pyarrow.parquet import ParquetFile, read_table

from formnet.errors import FormNetError, SettingsError
from formnet.extraction.extractor import Extractor
from formnet.extraction.output import entity_output
from formnet.extraction.references import ReferenceList
from formnet.extraction.schema import Schema
from formnet.io.writers import write
from formnet.scale.bulk.output import error_row, part_name, write_part
from formnet.scale.bulk.plan import missing_shards, parse_shards
from formnet.scale.bulk.read_stage import DocumentLimits, _read_records
from formnet.scale.bulk.run import BulkConfig, _find_done, _prepare, run
from formnet.scale.bulk.storage import storage_path
from paper import text_pdf
from plain_documents import documents
from poison import CRASH, HANG, HARMLESS, MEMORY, draw

HELPERS = Path(__file__).parents[2] / "helpers"
#: How many times the driver is killed; 20 in the full test.
KILLS = int(os.environ.get("FORMNET_KILLS", "2"))
SHARD = 8


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """A cluster of one machine that runs share, as environment variables."""
    folder = tmp_path_factory.mktemp("sites")
    # Parsing a certain document aborts the process, as an error in a native library would.
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
    """The output of an uninterrupted run that starts Ray itself."""
    output = tmp_path_factory.mktemp("reference") / "output"
    summary = json.loads(finish(start(archive, output, model, "--json")))
    assert (summary["documents"], summary["errors"], summary["shards_before"]) == (240, 0, 0)
    assert 50 < summary["driver_memory_half_way_mb"] <= summary["driver_memory_mb"] < 2000
    return output


def start(source: object, output: Path, model: Path, *options: object, **environment: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "formnet.cli", "bulk", source, output, "--model", model]
    command += ["--workers", 1, "--no-warm-up", "--day-first"]
    if "--shard" not in options:
        command += ["--shard", SHARD]
    return subprocess.Popen(
        [str(argument) for argument in (*command, *options)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **environment},
        text=True,
    )


def finish(process: subprocess.Popen[str], code: int = 0) -> str:
    """Wait for a run, and return its stdout if it is expected to succeed, otherwise its stderr."""
    out, err = process.communicate(timeout=400)
    assert process.returncode == code, err
    return err if code else out


def parts(output: Path) -> dict[str, bytes]:
    return {str(file.relative_to(output)): file.read_bytes() for file in sorted(output.glob("e*/*"))}


@pytest.mark.ray
@pytest.mark.slow
def test_run_equals_extractor(reference: Path, archive: Path, model: Path) -> None:
    extractor = Extractor.from_pretrained(model, day_first=True)
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
        values = [entity_output(e).model_dump()["value"] for e in document.entities]
        assert [e["value"] for e in row["entities"]] == values
        scores = [e["score"] for e in row["entities"]], [e.score for e in document.entities]
        assert np.allclose(*scores, atol=2e-4)
    assert "2019-04-03" in {e["value"]["value"] for row in rows for e in row["entities"] if e["value"]}
    assert not list(reference.glob("errors/*"))
    assert json.loads((reference / "manifest.json").read_text())["documents"] is None  # lines are not counted


@pytest.mark.ray
@pytest.mark.slow
def test_run_other_settings_raises(reference: Path, archive: Path, model: Path, tmp_path: Path) -> None:
    message = finish(start(archive, reference, model, "--shard", 9), code=2)
    assert "contains a run with other settings (shard is 8, not 9)" in message
    other = tmp_path / "other"
    other.mkdir()
    manifest = (reference / "manifest.json").read_text().replace("formnet.bulk/", "formnet.bulk/0")
    (other / "manifest.json").write_text(manifest)
    assert "contains a run of another version" in finish(start(archive, other, model), code=2)
    message = finish(start(archive, reference, model, "--month-first"), code=2)
    assert "(day_first is True, not False)" in message
    assert "unknown OCR engine 'eyes'" in finish(start(archive, tmp_path / "o", model, "--ocr", "eyes"), code=2)


def kill_worker() -> int:
    """Kill the worker that holds the model, among the processes that these tests started."""
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            if " ".join(process.cmdline()).startswith("ray::MapWorker"):
                process.kill()
                return process.pid
    return 0


def wait_until_idle(output: Path, seconds: float = 3.0) -> list[Path]:
    """Wait until no part has been written for a while: workers may finish a part after the driver has died."""
    since, existing = time.monotonic(), sorted(output.glob("entities/part-*"))
    while time.monotonic() - since < seconds:
        time.sleep(0.1)
        now = sorted(output.glob("entities/part-*"))
        if now != existing:
            since, existing = time.monotonic(), now
    return existing


@pytest.mark.ray
@pytest.mark.slow
def test_run_killed_resumes_with_missing_parts(
    reference: Path,
    archive: Path,
    model: Path,
    cluster: dict[str, str],
    tmp_path: Path,
) -> None:
    output = tmp_path / "output"
    rng = random.Random(KILLS)
    for number in range(KILLS):
        count = len(list(output.glob("entities/part-*")))
        process = start(archive, output, model, **(cluster if number % 2 else {}))
        children = []
        target, deadline = count + rng.randint(0, 3), time.monotonic() + rng.uniform(0, 30)
        while process.poll() is None and time.monotonic() < deadline:
            if number % 3 != 2 and len(list(output.glob("entities/part-*"))) > target:
                break
            time.sleep(0.01)
        time.sleep(rng.uniform(0, 0.1))
        if process.poll() is None:
            children = psutil.Process(process.pid).children(recursive=True)
            process.send_signal(signal.SIGKILL)
        process.communicate()
        _, alive = psutil.wait_procs(children, timeout=90)
        assert not alive
    existing = wait_until_idle(output)
    for part in existing[3:]:
        part.unlink()
    for part in existing[2:3]:
        part.write_bytes(b"")
    (output / "entities" / ".part-0000005.parquet.0").write_bytes(b"half")
    process = start(archive, output, model, "--json", **cluster)
    killed = 0
    while process.poll() is None and not killed:
        if len(list(output.glob("entities/part-*"))) >= 5:
            killed = kill_worker()
        time.sleep(0.02)
    assert json.loads(finish(process))["shards_before"] == len(existing[:2])  # an empty part does not count
    assert killed
    assert parts(output) == parts(reference)


@pytest.mark.ray
@pytest.mark.slow
def test_run_crashing_documents_fail_alone(model: Path, cluster: dict[str, str], tmp_path: Path) -> None:
    folder, output = tmp_path / "scans", tmp_path / "output"
    folder.mkdir()
    for name, color in {"a": HARMLESS, "b-crash": CRASH, "c-hang": HANG, "d-memory": MEMORY, "z": HARMLESS}.items():
        draw(color).save(folder / f"{name}.png")
    (folder / "e-bad.pdf").write_bytes(b"%PDF-1.4 nonsense")
    (folder / "f-empty.pdf").write_bytes(b"")
    (folder / "g.pdf").write_bytes(text_pdf())
    first, second = documents(2)
    killer = json.dumps({**second.to_json(), "id": "kills its worker"})
    (folder / "h.jsonl").write_text(f"{json.dumps(first.to_json())}\nno JSON\n{killer}\n")
    (folder / "i.jsonl.gz").write_bytes(gzip.compress(json.dumps(first.to_json()).encode() + b"\n")[:-4])
    (folder / "j.parquet").write_bytes(b"PAR1 nonsense PAR1")
    options = ("--ocr", "poison:Engine", "--timeout", 10, "--memory-per-document", "1GiB", "--json")
    summary = json.loads(finish(start(folder, output, model, *options, "--shard", 4, **cluster)))
    rows = [row for part in sorted(output.glob("entities/*")) for row in read_table(part).to_pylist()]
    by_name = {Path(row["source"]).name.partition("#byte")[0]: row for row in rows if "h.jsonl" not in row["source"]}
    assert {name for name, row in by_name.items() if row["status"] == "ok"} == {
        "a.png",
        "g.pdf",
        "i.jsonl.gz#line=1",
        "z.png",
    }
    for name, error in {
        "b-crash.png": "crashed the process that read it",
        "c-hang.png": "took longer than 10 seconds",
        "d-memory.png": "took more than 1,024 MiB of memory",
        "e-bad.pdf": "cannot be opened as a PDF",
        "f-empty.pdf": "file is empty",
        "i.jsonl.gz#line=2": "cannot be decompressed",
        "j.parquet": "cannot be read as Parquet",
    }.items():
        assert error in by_name[name]["error"], name
    lines = [row for row in rows if "h.jsonl" in row["source"]]
    assert [row["status"] for row in lines] == ["ok", "error", "error"]
    assert "is not JSON" in lines[1]["error"]
    assert "extraction crashed" in lines[2]["error"]
    assert by_name["a.png"]["text_source"] == ["poison 1"]
    assert by_name["a.png"]["id"] == str(folder / "a.png")
    errors = [row for part in sorted(output.glob("errors/*")) for row in read_table(part).to_pylist()]
    assert len(errors) == summary["errors"] == len([row for row in rows if row["status"] == "error"]) == 9


@pytest.mark.ray
@pytest.mark.slow
def test_run_disk_full_raises_and_resumes(
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
        pytest.skip("mounting a small disk requires root")
    try:
        (disk / "ballast").write_bytes(bytes(2**20 - 100 * 2**10))
        message = finish(start(archive, disk / "output", model, **cluster), code=2)
        assert f"{disk}/output: cannot be written: " in message
        assert "No space left on device" in message
        written = parts(disk / "output")
        assert 0 < len(written) < len(parts(reference))
        assert written.items() <= parts(reference).items()
        (disk / "ballast").unlink()
        finish(start(archive, disk / "output", model, **cluster))
        assert parts(disk / "output") == parts(reference)
    finally:
        subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.ray
@pytest.mark.slow
def test_run_parts_are_readable_as_one_table(reference: Path) -> None:
    assert read_table(reference / "entities").num_rows == 240
    schema = ParquetFile(next(reference.glob("entities/*"))).schema_arrow
    document = ["id", "source", "status", "error", "pages", "words", "text_source", "currency", "date_order"]
    assert schema.names == [*document, "type", "type_score", "fields", "checks", "entities"]


def write_run(folder: Path, **changes: object) -> Path:
    """Write the plan and manifest of a run without parts."""
    source = folder / "input.jsonl"
    write(documents(20), source)
    output = folder / "output"
    config = BulkConfig(str(source), str(output), "receipts", shard=8)
    (output / "entities").mkdir(parents=True)
    assert _prepare(config, storage_path(str(output))) > 1
    manifest = json.loads((output / "manifest.json").read_text())
    (output / "manifest.json").write_text(json.dumps({**manifest, **changes}))
    return output


def test_run_with_another_reference_list_raises(tmp_path: Path) -> None:
    output = write_run(tmp_path)
    settings = {"source": str(tmp_path / "input.jsonl"), "output": str(output), "model": "receipts", "shard": 8}
    vendors = ReferenceList(["merchant.name"], [["ACME"]])
    with pytest.raises(SettingsError, match=r"other settings \(references is {}"):
        run(BulkConfig(**settings, references=(vendors,)), show_progress=False)  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="the first column is 'vendor'"):
        run(BulkConfig(**settings, references=(ReferenceList(["vendor"], [["A"]]),)), show_progress=False)  # type: ignore[arg-type]


@pytest.mark.parametrize("shards", [-1, 0, 10**9, "many", None])
def test_run_damaged_manifest_raises(shards: object, tmp_path: Path) -> None:
    output = write_run(tmp_path, shards=shards)
    config = BulkConfig(str(tmp_path / "input.jsonl"), str(output), "receipts", shard=8)
    with pytest.raises(SettingsError, match=r"the plan of the run is damaged .* Use another folder"):
        run(config, show_progress=False)
    (output / "manifest.json").write_text('{"schema": "formnet.bu')
    with pytest.raises(SettingsError, match="the plan of the run is damaged"):
        run(config, show_progress=False)
    (output / "manifest.json").write_text("[]")
    with pytest.raises(SettingsError, match="the plan of the run is damaged"):
        run(config, show_progress=False)


def test_run_second_driver_raises(tmp_path: Path) -> None:
    output = write_run(tmp_path)
    config = BulkConfig(str(tmp_path / "input.jsonl"), str(output), "receipts", shard=8)
    code = (
        "import sys; from formnet.scale.bulk.storage import storage_path\n"
        "with storage_path(sys.argv[1]).lock():\n    print('locked', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(output / ".lock")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == "locked\n"
        with pytest.raises(SettingsError, match=r"another run writes to it\. Wait for it"):
            run(config, show_progress=False)
        process.kill()
    with storage_path(str(output / ".lock")).lock():
        pass


def test_find_done_ignores_incomplete_parts(tmp_path: Path) -> None:
    output = storage_path(str(tmp_path))
    for name in ("entities", "errors"):
        (tmp_path / name).mkdir()
    for number in range(3):
        write_part(output, number, [error_row("a", "a.pdf", "unreadable")], Schema.flat(["total"]))
    complete = (tmp_path / "entities" / part_name(0)).read_bytes()
    (tmp_path / "entities" / part_name(1)).write_bytes(complete[:-100])
    (tmp_path / "entities" / part_name(2)).write_bytes(b"")
    assert _find_done(output, 4).tolist() == [True, False, False, False]


def test_read_shards_rewritten_input_raises(tmp_path: Path) -> None:
    output = write_run(tmp_path)
    source = tmp_path / "input.jsonl"
    shards = missing_shards(storage_path(str(output)), np.zeros(2, np.bool_))
    content = source.read_bytes()
    source.write_bytes(content[::-1])  # as many bytes
    os.utime(source, ns=(0, 1))
    with pytest.raises(FormNetError, match=r"the file has changed since the run started\. Start another run"):
        list(_read_records(parse_shards(shards)[:1], DocumentLimits()))


@pytest.mark.parametrize("below", ["", "out"])
def test_run_output_inside_input_raises(below: str, tmp_path: Path, examples: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes((examples / "documents.jsonl").read_bytes())
    with pytest.raises(SettingsError, match="is the input or inside it"):
        run(BulkConfig(str(tmp_path), str(tmp_path / below), "receipts"), show_progress=False)


def test_run_file_name_not_utf8_raises(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    Path(os.fsdecode(bytes(tmp_path / "in") + b"/caf\xe9.pdf")).write_bytes(b"%PDF-")
    with pytest.raises(SettingsError, match=r"file name in the input is not valid UTF-8"):
        run(BulkConfig(str(tmp_path / "in"), str(tmp_path / "out"), "receipts"), show_progress=False)
