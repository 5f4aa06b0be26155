"""High-level extraction API: documents in, entities with confidence scores out, in batches of similar length."""

import gc
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import torch
from huggingface_hub.errors import StrictDataclassError
from numpy.typing import NDArray
from safetensors import SafetensorError
from tokenizers import Tokenizer
from torch import Tensor
from transformers.utils import SAFE_WEIGHTS_NAME

from formnet.document import Document, DocumentType, Entity
from formnet.document.builder import DocumentBuilder
from formnet.document.reading_order import join_cells
from formnet.document.values.conventions import infer_day_first
from formnet.encoding import EncodedDocument, Encoder, StructureScheme, buckets, collate, load_tokenizer, tokenize_words
from formnet.errors import LimitError, SettingsError
from formnet.extraction.annotations import Annotations
from formnet.extraction.base import DocumentExtractor
from formnet.extraction.calibration import LabelCalibration
from formnet.extraction.decoding import decode
from formnet.extraction.links import BatchScores, StructureScores, predict_links, split_key
from formnet.extraction.options import ExtractionOptions
from formnet.extraction.pretrained import check_single_format, find_model
from formnet.extraction.references import ReferenceList, read_references
from formnet.extraction.rows import links_by_position
from formnet.extraction.schema import Schema
from formnet.extraction.task import read_heads
from formnet.io.limits import DEFAULT_LIMITS, ReadLimits
from formnet.io.ocr import OcrEngine
from formnet.modeling import FormNetForTokenClassification
from formnet.modeling.attention import has_compiler
from formnet.modeling.onnx import ONNX_NAME, OnnxModel
from formnet.modeling.quantization import load_model, save_quantized
from formnet.modeling.weights import INT8_WEIGHTS_NAME

#: Maximum tokens per batch. ONNX writes every pair of the band to memory, which should stay in the cache.
MAX_BATCH_TOKENS, ONNX_MAX_BATCH_TOKENS = 8192, 1024
#: Maximum tokens per document. Time and memory grow in proportion: about 1 ms and 25 kB per token on a CPU.
MAX_TOKENS = 65_536
#: Batches to warm up with, in words per page: they differ in the shapes that trigger a compilation.
WARM_UP_BATCHES = ((5000,), (2000,), (700,), (10,), (300, 200), (12, 9))

#: Errors that loading a corrupt or incomplete model folder may raise.
_LOAD_ERRORS = (
    OSError, ValueError, RuntimeError, SafetensorError, LookupError, TypeError, AttributeError, StrictDataclassError
)  # fmt: skip

Scores = NDArray[np.float32]


