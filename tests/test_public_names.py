import formnet


def test_all_lists_every_export_sorted() -> None:
    for name in formnet.__all__:
        assert getattr(formnet, name).__module__.startswith("formnet")
    assert sorted(formnet.__all__) == formnet.__all__
    assert set(formnet.__all__) == set(formnet._MODULE_OF_NAME)
    assert set(formnet.__all__) <= set(dir(formnet))
