from pathlib import Path

import numpy as np
import pytest

from command_line import run_command
from formnet.document import Document
from formnet.errors import SettingsError
from formnet.extraction.extractor import Extractor
from formnet.training.config import Distillation, make_settings
from formnet.training.distill import distill, tag_probabilities
from formnet.training.ensemble import Ensemble
from small_runs import EXAMPLES, SMALL_MODEL


def small_distillation(vocabulary: Path, teachers: list[Path], output: Path, **settings: object) -> Distillation:
    data = {
        "init": {"size": "tiny", "tokenizer": str(vocabulary), "overrides": SMALL_MODEL},
        "teachers": teachers,
        "corpus": f"jsonl:{EXAMPLES}",
        "output": output,
        "optimization": {"learning_rate": 6e-3, "max_batch_documents": 1, "bf16": False, "compile": False},
        **settings,
    }
    return make_settings(Distillation, data, "test")


def mean_difference(first: Extractor, second: Extractor, documents: list[Document]) -> float:
    pairs = zip(tag_probabilities(first, documents), tag_probabilities(second, documents), strict=True)
    return float(np.mean(np.concatenate([np.abs(a - b).sum(-1) for a, b in pairs])))


def test_tag_probabilities_sum_to_one(extractor: Extractor, documents: list[Document]) -> None:
    for probabilities, document in zip(tag_probabilities(extractor, documents), documents, strict=True):
        assert probabilities.shape == (document.num_words, len(extractor.heads[""]))
        assert np.allclose(probabilities.sum(-1), 1, atol=1e-5)


@pytest.mark.training
@pytest.mark.slow
def test_distill_learns_the_probabilities_of_its_teachers(
    vocabulary: Path, model: Path, tmp_path: Path, documents: list[Document]
) -> None:
    run = small_distillation(vocabulary, [model, model], tmp_path / "run", epochs=45)
    untrained = distill(run.model_copy(update={"output": tmp_path / "untrained", "epochs": 1}))
    distill(run)
    teacher, student = Extractor.from_pretrained(model), Extractor.from_pretrained(run.output)
    assert student.heads == teacher.heads
    assert mean_difference(student, teacher, documents) < 0.3 * mean_difference(untrained, teacher, documents)


@pytest.mark.training
@pytest.mark.slow
def test_distill_command_runs_with_limited_documents(vocabulary: Path, model: Path, tmp_path: Path) -> None:
    run = small_distillation(vocabulary, [model], tmp_path / "run", epochs=1, documents=1, token_mask=0.2)
    config = tmp_path / "distill.yaml"
    config.write_text(run.model_dump_json())
    run_command("distill", str(config))
    assert Extractor.from_pretrained(run.output).labels == Extractor.from_pretrained(model).labels


def test_distill_without_words_raises(vocabulary: Path, model: Path, tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text('{"id": "a", "width": 10, "height": 10, "words": [], "boxes": []}\n')
    run = small_distillation(vocabulary, [model], tmp_path / "run", corpus=f"jsonl:{tmp_path / 'empty.jsonl'}")
    with pytest.raises(SettingsError, match="no document has words"):
        distill(run)


def test_ensemble_different_labels_raises(extractor: Extractor) -> None:
    with pytest.raises(SettingsError, match="different labels"):
        Ensemble([extractor, Extractor.from_pretrained("receipts")])
