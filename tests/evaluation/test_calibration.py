from dataclasses import replace

import numpy as np

from formnet.document import Document
from formnet.document.builder import DocumentBuilder
from formnet.document.tags import TagScheme
from formnet.evaluation.calibration import coverage_at_precision, fit_temperature, reliability
from formnet.extraction.decoding import decode


def test_reliability_known_bins_is_exact() -> None:
    result = reliability([0.95] * 10 + [0.15] * 10, [True] * 9 + [False] + [True] * 5 + [False] * 5)
    assert result.count.tolist() == [0, 10, 0, 0, 0, 0, 0, 0, 0, 10]
    assert np.isclose(result.ece, (0.05 * 10 + 0.35 * 10) / 20)
    assert reliability([], []).ece == 0.0
    assert reliability([1.0], [True]).ece == 0.0


def test_fit_temperature_scaled_scores_recovers_factor() -> None:
    generator = np.random.default_rng(0)
    count, scheme = 4000, TagScheme(("a",))
    builder = DocumentBuilder("one")
    builder.add_page(["w"] * count, [[0, i, 10, i + 1] for i in range(count)], 10, count)
    scores = np.full((count, len(scheme)), -np.inf)  # only O and S are possible, so words are independent
    scores[:, 0], scores[:, 4] = 0.0, generator.normal(0, 2, count)
    is_entity = generator.random(count) < 1 / (1 + np.exp(-scores[:, 4]))
    unlabeled = builder.build()
    entities = tuple(unlabeled.entity("a", [int(i)]) for i in np.flatnonzero(is_entity))
    document = replace(unlabeled, entities=entities)
    assert np.isclose(fit_temperature([scores * 3], [document], scheme), 3, rtol=0.15)
    assert fit_temperature([scores], [unlabeled], scheme) == 1.0


def test_fit_temperature_does_not_discard_all_entities() -> None:
    generator = np.random.default_rng(0)
    scheme = TagScheme(tuple("abcdefgh"))
    builder = DocumentBuilder("one")
    builder.add_page(["w"] * 800, [[0, i, 10, i + 1] for i in range(800)], 10, 800)
    unlabeled = builder.build()
    entities = [unlabeled.entity("a", range(i, i + 4)) for i in range(0, 800, 8)]
    scores = scheme.document_tags(replace(unlabeled, entities=tuple(entities)))
    scores = 6.0 * np.eye(len(scheme))[scores] + generator.normal(0, 1, (800, len(scheme)))
    labeled = replace(unlabeled, entities=tuple(entity for entity in entities if generator.random() < 0.8))
    temperature = fit_temperature([scores], [labeled], scheme)
    assert decode(scores[None] / temperature, [unlabeled], scheme)[0]
    assert temperature < 3
    assert 0.7 < fit_temperature([scores[:8]], [first_words(labeled, 8)], scheme) < 1.5  # one entity changes little


def first_words(document: Document, count: int) -> Document:
    """Return a document with only the first words, and the entities among them."""
    builder = DocumentBuilder(document.id)
    builder.add_page(document.texts[:count], document.boxes[:count].tolist(), 10, 800)
    return replace(builder.build(), entities=tuple(e for e in document.entities if max(e.words) < count))


def test_coverage_at_precision_returns_lowest_sufficient_threshold() -> None:
    confidences = [0.99, 0.9, 0.8, 0.7]
    assert coverage_at_precision(confidences, [True, True, False, True], 0.99) == (0.9, 0.5)
    assert coverage_at_precision(confidences, [False] * 4) == (1.0, 0.0)
    assert coverage_at_precision([], []) == (1.0, 0.0)


def test_coverage_at_precision_equal_confidences_pass_together() -> None:
    confidences = [1.0, 1.0, 0.5]
    first = coverage_at_precision(confidences, [True, False, True])
    assert first == coverage_at_precision(confidences, [False, True, True])
    assert first == (1.0, 0.0)
