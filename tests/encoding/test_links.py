import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from formnet.datasets import open_corpus
from formnet.document import Document
from formnet.encoding import StructureScheme
from formnet.encoding.encoder import encode_structure
from formnet.encoding.links import MAX_OWNERS, PAIR_FEATURES, link_candidates
from linked_receipts import linked_receipt, tilt

PAIRS = {("name", "count"), ("name", "price"), ("name", "modifier")}
LABELS = ("count", "modifier", "name", "price")


def test_link_candidates_hold_all_owners_of_allowed_labels() -> None:
    receipt = linked_receipt(5)
    candidates = link_candidates(receipt, PAIRS, LABELS)
    labels = [entity.label for entity in receipt.entities]
    assert [labels[part] for part in candidates.parts] == [label for label in labels if label not in ("name", "total")]
    names = {number for number, label in enumerate(labels) if label == "name"}
    for row in candidates.owners:
        assert set(row.tolist()) == names
    assert candidates.features.shape == (len(candidates.parts), 5, PAIR_FEATURES)
    targets = candidates.targets(receipt.links)
    owners = np.take_along_axis(candidates.owners, targets[:, None], axis=1)[:, 0]
    assert set(zip(owners.tolist(), candidates.parts.tolist(), strict=True)) == set(receipt.links)


def test_link_candidates_nearest_owner_is_first_and_ranked_first() -> None:
    receipt = linked_receipt(6)
    candidates = link_candidates(receipt, {("name", "price")}, LABELS)
    assert (candidates.targets(receipt.links) == 0).all()
    rank_above = candidates.features[:, :, 10]
    assert (rank_above[:, 0] == 1).all()
    assert (rank_above[1:, 1:] < 1).all()


def test_link_candidates_tell_a_document_that_prints_prices_above_names() -> None:
    """By the positions of a pair alone, a price between two names may belong to either."""
    receipt = linked_receipt(4)
    names = [entity for entity in receipt.entities if entity.label == "name"]
    prices = [entity for entity in receipt.entities if entity.label == "price"]
    for shift in (0.5, -0.5):  # in distances between lines
        boxes = receipt.pages[0].boxes.copy()
        distance = boxes[names[1].words[0], 1] - boxes[names[0].words[0], 1]
        for price in prices:
            boxes[list(price.words), 1::2] += shift * distance
        moved = replace(receipt, pages=(replace(receipt.pages[0], boxes=boxes),), entities=(), links=())
        entities = tuple(moved.entity(entity.label, entity.words) for entity in (*names, *prices))
        candidates = link_candidates(replace(moved, entities=entities), {("name", "price")}, LABELS)
        from_top, from_bottom, first, last = (candidates.features[:, :, column] for column in (18, 19, 20, 21))
        own = candidates.owners == (candidates.parts - len(names))[:, None]
        assert (from_top[own] == 1).all()
        assert (from_bottom[own] == 1).all()
        assert from_top.sum() == from_bottom.sum() == len(names)
        assert (np.sign(first) == -np.sign(shift)).all()
        assert (np.sign(last) == np.sign(shift)).all()


def test_link_candidates_number_labels() -> None:
    receipt = linked_receipt(3)
    candidates = link_candidates(receipt, PAIRS, LABELS)
    assert [LABELS[label] for label in candidates.part_labels] == [
        receipt.entities[part].label for part in candidates.parts
    ]
    assert (candidates.owner_labels == LABELS.index("name")).all()


def test_link_candidates_without_owner_or_labels_are_empty() -> None:
    receipt = linked_receipt(2)
    assert len(link_candidates(receipt, set(), LABELS).parts) == 0
    assert len(link_candidates(replace(receipt, entities=(), links=()), PAIRS, LABELS).parts) == 0
    unlinked = replace(receipt, links=())
    candidates = link_candidates(unlinked, PAIRS, LABELS)
    assert (candidates.targets(()) == candidates.owners.shape[1]).all()


def test_link_candidates_stay_on_the_page_and_are_limited() -> None:
    receipt = linked_receipt(40)
    candidates = link_candidates(receipt, PAIRS, LABELS)
    assert candidates.owners.shape[1] == MAX_OWNERS
    assert candidates.mask.all()
    pages = (*receipt.pages, *receipt.pages)
    both = Document("two pages", pages)
    moved = [both.move_entity(entity, lambda word: [word + receipt.num_words]) for entity in receipt.entities]
    both = replace(both, entities=(*receipt.entities, *filter(None, moved)))
    for part, owners in zip(*link_candidates(both, PAIRS, LABELS)[:2], strict=True):
        assert {both.entities[owner].page for owner in owners if owner >= 0} == {both.entities[part].page}


def test_link_candidates_tilted_page_has_the_features_of_an_upright_one() -> None:
    receipt = linked_receipt(5)
    upright, tilted = (link_candidates(document, PAIRS, LABELS) for document in (receipt, tilt(receipt, 0.13)))
    orders = [np.argsort(candidates.owners, axis=1) for candidates in (upright, tilted)]  # some are equally near
    features = [
        np.take_along_axis(candidates.features, order[..., None], axis=1)
        for candidates, order in zip((upright, tilted), orders, strict=True)
    ]
    assert np.abs(features[0] - features[1]).max() < 0.1  # the box of two words is higher on a tilted page


def test_link_candidates_cost_grows_linearly() -> None:
    seconds = []
    for items in (300, 1200):
        receipt = linked_receipt(items)
        start = time.process_time()
        link_candidates(receipt, PAIRS, LABELS)
        seconds.append(time.process_time() - start)
    assert seconds[1] < 12 * seconds[0] + 0.5  # 4 times as many; 16 times if all pairs were compared


def test_encode_structure_marks_captions_and_owners() -> None:
    receipt = linked_receipt(3)
    labels = {label for pair in PAIRS for label in pair}
    scheme = StructureScheme.from_documents([receipt], labels)
    assert scheme == (True, frozenset(PAIRS), LABELS)
    some = StructureScheme.from_documents([receipt], {"name", "price"})
    assert some.link_labels == {("name", "price")} < scheme.link_labels
    encoded = encode_structure(receipt, scheme)
    assert [receipt.texts[word] for word in np.flatnonzero(encoded.keys == 1)] == ["Total:"]
    assert (encoded.keys >= 0).all()
    assert (encode_structure(receipt, scheme._replace(has_keys=False)).keys == -1).all()
    assert [receipt.texts[word] for word in encoded.parts] == ["1x", "0.50", "2x", "1.50", "extra", "3x", "2.50"]
    owners = np.take_along_axis(encoded.owners, encoded.owner[:, None], axis=1)[:, 0]
    assert [receipt.texts[word] for word in owners] == ["Tea", "Tea", "Cake", "Cake", "Cake", "Soup", "Soup"]


@pytest.mark.data
@pytest.mark.parametrize(("spec", "recall"), [("cord:{}/cord@train", 1.0), ("funsd:{}/funsd@train", 0.98)])
def test_link_candidates_include_the_owners_of_public_corpora(spec: str, recall: float, data: Path) -> None:
    corpus = open_corpus(spec.format(data))
    _, *labels = StructureScheme.from_documents(corpus, corpus.entity_types)
    targets = np.concatenate([link_candidates(document, *labels).targets(document.links) for document in corpus])
    assert (targets >= 0).mean() >= recall
