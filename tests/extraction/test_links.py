from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from formnet.errors import SettingsError
from formnet.evaluation.evaluate import compute_metrics, predict_and_compare
from formnet.extraction.annotations import Annotations
from formnet.extraction.extractor import Extractor
from formnet.extraction.links import decode_forest, split_key
from formnet.io.writers import write
from formnet.modeling.onnx import export_onnx
from formnet.training.experiments.structure import run_seeds_structure
from linked_receipts import linked_receipt
from small_runs import small_run


def test_decode_forest_takes_the_surest_links_and_no_circles() -> None:
    parts = np.array([0, 1, 2])
    owners = np.array([[1, 2], [0, -1], [0, 1]])
    probabilities = np.array([[0.9, 0.05, 0.05], [0.8, 0.0, 0.2], [0.1, 0.2, 0.7]])
    # Entity 1 owns entity 0, so entity 0 cannot own entity 1, which has no other candidate; entity 2 has no owner.
    assert decode_forest(parts, owners, probabilities) == [(1, 0, 0.9)]


@given(st.integers(2, 8), st.integers(0, 2**32 - 1))
def test_decode_forest_is_a_forest(count: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    parts = np.arange(count)
    owners = np.array([generator.permutation([i for i in range(count) if i != part]) for part in parts])
    scores = generator.random((count, count)) ** 4
    links = decode_forest(parts, owners, scores / scores.sum(axis=1, keepdims=True))
    owner_of = {part: owner for owner, part, _ in links}
    assert len(owner_of) == len(links)
    for start in owner_of:
        seen, current = set(), start
        while current in owner_of:
            assert current not in seen
            seen.add(current)
            current = owner_of[current]


def test_split_key_separates_caption_and_value() -> None:
    receipt = linked_receipt(1)
    total = replace(receipt.entities[-1], key_words=(), key_text="", text="Total: 1.00")
    scores = np.where(np.array(receipt.texts) == "Total:", 3.0, -3.0).astype(np.float32)
    split = split_key(receipt, total, scores)
    assert (split.text, split.key_text, split.words) == ("1.00", "Total:", total.words)
    assert split_key(receipt, total, None) == total
    assert split_key(receipt, total, -scores) == total  # the value would be "Total:"
    assert split_key(receipt, total, np.full_like(scores, 3.0)) == total


def test_annotations_drop_below_renumbers_links() -> None:
    receipt = linked_receipt(2)
    scored = [replace(entity, score=number / 10) for number, entity in enumerate(receipt.entities)]
    annotations = Annotations([], []).drop_below(0.5)
    assert annotations == Annotations([], [])
    kept = Annotations(scored, list(receipt.links)).drop_below(0.3)
    assert [entity.score for entity in kept.entities] == [entity.score for entity in scored[3:]]
    texts = {(kept.entities[owner].text, kept.entities[part].text) for owner, part in kept.links}
    assert texts == {("Cake", "2x"), ("Cake", "1.50"), ("Cake", "extra milk")}
    linked = Annotations(scored, []).add_links([(1, 0, 0.75)])
    assert linked.links == [(1, 0)]
    assert linked.entities[0].link_score == 0.75


@pytest.mark.training
@pytest.mark.slow
@pytest.mark.parametrize("link_states", [True, False])
def test_model_with_structure_learns_captions_and_links_and_exports(
    link_states: bool, vocabulary: Path, tmp_path: Path
) -> None:
    receipts = [linked_receipt(items, f"receipt {items}") for items in (2, 3, 4, 5)]
    write(receipts, tmp_path / "receipts.jsonl")
    corpus = f"jsonl:{tmp_path / 'receipts.jsonl'}"
    run = small_run(
        vocabulary,
        tmp_path / "run",
        corpus=corpus,
        epochs=60,
        structure=True,
        link_size=16,
        link_states=link_states,
        optimization={"learning_rate": 6e-3},
    )
    scores = run_seeds_structure(run, corpus, [0])
    assert scores["f1"]["per_seed"] == scores["f1_spans_given"]["per_seed"] == [1]
    assert "donut_f1" not in scores  # the labels are not those of CORD
    with pytest.raises(SettingsError, match="Set structure: true"):
        run_seeds_structure(run.model_copy(update={"structure": False}), corpus, [0])
    extractor = Extractor.from_pretrained(run.output / "seed-0")
    metrics = compute_metrics(*predict_and_compare(extractor, receipts))
    assert metrics["entities"]["f1"] == 1
    assert metrics["structure"]["links"]["f1"] == 1
    assert metrics["structure"]["links_entities_given"]["parts_attached"] == 1
    found = extractor.extract(receipts[2])
    total = found.entities[-1]
    assert (total.label, total.key_text, total.text) == ("total", "Total:", "4.00")
    assert all(entity.link_score > 0.5 for entity in found.entities if entity.link_score is not None)
    assert set(found.links) == set(receipts[2].links)
    export_onnx(extractor.model, tmp_path / "onnx")
    extractor.encoder.tokenizer.save(str(tmp_path / "onnx" / "tokenizer.json"))
    exported = Extractor.from_pretrained(tmp_path / "onnx").extract(receipts)
    for document, expected in zip(exported, extractor.extract(receipts), strict=True):
        assert document.links == expected.links
        assert [(e.text, e.key_text) for e in document.entities] == [(e.text, e.key_text) for e in expected.entities]
