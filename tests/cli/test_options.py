from formnet.cli.options import parse_size


def test_parse_size_units_return_bytes() -> None:
    assert parse_size("2GiB") == 2**31
    assert [parse_size(text) for text in ("2GiB", "512 MB", "1k", "7")] == [2 * 2**30, 512 * 10**6, 1024, 7]
