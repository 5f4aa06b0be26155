import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from formnet.builder import DocumentBuilder
from formnet.corpora import open_corpus
from formnet.document import Document
from formnet.encoding import Encoder, load_tokenizer
from formnet.errors import SettingsError, TokenizerError
from formnet.experiments.compare import read_variants
from formnet.extractor import Extractor
from formnet.modeling import FormNetForMaskedLM, FormNetForTagging
from formnet.modeling.dropout import Dropout
from formnet.readers import read
from formnet.training.augmentation import augment
from formnet.training.batching import Plan
from formnet.training.finetune import finetune
from formnet.training.folder import claim_folder
from formnet.training.labelled import Labelled, hold_out, load_labelled, with_segment_boxes
from formnet.training.letterheads import letterheads_of, put_around
from formnet.training.masking import Masker
from formnet.training.optimiser import freeze, parameter_groups
from formnet.training.pages import PageStream
from formnet.training.pretrain import pretrain, steps_done
from formnet.training.settings import (
    Augmentation,
    FineTuning,
    Optimisation,
    PreTraining,
    Start,
    load_settings,
    make_settings,
)
from formnet.training.start import load_start
from formnet.writers import write

TESTS = Path(__file__).parent
ROOT = TESTS.parent
#: A network that learns a few pages in seconds.
QUICK = {"hidden_size": 64, "num_attention_heads": 4, "attention_backend": "blocked", "radius": 84}


