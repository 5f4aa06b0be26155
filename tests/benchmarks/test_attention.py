import pytest

from benchmarks import attention


def test_benchmark_attention_returns_one_case_per_length() -> None:
    result = attention.benchmark((128,), ("float32",), repeats=2, backend="tiled")
    (case,) = result["cases"]
    assert {"tokens", "dtype", "forward_ratio", "train_ratio", "peak_mb"} <= set(case)
    assert case["forward_ratio"] > 0


def test_measure_times_forward_and_training(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    monkeypatch.setattr(attention, "_ratio", lambda *a: calls.append(a) or ({"median": 1, "spread": [1, 1]}, {}))
    attention.measure(70, "float32", 1, "tiled")
    assert len(calls) == 2
