"""Labeled documents for fine-tuning: read, aligned, and split into training and held-out documents per head."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path

import numpy as np

from formnet.datasets import Corpus, open_corpus, parse_spec
from formnet.datasets.alignment import with_captions, with_entities
from formnet.document import Document, Entity, Page
from formnet.document.reading_order import Order, reorder
from formnet.document.tags import TagScheme
from formnet.document.values.match import values_match
from formnet.errors import SettingsError
from formnet.extraction.annotations import Annotations
from formnet.extraction.extractor import Extractor
from formnet.io.glued_words import split_glued_words
from formnet.io.readers import jsonl
from formnet.training.config import FineTuning


@dataclass
class HeadData:
    """Training and held-out documents of one head, with its tags."""

    scheme: TagScheme
    training: list[Document]
    held_out: list[Document]
    single_valued: bool  # whether every label is a field with one value per document
    corpus_kinds: set[str]
    readings: list[Document] = field(default_factory=list)  # among the others: those with words of an OCR engine
    taught: dict[Path, list[Document]] = field(default_factory=dict)  # training documents by the model to complete them


def load_training_data(run: FineTuning) -> dict[str, HeadData]:
    """Load a run's documents per head; corpora with the same tags share a head, named after the first of them."""
    _check_kinds(run)
    heads: dict[str, HeadData] = {}
    for spec in run.corpus:
        corpus_data = _load_corpus(run, spec)
        shared = next((head for head in heads.values() if _shares_head(run, head.scheme, corpus_data.scheme)), None)
        if run.labels == "canonical" and run.held_out and not _has_validation(run, spec):
            corpus_data.training, corpus_data.held_out = hold_out(corpus_data.training, run.held_out, run.held_out_fold)
        if (teacher := run.teachers.get(parse_spec(spec)[0])) is not None:
            corpus_data.taught = {teacher: list(corpus_data.training)}
        if shared is None:
            heads[_head_name(parse_spec(spec)[0], heads)] = corpus_data
        else:
            shared.scheme = _union(shared.scheme, corpus_data.scheme)
            shared.held_out += corpus_data.held_out
            shared.training += corpus_data.training
            shared.single_valued = shared.single_valued and corpus_data.single_valued
            shared.corpus_kinds |= corpus_data.corpus_kinds
            shared.readings += corpus_data.readings
            for model, documents in corpus_data.taught.items():
                shared.taught[model] = shared.taught.get(model, []) + documents
    _add_validation(run, heads)
    for name, head in heads.items():
        if run.held_out and not head.held_out:
            head.training, head.held_out = hold_out(head.training, run.held_out, run.held_out_fold)
        if run.held_out and not (head.training and head.held_out):
            count = len(head.training) + len(head.held_out)
            raise SettingsError(
                f"held_out: {run.held_out:.0%} of {count} documents leaves one side empty. Set another share, or set "
                "validation to a corpus."
            )
        if not run.train_on_readings:
            readings = set(map(id, head.readings))
            head.training = [document for document in head.training if id(document) not in readings]
        # Documents without words have no loss, and a batch must not consist of them alone.
        head.training = [document for document in head.training if document.num_words]
        _check_disjoint(name, head)
    if not any(document.entities for head in heads.values() for document in head.training):
        raise SettingsError(f"{', '.join(run.corpus)}: no document has a labeled entity. Check the labels.")
    if run.documents is not None:
        _limit_training_documents(heads, run.documents)
    return heads


def _check_kinds(run: FineTuning) -> None:
    """Raise if a setting by kind of corpus names a kind that is not among the corpora."""
    kinds = {parse_spec(spec)[0] for spec in (*run.corpus, *run.validation)}
    for name in ("readings", "teachers", "fully_labeled"):
        if unknown := sorted({*getattr(run, name)} - kinds):
            raise SettingsError(f"{name}: no corpus is of kind {unknown[0]!r}. Kinds: {', '.join(sorted(kinds))}.")
    if both := sorted({*run.teachers} & {*run.fully_labeled}):
        raise SettingsError(f"teachers: fully_labeled has {both[0]!r}, too, so there are no labels to add. Remove one.")


def _shares_head(run: FineTuning, scheme: TagScheme, other: TagScheme) -> bool:
    return run.labels == "canonical" or scheme == other


def _has_validation(run: FineTuning, spec: str) -> bool:
    return parse_spec(spec)[0] in {parse_spec(other)[0] for other in run.validation}


def _union(scheme: TagScheme, other: TagScheme) -> TagScheme:
    """Return the first scheme with the entity types that only the second has at the end."""
    return TagScheme(tuple(dict.fromkeys((*scheme.entity_types, *other.entity_types))), scheme.untagged)


