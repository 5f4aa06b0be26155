"""The directory of a training run: settings, origin and checkpoints. Resuming with other settings raises an error."""

import json
import shutil
from collections.abc import Iterable, Mapping
from contextlib import suppress
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

from formnet.document import Document
from formnet.errors import SettingsError
from formnet.extraction.pretrained import find_model
from formnet.io.writers import atomic_write
from formnet.modeling.weights import find_weights
from formnet.training.config import InitConfig, Run, make_settings
from formnet.training.data import HeadData

SETTINGS, ORIGIN = "settings.json", "origin.json"
#: The Trainer's state, the held-out metrics, and the marker of a finished run.
STATE, HELD_OUT, DONE = "trainer_state.json", "held_out.json", "done.json"
RUN_OUTPUTS = (STATE, HELD_OUT, DONE)
#: Settings that may change when a run is resumed.
_CHANGEABLE = ("output", "save_minutes", "keep_checkpoints", "threads")
#: Entries of the origin, with their description in error messages.
_ORIGIN_CHANGES = {
    "documents": "other documents or labels",
    "start": "another initial checkpoint",
    "teachers": "other teachers",
    "processes": "another number of processes",
}
_REMEDY = "Choose another output, pass --no-resume to start over, or remove the folder."


def claim_run_directory(run: Run, *, resume: bool, origin: Mapping[str, str | int] | None = None) -> None:
    """Create the run's directory, or check that it holds the same run; without `resume`, delete the run in it."""
    run.output.mkdir(parents=True, exist_ok=True)
    settings_file = run.output / SETTINGS
    old_settings = _read_json(settings_file) if resume else None
    if old_settings is not None:
        changed = changed_settings(old_settings, run)
        if changed:
            raise SettingsError(
                f"{run.output}: contains a run with different settings ({', '.join(changed)}). {_REMEDY}"
            )
    origin = origin or {}
    if resume and _has_outputs(run.output):
        old_origin = _read_json(run.output / ORIGIN) or {}
        changed = [_ORIGIN_CHANGES[name] for name, value in origin.items() if old_origin.get(name, value) != value]
        if changed:
            raise SettingsError(f"{run.output}: contains a run with {' and '.join(changed)}. {_REMEDY}")
        origin = old_origin  # an entry that was not recorded stays unknown
    if not resume:
        for checkpoint in run.output.glob("checkpoint-*"):
            shutil.rmtree(checkpoint)
        for name in RUN_OUTPUTS:
            (run.output / name).unlink(missing_ok=True)
    for path, data in ((settings_file, run.model_dump(mode="json")), (run.output / ORIGIN, origin)):
        with atomic_write(path) as part:
            part.write_text(json.dumps(data, indent=2), encoding="utf-8")


def _has_outputs(output: Path) -> bool:
    return last_checkpoint(output) is not None or any((output / name).is_file() for name in RUN_OUTPUTS)


def last_checkpoint(output: Path) -> Path | None:
    """Return the newest complete checkpoint: a killed process may leave one without a state, which is written last."""
    steps = {folder.name.removeprefix("checkpoint-"): folder for folder in output.glob("checkpoint-*")}
    newest = sorted((step for step in steps if step.isdecimal()), key=int, reverse=True)
    return next((steps[step] for step in newest if read_state(steps[step]) is not None), None)


def read_state(folder: Path) -> dict[str, Any] | None:
    """Read the Trainer's state from a folder; return None if it is missing or incomplete."""
    return _read_json(folder / STATE)


def _read_json(file: Path) -> dict[str, Any] | None:
    with suppress(OSError, ValueError):
        data: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        return data
    return None


def changed_settings(old: dict[str, Any], run: Run) -> list[str]:
    """Return the names of the settings in which a run differs from old ones and that must not change on resuming."""
    with suppress(SettingsError):  # fill in the defaults of settings added since
        old = make_settings(type(run), old, SETTINGS).model_dump(mode="json")
    new = run.model_dump(mode="json")
    return sorted(name for name in {*old, *new} if name not in _CHANGEABLE and old.get(name) != new.get(name))


Origin = dict[str, str | int]


def finetuning_origin(init: InitConfig, heads: Mapping[str, HeadData]) -> Origin:
    """Compute hashes of the labeled documents, of the initial checkpoint and of the teachers."""
    documents = {
        (name, split): part
        for name, head in heads.items()
        for split, part in (("training", head.training), ("held out", head.held_out))
    }
    return compute_origin(init, documents, sorted({teacher for head in heads.values() for teacher in head.taught}))


def compute_origin(
    init: InitConfig, documents: Mapping[tuple[str, str], Iterable[Document]], teachers: Iterable[Path]
) -> Origin:
    """Compute hashes of the documents by head and split, of the initial checkpoint and of the teachers."""
    digest = sha256()
    for (head, split), part in documents.items():
        for document in part:
            digest.update(_serialize(head, split, document))
            digest.update(document.boxes.tobytes())
    origin: Origin = {"documents": digest.hexdigest()}
    # A finished run can be loaded without its initial checkpoint and teachers.
    for name, models in (("start", [init.checkpoint] if init.checkpoint else []), ("teachers", teachers)):
        with suppress(SettingsError):
            hashes = [_hash_weights(model) for model in models]
            if any(hashes):
                origin[name] = " ".join(hashes)
    return origin


def mark_done(run: Run, parameters: int) -> None:
    """Write the marker of a finished run."""
    done = {"seed": run.seed, "parameters": parameters}
    (run.output / DONE).write_text(json.dumps(done), encoding="utf-8")


def _hash_weights(model: Path) -> str:
    """Hash the weights of a model; empty if the folder has none."""
    weights = find_weights(find_model(model))
    if weights is None:
        return ""
    with weights.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def _serialize(head: str, split: str, document: Document) -> bytes:
    entities = [(entity.label, entity.words, entity.key_words) for entity in document.entities]
    parts = [head, split, document.id, document.texts, entities, sorted(document.links), document.fields]
    return json.dumps(parts).encode()
