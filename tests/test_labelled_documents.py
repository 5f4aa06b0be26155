"""The labeled documents of a run: what is held out of them, and the batches that they come in."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from formnet.datasets import open_corpus
from formnet.document import Document
from formnet.document.builder import DocumentBuilder
from formnet.errors import SettingsError
from formnet.io.writers import write
from formnet.training.augmentation.words import augment
from formnet.training.config import Augmentation, Optimization
from formnet.training.data import Labeled, hold_out, load_labeled, with_segment_boxes
from formnet.training.sampling import Plan
from plain_documents import words_and_boxes
from small_runs import settings_for

ROOT = Path(__file__).parent.parent


def test_fields_with_one_value_are_told_from_entities_of_many(vocabulary: Path, tmp_path: Path) -> None:
    def written(**changes: object) -> dict[str, Labeled]:
        builder = DocumentBuilder("a")
        builder.add_page(["9.00", "Tea", "Milk"], [[0, i, 9, i + 1] for i in range(3)], 10, 10)
        document = replace(builder.build({"total": "9.00"}), **changes)  # type: ignore[arg-type]
        write([document], tmp_path / "a.jsonl")
        return load_labeled(settings_for(vocabulary, tmp_path, corpus=f"jsonl:{tmp_path / 'a.jsonl'}"))

    assert written()["jsonl"].once
    builder = DocumentBuilder("a")
    builder.add_page(["9.00", "Tea", "Milk"], [[0, i, 9, i + 1] for i in range(3)], 10, 10)
    items = tuple(builder.build().entity("item", [i]) for i in (1, 2))
    assert not written(entities=items)["jsonl"].once


def test_validation_belongs_to_a_corpus(vocabulary: Path, tmp_path: Path) -> None:
    run = settings_for(vocabulary, tmp_path, validation="funsd:nowhere")
    with pytest.raises(SettingsError, match="belongs to no corpus"):
        load_labeled(run)
    spec = f"jsonl:{ROOT / 'examples/documents.jsonl'}"
    with pytest.raises(SettingsError, match="join them"):
        load_labeled(settings_for(vocabulary, tmp_path, validation=[spec, spec]))


def test_a_plan_holds_every_document_once_an_epoch_and_ranks_share_it() -> None:
    lengths = np.random.default_rng(0).integers(10, 300, 50).tolist()
    settings = Optimization(max_batch_tokens=600, batch_documents=4)
    one = Plan(lengths, settings, epochs=3, seed=1)
    for epoch in range(3):
        turns = [number for batch in one for e, number, _ in batch if e == epoch]
        assert sorted(turns) == list(range(50))
    assert list(one) == list(Plan(lengths, settings, epochs=3, seed=1))
    assert list(one) != list(Plan(lengths, settings, epochs=3, seed=2))
    shares = [Plan(lengths, settings, 3, 1, rank, 2) for rank in (0, 1)]
    assert len(shares[0]) == len(shares[1])
    for left, right in zip(*shares, strict=True):
        assert all(len(share) <= 4 for share in (left, right))
    held = sorted(turn[:2] for share in shares for batch in share for turn in batch if not turn[2])
    assert held == sorted((epoch, number) for epoch in range(3) for number in range(50))


def test_what_is_held_out_stays_held_out(documents: list[Document]) -> None:
    many = [replace(documents[0], id=f"document {i}") for i in range(200)]
    kept, held = hold_out(many, 0.2)
    assert 20 < len(held) < 60
    assert {d.id for d in kept}.isdisjoint(d.id for d in held)
    fewer_kept, _ = hold_out(many[:100], 0.2)
    assert {d.id for d in fewer_kept} <= {d.id for d in kept}


def test_a_small_corpus_beside_a_large_one_need_not_be_split(vocabulary: Path, tmp_path: Path) -> None:
    def written(name: str, count: int) -> str:
        builds = [DocumentBuilder(f"{name} {number}") for number in range(count)]
        for builder in builds:
            builder.add_page(["9.00", "Tea"], [[0, 0, 9, 1], [0, 1, 9, 2]], 10, 10)
            builder.add_entity("total", [0])
        write([builder.build({"total": "9.00"}) for builder in builds], tmp_path / f"{name}.jsonl")
        return f"jsonl:{tmp_path / name}.jsonl"

    small, large = written("small", 1), written("large", 50)
    for share in (0.03, 0.2):  # the only one of the small is learned from, or looked at
        (head,) = load_labeled(settings_for(vocabulary, tmp_path, corpus=(small, large), held_out=share)).values()
        assert len(head.training) + len(head.held_out) == 51
        assert ("small 0" in {document.id for document in head.held_out}) == (share == 0.2)
        assert head.once
    with pytest.raises(SettingsError, match="of 1 documents leaves one side empty"):
        load_labeled(settings_for(vocabulary, tmp_path, corpus=small, held_out=0.2))


def test_segment_boxes_are_the_entities(data: Path) -> None:
    document = next(iter(open_corpus(f"funsd:{data / 'funsd'}@train")))
    easier = with_segment_boxes(document)
    entity = next(e for e in document.entities if len(e.words) > 1)
    boxes = easier.boxes[list(entity.words)]
    assert (boxes == boxes[0]).all()
    assert np.array_equal(boxes[0, :2], document.boxes[list(entity.words), :2].min(axis=0))
    moved = augment(easier, Augmentation(jitter=0.3, shift=0.1), np.random.default_rng(0)).boxes[list(entity.words)]
    assert (moved == moved[0]).all()
    assert (moved != boxes).any()


def test_what_two_corpora_of_one_kind_are_judged_by_counts_once(vocabulary: Path, tmp_path: Path) -> None:
    def written(name: str) -> str:
        builder = DocumentBuilder(name)
        builder.add_page(["9.00", "Tea"], [[0, 0, 9, 1], [0, 1, 9, 2]], 10, 10)
        builder.add_entity("total", [0])
        write([builder.build()], tmp_path / f"{name}.jsonl")
        return f"jsonl:{tmp_path / name}.jsonl"

    run = settings_for(vocabulary, tmp_path, corpus=(written("a"), written("b")), validation=written("v"))
    (head,) = load_labeled(run).values()
    assert [document.id for document in head.training] == ["a", "b"]
    assert [document.id for document in head.held_out] == ["v"]


def one_page(name: str, label: str, *words: str) -> Document:
    document = words_and_boxes(name, *(words or ("9.00", "Tea")))
    return replace(document, entities=(document.entity(label, [0]),))


def test_what_is_looked_at_belongs_to_the_head_that_has_its_labels(vocabulary: Path, tmp_path: Path) -> None:
    def written(name: str, *documents: Document) -> str:
        write(documents, tmp_path / f"{name}.jsonl")
        return f"jsonl:{tmp_path / name}.jsonl"

    corpora = (written("a", one_page("a", "total")), written("b", one_page("b", "sum")))
    more = written("v", one_page("v", "sum"), one_page("w", "tip"))
    heads = load_labeled(settings_for(vocabulary, tmp_path, corpus=corpora, validation=more))
    assert [[d.id for d in head.held_out] for head in heads.values()] == [[], ["v", "w"]]
    assert heads["jsonl-2"].scheme.entity_types == ("sum", "tip")  # which no training document has
    strange = written("v", one_page("v", "other"))
    with pytest.raises(SettingsError, match="fit none of jsonl and jsonl-2 better"):
        load_labeled(settings_for(vocabulary, tmp_path, corpus=corpora, validation=strange))
    larger = (corpora[0], written("c", one_page("c", "total"), one_page("d", "vat")))
    heads = load_labeled(
        settings_for(vocabulary, tmp_path, corpus=larger, validation=written("t", one_page("t", "total")))
    )
    assert [[d.id for d in head.held_out] for head in heads.values()] == [["t"], []]
    whole = written("whole", one_page("a", "total"), one_page("b", "total"))
    part = written("part", one_page("b", "total"))
    with pytest.raises(SettingsError, match="1 of 1 documents to look at are among those that jsonl learns from, 'b'"):
        load_labeled(settings_for(vocabulary, tmp_path, corpus=whole, validation=part))


def test_validation_is_looked_at_whichever_corpus_comes_first(data: Path, vocabulary: Path, tmp_path: Path) -> None:
    corpora = [f"funsd:{data / 'funsd'}@test", f"xfund:{data / 'xfund'}@zh.val"]
    for order in (corpora, corpora[::-1]):
        validation = f"xfund:{data / 'xfund'}@fr.val"
        (head,) = load_labeled(settings_for(vocabulary, tmp_path, corpus=order, validation=validation)).values()
        assert len(head.held_out) == 50


def test_documents_without_words_are_not_learnt_from(vocabulary: Path, tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    blank = replace(words_and_boxes("blank"), pages=())
    write([one_page("a", "total"), blank], file)
    run = settings_for(vocabulary, tmp_path, corpus=f"jsonl:{file}")
    assert [document.id for document in load_labeled(run)["jsonl"].training] == ["a"]


def test_a_process_gets_no_more_than_it_was_told() -> None:
    lengths = np.random.default_rng(0).integers(10, 900, 500).tolist()
    for world in (1, 2, 4):
        for rank in range(world):
            for batch in Plan(lengths, Optimization(max_batch_tokens=2048), 1, 0, rank, world):
                assert len(batch) * max(lengths[turn.document] for turn in batch) <= 2048
