"""What a run came from besides its settings: files may change under the names that settings give them."""

import json
from collections.abc import Mapping
from contextlib import suppress
from hashlib import file_digest, sha256

from formnet.document import Document
from formnet.errors import SettingsError
from formnet.training.labelled import Labelled
from formnet.training.settings import Start
from formnet.training.start import checkpoint_weights

Origin = dict[str, str | int]


def origin_of(start: Start, parts: Mapping[str, Labelled]) -> Origin:
    """Tell one set of labelled documents, and one checkpoint to start from, from any other."""
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
