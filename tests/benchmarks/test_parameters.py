from benchmarks import parameters


def test_count_is_within_two_percent_of_the_paper_except_a1() -> None:
    ratios = {row["name"]: row["ratio"] for row in parameters.count()["rows"]}
    assert all(abs(ratio - 1) < 0.02 for name, ratio in ratios.items() if name != "a1")
    assert abs(ratios["a1"] - 1) < 0.13
