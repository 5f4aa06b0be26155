"""The object people hold: documents in, entities with probabilities out, in batches of like length."""

import gc
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, islice
from pathlib import Path
from typing import Any, overload

import numpy as np
import torch
from huggingface_hub.errors import StrictDataclassError
from numpy.typing import NDArray
from safetensors import SafetensorError
from tokenizers import Tokenizer
from torch import Tensor
from transformers import PreTrainedConfig
from transformers.utils import SAFE_WEIGHTS_NAME

from formnet.document import Document, Entity
from formnet.document.builder import DocumentBuilder
from formnet.document.tags import TagScheme
from formnet.encoding import EncodedDocument, Encoder, buckets, collate, load_tokenizer
from formnet.errors import SettingsError
from formnet.extraction.decoding import decode
from formnet.extraction.pretrained import find_model, refuse_other_forms
from formnet.io.ocr import OcrEngine
from formnet.io.readers import read_one
from formnet.modeling import FormNetForTokenClassification
from formnet.modeling.local_attention import has_compiler
from formnet.modeling.onnx import GRAPH, OnnxNetwork
from formnet.modeling.quantization import WEIGHTS, load_compact, save_compact

#: Pieces that are scored together. Engines that write every pair of the band out want them to stay in the cache.
MAX_BATCH_TOKENS, ONNX_MAX_BATCH_TOKENS = 8192, 1024
#: Batches of pages to warm up with, in words: what shapes are told apart by when they are compiled.
WARM_UP = ((5000,), (700,), (10,), (150, 140, 130), (10, 9))

#: What a folder that holds no model, or a broken one, may fail with wherever it is first used.
_BROKEN = (
    OSError, ValueError, RuntimeError, SafetensorError, LookupError, TypeError, AttributeError, StrictDataclassError
)  # fmt: skip

Scores = NDArray[np.float32]
Source = Document | str | Path


