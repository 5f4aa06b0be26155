"""An archive → parts. The output is the only memory: run it again and it does what is missing."""

import hashlib
import json
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import ray
import ray.data
from numpy.typing import NDArray
from ray.data import ActorPoolStrategy, DataContext, TaskPoolStrategy

from formnet.errors import FormNetError, SettingsError
from formnet.extraction.pretrained import find_model, portable
from formnet.io.ocr import chosen, refuse_unknown
from formnet.scale.bulk.attempts import count_attempts
from formnet.scale.bulk.extract_stage import ExtractionActor, Work
from formnet.scale.bulk.output import ENTITIES, ERRORS, part_name
from formnet.scale.bulk.plan import in_blocks, missing_shards, write_plan
from formnet.scale.bulk.progress import BulkProgress, most_memory
from formnet.scale.bulk.read_stage import Limits, read_shards
from formnet.scale.bulk.storage import StoragePath, storage_path
from formnet.scale.cluster import cluster

SCHEMA = "formnet.bulk/2"
MANIFEST = "manifest.json"

#: Of each core, what the network is promised and what reading is: OCR is work, lines of JSON are hardly any.
_SHARES = {"files": (0.5, 0.5), "documents": (0.9, 0.1)}
_BLOCK_BYTES = 2**20
#: Blocks of shards: enough that readers end at about the same time, and no more than a driver has memory for, which
#: keeps a tenth of a megabyte for each.
_BLOCKS_A_READER, _MOST_BLOCKS = 64, 10_000


@dataclass(frozen=True)
class Bulk:
    """What to run: down to how dates are read, what decides what is written; the rest says how."""

    source: str
    output: str
    model: str
    ocr: str = "auto"
    shard: int = 256
    min_score: float = 0.0
    day_first: bool | None = None
    limits: Limits = field(default_factory=Limits)
    workers: int | None = None
    readers: int | None = None
    warm_up: bool = True


@dataclass(frozen=True)
class Summary:
    """What a run did, and how long it took."""

    output: str
    shards: int
    shards_before: int
    documents: int
    errors: int
    seconds: float
    startup_seconds: float
    documents_per_second: float
    driver_memory_half_way_mb: float | None
    driver_memory_mb: float | None


def run(bulk: Bulk, *, shown: bool = True) -> Summary:
    """Do what is missing of a bulk run."""
    start = perf_counter()
    bulk = replace(bulk, ocr=chosen(bulk.ocr))  # as it is here, wherever files are read
    output = storage_path(bulk.output)
    with _explained(output):
        shards = _begin(bulk, output)
        before = _done(output, shards)
    missing = int((~before).sum())
    progress = BulkProgress(missing, shown=shown)
    if missing:
        with _clean_output(), cluster() as cores, progress:  # Ray has last words when it is shut down
            _go_through(bulk, output, before, cores, progress)
    begun = progress.begun or perf_counter()
    return Summary(
        output=bulk.output,
        shards=shards,
        shards_before=shards - missing,
        documents=progress.documents,
        errors=progress.errors,
        seconds=perf_counter() - start,
        startup_seconds=begun - start,
        documents_per_second=progress.per_second,
        driver_memory_half_way_mb=progress.memory_half_way,
        driver_memory_mb=most_memory(),
    )


def _begin(bulk: Bulk, output: StoragePath) -> int:
    """Begin a run or go on with one, and give the number of its shards."""
    refuse_unknown(bulk.ocr)
    source = storage_path(bulk.source).address
    settings = {
        "input": source,
        "weights": _digest(bulk.model),
        "ocr": bulk.ocr,
        "shard": bulk.shard,
        "min_score": bulk.min_score,
        "day_first": bulk.day_first,
    }
    manifest = output / MANIFEST
    if manifest.kind == "file":
        with manifest.open() as file:
            begun = json.load(file)
        if begun.get("schema") != SCHEMA:
            raise SettingsError(f"{output}: a run of another version of FormNet is here; give another folder.")
        differ = [name for name, value in settings.items() if begun.get(name) != value]
        if differ:
            told = ", ".join(f"{name} {begun.get(name)!r} and not {settings[name]!r}" for name in differ)
            raise SettingsError(
                f"{output}: a run with other settings was begun here ({told}); give those, or another folder."
            )
        return int(begun["shards"])
    if output.kind == "file" or (output / ENTITIES).names():
        raise SettingsError(f"{output}: holds something else, and no {MANIFEST}; give another folder.")
    if f"{output.address.rstrip('/')}/".startswith(f"{source.rstrip('/')}/"):
        raise SettingsError(f"{output}: is the input or inside of it; give a folder elsewhere.")
    for folder in (output, output / ENTITIES, output / ERRORS):
        folder.make_folder()
    plan = write_plan(bulk.source, output, bulk.shard)
    known = {"schema": SCHEMA, **settings, "model": bulk.model, "shards": plan.shards, "documents": plan.documents}
    manifest.write(json.dumps(known, indent=2).encode() + b"\n")
    return plan.shards


