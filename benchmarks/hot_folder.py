"""`formnet watch` on a folder of mixed files, killed at random and started again: what happened to each file."""

import csv
import json
import random
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, sleep
from typing import Any


def benchmark(files: Sequence[Path], kills: int = 2, seed: int = 0, max_seconds: float = 40) -> dict[str, Any]:
    """Watch a folder with copies of the files, kill the process at random times, and start it until all is done."""
    generator, seconds_until_killed = random.Random(seed), list[float]()  # noqa: S311
    with TemporaryDirectory() as folder:
        inbox, outbox = Path(folder) / "in", Path(folder) / "out"
        inbox.mkdir()
        names = [f"{number:03}-{file.name}" for number, file in enumerate(files)]
        for name, file in zip(names, files, strict=True):
            shutil.copy(file, inbox / name)
        started = perf_counter()
        for _ in range(kills):
            seconds_until_killed.append(round(generator.uniform(1, max_seconds), 1))
            _run(inbox, outbox, seconds_until_killed[-1])
        _run(inbox, outbox)
        results = {file.stem: json.loads(file.read_text(encoding="utf-8")) for file in outbox.glob("*.json")}
        with (outbox / "documents.csv").open(encoding="utf-8", newline="") as table:
            rows = Counter(row["document"].partition("#")[0] for row in csv.DictReader(table))
        done = {file.name for file in (inbox / "done").iterdir()}
        failed = {file.name for file in (inbox / "failed").iterdir()}
        once = [name for name in names if (name in done) != (name in failed)]
        right = [name for name in once if _is_complete(name, done, rows, results)]
        return {
            "files": len(names),
            "suffixes": dict(Counter(file.suffix.lower() for file in files)),
            "seconds_until_killed": seconds_until_killed,
            "seconds": round(perf_counter() - started, 1),
            "done": len(done & set(names)),
            "failed": {
                name: (inbox / "failed" / f"{name}.txt").read_text(encoding="utf-8") for name in failed & set(names)
            },
            "left_in_folder": sum(file.is_file() for file in inbox.iterdir()),
            "processed_once": len(right),
        }


def _is_complete(name: str, done: set[str], rows: Counter[str], results: dict[str, list[Any]]) -> bool:
    """Return whether the results of a file are there once, or not at all if it could not be read."""
    documents = len(results[name]) if name in results else 0
    return rows[name] == documents and (documents > 0) == (name in done)


def _run(inbox: Path, outbox: Path, kill_after: float | None = None) -> None:
    """Run the command until all files are processed, or kill it some seconds after its model is loaded."""
    command = [sys.executable, "-m", "formnet.cli", "watch", str(inbox), str(outbox), "--once", "--settle", "0.2"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:  # noqa: S603
        assert process.stderr is not None
        process.stderr.readline()  # the model is loaded
        if kill_after is not None:
            sleep(kill_after)
            process.kill()
        _, errors = process.communicate()
    if kill_after is None and process.returncode != 0:
        raise RuntimeError(f"formnet watch ended with status {process.returncode}: {errors}")