class Extractor:
    """A trained network with its tokenizer and its tags: of one head, or of several that each know their own types.

    It holds no state between calls: threads may share it, processes may be sent it.
    """

    def __init__(
        self,
        model: FormNetForTokenClassification | OnnxNetwork,
        tokenizer: Tokenizer,
        *,
        max_batch_tokens: int | None = None,
        bf16: bool = False,
        ocr: str | OcrEngine = "auto",
        day_first: bool | None = None,
    ):
        self.model, self.bf16, self.ocr = model, bf16, ocr
        self.max_batch_tokens = max_batch_tokens or (
            ONNX_MAX_BATCH_TOKENS if isinstance(model, OnnxNetwork) else MAX_BATCH_TOKENS
        )
        self.heads = heads_of(model.config)
        self.day_first: bool | None = model.config.day_first if day_first is None else day_first
        self.encoder = Encoder(tokenizer)

    @classmethod
    def from_pretrained(cls, source: str | Path, **options: Any) -> "Extractor":
        """Load a shipped model by its name, a folder that `formnet train` wrote, or a repository of the Hub."""
        folder = find_model(source)
        try:
            model, tokenizer = _load(folder), load_tokenizer(folder)
            heads_of(model.config)
        except _BROKEN as error:
            reason = str(error).strip().partition("\n")[0]
            raise SettingsError(f"{folder}: is no model that can be loaded: {reason}") from error
        return cls(model, tokenizer, **options)

    def save_pretrained(self, folder: str | Path, *, compact: bool = False) -> None:
        """Write all that `from_pretrained` needs; compactly, weights take a quarter of the room."""
        if isinstance(self.model, OnnxNetwork):
            raise SettingsError(f"{folder}: an exported network cannot be saved again; copy its folder.")
        refuse_other_forms(Path(folder), WEIGHTS if compact else SAFE_WEIGHTS_NAME)
        config, backend = self.model.config, self.model.config.attention_backend
        if backend == "compiled":  # which warming up chose for this machine
            config.attention_backend = "auto"
        try:
            if compact:
                save_compact(self.model, Path(folder))
            else:
                self.model.save_pretrained(folder)
        finally:
            config.attention_backend = backend
        self.encoder.tokenizer.save(str(Path(folder) / "tokenizer.json"))

    @overload
    def extract(self, source: Document | str | Path) -> Document: ...  # type: ignore[overload-overlap]
    @overload
    def extract(self, source: Sequence[Document | str | Path]) -> list[Document]: ...
    def extract(self, source: Source | Sequence[Source]) -> Document | list[Document]:
        """Give the document, or the documents, with the entities found: each with its probability.

        A path is read first: a PDF, a picture, an OCR engine's output.

        >>> Extractor.from_pretrained("receipts").extract("receipt.jpg").entities  # doctest: +SKIP
        (Entity(total: '9.00', page 1, 0.998),)
        """
        if isinstance(source, Document | str | Path):
            return self.extract([source])[0]
        return list(self.label(one if isinstance(one, Document) else read_one(one, self.ocr) for one in source))

    def label(self, documents: Iterable[Document], least: float = 0.0, chunk: int = 64) -> Iterator[Document]:
        """Give documents with the entities found in them instead of any they had, a few at a time."""
        waiting = iter(documents)
        while some := list(islice(waiting, chunk)):
            for document, entities in zip(some, self.entities(some), strict=True):
                sure = tuple(entity for entity in entities if (entity.score or 0) >= least)
                yield replace(document, entities=sure, links=())

    def entities(self, documents: Sequence[Document], head: str | None = None) -> list[list[Entity]]:
        """Give each document's entities, in reading order, each with the probability that it is just this one.

        Heads decide independently of each other; one can be asked alone.
        """
        found: list[list[Entity]] = [[] for _ in documents]
        for i, entities in self.iter_entities(documents, head):
            found[i] = entities
        return found

    def iter_entities(
        self, documents: Sequence[Document], head: str | None = None
    ) -> Iterator[tuple[int, list[Entity]]]:
        """Give the same with the document's number, as batches are done: the longest documents first."""
        if head is not None and head not in self.heads:
            raise SettingsError(f"there is no head {head!r}; there are {', '.join(map(repr, self.heads))}.")
        for part, scores in self._batches(documents):
            some = [documents[i] for i in part]
            found: list[list[Entity]] = [[] for _ in some]
            for name, own in self.split_heads(scores).items():
                if head in (None, name):
                    for entities, more in zip(found, self.decode(name, own, some), strict=True):
                        entities += more
            for i, entities in zip(part, found, strict=True):
                yield i, sorted(entities, key=lambda entity: entity.words)

    def decode(self, head: str, scores: Scores, documents: list[Document]) -> list[list[Entity]]:
        """Give the entities that a head's scores [B, W, T] say."""
        scaled, everywhere = scores / self.temperature(head), self.model.config.everywhere
        found = decode(scaled, documents, self.heads[head], once=self.once(head), everywhere=everywhere)
        return [[replace(entity, day_first=self.day_first) for entity in entities] for entities in found]

    def split_heads(self, scores: Scores) -> dict[str, Scores]:
        """Take scores [..., T] apart into each head's."""
        ends = list(accumulate(len(scheme) for scheme in self.heads.values()))
        return {
            name: scores[..., end - len(scheme) : end]
            for (name, scheme), end in zip(self.heads.items(), ends, strict=True)
        }

    def head_for(self, labels: Collection[str]) -> str:
        """Name the head that knows most of some labels."""
        return max(self.heads, key=lambda name: len({*self.heads[name].entity_types} & {*labels}))

    def once(self, head: str) -> bool:
        """Whether a document has each of a head's types once, as keyed-in values are."""
        return head in (self.model.config.once or ())

    def temperature(self, head: str) -> float:
        """What a head's scores are divided by, so that its probabilities mean what they say."""
        fitted = self.model.config.temperatures
        return float(fitted[list(self.heads).index(head)]) if fitted else 1.0

    def scores(self, documents: Sequence[Document]) -> list[Scores]:
        """Score every document's words before any calibration: [W, T] each."""
        results: list[Scores] = [np.empty(0, np.float32)] * len(documents)
        for part, scores in self._batches(documents):
            for i, row in zip(part, scores, strict=True):
                results[i] = row[: documents[i].num_words]
        return results

    def attention(self, document: Document, layer: int = -1) -> NDArray[np.float32]:
        """Give how much each word looks at each other in one layer, by head, for people to look at: [H, W, W]."""
        if isinstance(self.model, OnnxNetwork):
            raise SettingsError("an exported network does not tell where it looks; use what it was exported from.")
        layers = self.model.config.num_hidden_layers
        if not -layers <= layer < layers:
            raise SettingsError(f"the network has {layers} layers, so no layer {layer}.")
        encoded = self.encoder(document)
        weights = self.model.formnet.attention_weights(layer % layers, **self._batch([encoded]))[0].cpu().numpy()
        # A word looks as its pieces do on average, and is seen as often as they are together.
        of_word = np.eye(document.num_words, dtype=np.float32)[encoded.word_ids].T  # [W, P]
        looks = np.einsum("wp,hpq->hwq", of_word / of_word.sum(1, keepdims=True), weights)
        return np.einsum("hwq,vq->hwv", looks, of_word)

    def warm_up(self) -> None:
        """Load and compile everything now, which takes up to a minute, so that small batches are fast, too.

        What is loaded by then stays, and is no longer looked through for garbage, which takes time with every document.
        """
        if has_compiler():
            self.model.config.attention_backend = "compiled"
        for batch in WARM_UP:
            self.entities([_page_of(words) for words in batch])
        gc.collect()
        gc.freeze()

    def _batches(self, documents: Sequence[Document]) -> Iterator[tuple[list[int], Scores]]:
        """Give batches of documents of like length by number, with their scores [B, W, T]."""
        training = self.model if isinstance(self.model, FormNetForTokenClassification) and self.model.training else None
        if training:  # in the midst of a run
            training.eval()
        try:
            encoded = [self.encoder(document) for document in documents]
            for part in buckets([len(document) for document in encoded], self.max_batch_tokens):
                batch = self._batch([encoded[i] for i in part])
                with torch.inference_mode(), torch.autocast(self.model.device.type, torch.bfloat16, enabled=self.bf16):
                    logits = self.model(**batch).logits
                assert logits is not None
                yield part, logits.float().cpu().numpy()
        finally:
            if training:
                training.train()

    def _batch(self, encoded: Sequence[EncodedDocument]) -> dict[str, Tensor]:
        batch = collate(encoded, self.encoder.padding_id)
        return {name: tensor.to(self.model.device) for name, tensor in batch.items() if name != "ids"}


