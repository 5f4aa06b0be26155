"""Labeled documents of a run: heads, validation and held-out documents."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from formnet.datasets import open_corpus
from formnet.document import Document
from formnet.document.builder import DocumentBuilder
from formnet.document.tags import TagScheme
from formnet.errors import SettingsError
from formnet.extraction.extractor import Extractor
from formnet.io.readers import read
from formnet.io.writers import write
from formnet.training.augmentation.words import augment
from formnet.training.config import Augmentation
from formnet.training.data import (
    HeadData,
    add_teacher_labels,
    hold_out,
    load_readings,
    load_training_data,
    with_segment_boxes,
)
from plain_documents import words_and_boxes
from small_runs import EXAMPLES, ROOT, small_run


def one_page(name: str, label: str, *words: str) -> Document:
    document = words_and_boxes(name, *(words or ("9.00", "Tea")))
    return replace(document, entities=(document.entity(label, [0]),))


def write_corpus(folder: Path, name: str, *documents: Document) -> str:
    write(documents, folder / f"{name}.jsonl")
    return f"jsonl:{folder / name}.jsonl"


def test_load_training_data_fields_or_entities_sets_single_valued(vocabulary: Path, tmp_path: Path) -> None:
    def load(**changes: object) -> dict[str, HeadData]:
        builder = DocumentBuilder("a")
        builder.add_page(["9.00", "Tea", "Milk"], [[0, i, 9, i + 1] for i in range(3)], 10, 10)
        document = replace(builder.build({"total": "9.00"}), **changes)  # type: ignore[arg-type]
        return load_training_data(small_run(vocabulary, tmp_path, corpus=write_corpus(tmp_path, "a", document)))

    assert load()["jsonl"].single_valued
    builder = DocumentBuilder("a")
    builder.add_page(["9.00", "Tea", "Milk"], [[0, i, 9, i + 1] for i in range(3)], 10, 10)
    items = tuple(builder.build().entity("item", [i]) for i in (1, 2))
    assert not load(entities=items)["jsonl"].single_valued


def test_load_training_data_keep_labels_drops_other_entities(vocabulary: Path, tmp_path: Path) -> None:
    document = words_and_boxes("form", "Name:", "Mary", "Page")
    entities = tuple(document.entity(label, [i]) for i, label in enumerate(("question", "answer", "other")))
    spec = write_corpus(tmp_path, "forms", replace(document, entities=entities, links=((0, 1), (2, 1))))
    run = small_run(vocabulary, tmp_path, corpus=spec, keep_labels=["question", "answer"])
    (head,) = load_training_data(run).values()
    assert head.scheme == TagScheme(("question", "answer"))
    assert [entity.label for entity in head.training[0].entities] == ["question", "answer"]
    assert head.training[0].links == ((0, 1),)
    with pytest.raises(SettingsError, match="has no label 'header'"):
        load_training_data(small_run(vocabulary, tmp_path, corpus=spec, keep_labels=["question", "header"]))


def test_load_training_data_unrelated_or_repeated_validation_raises(vocabulary: Path, tmp_path: Path) -> None:
    run = small_run(vocabulary, tmp_path, validation="funsd:nowhere")
    with pytest.raises(SettingsError, match="matches no training corpus"):
        load_training_data(run)
    spec = f"jsonl:{EXAMPLES}"
    with pytest.raises(SettingsError, match="Merge them into one corpus"):
        load_training_data(small_run(vocabulary, tmp_path, validation=[spec, spec]))


def test_hold_out_fewer_documents_keeps_split(documents: list[Document]) -> None:
    many = [replace(documents[0], id=f"document {i}") for i in range(200)]
    kept, held = hold_out(many, 0.2)
    assert 20 < len(held) < 60
    assert {d.id for d in kept}.isdisjoint(d.id for d in held)
    fewer_kept, _ = hold_out(many[:100], 0.2)
    assert {d.id for d in fewer_kept} <= {d.id for d in kept}


def test_load_training_data_small_corpus_sharing_a_head_need_not_be_split(vocabulary: Path, tmp_path: Path) -> None:
    def corpus(name: str, count: int) -> str:
        builders = [DocumentBuilder(f"{name} {number}") for number in range(count)]
        for builder in builders:
            builder.add_page(["9.00", "Tea"], [[0, 0, 9, 1], [0, 1, 9, 2]], 10, 10)
            builder.add_entity("total", [0])
        return write_corpus(tmp_path, name, *(builder.build({"total": "9.00"}) for builder in builders))

    small, large = corpus("small", 1), corpus("large", 50)
    for share in (0.03, 0.2):  # the only document of the small corpus is trained on, or held out
        (head,) = load_training_data(small_run(vocabulary, tmp_path, corpus=(small, large), held_out=share)).values()
        assert len(head.training) + len(head.held_out) == 51
        assert ("small 0" in {document.id for document in head.held_out}) == (share == 0.2)
        assert head.single_valued
    with pytest.raises(SettingsError, match="of 1 documents leaves one side empty"):
        load_training_data(small_run(vocabulary, tmp_path, corpus=small, held_out=0.2))


def test_with_segment_boxes_words_share_the_entity_box(data: Path) -> None:
    document = next(iter(open_corpus(f"funsd:{data / 'funsd'}@train")))
    with_segments = with_segment_boxes(document)
    entity = next(e for e in document.entities if len(e.words) > 1)
    words = list(entity.words)
    boxes = with_segments.boxes[words]
    assert (boxes == boxes[0]).all()
    assert np.array_equal(boxes[0, :2], document.boxes[words, :2].min(axis=0))
    moved = augment(with_segments, Augmentation(jitter=0.3, shift=0.1), np.random.default_rng(0)).boxes[words]
    assert (moved == moved[0]).all()
    assert (moved != boxes).any()


def test_load_training_data_two_corpora_of_one_kind_add_validation_once(vocabulary: Path, tmp_path: Path) -> None:
    def corpus(name: str) -> str:
        builder = DocumentBuilder(name)
        builder.add_page(["9.00", "Tea"], [[0, 0, 9, 1], [0, 1, 9, 2]], 10, 10)
        builder.add_entity("total", [0])
        return write_corpus(tmp_path, name, builder.build())

    run = small_run(vocabulary, tmp_path, corpus=(corpus("a"), corpus("b")), validation=corpus("v"))
    (head,) = load_training_data(run).values()
    assert [document.id for document in head.training] == ["a", "b"]
    assert [document.id for document in head.held_out] == ["v"]


def test_load_training_data_validation_goes_to_head_with_its_labels(vocabulary: Path, tmp_path: Path) -> None:
    def corpus(name: str, *documents: Document) -> str:
        return write_corpus(tmp_path, name, *documents)

    corpora = (corpus("a", one_page("a", "total")), corpus("b", one_page("b", "sum")))
    validation = corpus("v", one_page("v", "sum"), one_page("w", "tip"))
    heads = load_training_data(small_run(vocabulary, tmp_path, corpus=corpora, validation=validation))
    assert [[d.id for d in head.held_out] for head in heads.values()] == [[], ["v", "w"]]
    assert heads["jsonl-2"].scheme.entity_types == ("sum", "tip")  # no training document has a tip
    unrelated = corpus("v", one_page("v", "other"))
    with pytest.raises(SettingsError, match="match none of jsonl and jsonl-2 better"):
        load_training_data(small_run(vocabulary, tmp_path, corpus=corpora, validation=unrelated))
    larger = (corpora[0], corpus("c", one_page("c", "total"), one_page("d", "vat")))
    heads = load_training_data(
        small_run(vocabulary, tmp_path, corpus=larger, validation=corpus("t", one_page("t", "total")))
    )
    assert [[d.id for d in head.held_out] for head in heads.values()] == [["t"], []]
    both = corpus("both", one_page("a", "total"), one_page("b", "total"))
    part = corpus("part", one_page("b", "total"))
    with pytest.raises(
        SettingsError, match="1 of 1 documents are also training documents of jsonl, the first being 'b'"
    ):
        load_training_data(small_run(vocabulary, tmp_path, corpus=both, validation=part))


@pytest.mark.slow
def test_load_training_data_corpora_in_any_order_hold_out_validation(
    data: Path, vocabulary: Path, tmp_path: Path
) -> None:
    corpora = [f"funsd:{data / 'funsd'}@test", f"xfund:{data / 'xfund'}@zh.val"]
    for order in (corpora, corpora[::-1]):
        validation = f"xfund:{data / 'xfund'}@fr.val"
        (head,) = load_training_data(small_run(vocabulary, tmp_path, corpus=order, validation=validation)).values()
        assert len(head.held_out) == 50


def test_load_training_data_documents_without_words_are_skipped(vocabulary: Path, tmp_path: Path) -> None:
    blank = replace(words_and_boxes("blank"), pages=())
    corpus = write_corpus(tmp_path, "a", one_page("a", "total"), blank)
    run = small_run(vocabulary, tmp_path, corpus=corpus)
    assert [document.id for document in load_training_data(run)["jsonl"].training] == ["a"]


def test_load_training_data_canonical_labels_share_a_head(vocabulary: Path, tmp_path: Path) -> None:
    corpora = (
        write_corpus(tmp_path, "a", one_page("a", "total"), one_page("a2", "date")),
        write_corpus(tmp_path, "b", one_page("b", "total"), one_page("b2", "tip")),
    )
    run = small_run(vocabulary, tmp_path, corpus=corpora, labels="canonical", loss="crf")
    (head,) = load_training_data(run).values()
    assert set(head.scheme.entity_types) == {"total", "date", "tip"}
    annotated = {document.id: document.annotated for document in head.training}
    assert annotated == {"a": {"total", "date"}, "a2": {"total", "date"}, "b": {"total", "tip"}, "b2": {"total", "tip"}}
    tip = head.scheme.entity_types.index("tip")
    unknown = [head.scheme.unknown_types(document) for document in head.training]
    assert [bool(mask[tip]) for mask in unknown if mask is not None] == [True, True, False, False]
    (head,) = load_training_data(run.model_copy(update={"fully_labeled": ("jsonl",)})).values()
    assert [head.scheme.unknown_types(document) for document in head.training] == [None] * 4


def test_add_teacher_labels_adds_labels_that_the_corpus_lacks(vocabulary: Path, tmp_path: Path) -> None:
    (invoice,) = read(ROOT / "examples/invoice.pdf")
    taught = next(Extractor.from_pretrained("invoices").annotate([invoice]))
    number = next(entity for entity in taught.entities if entity.label == "invoice_number")
    wrong = invoice.entity("invoice_number", [number.words[0] + 3])
    total = next(entity for entity in taught.entities if entity.label == "total")
    own = replace(invoice, entities=(wrong, replace(total, label="due_date")), links=())
    corpus = write_corpus(tmp_path, "a", *(replace(own, id=name) for name in "abcdefgh"))
    settings = {"labels": "canonical", "loss": "crf", "held_out": 0.5, "teachers": {"jsonl": "invoices"}}
    (head,) = load_training_data(small_run(vocabulary, tmp_path, corpus=corpus, **settings)).values()
    assert all(len(document.entities) == 2 for document in head.training)
    assert "vendor.name" not in head.scheme.entity_types
    add_teacher_labels(head)
    assert head.scheme.entity_types[:2] == ("due_date", "invoice_number")
    assert {"vendor.name", "line_items.total"} <= {*head.scheme.entity_types}
    assert head.training
    for document in head.training:
        labels = [entity.label for entity in document.entities]
        assert (labels.count("invoice_number"), labels.count("due_date")) == (1, 1)
        assert document.entities[labels.index("invoice_number")].words == wrong.words
        assert "total" not in labels  # its words have a label of the corpus
        assert "vendor.name" in labels
        assert document.annotated is None
        owners = {document.entities[owner].label for owner, _ in document.links}
        assert owners == {"line_items.description"}
    assert head.held_out
    assert all(len(document.entities) == 2 for document in head.held_out)


def teach(document: Document, vocabulary: Path, folder: Path) -> Document:
    """Label the rest of a document by the shipped model for invoices."""
    corpus = write_corpus(folder, "a", document)
    settings = {"labels": "canonical", "loss": "crf", "teachers": {"jsonl": "invoices"}}
    (head,) = load_training_data(small_run(vocabulary, folder, corpus=corpus, **settings)).values()
    add_teacher_labels(head)
    (labeled,) = head.training
    return labeled


def test_add_teacher_labels_moves_label_to_the_occurrence_that_the_teacher_finds(
    vocabulary: Path, tmp_path: Path
) -> None:
    (invoice,) = read(ROOT / "examples/invoice.pdf")
    taught = next(Extractor.from_pretrained("invoices").annotate([invoice]))
    total = next(entity for entity in taught.entities if entity.label == "total")
    builder = DocumentBuilder("a")
    page = invoice.pages[0]
    last = page.boxes[-1] + [0, 40, 0, 40]
    amount = invoice.texts[total.words[-1]]
    builder.add_page([*page.texts, amount], [*page.boxes.tolist(), last.tolist()], page.width, page.height)
    paid = builder.build()
    paid = replace(paid, entities=(paid.entity("total", [paid.num_words - 1]),), fields={"total": amount})
    taught_paid = teach(paid, vocabulary, tmp_path)
    assert [entity.words for entity in taught_paid.entities if entity.label == "total"] == [total.words]
    by_position = teach(replace(paid, fields={}), vocabulary, tmp_path)
    assert [entity.words for entity in by_position.entities if entity.label == "total"] == [(paid.num_words - 1,)]


def test_load_training_data_settings_of_unknown_kinds_raise(vocabulary: Path, tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path, "a", one_page("a", "total"))
    settings = {"corpus": corpus, "labels": "canonical", "loss": "crf"}
    with pytest.raises(SettingsError, match=r"teachers: no corpus is of kind 'sorie'\. Kinds: jsonl"):
        load_training_data(small_run(vocabulary, tmp_path, **settings, teachers={"sorie": "invoices"}))
    with pytest.raises(SettingsError, match="fully_labeled has 'jsonl', too"):
        load_training_data(
            small_run(vocabulary, tmp_path, **settings, teachers={"jsonl": "invoices"}, fully_labeled=["jsonl"])
        )


def test_fine_tuning_settings_canonical_labels_without_crf_raise(vocabulary: Path, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="labels: canonical needs loss: crf"):
        small_run(vocabulary, tmp_path, labels="canonical", loss="token")
    with pytest.raises(SettingsError, match="teachers need labels: canonical"):
        small_run(vocabulary, tmp_path, teachers={"jsonl": "invoices"})


def write_readings(folder: Path, *names: str) -> Path:
    file = folder / "readings.jsonl"
    pages = (replace(words_and_boxes(name, "9.0O", "Tea"), fields={"total": "1.00"}) for name in names)
    write((replace(d, pages=tuple(replace(page, text_source="engine 1") for page in d.pages)) for d in pages), file)
    return file


@pytest.mark.parametrize("train_on_readings", [True, False])
def test_load_training_data_readings_stay_on_the_side_of_their_document(
    vocabulary: Path, tmp_path: Path, train_on_readings: bool
) -> None:
    names = [f"r{number}" for number in range(40)]
    corpus = write_corpus(
        tmp_path, "a", *(replace(words_and_boxes(n, "9.00", "Tea"), fields={"total": "9.00"}) for n in names)
    )
    readings = write_readings(tmp_path, *names[:30], "unknown")
    run = small_run(
        vocabulary,
        tmp_path,
        corpus=corpus,
        held_out=0.2,
        readings={"jsonl": readings},
        train_on_readings=train_on_readings,
    )
    (head,) = load_training_data(run).values()
    trained, held = {d.id for d in head.training}, {d.id for d in head.held_out}
    assert trained | held == set(names)
    assert not trained & held
    assert any(document.texts[0] == "9.0O" for document in head.held_out)
    assert any(document.texts[0] == "9.0O" for document in head.training) == train_on_readings
    assert all(document.fields == {"total": "9.00"} for document in head.held_out)


def test_load_readings_documents_without_values_or_with_equal_ids_raise(tmp_path: Path) -> None:
    readings = write_readings(tmp_path, "a")
    with pytest.raises(SettingsError, match="'a' has no keyed-in values"):
        load_readings([one_page("a", "total")], readings)
    document = replace(one_page("a", "total"), fields={"total": "9.00"})
    with pytest.raises(SettingsError, match="several documents have the same ID"):
        load_readings([document, document], readings)


def test_add_teacher_labels_does_not_move_label_onto_another(vocabulary: Path, tmp_path: Path) -> None:
    (invoice,) = read(ROOT / "examples/invoice.pdf")
    taught = next(Extractor.from_pretrained("invoices").annotate([invoice]))
    name = next(entity for entity in taught.entities if entity.label == "vendor.name")
    builder = DocumentBuilder("a")
    page = invoice.pages[0]
    words = [invoice.texts[word] for word in name.words]
    boxes = [(page.boxes[word] + [0, 60, 0, 60]).tolist() for word in range(-len(words), 0)]
    builder.add_page([*page.texts, *words], [*page.boxes.tolist(), *boxes], page.width, page.height)
    document = builder.build()
    own = [*range(invoice.num_words, document.num_words)]
    address = document.entity("vendor.address", [*name.words, name.words[-1] + 1])
    document = replace(document, entities=(document.entity("vendor.name", own), address))
    document = replace(document, fields={"vendor.name": " ".join(words)})
    again = next(Extractor.from_pretrained("invoices").annotate([document]))
    assert name.words in [entity.words for entity in again.entities if entity.label == "vendor.name"]
    labeled = teach(document, vocabulary, tmp_path)
    assert [entity.words for entity in labeled.entities if entity.label == "vendor.name"] == [tuple(own)]
    words_of = [word for entity in labeled.entities for word in entity.words]
    assert len(words_of) == len(set(words_of))
