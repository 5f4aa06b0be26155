"""The object people hold: documents in, entities with probabilities out, in batches of like length."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from transformers import PreTrainedConfig

from formnet.compact import WEIGHTS, load_compact, save_compact
from formnet.decoding import decode
from formnet.document import Document, Entity
from formnet.encoding import Encoder, buckets, collate, load_tokenizer
from formnet.errors import SettingsError
from formnet.labels import TagScheme
from formnet.modeling import FormNetForTagging

Scores = NDArray[np.float32]


class Extractor:
    """A trained network with its tokenizer and its tags: of one head, or of several that each know their own types."""

    def __init__(self, model: FormNetForTagging, tokenizer: Tokenizer, *, batch_pieces: int = 8192, bf16: bool = False):
        self.model, self.batch_pieces, self.bf16 = model, batch_pieces, bf16
        self.heads = heads_of(model.config)
        self.encoder = Encoder(tokenizer)

    @classmethod
    def from_pretrained(cls, source: str | Path, **options: Any) -> "Extractor":
        """Load what a training run left in a folder."""
        folder = Path(source)
        if not (folder / "config.json").is_file():
            raise SettingsError(f"{folder}: holds no config.json; name a folder that formnet train wrote.")
        compact = (folder / WEIGHTS).is_file()
        model = load_compact(folder) if compact else FormNetForTagging.from_pretrained(folder)
        return cls(model, load_tokenizer(folder), **options)

    def save_pretrained(self, folder: str | Path, *, compact: bool = False) -> None:
        """Write all that `from_pretrained` needs; compactly, weights take a quarter of the room."""
        if compact:
            save_compact(self.model, Path(folder))
        else:
            self.model.save_pretrained(folder)
        self.encoder.tokenizer.save(str(Path(folder) / "tokenizer.json"))

    def extract(self, documents: Sequence[Document], head: str | None = None) -> list[list[Entity]]:
        """Give each document's entities, in reading order, each with the probability that it is just this one.

        Heads decide independently of each other; one can be asked alone.
        """
        found: list[list[Entity]] = [[] for _ in documents]
        for document, scores, entities in zip(documents, self.scores(documents), found, strict=True):
            for name, part in self.by_head(scores).items():
                if head in (None, name):
                    entities += decode(part[None] / self.temperature(name), [document], self.heads[name])[0]
            entities.sort(key=lambda entity: entity.words)
        return found

    def label(self, documents: Iterable[Document], least: float = 0.0, chunk: int = 64) -> Iterator[Document]:
        """Give documents with the entities found in them instead of any they had, a few at a time."""
        waiting = iter(documents)
        while some := list(islice(waiting, chunk)):
            for document, entities in zip(some, self.extract(some), strict=True):
                sure = tuple(entity for entity in entities if (entity.score or 0) >= least)
                yield replace(document, entities=sure, links=())

    def by_head(self, scores: Scores) -> dict[str, Scores]:
        """Take scores [W, T] apart into each head's."""
        ends = list(accumulate(len(scheme) for scheme in self.heads.values()))
        return {
            name: scores[:, end - len(scheme) : end]
            for (name, scheme), end in zip(self.heads.items(), ends, strict=True)
        }

    def head_for(self, labels: Collection[str]) -> str:
        """Name the head that knows most of some labels."""
        return max(self.heads, key=lambda name: len({*self.heads[name].entity_types} & {*labels}))

    def temperature(self, head: str) -> float:
        """What a head's scores are divided by, so that its probabilities mean what they say."""
        fitted = self.model.config.temperatures
        return float(fitted[list(self.heads).index(head)]) if fitted else 1.0

    def scores(self, documents: Sequence[Document]) -> list[Scores]:
        """Score every document's words before any calibration: [W, T] each."""
        device = self.model.device
        was_training = self.model.training
        self.model.eval()
        encoded = [self.encoder(document) for document in documents]
        tags = sum(len(scheme) for scheme in self.heads.values())
        results: list[Scores] = [np.empty((0, tags), np.float32)] * len(documents)
        for part in buckets([len(document) for document in encoded], self.batch_pieces):
            batch = collate([encoded[i] for i in part], self.encoder.padding_id)
            del batch["ids"]
            with torch.inference_mode(), torch.autocast(device.type, torch.bfloat16, enabled=self.bf16):
                logits = self.model(**{name: tensor.to(device) for name, tensor in batch.items()}).logits
            for row, i in zip(logits.float().cpu().numpy(), part, strict=True):
                results[i] = row[: documents[i].num_words]
        self.model.train(was_training)
        return results


def heads_of(config: PreTrainedConfig) -> dict[str, TagScheme]:
    """Read the tags that a network was trained for from its configuration, by head."""
    names: list[str] = [name for _, name in sorted((config.id2label or {}).items(), key=lambda item: int(item[0]))]
    heads: dict[str, TagScheme] = {}
    start = 0
    for head, size in (config.heads or {"": len(names)}).items():
        own = tuple(name.removeprefix(f"{head}/") for name in names[start : start + size])
        heads[head] = TagScheme(tuple(name.removeprefix("B-") for name in own if name.startswith("B-")))
        if own != heads[head].names:
            raise SettingsError("the model's labels are not BIOES tags; was it trained by formnet train?")
        start += size
    return heads


def labels_of(heads: Mapping[str, TagScheme]) -> dict[str, Any]:
    """Give what a configuration says of tags; a head alone needs no name."""
    if len(heads) == 1:
        (scheme,) = heads.values()
        names = list(scheme.names)
    else:
        names = [f"{head}/{name}" for head, scheme in heads.items() for name in scheme.names]
    return {
        "id2label": dict(enumerate(names)),
        "label2id": {name: i for i, name in enumerate(names)},
        "heads": {head: len(scheme) for head, scheme in heads.items()} if len(heads) > 1 else None,
        "temperatures": None,
    }
