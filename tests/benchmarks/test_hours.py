from benchmarks.hours import training_seconds


def test_training_seconds_with_pauses_skips_them() -> None:
    times = [0.0, 10.0, 20.0, 20.0, 30.0, 1030.0, 1040.0]  # an evaluation at the fourth event; 1,000 seconds of pause
    assert training_seconds(times) == 50.0
    assert training_seconds([0.0, 60.0]) == 60.0
    assert training_seconds([5.0]) == 0.0
