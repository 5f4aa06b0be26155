import numpy as np
import pytest
from scipy.stats import binomtest

from formnet.evaluation.calibration import (
    Outcomes,
    apply_platt,
    choose_thresholds,
    clopper_pearson,
    fit_calibration,
    fit_isotonic,
    fit_platt,
    reliability,
    risk_coverage,
)
from formnet.extraction.calibration import LabelCalibration, log_odds


def test_reliability_known_bins_is_exact() -> None:
    result = reliability([0.95] * 10 + [0.15] * 10, [True] * 9 + [False] + [True] * 5 + [False] * 5)
    assert result.count.tolist() == [0, 10, 0, 0, 0, 0, 0, 0, 0, 10]
    assert np.isclose(result.ece, (0.05 * 10 + 0.35 * 10) / 20)
    assert reliability([], []).ece == 0.0
    assert reliability([1.0], [True]).ece == 0.0


def draw_outcomes(count: int, slope: float, intercept: float, seed: int = 0) -> Outcomes:
    """Draw entities whose probability of being correct is the Platt scaling of their log-odds."""
    generator = np.random.default_rng(seed)
    x = generator.normal(1, 2, count)
    return Outcomes(x, generator.random(count) < apply_platt(x, slope, intercept))


def test_fit_platt_recovers_parameters() -> None:
    assert np.allclose(fit_platt(draw_outcomes(20_000, 0.5, -0.7), (1.0, 0.0), 1.0), (0.5, -0.7), atol=0.08)
    slope, intercept = fit_platt(draw_outcomes(20_000, 2.0, 0.0), (1.0, 0.0), 1.0, fixed_intercept=True)
    assert abs(slope - 2) < 0.1
    assert intercept == 0


def test_fit_platt_few_entities_stay_near_the_prior() -> None:
    nothing = Outcomes(np.empty(0), np.empty(0, np.bool_))
    assert fit_platt(nothing, (1.3, -0.2), 0.5) == pytest.approx((1.3, -0.2))
    one_error = Outcomes(np.array([2.0]), np.array([False]))
    slope, intercept = fit_platt(one_error, (1.0, 0.0), 0.5)
    assert 0.4 < slope < 1
    assert -0.4 < intercept < 0


def test_fit_calibration_differs_by_label_and_lowers_the_error() -> None:
    parameters = {"total": (1.5, 1.0), "address": (0.6, -1.0)}
    fitted = fit_calibration({label: draw_outcomes(3000, *p) for label, p in parameters.items()})
    for label, part in parameters.items():
        test = draw_outcomes(3000, *part, seed=1)
        calibrated = apply_platt(test.log_odds, fitted[label].slope, fitted[label].intercept)
        assert reliability(calibrated, test.correct).ece < 0.03
        assert reliability(apply_platt(test.log_odds, 1, 0), test.correct).ece > 0.05
    assert fitted["total"].threshold is not None


def test_fit_isotonic_is_increasing_and_fits_steps() -> None:
    x, fitted = fit_isotonic(Outcomes(np.array([3.0, 1.0, 2.0, 0.0]), np.array([True, True, False, False])))
    assert x.tolist() == [0, 1, 2, 3]
    assert fitted.tolist() == [0, 0.5, 0.5, 1]


def test_choose_thresholds_counts_one_more_error_and_keeps_equal_scores_together() -> None:
    scores = np.concatenate([np.full(99, 0.9), np.full(150, 0.8), [0.7, 0.7, 0.1]])
    correct = np.ones(len(scores), np.bool_)
    correct[[100, 120]] = False
    assert choose_thresholds({"a": scores}, {"a": correct}) == {"a": 0.9}
    assert choose_thresholds({"a": scores[:98]}, {"a": correct[:98]}) == {"a": None}
    assert choose_thresholds({"a": scores[:200]}, {"a": np.ones(200, np.bool_)}) == {"a": 0.8}


def test_choose_thresholds_rare_labels_share_one() -> None:
    scores = {"a": np.full(60, 0.9), "b": np.full(60, 0.8), "c": np.full(200, 0.95)}
    correct = {label: np.ones(len(part), np.bool_) for label, part in scores.items()}
    assert choose_thresholds(scores, correct) == {"a": 0.8, "b": 0.8, "c": 0.95}
    correct["b"][0] = False
    assert choose_thresholds(scores, correct) == {"a": None, "b": None, "c": 0.95}


@pytest.mark.parametrize(("successes", "trials"), [(0, 10), (10, 10), (98, 100), (512, 520)])
def test_clopper_pearson_equals_scipy(successes: int, trials: int) -> None:
    expected = binomtest(successes, trials).proportion_ci(0.95, method="exact")
    assert clopper_pearson(successes, trials) == pytest.approx((expected.low, expected.high))


def test_risk_coverage_counts_errors_among_the_most_confident() -> None:
    points = risk_coverage([0.9, 0.5, 0.8, 0.7], [True, False, False, True])
    assert [point["coverage"] for point in points] == [0.25, 0.5, 0.75, 1.0]
    assert [point["risk"] for point in points] == [0, 1 / 2, 1 / 3, 2 / 4]
    assert risk_coverage([], []) == []


def test_label_calibration_maps_probabilities_and_accepts_from_its_threshold() -> None:
    assert LabelCalibration().calibrate(0.37) == 0.37
    part = LabelCalibration(2.0, -1.0, 0.7)
    assert part.calibrate(0.8) == pytest.approx(1 / (1 + np.exp(-(2 * log_odds(0.8) - 1))))
    assert 0 < part.calibrate(0.0) < part.calibrate(1.0) < 1
    assert (part.accepts(0.7), part.accepts(0.69), part.accepts(None)) == (True, False, False)
    assert not LabelCalibration().accepts(1.0)
