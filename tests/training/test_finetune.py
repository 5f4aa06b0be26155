"""Fine-tuning: models overfit a few documents, and invalid settings raise before training."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from formnet.document import Document
from formnet.evaluation.counts import sum_counts
from formnet.evaluation.evaluate import predict_and_compare
from formnet.extraction.extractor import Extractor
from formnet.io.writers import write
from formnet.training.config import FineTuning, make_settings
from formnet.training.data import load_training_data
from formnet.training.finetune import finetune
from plain_documents import words_and_boxes
from small_runs import SMALL_MODEL, small_run


@pytest.mark.training
@pytest.mark.slow
def test_finetune_few_documents_overfits(vocabulary: Path, tmp_path: Path, documents: list[Document]) -> None:
    run = small_run(vocabulary, tmp_path / "run", epochs=45, optimization={"learning_rate": 6e-3})
    finetune(run)
    extractor = Extractor.from_pretrained(run.output)
    for document, predicted in zip(documents, extractor.entities(documents), strict=True):
        assert [(e.label, e.words) for e in predicted] == sorted(
            ((e.label, e.words) for e in document.entities), key=lambda item: item[1]
        )


@pytest.mark.training
@pytest.mark.slow
def test_finetune_two_heads_predict_their_own_labels(
    vocabulary: Path, tmp_path: Path, documents: list[Document]
) -> None:
    entities = tuple(replace(entity, label=f"my {entity.label}") for entity in documents[0].entities)
    renamed = replace(documents[0], entities=entities, fields={})
    write(documents, tmp_path / "one.jsonl")
    write([renamed], tmp_path / "two.jsonl")
    corpora = [f"jsonl:{tmp_path / name}.jsonl" for name in ("one", "two")]
    run = small_run(vocabulary, tmp_path / "run", epochs=30, corpus=corpora, optimization={"learning_rate": 6e-3})
    finetune(run)
    extractor = Extractor.from_pretrained(run.output)
    assert list(extractor.heads) == ["jsonl", "jsonl-2"]
    both = {(e.label, e.words) for e in extractor.entities(documents[:1])[0]}
    assert both == {(e.label, e.words) for d in (documents[0], renamed) for e in d.entities}
    second = extractor.entities(documents[:1], "jsonl-2")[0]
    assert {e.label for e in second} == {e.label for e in renamed.entities}
    assert extractor.head_for({e.label for e in renamed.entities}) == "jsonl-2"


@pytest.mark.training
@pytest.mark.slow
def test_finetune_canonical_labels_learns_each_from_its_corpus(
    vocabulary: Path, tmp_path: Path, documents: list[Document]
) -> None:
    """The same page twice, each time with half of its labels: the other half is unknown there, not absent."""
    labels = sorted({entity.label for entity in documents[0].entities})
    for name, part in (("one", labels[::2]), ("two", labels[1::2])):
        own = tuple(entity for entity in documents[0].entities if entity.label in part)
        write([replace(documents[0], id=name, entities=own, links=(), fields={})], tmp_path / f"{name}.jsonl")
    run = small_run(
        vocabulary,
        tmp_path / "run",
        epochs=80,
        corpus=[f"jsonl:{tmp_path / name}.jsonl" for name in ("one", "two")],
        labels="canonical",
        loss="crf",
        optimization={"learning_rate": 6e-3},
    )
    finetune(run)
    extractor = Extractor.from_pretrained(run.output)
    assert len(extractor.heads) == 1
    found = {(e.label, e.words) for e in extractor.entities(documents[:1])[0]}
    assert found == {(e.label, e.words) for e in documents[0].entities}


@pytest.mark.training
@pytest.mark.slow
def test_finetune_teacher_labels_what_the_corpus_does_not(
    vocabulary: Path, tmp_path: Path, documents: list[Document]
) -> None:
    page = replace(documents[0], links=(), fields={})
    labels = sorted({entity.label for entity in page.entities})
    other = words_and_boxes("other", *labels)
    other = replace(other, entities=tuple(other.entity(label, [i]) for i, label in enumerate(labels)))
    for name, document in (("all", page), ("one", replace(page, entities=page.entities[:1])), ("other", other)):
        write([document], tmp_path / f"{name}.jsonl")

    def train(*names: str, **settings: object) -> Extractor:
        corpus = [f"jsonl:{tmp_path / name}.jsonl" for name in names]
        common = {"labels": "canonical", "loss": "crf", "epochs": 80, "optimization": {"learning_rate": 6e-3}}
        return finetune(small_run(vocabulary, tmp_path / f"run-{names[0]}", corpus=corpus, **common, **settings))

    train("all")
    student = train("one", "other", teachers={"jsonl": tmp_path / "run-all"})
    found = {(entity.label, entity.words) for entity in student.entities([page])[0]}
    assert found == {(entity.label, entity.words) for entity in page.entities}


@pytest.mark.training
@pytest.mark.slow
def test_finetune_real_forms_overfits(data: Path, tmp_path: Path) -> None:
    run = make_settings(
        FineTuning,
        {
            "corpus": f"funsd:{data / 'funsd'}@train",
            "documents": 4,
            "init": {
                "size": "tiny",
                "tokenizer": str(data / "vocab/bert-base-uncased-vocab.txt"),
                "overrides": {**SMALL_MODEL, "hidden_size": 128},
            },
            "output": tmp_path,
            "epochs": 20,
            "optimization": {"learning_rate": 3e-3, "max_batch_documents": 1, "bf16": False, "compile": False},
        },
        "test",
    )
    extractor = finetune(run)
    results, _, _ = predict_and_compare(extractor, load_training_data(run)["funsd"].training)
    score = sum_counts(result.counts for result in results).micro.score
    assert score.f1 == 1.0


@pytest.mark.training
@pytest.mark.slow
def test_finetune_constant_schedule_warms_up(vocabulary: Path, tmp_path: Path) -> None:
    optimization = {"schedule": "constant", "warmup_ratio": 0.5}
    run = small_run(vocabulary, tmp_path, epochs=4, optimization=optimization)
    finetune(run)
    history = json.loads((tmp_path / "trainer_state.json").read_text())["log_history"]
    rates = [entry["learning_rate"] for entry in history if "learning_rate" in entry]
    assert rates[0] < rates[-1] == run.optimization.learning_rate
