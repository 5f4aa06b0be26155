"""The object people hold: documents in, entities with probabilities out, in batches of like length."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from transformers import PreTrainedConfig

from formnet.decoding import decode
from formnet.document import Document, Entity
from formnet.encoding import Encoder, buckets, collate, load_tokenizer
from formnet.errors import SettingsError
from formnet.labels import TagScheme
from formnet.modeling import FormNetForTagging

Scores = NDArray[np.float32]


class Extractor:
    """A trained network with its tokenizer and its tags."""

    def __init__(self, model: FormNetForTagging, tokenizer: Tokenizer, *, batch_pieces: int = 8192, bf16: bool = False):
        self.model, self.batch_pieces, self.bf16 = model, batch_pieces, bf16
        self.scheme = scheme_of(model.config)
        self.encoder = Encoder(tokenizer)

    @classmethod
    def from_pretrained(cls, source: str | Path, **options: Any) -> "Extractor":
        """Load what a training run left in a folder."""
        folder = Path(source)
        if not (folder / "config.json").is_file():
            raise SettingsError(f"{folder}: holds no config.json; name a folder that formnet train wrote.")
        return cls(FormNetForTagging.from_pretrained(folder), load_tokenizer(folder), **options)

    def save_pretrained(self, folder: str | Path) -> None:
        """Write all that `from_pretrained` needs."""
        self.model.save_pretrained(folder)
        self.encoder.tokenizer.save(str(Path(folder) / "tokenizer.json"))

    def extract(self, documents: Sequence[Document]) -> list[list[Entity]]:
        """Give each document's entities, in reading order, each with the probability that it is just this one."""
        found: list[list[Entity]] = []
        for document, scores in zip(documents, self.scores(documents), strict=True):
            found += decode(scores[None] / self.temperature, [document], self.scheme)
        return found

    @property
    def temperature(self) -> float:
        """What scores are divided by, so that probabilities mean what they say."""
        return float(self.model.config.temperature)

    def scores(self, documents: Sequence[Document]) -> list[Scores]:
        """Score every document's words before any calibration: [W, T] each."""
        device = self.model.device
        was_training = self.model.training
        self.model.eval()
        encoded = [self.encoder(document) for document in documents]
        results: list[Scores] = [np.empty((0, len(self.scheme)), np.float32)] * len(documents)
        for part in buckets([len(document) for document in encoded], self.batch_pieces):
            batch = collate([encoded[i] for i in part], self.encoder.padding_id)
            names = batch.pop("ids")
            assert len(names) == len(part)
            with torch.inference_mode(), torch.autocast(device.type, torch.bfloat16, enabled=self.bf16):
                logits = self.model(**{name: tensor.to(device) for name, tensor in batch.items()}).logits
            for row, i in zip(logits.float().cpu().numpy(), part, strict=True):
                results[i] = row[: documents[i].num_words]
        self.model.train(was_training)
        return results


def scheme_of(config: PreTrainedConfig) -> TagScheme:
    """Read the tags that a network was trained for from its configuration."""
    names: list[str] = [name for _, name in sorted((config.id2label or {}).items(), key=lambda item: int(item[0]))]
    scheme = TagScheme(tuple(name.removeprefix("B-") for name in names if name.startswith("B-")))
    if tuple(names) != scheme.names:
        raise SettingsError("the model's labels are not BIOES tags; was it trained by formnet train?")
    return scheme


def labels_of(scheme: TagScheme) -> dict[str, dict[Any, Any]]:
    """Give what a configuration says of tags."""
    return {"id2label": dict(enumerate(scheme.names)), "label2id": {name: i for i, name in enumerate(scheme.names)}}