def _load_corpus(run: FineTuning, spec: str) -> HeadData:
    kind = parse_spec(spec)[0]
    corpus = open_corpus(spec, run.order, canonical=run.labels == "canonical")
    given = list(corpus)
    num_given = len(given)
    if kind in run.readings:
        given += load_readings(given, run.readings[kind], run.order)
    documents = with_entities(given, "all" if run.label_all_occurrences else "best")
    if run.caption_labels:
        documents = [with_captions(d, run.caption_labels) if d.fields else d for d in documents]
    if run.keep_labels:
        documents = [_keep_labels(document, run.keep_labels) for document in documents]
    scheme = scheme_for(corpus, documents)
    if run.keep_labels:
        if unknown := sorted({*run.keep_labels} - {*scheme.entity_types}):
            raise SettingsError(f"keep_labels: {spec} has no label {unknown[0]!r}. Check the spelling.")
        scheme = replace(scheme, entity_types=run.keep_labels)
    if run.labels == "canonical":
        annotated = None if kind in run.fully_labeled else frozenset(scheme.entity_types)
        documents = [replace(document, annotated=annotated) for document in documents]
    single_valued = _is_single_valued(documents, scheme)
    if run.segment_boxes:
        documents = [with_segment_boxes(document) for document in documents]
    return HeadData(scheme, documents, [], single_valued, {kind}, documents[num_given:])


def add_teacher_labels(head: HeadData) -> None:
    """Add the predictions of teachers to training documents, for labels that their corpus lacks.

    The head gets these labels. Words with a label of the corpus keep it, except that a teacher chooses between
    occurrences of a keyed-in value. Held-out documents keep the labels of the corpus only.
    """
    completed: dict[int, Document] = {}
    for teacher, documents in head.taught.items():
        predictions = Extractor.from_pretrained(teacher).annotate(documents)
        for own, predicted in zip(documents, predictions, strict=True):
            completed[id(own)] = _complete(own, predicted)
    head.training = [completed.get(id(document), document) for document in head.training]
    labels = {entity.label for document in completed.values() for entity in document.entities}
    head.scheme = _union(head.scheme, TagScheme(tuple(sorted(labels))))


def _complete(document: Document, predicted: Document) -> Document:
    """Add predicted entities to a document, except those with a label that it is annotated with.

    A keyed-in value may be printed several times, as the total is in the line of the payment; where the prediction has
    the same value and label, it decides which of them is labeled.
    """
    entities = list(document.entities)
    for number, entity in enumerate(entities):
        if entity.label not in document.fields:
            continue
        others = {word for i, other in enumerate(entities) if i != number for word in other.words}
        entities[number] = _same_value(entity, [e for e in predicted.entities if others.isdisjoint(e.words)]) or entity
    taken = {word for entity in entities for word in entity.words}
    numbers: dict[int, int] = {}
    for number, entity in enumerate(predicted.entities):
        if entity.label not in (document.annotated or ()) and taken.isdisjoint(entity.words):
            taken.update(entity.words)
            numbers[number] = len(entities)
            entities.append(entity)
    links = ((numbers[a], numbers[b]) for a, b in predicted.links if a in numbers and b in numbers)
    return replace(document, entities=tuple(entities), links=(*document.links, *links), annotated=None)


def _same_value(entity: Entity, others: Sequence[Entity]) -> Entity | None:
    """Return the entity with the same label and value: one in the same place or else the most confident, or None."""
    same = [other for other in others if other.label == entity.label and values_match(entity.text, other.text)]
    return max(same, key=lambda other: (not {*other.words}.isdisjoint(entity.words), other.score or 0), default=None)


def load_readings(documents: Sequence[Document], file: Path, order: Order = "given") -> list[Document]:
    """Return the documents that have a reading in a file of `formnet data read`, with its words.

    Labels are located by their values, so the documents must have keyed-in values.
    """
    by_id = {document.id: document for document in documents}
    if len(by_id) < len(documents):
        raise SettingsError(f"readings: {file}: several documents have the same ID. Use one split of the corpus.")
    found = []
    for reading in (jsonl.parse(line) for line in jsonl.iter_lines(file)):
        document = by_id.get(reading.id)
        if document is None:
            continue
        if not document.fields:
            raise SettingsError(f"readings: {document.id!r} has no keyed-in values. Use a corpus of values.")
        words = split_glued_words(replace(reading, entities=(), links=()))
        found.append(reorder(replace(words, fields=document.fields, annotated=document.annotated), order))
    return found