class Extractor(DocumentExtractor):
    """A token classifier with its tokenizer and its heads.

    It keeps no state between calls: threads may share it, and it can be pickled.
    """

    def __init__(
        self,
        model: FormNetForTokenClassification | OnnxModel,
        tokenizer: Tokenizer,
        *,
        max_batch_tokens: int | None = None,
        max_tokens: int = MAX_TOKENS,
        bf16: bool = False,
        ocr: str | OcrEngine = "auto",
        limits: ReadLimits = DEFAULT_LIMITS,
        min_score: float = 0.0,
        day_first: bool | None = None,
        schema: Schema | None = None,
        references: Iterable[ReferenceList | str | Path] = (),
    ):
        self.model, self.bf16, self.ocr, self.limits = model, bf16, ocr, limits
        default_tokens = ONNX_MAX_BATCH_TOKENS if isinstance(model, OnnxModel) else MAX_BATCH_TOKENS
        self.max_batch_tokens = max_batch_tokens or default_tokens
        self.max_tokens = max_tokens
        self.heads = read_heads(model.config)
        trained_day_first = model.config.get_task().day_first
        self.options = ExtractionOptions(min_score, trained_day_first if day_first is None else day_first)
        self.infers_date_order = day_first is None
        self.encoder = Encoder(tokenizer, segments=model.config.segments)
        self.references = read_references(references)
        self.set_schema(schema)

    @classmethod
    def from_pretrained(cls, source: str | Path, **options: Any) -> "Extractor":
        """Load a shipped model by name, a folder written by `formnet train`, or hf://owner/name on the Hub."""
        folder = find_model(source)
        try:
            model = OnnxModel(folder) if (folder / ONNX_NAME).is_file() else load_model(folder)
            tokenizer = load_tokenizer(folder)
            read_heads(model.config)
            schema = Schema.load(folder)
        except (SettingsError, *_LOAD_ERRORS) as error:
            reason = str(error).strip().partition("\n")[0].removeprefix(f"{folder}: ")
            raise SettingsError(f"{folder}: cannot load model: {reason}") from error
        return cls(model, tokenizer, **{"schema": schema, **options})

    def save_pretrained(self, folder: str | Path, *, quantized: bool = False) -> None:
        """Write everything that `from_pretrained` needs; quantized weights take a quarter of the space."""
        if isinstance(self.model, OnnxModel):
            raise SettingsError(f"{folder}: an exported model cannot be saved again. Copy its folder instead.")
        check_single_format(Path(folder), INT8_WEIGHTS_NAME if quantized else SAFE_WEIGHTS_NAME)
        if quantized:
            save_quantized(self.model, Path(folder))
        else:
            self.model.save_pretrained(folder)
        self.save_files(folder)

    def save_files(self, folder: str | Path) -> None:
        """Write what a model folder needs besides the model: the tokenizer, and the schema if there is one."""
        self.encoder.tokenizer.save(str(Path(folder) / "tokenizer.json"))
        if self.typed_fields:
            self.schema.save(Path(folder))

    def iter_annotations(
        self,
        documents: Sequence[Document],
        head: str | None = None,
        options: Sequence[ExtractionOptions] | None = None,
    ) -> Iterator[tuple[int, Annotations]]:
        """Yield each document's index and annotations as batches finish, longest documents first."""
        if head is not None and head not in self.heads:
            raise SettingsError(f"the model has no head {head!r}. Its heads are {', '.join(map(repr, self.heads))}.")
        documents, numbers = self.in_reading_order(documents)
        for indices, scores in self._score_batches(documents):
            batch = [documents[i] for i in indices]
            by_head = {
                name: self.decode(name, head_scores, batch)
                for name, head_scores in self.split_heads(scores.tags).items()
                if head in (None, name)
            }
            types = self.decode_types(scores.types)
            for row, i in enumerate(indices):
                chosen = self._resolve_date_order(batch[row], None if options is None else options[i])
                found = {name: entities[row] for name, entities in by_head.items()}
                annotations = self.add_structure(batch[row], found, scores.document(row))
                values = [chosen.apply(entity, self.typed_fields.get(entity.label)) for entity in annotations.entities]
                annotations = annotations._replace(entities=values, type=types[row] if types else None)
                yield i, annotations.renumber_words(numbers[i])

    def in_reading_order(self, documents: Sequence[Document]) -> tuple[list[Document], list[NDArray[np.intp]]]:
        """Return the documents in the order in which the model reads them, and the former numbers of their words."""
        if not self.model.config.get_task().join_cells:
            return list(documents), [np.arange(document.num_words) for document in documents]
        joined = [join_cells(document) for document in documents]
        return [document for document, _ in joined], [numbers for _, numbers in joined]

    def _resolve_date_order(self, document: Document, options: ExtractionOptions | None) -> ExtractionOptions:
        """Return the options for a document; the order of dates is that requested, else inferred, else trained."""
        if options is not None and options.day_first is not None:
            return options
        chosen = self.options if options is None else replace(options, day_first=self.options.day_first)
        inferred = infer_day_first(document.texts) if self.infers_date_order else None
        return chosen if inferred is None else replace(chosen, day_first=inferred)

    def add_structure(
        self, document: Document, found: Mapping[str, Sequence[Entity]], scores: StructureScores
    ) -> Annotations:
        """Split captions from values, sort the entities of all heads, and link those of each head."""
        task = self.model.config.get_task()
        labeled = [
            (split_key(document, entity, scores.keys) if head in task.key_heads else entity, head)
            for head, own in found.items()
            for entity in own
        ]
        labeled.sort(key=lambda pair: pair[0].words)
        entities = [entity for entity, _ in labeled]
        if not task.link_labels:  # the model has no link head
            return Annotations(entities, links_by_position(document, entities, self.schema))
        annotations = Annotations(entities, [])
        for head in task.link_labels:
            numbers = [number for number, (_, own_head) in enumerate(labeled) if own_head == head]
            own = replace(document, entities=tuple(labeled[number][0] for number in numbers), links=())
            links = self._predict_links(head, own, scores)
            annotations = annotations.add_links((numbers[owner], numbers[part], score) for owner, part, score in links)
        return annotations

    def link_entities(self, documents: Sequence[Document], head: str) -> list[list[tuple[int, int, float]]]:
        """Predict the links between the entities that documents already have: owner, part and score."""
        links: list[list[tuple[int, int, float]]] = [[] for _ in documents]
        documents, _ = self.in_reading_order(documents)
        for indices, scores in self._score_batches(documents):
            for row, i in enumerate(indices):
                links[i] = self._predict_links(head, documents[i], scores.document(row))
        return links

    def _predict_links(self, head: str, document: Document, scores: StructureScores) -> list[tuple[int, int, float]]:
        task, link_head = self.model.config.get_task(), self.model.link_head
        pairs = frozenset((owner, part) for owner, part in task.link_labels.get(head, ()))
        if not pairs or link_head is None:
            return []
        calibration = LabelCalibration(**task.link_calibration.get(head, {}))
        scheme = StructureScheme(head in task.key_heads, pairs, task.linked_labels)
        links = predict_links(document, scheme, link_head, scores.link_terms)
        return [(owner, part, calibration.calibrate(score)) for owner, part, score in links]

    def count_tokens(self, document: Document) -> int:
        """Count the tokens of a document; raise `LimitError` if it has too many to extract from."""
        self._check_tokens(document, document.num_words)  # every word has at least one token
        count = len(tokenize_words(self.encoder.tokenizer, document.texts).ids)
        self._check_tokens(document, count)
        return count

    def _check_tokens(self, document: Document, count: int) -> None:
        if count > self.max_tokens:
            limit = f"more than {self.max_tokens:,} tokens (the limit)"
            raise LimitError(f"{document.id}: {limit}. Split the document.")

    def decode(self, head: str, scores: Scores, documents: list[Document]) -> list[list[Entity]]:
        """Decode one head's scores [B, W, T], and calibrate the probabilities of entities."""
        task = self.model.config.get_task()
        entities = decode(
            scores,
            documents,
            self.heads[head],
            single_value=head in task.single_value_heads,
            single_value_labels=self._single_value_labels,
            label_all_occurrences=task.label_all_occurrences,
        )
        calibration = self.calibration(head)
        if not calibration:
            return entities
        return [
            [replace(entity, score=calibration[entity.label].calibrate(entity.score or 0.0)) for entity in found]
            for found in entities
        ]

    def decode_types(self, scores: Scores | None) -> list[DocumentType]:
        """Return the most probable type of each document, given type scores [B, C]; empty if there are none."""
        if scores is None:
            return []
        names = self.model.config.document_types or []
        probabilities = np.exp(scores - np.logaddexp.reduce(scores, axis=1, keepdims=True))
        return [DocumentType(names[row.argmax()], float(row.max())) for row in probabilities]

    def split_heads(self, scores: Scores) -> dict[str, Scores]:
        """Split scores [..., T] by head."""
        ends = list(accumulate(len(scheme) for scheme in self.heads.values()))
        return {
            name: scores[..., end - len(scheme) : end]
            for (name, scheme), end in zip(self.heads.items(), ends, strict=True)
        }

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels of all heads."""
        return tuple(dict.fromkeys(label for scheme in self.heads.values() for label in scheme.entity_types))

    def head_for(self, labels: Collection[str]) -> str:
        """Return the head that has most of the labels."""
        return max(self.heads, key=lambda name: len({*self.heads[name].entity_types} & {*labels}))

    def predicts_links(self, head: str) -> bool:
        """Return whether the model links the entities of this head."""
        return bool(self.model.config.get_task().link_labels.get(head))

    def calibration(self, head: str) -> dict[str, LabelCalibration]:
        """Return the calibration of a head by label; empty if the model is not calibrated."""
        by_label = self.model.config.get_task().calibration.get(head, {})
        return {label: LabelCalibration(**parameters) for label, parameters in by_label.items()}

    @property
    def own_schema(self) -> Schema | None:
        """The schema that was set, for a copy of the extractor; None without one."""
        return self.schema if self.typed_fields else None

    def set_schema(self, schema: Schema | None) -> None:
        """Set how fields are arranged and typed; without a schema, the output is flat, and labels suggest types."""
        self.typed_fields = {} if schema is None else schema.by_label
        self._single_value_labels = frozenset(label for label, field in self.typed_fields.items() if field.is_single)
        self.schema = (schema or Schema.flat(self.labels)).with_references(self.references)

    def set_calibration(self, calibration: Mapping[str, Mapping[str, LabelCalibration]]) -> None:
        """Set the calibration of each head; labels without one keep their probabilities."""
        by_head = {
            head: {label: asdict(by_label.get(label, LabelCalibration())) for label in self.heads[head].entity_types}
            for head, by_label in calibration.items()
        }
        config = self.model.config
        config.task = replace(config.get_task(), calibration=by_head).to_dict()

    def scores(self, documents: Sequence[Document]) -> list[Scores]:
        """Compute tag scores before calibration: [W, T] per document."""
        results: list[Scores] = [np.empty(0, np.float32)] * len(documents)
        documents, numbers = self.in_reading_order(documents)
        for indices, scores in self._score_batches(documents):
            for i, row in zip(indices, scores.tags, strict=True):
                results[i] = row[np.argsort(numbers[i])]
        return results

    def attention(self, document: Document, layer: int = -1) -> NDArray[np.float32]:
        """Compute one layer's attention weights among words, for visualization: [H, W, W]."""
        if isinstance(self.model, OnnxModel):
            raise SettingsError("an exported model has no attention weights. Use the model that it was exported from.")
        layers = self.model.config.num_hidden_layers
        if not -layers <= layer < layers:
            raise SettingsError(f"layer {layer} is out of range: the model has {layers} layers.")
        (document,), (numbers,) = self.in_reading_order([document])
        encoded = self.encoder(document)
        weights = self.model.formnet.attention_weights(layer % layers, **self._collate([encoded]))[0].cpu().numpy()
        # Average over the tokens of the attending word, sum over those of the attended one.
        token_of_word = np.eye(document.num_words, dtype=np.float32)[encoded.word_ids].T  # [W, N]
        from_word = np.einsum("wp,hpq->hwq", token_of_word / token_of_word.sum(1, keepdims=True), weights)
        new_numbers = np.argsort(numbers)
        return np.einsum("hwq,vq->hwv", from_word, token_of_word)[:, new_numbers][:, :, new_numbers]

    def warm_up(self, batches: Iterable[Sequence[int]] = WARM_UP_BATCHES) -> None:
        """Load and compile everything now, which takes minutes the first time, so that small batches are fast, too.

        Objects that exist by then are excluded from garbage collection, which would scan them again and again.
        """
        if has_compiler() and isinstance(self.model, FormNetForTokenClassification):
            self.model.formnet.attention_backend = "compiled"
        for batch in batches:
            self.entities([_page_with(words) for words in batch])
        gc.collect()
        gc.freeze()

    def _score_batches(self, documents: Sequence[Document]) -> Iterator[tuple[list[int], BatchScores]]:
        """Yield batches of documents of similar length: their indices and scores."""
        model = self.model if isinstance(self.model, FormNetForTokenClassification) and self.model.training else None
        if model:  # called during training
            model.eval()
        try:
            encoded = [self._encode(document) for document in documents]
            for indices in buckets([len(document) for document in encoded], self.max_batch_tokens):
                batch = self._collate([encoded[i] for i in indices])
                with torch.inference_mode(), torch.autocast(self.model.device.type, torch.bfloat16, enabled=self.bf16):
                    output = self.model(**batch)
                scores = (output.logits, output.key_logits, output.link_terms, output.type_logits)
                yield indices, BatchScores(*map(_to_numpy, scores))
        finally:
            if model:
                model.train()

    def _encode(self, document: Document) -> EncodedDocument:
        self._check_tokens(document, document.num_words)
        encoded = self.encoder(document)
        self._check_tokens(document, len(encoded))
        return encoded

    def _collate(self, encoded: Sequence[EncodedDocument]) -> dict[str, Tensor]:
        batch = collate(encoded, self.encoder.padding_id)
        return {name: tensor.to(self.model.device) for name, tensor in batch.items() if name != "ids"}


def _to_numpy(tensor: Tensor | None) -> Any:
    return None if tensor is None else tensor.float().cpu().numpy()


def _page_with(words: int) -> Document:
    """Build a page with this number of words, in lines of ten."""
    builder = DocumentBuilder("page")
    corners = [(10 * (i % 10), i // 10) for i in range(words)]
    builder.add_page(["word"] * words, [[x, y, x + 9, y + 1] for x, y in corners], 100, words // 10 + 1)
    return builder.build()


def mean_score(document: Document) -> float:
    """Return the mean score of a document's entities; 0 if there are none."""
    scores = [entity.score or 0.0 for entity in document.entities]
    return sum(scores) / len(scores) if scores else 0.0
