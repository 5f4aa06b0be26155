"""Run a bulk extraction. All state is in the output folder: a second run does the shards that are missing."""

import hashlib
import json
import logging
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, redirect_stdout
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import ray
import ray.data
from numpy.typing import NDArray
from pyarrow import ArrowException
from ray.data import ActorPoolStrategy, DataContext, TaskPoolStrategy

from formnet.errors import FormNetError, SettingsError
from formnet.extraction.pretrained import absolute_name, find_models
from formnet.extraction.references import ReferenceList
from formnet.extraction.schema import load_schema
from formnet.io.ocr import check_engine_name, resolve_engine_name
from formnet.scale.bulk.attempts import start_counter
from formnet.scale.bulk.extract_stage import ExtractConfig, ExtractionActor
from formnet.scale.bulk.output import ENTITIES, ERRORS, is_complete, part_name
from formnet.scale.bulk.plan import count_shards, missing_shards, split_blocks, write_plan
from formnet.scale.bulk.progress import BulkProgress, peak_memory_mb
from formnet.scale.bulk.read_stage import DocumentLimits, read_shards
from formnet.scale.bulk.storage import StoragePath, storage_path
from formnet.scale.cluster import cluster

SCHEMA = "formnet.bulk/6"
MANIFEST, LOCK = "manifest.json", ".lock"

#: Shares of each core that extraction and reading reserve. Reading files may include OCR; reading JSON is cheap.
_CORE_SHARES = {"files": (0.5, 0.5), "documents": (0.9, 0.1)}
_BLOCK_BYTES = 2**20
#: Blocks of shards: enough that readers finish at about the same time, but the driver takes 0.1 MB of memory per block.
_BLOCKS_PER_READER, _MAX_BLOCKS = 64, 10_000
#: Threads that read the footers of parts.
_FOOTER_THREADS = 16


@dataclass(frozen=True)
class BulkConfig:
    """Configuration of a run; the fields up to `references` determine the output."""

    source: str
    output: str
    model: str
    ocr: str = "auto"
    shard: int = 256
    min_score: float = 0.0
    day_first: bool | None = None
    references: tuple[ReferenceList, ...] = ()
    limits: DocumentLimits = field(default_factory=DocumentLimits)
    workers: int | None = None
    readers: int | None = None
    warm_up: bool = True


@dataclass(frozen=True)
class Summary:
    """Counts, times and memory of a run."""

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


def run(config: BulkConfig, *, show_progress: bool = True) -> Summary:
    """Process the shards that are missing from the output."""
    start = perf_counter()
    config = replace(config, ocr=resolve_engine_name(config.ocr))  # workers may have another environment
    output = storage_path(config.output)
    with ExitStack() as stack:
        with _wrap_errors(output):
            _check_output(config, output)
            output.make_folder()
            stack.enter_context((output / LOCK).lock())
        return _run_locked(config, output, start, show_progress=show_progress)


def _run_locked(config: BulkConfig, output: StoragePath, start: float, *, show_progress: bool) -> Summary:
    with _wrap_errors(output):
        shards = _prepare(config, output)
        before = _find_done(output, shards)
    missing = int((~before).sum())
    progress = BulkProgress(missing, shown=show_progress)
    if missing:
        with _discard_stdout(), cluster() as cores, progress:  # Ray also prints while it shuts down
            _process_missing(config, output, before, cores, progress)
    started = progress.started or perf_counter()
    return Summary(
        output=config.output,
        shards=shards,
        shards_before=shards - missing,
        documents=progress.documents,
        errors=progress.errors,
        seconds=perf_counter() - start,
        startup_seconds=started - start,
        documents_per_second=progress.documents_per_second,
        driver_memory_half_way_mb=progress.peak_memory_half_way,
        driver_memory_mb=peak_memory_mb(),
    )


def _check_output(config: BulkConfig, output: StoragePath) -> None:
    """Raise if a new run must not use a folder."""
    check_engine_name(config.ocr)
    if (output / MANIFEST).kind == "file":
        return
    source = storage_path(config.source).address
    if output.kind == "file" or (output / ENTITIES).names():
        raise SettingsError(f"{output}: is not empty and has no {MANIFEST}. Use another folder.")
    if f"{output.address.rstrip('/')}/".startswith(f"{source.rstrip('/')}/"):
        raise SettingsError(f"{output}: the output folder is the input or inside it. Use another folder.")


def _prepare(config: BulkConfig, output: StoragePath) -> int:
    """Start or resume a run, and return its number of shards."""
    if schema := load_schema(config.model):
        schema.with_references(config.references)  # raises for a list that fits no field
    source = storage_path(config.source).address
    settings = {
        "input": source,
        "weights": _model_digest(config.model),
        "ocr": config.ocr,
        "shard": config.shard,
        "min_score": config.min_score,
        "day_first": config.day_first,
        "references": {reference.path: reference.digest for reference in config.references},
    }
    manifest = output / MANIFEST
    if manifest.kind == "file":
        saved = _read_manifest(manifest)
        differences = [
            f"{name} is {saved.get(name)!r}, not {value!r}"
            for name, value in settings.items()
            if saved.get(name) != value
        ]
        if differences:
            problem = f"contains a run with other settings ({', '.join(differences)})"
            raise SettingsError(f"{output}: {problem}. Use the same settings or another folder.")
        return int(saved["shards"])
    for folder in (output / ENTITIES, output / ERRORS):
        folder.make_folder()
    plan = write_plan(config.source, output, config.shard)
    content = {"schema": SCHEMA, **settings, "model": config.model, "shards": plan.shards, "documents": plan.documents}
    manifest.write(json.dumps(content, indent=2).encode() + b"\n")
    return plan.shards


