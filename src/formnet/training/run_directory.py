"""The directory of a training run: settings, origin and checkpoints; resuming with other settings is refused."""

import json
import shutil
from collections.abc import Mapping
from contextlib import suppress
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

from formnet.document import Document
from formnet.errors import SettingsError
from formnet.io.writers import whole_file
from formnet.training.config import Run, Start, make_settings
from formnet.training.data import Labeled
from formnet.training.initialization import checkpoint_weights

SETTINGS, ORIGIN = "settings.json", "origin.json"
#: What the Trainer writes down beside the weights; how a run did on what was held out; that it is over.
STATE, HELD_OUT, DONE = "trainer_state.json", "held_out.json", "done.json"
LEFT_BEHIND = (STATE, HELD_OUT, DONE)
#: What may change between a run and its going on.
_FREE = ("output", "save_minutes", "keep_checkpoints", "threads")
#: What else a run came from, as people would say it.
_ORIGINS = {
    "documents": "other documents or labels",
    "start": "another checkpoint to start from",
    "processes": "another number of processes",
}
_ELSE = "name another output, or start anew: formnet train --no-resume, or remove that folder."


def claim_run_directory(run: Run, *, resume: bool, origin: Mapping[str, str | int] | None = None) -> None:
    """Make the folder this run's own: refuse other settings and origins, or clear checkpoints away to start anew."""
    run.output.mkdir(parents=True, exist_ok=True)
    file, told = run.output / SETTINGS, run.model_dump(mode="json")
    before = _read(file) if resume else None
    if before is not None:
        other = differences(before, run)
        if other:
            raise SettingsError(f"{run.output}: holds a run with another {', '.join(other)}; {_ELSE}")
    origin = origin or {}
    if resume and _has_begun(run.output):
        began = _read(run.output / ORIGIN) or {}
        other = [_ORIGINS[name] for name, value in origin.items() if began.get(name, value) != value]
        if other:
            raise SettingsError(f"{run.output}: holds a run with {' and '.join(other)}; {_ELSE}")
        origin = began  # what is not known of it stays unknown
    if not resume:
        for checkpoint in run.output.glob("checkpoint-*"):
            shutil.rmtree(checkpoint)
        for name in LEFT_BEHIND:
            (run.output / name).unlink(missing_ok=True)
    for path, data in ((file, told), (run.output / ORIGIN, origin)):
        with whole_file(path) as part:
            part.write_text(json.dumps(data, indent=2), encoding="utf-8")


def _has_begun(output: Path) -> bool:
    return last_checkpoint(output) is not None or any((output / name).is_file() for name in LEFT_BEHIND)


def last_checkpoint(output: Path) -> Path | None:
    """Give the newest checkpoint that is whole: its state is written last, and a kill may have come before."""
    steps = {folder.name.removeprefix("checkpoint-"): folder for folder in output.glob("checkpoint-*")}
    newest = sorted((step for step in steps if step.isdecimal()), key=int, reverse=True)
    return next((steps[step] for step in newest if read_state(steps[step]) is not None), None)


def read_state(folder: Path) -> dict[str, Any] | None:
    """Give what the Trainer wrote down in a folder, if it did so to the end."""
    return _read(folder / STATE)


def _read(file: Path) -> dict[str, Any] | None:
    with suppress(OSError, ValueError):
        data: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        return data
    return None


def differences(before: dict[str, Any], run: Run) -> list[str]:
    """Name the settings that make a run another one than that with the settings before."""
    with suppress(SettingsError):  # what was not a setting yet had its default
        before = make_settings(type(run), before, SETTINGS).model_dump(mode="json")
    told = run.model_dump(mode="json")
    return sorted(name for name in {*before, *told} if name not in _FREE and before.get(name) != told.get(name))


Origin = dict[str, str | int]


def origin_of(start: Start, parts: Mapping[str, Labeled]) -> Origin:
    """Tell one set of labeled documents, and one checkpoint to start from, from any other."""
    digest = sha256()
    for name, part in parts.items():
        for side, documents in (("training", part.training), ("held out", part.held_out)):
            for document in documents:
                digest.update(_written(name, side, document))
                digest.update(document.boxes.tobytes())
    origin: Origin = {"documents": digest.hexdigest()}
    # A run that is over does not need its start any more.
    with suppress(SettingsError):
        weights = None if start.checkpoint is None else checkpoint_weights(start.checkpoint)
        if weights is not None:
            with weights.open("rb") as file:
                origin["start"] = file_digest(file, "sha256").hexdigest()
    return origin


def _written(head: str, side: str, document: Document) -> bytes:
    entities = [(entity.label, entity.words) for entity in document.entities]
    return json.dumps([head, side, document.id, document.texts, entities, document.fields]).encode()
