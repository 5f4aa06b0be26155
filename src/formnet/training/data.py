"""Labeled documents for fine-tuning: read, aligned, some held out. Corpora with the same tags share a head."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

import numpy as np

from formnet.datasets import Corpus, open_corpus, parse_spec
from formnet.datasets.alignment import with_entities
from formnet.document import Document, Page
from formnet.document.tags import TagScheme
from formnet.errors import SettingsError
from formnet.training.config import FineTuning


@dataclass
class Labeled:
    """One head's documents: what is trained on, what is looked at, and the tags of both."""

    scheme: TagScheme
    training: list[Document]
    held_out: list[Document]
    once: bool  # values were keyed in: a document has one of each type
    kinds: set[str]  # of its corpora


def load_labeled(run: FineTuning) -> dict[str, Labeled]:
    """Read a run's documents, by head; a head is called after the first corpus that has its tags."""
    heads: dict[str, Labeled] = {}
    for spec in run.corpus:
        part = _read(run, spec)
        shared = next((head for head in heads.values() if head.scheme == part.scheme), None)
        if shared is None:
            heads[_new_name(parse_spec(spec)[0], heads)] = part
        else:
            shared.training += part.training
            shared.once = shared.once and part.once
            shared.kinds |= part.kinds
    _add_validation(run, heads)
    for name, part in heads.items():
        if run.held_out and not part.held_out:
            part.training, part.held_out = hold_out(part.training, run.held_out)
        if run.held_out and not (part.training and part.held_out):
            count = len(part.training) + len(part.held_out)
            told = f"held_out: {run.held_out:.0%} of {count} documents leaves one side empty"
            raise SettingsError(f"{told}; take another share, or name a corpus as validation.")
        # One without words teaches nothing, and a batch of nothing else is none.
        part.training = [document for document in part.training if document.num_words]
        _refuse_learning_what_is_held_out(name, part)
    if not any(document.entities for part in heads.values() for document in part.training):
        raise SettingsError(f"{', '.join(run.corpus)}: no document has an entity to learn from.")
    if run.documents is not None:
        _take(heads, run.documents)
    return heads


def _read(run: FineTuning, spec: str) -> Labeled:
    corpus = open_corpus(spec, run.order)
    documents = with_entities(corpus, run.occurrences)
    scheme = scheme_for(corpus, documents)
    once = _has_each_once(documents, scheme)
    if run.segment_boxes:
        documents = [with_segment_boxes(document) for document in documents]
    return Labeled(scheme, documents, [], once, {parse_spec(spec)[0]})


def _add_validation(run: FineTuning, heads: Mapping[str, Labeled]) -> None:
    """Give documents to look at to the head that they are labeled for."""
    given: dict[tuple[str, str], str] = {}
    for spec in run.validation:
        kind = parse_spec(spec)[0]
        ours = {name: head for name, head in heads.items() if kind in head.kinds}
        if not ours:
            kinds = sorted(kind for head in heads.values() for kind in head.kinds)
            raise SettingsError(f"validation: {spec} belongs to no corpus; those here are {', '.join(kinds)}.")
        part = _read(run, spec)
        name = _fitting(spec, part.scheme, ours)
        if (kind, name) in given:
            raise SettingsError(f"validation: both {given[kind, name]} and {spec} are for {name}; join them.")
        given[kind, name] = spec
        head = heads[name]
        new = [label for label in part.scheme.entity_types if label not in head.scheme.entity_types]
        head.scheme = TagScheme((*head.scheme.entity_types, *new), head.scheme.untagged)
        head.held_out += part.training


def _fitting(spec: str, scheme: TagScheme, heads: Mapping[str, Labeled]) -> str:
    """Name the head that has most of these types, and of several the one with the fewest others."""
    if len(heads) == 1:
        return next(iter(heads))
    own = {name: {*head.scheme.entity_types} for name, head in heads.items()}
    fit = {name: (len(types & {*scheme.entity_types}), -len(types)) for name, types in own.items()}
    best = [name for name in fit if fit[name] == max(fit.values())]
    if len(best) > 1 or not fit[best[0]][0]:
        raise SettingsError(f"validation: the labels of {spec} fit none of {' and '.join(heads)} better than others.")
    return best[0]


def _refuse_learning_what_is_held_out(name: str, head: Labeled) -> None:
    learned = {(document.id, document.texts) for document in head.training}
    both = [document.id for document in head.held_out if (document.id, document.texts) in learned]
    if both:
        raise SettingsError(
            f"validation: {len(both):,} of {len(head.held_out):,} documents to look at are among those that {name} "
            f"learns from, {both[0]!r} first; name other documents, or parts of a corpus, as in jsonl:labels/@train."
        )


def _take(heads: Mapping[str, Labeled], documents: int) -> None:
    """Leave each head so many documents to learn from, or all if it has fewer."""
    most = max(len(head.training) for head in heads.values())
    if documents > most:
        raise SettingsError(f"documents: there are {most:,} to train on, not {documents:,}.")
    for head in heads.values():
        head.training = sorted(head.training, key=_place)[:documents]


def _has_each_once(documents: Sequence[Document], scheme: TagScheme) -> bool:
    """Tell whether every type is a field with one value a document, in however many places that value stands."""
    keyed = {name for document in documents for name in document.fields}
    return keyed.issuperset(scheme.entity_types) and all(
        entity.label in document.fields for document in documents for entity in document.entities
    )


def _new_name(kind: str, taken: dict[str, Labeled]) -> str:
    return kind if kind not in taken else f"{kind}-{len(taken) + 1}"


def scheme_for(corpus: Corpus, documents: Sequence[Document]) -> TagScheme:
    """Take the corpus's own entity types, or those that its documents have."""
    return TagScheme(corpus.entity_types, corpus.untagged) if corpus.entity_types else TagScheme.of(documents)


def hold_out(documents: Sequence[Document], share: float) -> tuple[list[Document], list[Document]]:
    """Split by a hash of the id: a document stays on its side whatever else is in the corpus."""
    kept = [document for document in documents if _place(document) >= share]
    held = [document for document in documents if _place(document) < share]
    return kept, held


def _place(document: Document) -> float:
    """Give a document its place between 0 and 1, the same in every run."""
    return int.from_bytes(sha256(document.id.encode()).digest()[:8]) / 2**64


def with_segment_boxes(document: Document) -> Document:
    """Give every word of an entity the entity's box: ground truth that no OCR gives, and an easier task."""
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
