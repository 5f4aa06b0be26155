"""`formnet watch` as a process: real files, killed at random and started again."""

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from formnet.io.readers import read
from formnet.io.writers import write

pytestmark = pytest.mark.slow
EXAMPLES = Path(__file__).parents[2] / "examples"


def start(inbox: Path, outbox: Path, *options: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "formnet.cli", "watch", str(inbox), str(outbox), "--settle", "0.2", *options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def fill(inbox: Path, count: int) -> None:
    inbox.mkdir()
    (document, *_) = read(EXAMPLES / "documents.jsonl")
    for number in range(count):
        write([document], inbox / f"page-{number:02}.jsonl")
    (inbox / "broken.pdf").write_bytes(b"%PDF-1.7 not a PDF")
    (inbox / "note.xyz").write_text("an unknown type")


def test_watch_once_processes_files_and_reports_failures(tmp_path: Path) -> None:
    fill(tmp_path / "in", 2)
    with start(tmp_path / "in", tmp_path / "out", "--once") as process:
        output, errors = process.communicate(timeout=240)
    assert process.returncode == 0, errors
    assert output.count("1 document") == 2
    assert {path.name for path in (tmp_path / "in/failed").iterdir()} >= {"broken.pdf", "broken.pdf.txt", "note.xyz"}
    (data,) = json.loads((tmp_path / "out/page-00.jsonl.json").read_text())
    assert data["document"] == "page-00.jsonl#cafe-receipt"
    assert len((tmp_path / "out/documents.csv").read_text().splitlines()) == 3


def test_watch_killed_twice_processes_every_file_once(tmp_path: Path) -> None:
    count, generator = 30, random.Random(0)
    fill(tmp_path / "in", count)
    for _ in range(2):
        with start(tmp_path / "in", tmp_path / "out") as process:
            assert process.stderr is not None
            process.stderr.readline()  # "watching …": the model is loaded
            time.sleep(generator.uniform(0.3, 2.5))
            process.kill()
    with start(tmp_path / "in", tmp_path / "out") as process:
        deadline = time.monotonic() + 240
        while len(list((tmp_path / "in/done").glob("*"))) < count and time.monotonic() < deadline:
            time.sleep(0.2)
        process.send_signal(signal.SIGTERM)
    assert process.returncode == 0
    names = sorted(f"page-{number:02}.jsonl" for number in range(count))
    assert sorted(path.name for path in (tmp_path / "in/done").iterdir()) == names
    assert sorted(path.stem for path in (tmp_path / "out").glob("*.json")) == names
    table = (tmp_path / "out/documents.csv").read_text().splitlines()
    assert len(table) == count + 1
    assert len({line.split(",")[0] for line in table}) == count + 1