def _read_manifest(manifest: StoragePath) -> dict[str, Any]:
    """Read the manifest of a run, and check its version, and its number of shards against the plan."""
    folder = manifest.address.rpartition("/")[0]
    try:
        with manifest.open() as file:
            saved = json.load(file)
        if saved.get("schema") != SCHEMA:
            raise SettingsError(f"{folder}: contains a run of another version of FormNet. Use another folder.")
        if saved["shards"] != count_shards(storage_path(folder)):
            raise ValueError(f"{saved['shards']!r} is not the number of shards")
    except (ValueError, LookupError, AttributeError, FileNotFoundError, ArrowException) as error:
        raise SettingsError(
            f"{folder}: the plan of the run is damaged ({error}). Use another folder; the parts in it are not affected."
        ) from error
    return dict(saved)


def _find_done(output: StoragePath, shards: int) -> NDArray[np.bool_]:
    """Return which shards have a complete part, and delete temporary files of runs that were killed."""
    for folder in (output / ENTITIES, output / ERRORS):
        for name in folder.names():
            if name.startswith("."):
                (folder / name).delete()
    names = set((output / ENTITIES).names())
    numbers = [number for number in range(shards) if part_name(number) in names]
    done = np.zeros(shards, np.bool_)
    with ThreadPoolExecutor(_FOOTER_THREADS) as pool:  # a round trip per part on remote storage
        done[numbers] = list(pool.map(lambda number: is_complete(output / ENTITIES / part_name(number)), numbers))
    return done


def _process_missing(
    config: BulkConfig, output: StoragePath, before: NDArray[np.bool_], cores: int, progress: BulkProgress
) -> None:
    """Process all missing shards; raise `FormNetError` if some are still missing afterwards."""
    failure = _run_pipeline(config, output, before, cores, progress)
    after = _find_done(output, len(before))
    if not after.all():
        raise FormNetError(
            f"{output}: {int((~after).sum()):,} of {len(after):,} parts failed. "
            f"Last error: {failure or 'a worker failed.'} Run the same command again to retry."
        )


def _run_pipeline(
    config: BulkConfig, output: StoragePath, done: NDArray[np.bool_], cores: int, progress: BulkProgress
) -> str | None:
    """Process missing shards with Ray Data, and return the error of the last shard that failed."""
    _configure_ray_data()
    shards = missing_shards(output, done)
    kind = "files" if "files" in shards["kind"].unique().to_pylist() else "documents"
    extract_share, read_share = _CORE_SHARES[kind]
    workers = config.workers or cores
    threads = max(cores // workers, 1)
    readers = config.readers or (cores if kind == "files" else max(cores // 8, 1))
    blocks = split_blocks(shards, min(_BLOCKS_PER_READER * readers, _MAX_BLOCKS))
    attempts = start_counter()
    read: Any = read_shards
    dataset = ray.data.from_arrow(blocks).map_batches(
        read,
        fn_kwargs={"ocr": config.ocr, "limits": config.limits, "attempts": attempts},
        batch_size=None,
        batch_format="pyarrow",
        num_cpus=read_share,
        compute=TaskPoolStrategy(size=readers),
    )
    extract_config = ExtractConfig(
        model=absolute_name(config.model),  # workers have another working directory
        output=output.address,
        threads=threads,
        limits=config.limits,
        min_score=config.min_score,
        day_first=config.day_first,
        references=config.references,
        attempts=attempts,
        warm_up=config.warm_up,
    )
    dataset = dataset.map_batches(
        ExtractionActor,
        fn_constructor_kwargs={"config": extract_config},
        batch_size=1,
        batch_format="pyarrow",
        num_cpus=extract_share * min(cores / workers, threads),
        compute=ActorPoolStrategy(size=workers),
    )
    failure: str | None = None
    for result in dataset.iter_rows():
        if result["fatal"]:
            problem = str(result["failure"]).rstrip(".")
            raise SettingsError(f"{problem}. Finished parts are kept; run the same command again to resume.")
        if result["failure"]:
            failure = result["failure"]
        else:
            progress.add(result["documents"], result["errors"], result["seconds"])
    return failure


def _configure_ray_data() -> None:
    """Disable Ray Data's progress bars and console messages, and continue after a worker dies."""
    context = DataContext.get_current()
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    context.max_errored_blocks = -1
    context.target_max_block_size = _BLOCK_BYTES  # one shard or a few
    for handler in logging.getLogger("ray.data").handlers:
        if isinstance(handler, logging.StreamHandler):
            handler.setLevel(logging.CRITICAL)


def _model_digest(model: str) -> str:
    """Return a digest of the files of a model."""
    digest = hashlib.sha256()
    for file in sorted(file for folder in find_models(model).values() for file in folder.iterdir()):
        if file.suffix in (".json", ".safetensors", ".onnx", ".data"):
            with file.open("rb") as opened:
                digest.update(file.name.encode() + hashlib.file_digest(opened, "sha256").digest())
    return digest.hexdigest()


@contextmanager
def _discard_stdout() -> Iterator[None]:
    """Discard what Ray prints about dead workers; the errors of their documents are in the output."""
    with Path(os.devnull).open("w", encoding="utf-8") as null, redirect_stdout(null):
        yield


@contextmanager
def _wrap_errors(output: StoragePath) -> Iterator[None]:
    try:
        yield
    except UnicodeError as error:
        problem = "the run cannot start: a file name in the input is not valid UTF-8. Rename the file."
        raise SettingsError(f"{output}: {problem}") from error
    except OSError as error:
        raise SettingsError(f"{output}: the run cannot start: {error}") from error


def to_json(summary: Summary) -> dict[str, Any]:
    """Convert a summary to plain data."""
    return asdict(summary)
