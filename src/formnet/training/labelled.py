"""Labelled documents for fine-tuning: read, aligned, some held out. Corpora with the same tags share a head."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

import numpy as np

from formnet.alignment import with_entities
from formnet.corpora import Corpus, open_corpus, parse_spec
from formnet.document import Document, Page
from formnet.errors import SettingsError
from formnet.labels import TagScheme
from formnet.training.settings import FineTuning


@dataclass
class Labelled:
    """One head's documents: what is trained on, what is looked at, and the tags of both."""

    scheme: TagScheme
    training: list[Document]
    held_out: list[Document]
    once: bool  # values were keyed in: a document has one of each type


def load_labelled(run: FineTuning) -> dict[str, Labelled]:
    """Read a run's documents, by head; a head is called after the first corpus that has its tags."""
    heads: dict[str, Labelled] = {}
    looked_at = _validation(run)
    for spec in run.corpus:
        part = _read(run, spec, looked_at.get(parse_spec(spec)[0]))
        shared = next((head for head in heads.values() if head.scheme == part.scheme), None)
        if shared is None:
            heads[_new_name(parse_spec(spec)[0], heads)] = part
        else:
            shared.training += part.training
            if parse_spec(spec)[0] not in looked_at:  # which is looked at once, whatever it belongs to
                shared.held_out += part.held_out
            shared.once = shared.once and part.once
    for part in heads.values():
        if run.held_out and not (part.training and part.held_out):
            count = len(part.training) + len(part.held_out)
            told = f"held_out: {run.held_out:.0%} of {count} documents leaves one side empty"
            raise SettingsError(f"{told}; take another share, or name a corpus as validation.")
    if not any(document.entities for part in heads.values() for document in part.training):
        raise SettingsError(f"{', '.join(run.corpus)}: no document has an entity to learn from.")
    return heads


def _validation(run: FineTuning) -> dict[str, str]:
    """Give what to look at by the kind of corpus that it belongs to."""
    kinds = {parse_spec(spec)[0] for spec in run.corpus}
    looked_at: dict[str, str] = {}
    for spec in run.validation:
        kind = parse_spec(spec)[0]
        if kind not in kinds:
            raise SettingsError(f"validation: {spec} belongs to no corpus; those here are {', '.join(sorted(kinds))}.")
        if kind in looked_at:
            raise SettingsError(f"validation: both {looked_at[kind]} and {spec} are for {kind}; join them.")
        looked_at[kind] = spec
    return looked_at


def _read(run: FineTuning, spec: str, validation: str | None) -> Labelled:
    corpus = open_corpus(spec, run.order)
    documents = with_entities(corpus, run.occurrences)
    scheme = scheme_for(corpus, documents)
    once = _has_each_once(documents, scheme)
    held_out: list[Document] = []
    if validation is not None:
        held_out = with_entities(open_corpus(validation, run.order), run.occurrences)
    elif run.held_out:
        documents, held_out = hold_out(documents, run.held_out)
    if run.documents is not None:
        if run.documents > len(documents):
            raise SettingsError(f"documents: {spec} has {len(documents)} to train on, not {run.documents}.")
        documents = sorted(documents, key=_place)[: run.documents]
    if run.segment_boxes:
        documents, held_out = ([with_segment_boxes(d) for d in part] for part in (documents, held_out))
    return Labelled(scheme, documents, held_out, once)


def _has_each_once(documents: Sequence[Document], scheme: TagScheme) -> bool:
    """Tell whether every type is a field with one value a document, in however many places that value stands."""
    keyed = {name for document in documents for name in document.fields}
    return keyed.issuperset(scheme.entity_types) and all(
        entity.label in document.fields for document in documents for entity in document.entities
    )


def _new_name(kind: str, taken: dict[str, Labelled]) -> str:
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