def _page_of(words: int) -> Document:
    """Give a page with so many words, in lines."""
    builder = DocumentBuilder("page")
    places = [(10 * (i % 10), i // 10) for i in range(words)]
    builder.add_page(["word"] * words, [[x, y, x + 9, y + 1] for x, y in places], 100, words // 10 + 1)
    return builder.build()


def mean_score(document: Document) -> float:
    """How sure a network was of a document's entities on average; 0 if there are none."""
    scores = [entity.score or 0.0 for entity in document.entities]
    return sum(scores) / len(scores) if scores else 0.0


def _load(folder: Path) -> FormNetForTokenClassification | OnnxNetwork:
    if (folder / WEIGHTS).is_file():
        return load_compact(folder)
    if (folder / GRAPH).is_file():
        return OnnxNetwork(folder)
    return FormNetForTokenClassification.from_pretrained(folder, use_safetensors=True).eval()


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


def labels_of(
    heads: Mapping[str, TagScheme], once: Collection[str] = (), *, everywhere: bool = False
) -> dict[str, Any]:
    """Give what a configuration says of tags; a head alone needs no name. `once` names heads of keyed-in values."""
    if len(heads) == 1:
        (scheme,) = heads.values()
        names = list(scheme.names)
        once = [""] if once else []
    else:
        names = [f"{head}/{name}" for head, scheme in heads.items() for name in scheme.names]
    return {
        "id2label": dict(enumerate(names)),
        "label2id": {name: i for i, name in enumerate(names)},
        "heads": {head: len(scheme) for head, scheme in heads.items()} if len(heads) > 1 else None,
        "once": list(once) or None,
        "everywhere": everywhere,
        "temperatures": None,
    }