@pytest.fixture(scope="session")
def vocabulary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pieces for the examples: their words and all characters, so that nothing is unknown."""
    texts = {text.lower() for document in read(ROOT / "examples/documents.jsonl") for text in document.texts}
    characters = sorted({c for text in texts for c in text})
    pieces = ["[PAD]", "[UNK]", "[MASK]", *characters, *(f"##{c}" for c in characters), *sorted(texts - {*characters})]
    path = tmp_path_factory.mktemp("vocabulary") / "vocab.txt"
    path.write_text("\n".join(dict.fromkeys(pieces)), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def tokenizer(vocabulary: Path) -> Tokenizer:
    return load_tokenizer(vocabulary)


@pytest.fixture
def documents(examples: Path) -> list[Document]:
    return list(read(examples / "documents.jsonl"))


def settings_for(vocabulary: Path, output: Path, **changes: object) -> FineTuning:
    data = {
        "corpus": f"jsonl:{ROOT / 'examples/documents.jsonl'}",
        "start": {"size": "tiny", "tokenizer": str(vocabulary), "changes": QUICK},
        "output": output,
        "epochs": 3,
        "optimisation": {"learning_rate": 3e-3, "batch_documents": 1, "bf16": False},
        **changes,
    }
    return make_settings(FineTuning, data, "test")


# What a run is told


@pytest.mark.parametrize("variants", sorted((ROOT / "configs").glob("*/*.yaml")), ids=lambda file: file.stem)
def test_shipped_choices_are_settings(variants: Path) -> None:
    config = ROOT / "configs" / variants.name
    for overrides in read_variants(variants).values():
        load_settings(FineTuning, config, overrides)


@pytest.mark.parametrize("config", sorted((ROOT / "configs").glob("*.yaml")), ids=lambda file: file.stem)
def test_shipped_configurations_are_settings(config: Path) -> None:
    load_settings(PreTraining if config.stem.startswith("pretrain") else FineTuning, config)


def test_settings_are_read_and_overridden(tmp_path: Path) -> None:
    file = tmp_path / "run.yaml"
    file.write_text("corpus: funsd:x\nstart: {size: tiny, tokenizer: v}\noutput: o\n")
    run = load_settings(FineTuning, file, ["seed=3", "optimisation.learning_rate=3e-5", "augmentation.drop=0.1"])
    assert (run.seed, run.optimisation.learning_rate, run.augmentation.drop) == (3, 3e-5, 0.1)


@pytest.mark.parametrize(
    ("text", "override", "message"),
    [
        ("corpus: a\nstart: {size: tiny, tokenizer: v}\noutput: o\nepohcs: 3", None, "epohcs"),
        ("corpus: a\nstart: {size: tiny}\noutput: o", None, "name a tokenizer"),
        ("corpus: a\nstart: {size: tiny, encoder: minilm, tokenizer: v}\noutput: o", None, "just one of"),
        ("start: {encoder: minilm}\noutput: o", None, "corpus: Field required"),
        ("corpus: a\nstart: {encoder: minilm}\noutput: o", "seed", "name=value"),
        ("corpus: a\nstart: {encoder: minilm}\noutput: o", "corpus.x=1", "has no parts"),
        ("corpus: a\nstart: {encoder: minilm}\noutput: o\nheld_out: 1.5", None, "held_out"),
        ("[1, 2]", None, "not a list"),
        ("a: [", None, "cannot be read as YAML"),
    ],
)
def test_a_fault_in_settings_is_told_by_its_place(
    tmp_path: Path, text: str, override: str | None, message: str
) -> None:
    file = tmp_path / "run.yaml"
    file.write_text(text)
    with pytest.raises(SettingsError, match=message):
        load_settings(FineTuning, file, [override] if override else ())


def test_a_missing_start_is_explained(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"config\.json"):
        load_start(Start(checkpoint=tmp_path), FormNetForTagging)
    (tmp_path / "config.json").write_text("{")
    for bad in (Start(checkpoint=tmp_path), Start(encoder=str(tmp_path))):
        with pytest.raises(SettingsError, match="cannot begin from"):
            load_start(bad, FormNetForTagging)


def test_an_unknown_size_is_explained(vocabulary: Path) -> None:
    with pytest.raises(SettingsError, match=r"no size 'giant'; known are a1"):
        load_start(Start(size="giant", tokenizer=str(vocabulary)), FormNetForTagging)


# Which weights learn how fast


def test_groups_hold_every_weight_once_and_decay_with_depth(vocabulary: Path) -> None:
    model = load_start(
        Start(size="tiny", tokenizer=str(vocabulary), changes={"num_hidden_layers": 3}), FormNetForTagging
    ).model
    new = {n for n, _ in model.named_parameters() if re.search(r"classifier|\.rich\.|gate|super_tokens", n)}
    settings = Optimisation(learning_rate=1e-4, new_learning_rate=1e-3, layer_decay=0.5)
    groups = parameter_groups(model, settings, 3, new)
    held = [id(p) for group in groups for p in group["params"]]
    assert sorted(held) == sorted(id(p) for p in model.parameters())
    rate = {id(p): group["lr"] for group in groups for p in group["params"]}
    layers = model.formnet.layers
    assert [rate[id(layer.query.weight)] for layer in layers] == [2.5e-5, 5e-5, 1e-4]
    assert rate[id(model.formnet.pieces.weight)] == 1.25e-5
    assert rate[id(model.classifier.weight)] == rate[id(layers[0].rich.row)] == rate[id(model.formnet.gate)] == 1e-3
    decayed = {id(p) for group in groups if group["weight_decay"] for p in group["params"]}
    assert id(layers[0].query.weight) in decayed
    assert id(layers[0].query.bias) not in decayed
    assert id(layers[0].rich.sharpness) not in decayed
    quick = parameter_groups(model, settings.model_copy(update={"layout_learning_rate": 0.01}), 3, new)
    fast = {id(p) for group in quick if group["lr"] == 0.01 for p in group["params"]}
    placed = [p for layer in layers for p in (*layer.rich.parameters(), layer.to_global)]
    assert fast == {id(model.formnet.gate), *map(id, placed)}
    cold = parameter_groups(model, settings, 3, ())
    assert max(group["lr"] for group in cold) == 1e-4


def test_what_is_frozen_does_not_learn(vocabulary: Path) -> None:
    model = load_start(Start(size="tiny", tokenizer=str(vocabulary)), FormNetForTagging).model
    stay = ("formnet.pieces", "formnet.layers.0.")
    freeze(model, stay)
    learning = {id(p) for group in parameter_groups(model, Optimisation(), 2, ()) for p in group["params"]}
    assert learning == {id(p) for name, p in model.named_parameters() if not name.startswith(stay)}
    with pytest.raises(SettingsError, match="no weight is called 'nothing'"):
        freeze(model, ["nothing"])


def test_dropout_drops_its_share_keeps_the_mean_and_repeats() -> None:
    dropout, ones = Dropout(0.25), torch.ones(400, 500)
    torch.manual_seed(1)
    first = dropout(ones)
    torch.manual_seed(1)
    assert torch.equal(first, dropout(ones))
    assert not torch.equal(first, dropout(ones))
    assert abs((first == 0).float().mean() - 0.25) < 0.005
    assert abs(first.mean() - 1) < 0.01
    assert torch.equal(dropout.eval()(ones), ones)


# Documents made worse


@given(
    st.builds(
        Augmentation,
        jitter=st.floats(0, 2),
        scale=st.floats(0, 0.5),
        shift=st.floats(0, 0.5),
        drop=st.floats(0, 1),
        misread=st.floats(0, 1),
        raster=st.floats(0, 0.5),
        shuffled=st.floats(0, 0.5),
    ),
    st.integers(0, 99),
)
def test_worse_documents_are_documents_still(settings: Augmentation, seed: int) -> None:
    document = next(read(ROOT / "examples/documents.jsonl"))
    worse = augment(document, settings, np.random.default_rng(seed))
    page = worse.pages[0]
    assert (page.boxes[:, :2] >= 0).all()
    assert (page.boxes[:, 2:] <= (page.width, page.height)).all()
    assert (page.boxes[:, 2:] > page.boxes[:, :2]).all()
    assert all(page.texts)
    labels = {entity.label for entity in document.entities}
    assert all(entity.label in labels and max(entity.words) < worse.num_words for entity in worse.entities)
    assert worse == augment(document, settings, np.random.default_rng(seed))


def test_nothing_asked_changes_nothing(documents: list[Document]) -> None:
    same = augment(documents[0], Augmentation(), np.random.default_rng(0))
    assert same.texts == documents[0].texts
    assert same.entities == documents[0].entities
    assert np.allclose(same.boxes, documents[0].boxes)


def test_words_missed_are_missing_from_entities(documents: list[Document]) -> None:
    worse = augment(documents[0], Augmentation(drop=0.5), np.random.default_rng(3))
    assert 0 < worse.num_words < documents[0].num_words
    for entity in worse.entities:
        assert entity.text == " ".join(worse.texts[word] for word in entity.words)


def test_a_letterhead_is_put_around_a_document_and_labelled_as_nothing(documents: list[Document]) -> None:
    builder = DocumentBuilder("sender")
    builder.add_page(
        ["Elm", "Bakery", "12", "Mill", "Lane", "Bread", "4.50", "Thank", "you"],
        [(10, 10, 40, 20), (45, 10, 90, 20), (10, 30, 20, 40), (25, 30, 50, 40), (55, 30, 80, 40),
         (10, 50, 40, 60), (60, 50, 80, 60), (10, 70, 40, 80), (45, 70, 60, 80)],
        100, 100,
    )  # fmt: skip
    sender = builder.done()
    sender = replace(sender, entities=(sender.entity("company", [0, 1]), sender.entity("address", [2, 3, 4])))
    (letterhead,) = letterheads_of([sender])
    assert letterhead.top.texts == ("Elm", "Bakery", "12", "Mill", "Lane")
    assert letterhead.foot.texts == ("Thank", "you")
    assert letterheads_of([replace(sender, entities=())]) == []

    document = documents[0]
    framed = put_around(document, letterhead, np.random.default_rng(0))
    assert framed.texts[:2] == ("Elm", "Bakery")
    assert framed.num_words > document.num_words
    assert [(e.label, e.text) for e in framed.entities] == [(e.label, e.text) for e in document.entities]
    page, first = framed.pages[0], framed.texts.index(document.texts[0])
    assert page.boxes[:first, 3].max() <= page.boxes[first : first + document.num_words, 1].min()
    assert (page.boxes >= 0).all()
    assert (page.boxes <= np.tile([page.width, page.height], 2)).all()


def test_fields_with_one_value_are_told_from_entities_of_many(vocabulary: Path, tmp_path: Path) -> None:
    def written(**changes: object) -> dict[str, Labelled]:
        build = DocumentBuilder("a")
        build.add_page(["9.00", "Tea", "Milk"], [[0, i, 9, i + 1] for i in range(3)], 10, 10)
        document = replace(build.done({"total": "9.00"}), **changes)  # type: ignore[arg-type]
        write([document], tmp_path / "a.jsonl")
        return load_labelled(settings_for(vocabulary, tmp_path, corpus=f"jsonl:{tmp_path / 'a.jsonl'}"))

    assert written()["jsonl"].once
    build = DocumentBuilder("a")
    build.add_page(["9.00", "Tea", "Milk"], [[0, i, 9, i + 1] for i in range(3)], 10, 10)
    items = tuple(build.done().entity("item", [i]) for i in (1, 2))
    assert not written(entities=items)["jsonl"].once


def test_validation_belongs_to_a_corpus(vocabulary: Path, tmp_path: Path) -> None:
    run = settings_for(vocabulary, tmp_path, validation="funsd:nowhere")
    with pytest.raises(SettingsError, match="belongs to no corpus"):
        load_labelled(run)
    spec = f"jsonl:{ROOT / 'examples/documents.jsonl'}"
    with pytest.raises(SettingsError, match="join them"):
        load_labelled(settings_for(vocabulary, tmp_path, validation=[spec, spec]))


def test_what_cannot_be_is_refused(vocabulary: Path, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be more than all"):
        settings_for(vocabulary, tmp_path, augmentation={"raster": 0.6, "shuffled": 0.6})
    with pytest.raises(SettingsError, match="warm_up"):
        settings_for(vocabulary, tmp_path, optimisation={"warm_up": 1})
    with pytest.raises(SettingsError, match="has no hiden_size"):
        load_start(Start(size="tiny", tokenizer=str(vocabulary), changes={"hiden_size": 8}), FormNetForTagging)
    with pytest.raises(SettingsError, match="one for each"):
        finetune(settings_for(vocabulary, tmp_path, temperatures=[1.0, 2.0]))


def test_a_stream_without_pages_ends_in_words(tokenizer: Tokenizer) -> None:
    files = [ROOT / "examples/documents.jsonl"]
    empty = PageStream(files, Encoder(tokenizer), Masker(tokenizer, 0.3), 512, held_out=99)
    with pytest.raises(SettingsError, match="no pages with words are left"):
        next(iter(empty))


def test_letterheads_name_heads_that_there_are(vocabulary: Path, tmp_path: Path) -> None:
    run = settings_for(vocabulary, tmp_path, letterheads={"jsonl": "nobody"})
    with pytest.raises(SettingsError, match="no head 'nobody'; there are jsonl"):
        finetune(run)


# Batches


def test_a_plan_holds_every_document_once_an_epoch_and_ranks_share_it() -> None:
    lengths = np.random.default_rng(0).integers(10, 300, 50).tolist()
    settings = Optimisation(batch_pieces=600, batch_documents=4)
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
    with pytest.raises(SettingsError, match="leaves one side empty"):
        hold_out(many[:1], 0.2)


def test_segment_boxes_are_the_entities(data: Path) -> None:
    document = next(iter(open_corpus(f"funsd:{data / 'funsd'}@train")))
    easier = with_segment_boxes(document)
    entity = next(e for e in document.entities if len(e.words) > 1)
    boxes = easier.boxes[list(entity.words)]
    assert (boxes == boxes[0]).all()
    assert np.array_equal(boxes[0, :2], document.boxes[list(entity.words), :2].min(axis=0))


# The masked language task


@pytest.mark.parametrize("whole_words", [True, False])
def test_masking_hides_its_share_and_remembers_it(
    documents: list[Document], tokenizer: Tokenizer, whole_words: bool
) -> None:
    encoded = Encoder(tokenizer)(documents[1])
    masker = Masker(tokenizer, 0.3, whole_words=whole_words)
    hidden = []
    for seed in range(60):
        masked, labels = masker(encoded, np.random.default_rng(seed))
        asked = labels >= 0
        assert (labels[asked] == encoded.piece_ids[asked]).all()
        assert (masked.piece_ids[~asked] == encoded.piece_ids[~asked]).all()
        if whole_words:
            by_word = [set(asked[list(encoded.pieces_of(word))].tolist()) for word in range(encoded.num_words)]
            assert all(len(fates) == 1 for fates in by_word)
        hidden.append((asked.mean(), (masked.piece_ids[asked] == masker.mask_id).mean()))
    share, of_it = np.mean(hidden, axis=0)
    assert abs(share - 0.3) < 0.03
    assert abs(of_it - 0.8) < 0.05


def test_masking_needs_a_mask(tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text("[PAD]\n[UNK]\na")
    with pytest.raises(TokenizerError, match="MASK"):
        Masker(load_tokenizer(tmp_path))


@pytest.fixture
def pages(tmp_path: Path, documents: list[Document]) -> list[Path]:
    files = [tmp_path / "a.jsonl", tmp_path / "b.jsonl.gz"]
    for name, file in zip("ab", files, strict=True):
        write((replace(documents[i % 2], id=f"{name}{i}") for i in range(9)), file)
    return files


def stream(pages: list[Path], tokenizer: Tokenizer, **options: int) -> PageStream:
    return PageStream(pages, Encoder(tokenizer), Masker(tokenizer), 300, shuffle=6, **options)


def test_a_stream_goes_on_where_it_was_cut_off(pages: list[Path], tokenizer: Tokenizer) -> None:
    whole = list(islice(stream(pages, tokenizer), 30))
    later = stream(pages, tokenizer)
    later.passed = 13
    for one, other in zip(whole[13:], islice(later, 17), strict=True):
        assert one.keys() == other.keys()
        assert all(torch.equal(one[name], other[name]) for name in one)


def test_a_stream_goes_through_all_pages_and_ranks_share_them(pages: list[Path], tokenizer: Tokenizer) -> None:
    def seen(rank: int, world: int, round_: int) -> list[str]:
        return [page.id for page in stream(pages, tokenizer, rank=rank, world=world)._round(round_)]

    everything = seen(0, 1, 0)
    assert len(everything) == len(set(everything)) == 2 * (5 * 1 + 4 * 2)  # receipts of one page, invoices of two
    assert sorted(seen(0, 2, 0) + seen(1, 2, 0)) == sorted(everything)
    assert seen(0, 1, 1) != everything
    held = stream(pages, tokenizer, held_out=3)
    assert {page.id for page in held.held_out_pages()}.isdisjoint(page.id for page in held._round(0))


def test_files_end_together_however_long_their_pages_are(tokenizer: Tokenizer, tmp_path: Path) -> None:
    files = []
    for name, words in (("short", 2), ("long", 60)):
        build = [DocumentBuilder(f"{name}-{i}") for i in range(60)]
        for one in build:
            one.add_page(["total"] * words, [[i, 0, i + 1, 1] for i in range(words)], 100, 100)
        files.append(tmp_path / f"{name}.jsonl")
        write([one.done() for one in build], files[-1])
    order = [page.id.partition("-")[0] for page in stream(files, tokenizer)._round(0)]
    assert len(order) == 120
    assert set(order[-30:]) == {"short", "long"}


def test_parquet_gives_the_same_pages(tmp_path: Path, documents: list[Document]) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rows = [{"id": d.id, "pages": d.to_json()["pages"]} for d in documents]
    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "pages.parquet")
    for one, other in zip(documents, read(tmp_path / "pages.parquet"), strict=True):
        assert one.pages == other.pages


# Runs


def test_a_few_documents_are_learnt_by_heart(vocabulary: Path, tmp_path: Path) -> None:
    run = settings_for(vocabulary, tmp_path / "run", epochs=60)
    finetune(run)
    extractor = Extractor.from_pretrained(run.output)
    documents = list(read(ROOT / "examples/documents.jsonl"))
    for document, found in zip(documents, extractor.entities(documents), strict=True):
        assert [(e.label, e.words) for e in found] == sorted(
            ((e.label, e.words) for e in document.entities), key=lambda item: item[1]
        )


def test_heads_learn_their_own_tags_and_are_asked_apart(vocabulary: Path, tmp_path: Path) -> None:
    documents = list(read(ROOT / "examples/documents.jsonl"))
    entities = tuple(replace(entity, label=f"my {entity.label}") for entity in documents[0].entities)
    renamed = replace(documents[0], entities=entities, fields={})
    write(documents, tmp_path / "one.jsonl")
    write([renamed], tmp_path / "two.jsonl")
    corpora = [f"jsonl:{tmp_path / name}.jsonl" for name in ("one", "two")]
    run = settings_for(vocabulary, tmp_path / "run", epochs=60, corpus=corpora)
    finetune(run)
    extractor = Extractor.from_pretrained(run.output)
    assert list(extractor.heads) == ["jsonl", "jsonl-2"]
    both = {(e.label, e.words) for e in extractor.entities(documents[:1])[0]}
    assert both == {(e.label, e.words) for d in (documents[0], renamed) for e in d.entities}
    alone = extractor.entities(documents[:1], "jsonl-2")[0]
    assert {e.label for e in alone} == {e.label for e in renamed.entities}
    assert extractor.head_for({e.label for e in renamed.entities}) == "jsonl-2"


def test_a_handful_of_real_forms_is_learnt_by_heart(data: Path, tmp_path: Path) -> None:
    from formnet.evaluation.counts import sum_counts
    from formnet.evaluation.evaluate import judge
    from formnet.training.labelled import load_labelled

    run = make_settings(
        FineTuning,
        {
            "corpus": f"funsd:{data / 'funsd'}@train",
            "documents": 4,
            "start": {
                "size": "tiny",
                "tokenizer": str(data / "vocab/bert-base-uncased-vocab.txt"),
                "changes": {**QUICK, "hidden_size": 128},
            },
            "output": tmp_path,
            "epochs": 60,
            "optimisation": {"learning_rate": 3e-3, "batch_documents": 2, "bf16": False},
        },
        "test",
    )
    extractor = finetune(run)
    judged, _ = judge(extractor, load_labelled(run)["funsd"].training)
    score = sum_counts(one.counts for one in judged).micro.score
    assert score.f1 == 1.0


def test_a_folder_belongs_to_one_run(vocabulary: Path, tmp_path: Path) -> None:
    run = settings_for(vocabulary, tmp_path, epochs=1)
    claim_folder(run, resume=True)
    claim_folder(run.model_copy(update={"save_minutes": 1.0}), resume=True)
    other = run.model_copy(update={"epochs": 2, "seed": 5})
    with pytest.raises(SettingsError, match="another epochs, seed"):
        claim_folder(other, resume=True)
    (tmp_path / "checkpoint-3").mkdir()
    (tmp_path / "trainer_state.json").touch()
    claim_folder(other, resume=False)
    assert not (tmp_path / "checkpoint-3").exists()
    assert not (tmp_path / "trainer_state.json").exists()
    claim_folder(other, resume=True)


def losses(output: Path) -> list[tuple[int, float]]:
    state = json.loads((output / "trainer_state.json").read_text())
    return [(entry["step"], entry["loss"]) for entry in state["log_history"] if "loss" in entry]


@pytest.mark.parametrize("command", ["train", "pretrain"])
def test_a_run_killed_goes_on_as_if_nothing_had_happened(
    vocabulary: Path, tmp_path: Path, pages: list[Path], command: str
) -> None:
    common = {
        "start": {"size": "tiny", "tokenizer": str(vocabulary), "changes": {"attention_backend": "blocked"}},
        "optimisation": {"batch_documents": 2, "batch_pieces": 300, "bf16": True},
        "save_minutes": 0,
    }
    own = {
        "train": {
            "corpus": f"jsonl:{ROOT / 'examples/documents.jsonl'}",
            "epochs": 24,  # of one step each, so that every step's loss is logged
            "augmentation": {"drop": 0.1, "jitter": 0.1},
        },
        "pretrain": {"pages": [str(file) for file in pages], "steps": 24, "look_every": 1, "shuffle": 5},
    }[command]
    (tmp_path / "run.yaml").write_text(json.dumps({**common, **own, "output": str(tmp_path / "none")}))

    def start(output: Path) -> "subprocess.Popen[bytes]":
        arguments = [command, str(tmp_path / "run.yaml"), "--set", f"output={output}"]
        return subprocess.Popen(
            [sys.executable, "-m", "formnet.cli", *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert start(whole).wait(timeout=300) == 0
    moment = random.randrange(4, 20)
    process = start(killed)
    while steps_done_or_none(killed) < moment and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL, "the run was over before it was killed"
    assert start(killed).wait(timeout=300) == 0
    assert losses(whole) == losses(killed)
    weights = [FormNetForTagging if command == "train" else FormNetForMaskedLM] * 2
    one, other = (kind.from_pretrained(folder) for kind, folder in zip(weights, (whole, killed), strict=True))
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))


def steps_done_or_none(output: Path) -> int:
    try:
        return steps_done(output)
    except (OSError, ValueError):  # a checkpoint is being written
        return 0


def test_two_processes_give_the_gradients_of_one(vocabulary: Path, tmp_path: Path) -> None:
    script = str(TESTS / "one_step.py")
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    for world in (1, 2):
        launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={world}"]
        arguments = [str(vocabulary), str(tmp_path / f"{world}")]
        done = subprocess.run(
            [*launch, script, *arguments], env=environment, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, done.stderr
    one, two = (torch.load(tmp_path / f"{world}/gradients.pt", weights_only=True) for world in (1, 2))
    assert one.keys() == two.keys()
    for name in one:
        assert torch.allclose(one[name], two[name], rtol=1e-4, atol=1e-7), name


def test_pretraining_learns_and_fine_tuning_starts_from_it(pages: list[Path], vocabulary: Path, tmp_path: Path) -> None:
    run = make_settings(
        PreTraining,
        {
            "pages": pages,
            "start": {"size": "tiny", "tokenizer": str(vocabulary), "changes": QUICK},
            "output": tmp_path / "pretrained",
            "steps": 80,
            "look_every": 10,
            "held_out_pages": 1,
            "shuffle": 8,
            "optimisation": {"learning_rate": 3e-3, "batch_pieces": 600, "bf16": False},
        },
        "test",
    )
    seen = pretrain(run)
    assert pretrain(run) == seen  # what is over is not begun again
    assert [look["step"] for look in seen["held_out"]][-1] == run.steps
    curve = [loss for _, loss in losses(run.output)]
    assert curve[-1] < 0.9 * curve[0]
    history = json.loads((run.output / "trainer_state.json").read_text())["log_history"]
    looks = [entry["eval_loss"] for entry in history if "eval_loss" in entry]
    assert looks[-1] < looks[0]
    tuned = settings_for(vocabulary, tmp_path / "tuned", start={"checkpoint": run.output}, epochs=1)
    begun = load_start(tuned.start, FormNetForTagging, id2label={0: "O"}, label2id={"O": 0})
    model = begun.model
    assert begun.new == {"classifier.weight", "classifier.bias"}  # all else was pre-trained
    before = FormNetForMaskedLM.from_pretrained(run.output)
    assert torch.equal(model.formnet.pieces.weight, before.formnet.pieces.weight)
    assert torch.equal(model.formnet.layers[1].expand.weight, before.formnet.layers[1].expand.weight)
