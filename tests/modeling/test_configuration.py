import pytest

from formnet.modeling import SIZES, FormNetConfig


def test_of_size_named_sizes_match_paper() -> None:
    assert {name: SIZES[name]["hidden_size"] for name in ("a1", "a2", "a3")} == {"a1": 512, "a2": 768, "a3": 1024}
    config = FormNetConfig.of_size("a2")
    assert (config.num_hidden_layers, config.num_graph_layers, config.radius) == (12, 12, 84)
    assert config.intermediate_size == 4 * 768
    assert config.to_dict()["model_type"] == "formnet"


def test_of_size_unknown_name_raises() -> None:
    with pytest.raises(ValueError, match="the sizes are a1"):
        FormNetConfig.of_size("giant")


def test_config_unknown_loss_raises() -> None:
    with pytest.raises(ValueError, match="not among token, all_tokens, crf"):
        FormNetConfig(loss="paths")