def _done(output: StoragePath, shards: int) -> NDArray[np.bool_]:
    """Tell which shards are done, and remove what was being written when an earlier run was killed."""
    for folder in (output / ENTITIES, output / ERRORS):
        for name in folder.names():
            if name.startswith("."):
                (folder / name).delete()
    there = set((output / ENTITIES).names())
    return np.fromiter((part_name(number) in there for number in range(shards)), np.bool_, shards)


def _go_through(bulk: Bulk, output: StoragePath, before: NDArray[np.bool_], cores: int, progress: BulkProgress) -> None:
    """Do all shards that are missing, and say so if some still are."""
    reason = _pass(bulk, output, before, cores, progress)
    after = _done(output, len(before))
    if not after.all():
        raise FormNetError(
            f"{output}: {int((~after).sum()):,} of {len(after):,} parts could not be done. "
            f"The last reason: {reason or 'a worker failed'} Run the same command again to try once more."
        )


def _pass(bulk: Bulk, output: StoragePath, done: NDArray[np.bool_], cores: int, progress: BulkProgress) -> str | None:
    """Send what is not done through Ray Data; give a reason if a shard could not be done."""
    _quiet()
    shards = missing_shards(output, done)
    kind = "files" if "files" in shards["kind"].unique().to_pylist() else "documents"
    for_network, for_reading = _SHARES[kind]
    workers = bulk.workers or cores
    threads = max(cores // workers, 1)
    readers = bulk.readers or (cores if kind == "files" else max(cores // 8, 1))
    blocks = in_blocks(shards, min(_BLOCKS_A_READER * readers, _MOST_BLOCKS))
    attempts = count_attempts()
    read: Any = read_shards
    dataset = ray.data.from_arrow(blocks).map_batches(
        read,
        fn_kwargs={"ocr": bulk.ocr, "limits": bulk.limits, "attempts": attempts},
        batch_size=None,
        batch_format="pyarrow",
        num_cpus=for_reading,
        compute=TaskPoolStrategy(size=readers),
    )
    dataset = dataset.map_batches(
        ExtractionActor,
        fn_constructor_kwargs={
            "work": Work(
                portable(bulk.model),  # workers are not where we are
                output.address,
                threads,
                bulk.limits.seconds,
                bulk.min_score,
                bulk.day_first,
                attempts,
                bulk.warm_up,
            )
        },
        batch_size=1,
        batch_format="pyarrow",
        num_cpus=for_network * min(cores / workers, threads),
        compute=ActorPoolStrategy(size=workers),
    )
    reason: str | None = None
    for result in dataset.iter_rows():
        if result["fatal"]:
            raise SettingsError(f"{result['failure']}. What is written stays; run the same command again to go on.")
        if result["failure"]:
            reason = result["failure"]
        else:
            progress.add(result["documents"], result["errors"], result["seconds"])
    return reason


def _quiet() -> None:
    """Keep Ray Data's own bars and reports in its log files; a dead worker is no end of the run."""
    context = DataContext.get_current()
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    context.max_errored_blocks = -1
    context.target_max_block_size = _BLOCK_BYTES  # a shard or a few
    for handler in logging.getLogger("ray.data").handlers:
        if isinstance(handler, logging.StreamHandler):
            handler.setLevel(logging.CRITICAL)


def _digest(model: str) -> str:
    """Tell a model from any other."""
    digest = hashlib.sha256()
    for file in sorted(find_model(model).iterdir()):
        if file.suffix in (".json", ".safetensors", ".onnx", ".data"):
            with file.open("rb") as opened:
                digest.update(file.name.encode() + hashlib.file_digest(opened, "sha256").digest())
    return digest.hexdigest()


@contextmanager
def _clean_output() -> Iterator[None]:
    """Keep what Ray prints of dead workers out of the answer; what became of their documents is in the parts."""
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):
        yield


@contextmanager
def _explained(output: StoragePath) -> Iterator[None]:
    try:
        yield
    except UnicodeError as error:
        raise SettingsError(f"{output}: the run cannot be begun: a file's name in the input is no UTF-8.") from error
    except OSError as error:
        raise SettingsError(f"{output}: the run cannot be begun: {error}") from error


def to_json(summary: Summary) -> dict[str, Any]:
    """Give a summary as plain data."""
    return asdict(summary)