def _add_validation(run: FineTuning, heads: Mapping[str, HeadData]) -> None:
    """Add the validation documents to the heads that have their labels."""
    spec_by_head: dict[tuple[str, str], str] = {}
    for spec in run.validation:
        kind = parse_spec(spec)[0]
        candidates = {name: head for name, head in heads.items() if kind in head.corpus_kinds}
        if not candidates:
            kinds = sorted(kind for head in heads.values() for kind in head.corpus_kinds)
            raise SettingsError(
                f"validation: {spec} matches no training corpus. Use one of the same kind: {', '.join(kinds)}."
            )
        corpus_data = _load_corpus(run, spec)
        name = _best_head(spec, corpus_data.scheme, candidates)
        if (kind, name) in spec_by_head:
            raise SettingsError(
                f"validation: both {spec_by_head[kind, name]} and {spec} belong to {name}. Merge them into one corpus."
            )
        spec_by_head[kind, name] = spec
        head = heads[name]
        head.scheme = _union(head.scheme, corpus_data.scheme)
        head.held_out += corpus_data.training


def _best_head(spec: str, scheme: TagScheme, heads: Mapping[str, HeadData]) -> str:
    """Return the head with most of the scheme's entity types; of several, the one with the fewest types."""
    if len(heads) == 1:
        return next(iter(heads))
    types_by_head = {name: {*head.scheme.entity_types} for name, head in heads.items()}
    fit = {name: (len(types & {*scheme.entity_types}), -len(types)) for name, types in types_by_head.items()}
    best = [name for name in fit if fit[name] == max(fit.values())]
    if len(best) > 1 or not fit[best[0]][0]:
        raise SettingsError(
            f"validation: the labels of {spec} match none of {' and '.join(heads)} better than the others. "
            "Use a corpus with the labels of one head."
        )
    return best[0]


def _check_disjoint(name: str, head: HeadData) -> None:
    """Raise if a held-out document is also a training document."""
    training = {(document.id, document.texts) for document in head.training}
    shared = [document.id for document in head.held_out if (document.id, document.texts) in training]
    if shared:
        raise SettingsError(
            f"validation: {len(shared):,} of {len(head.held_out):,} documents are also training documents of {name}, "
            f"the first being {shared[0]!r}. Use other documents, or splits of a corpus, as in jsonl:labels/@train."
        )


def _limit_training_documents(heads: Mapping[str, HeadData], documents: int) -> None:
    """Reduce the training documents of every head to at most `documents`."""
    available = max(len(head.training) for head in heads.values())
    if documents > available:
        raise SettingsError(f"documents: {documents:,} is more than the {available:,} available for training.")
    for head in heads.values():
        head.training = sorted(head.training, key=_hash_to_unit)[:documents]


def _is_single_valued(documents: Sequence[Document], scheme: TagScheme) -> bool:
    """Return whether every label is a field with one value per document, which may occur in several places."""
    fields = {name for document in documents for name in document.fields}
    return fields.issuperset(scheme.entity_types) and all(
        entity.label in document.fields for document in documents for entity in document.entities
    )


def _head_name(kind: str, existing: Mapping[str, HeadData]) -> str:
    return kind if kind not in existing else f"{kind}-{len(existing) + 1}"


def _keep_labels(document: Document, labels: Collection[str]) -> Document:
    return Annotations(list(document.entities), list(document.links)).keep_labels(labels).apply_to(document)


def scheme_for(corpus: Corpus, documents: Sequence[Document]) -> TagScheme:
    """Build the tag scheme from the corpus's entity types or, if it declares none, from the documents."""
    return (
        TagScheme(corpus.entity_types, corpus.untagged) if corpus.entity_types else TagScheme.from_documents(documents)
    )


def hold_out(documents: Sequence[Document], share: float, fold: int = 0) -> tuple[list[Document], list[Document]]:
    """Split by a hash of the id, so that a document's side does not depend on the other documents."""
    held = [document for document in documents if fold * share <= _hash_to_unit(document) < (fold + 1) * share]
    held_ids = {id(document) for document in held}
    return [document for document in documents if id(document) not in held_ids], held


def _hash_to_unit(document: Document) -> float:
    """Hash a document's id to a number between 0 and 1, the same in every run."""
    return int.from_bytes(sha256(document.id.encode()).digest()[:8]) / 2**64


def with_segment_boxes(document: Document) -> Document:
    """Replace the box of every word of an entity by the entity's box."""
    boxes = np.array(document.boxes)
    for entity in document.entities:
        words = list(entity.words)
        boxes[words] = [*boxes[words, :2].min(axis=0), *boxes[words, 2:].max(axis=0)]
    pages: list[Page] = []
    start = 0
    for page in document.pages:
        pages.append(replace(page, boxes=boxes[start : start + len(page.texts)]))
        start += len(page.texts)
    return replace(document, pages=tuple(pages))
