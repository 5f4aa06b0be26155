from pathlib import Path

import pytest
import torch
from transformers import AutoConfig, BertConfig, BertModel, MPNetConfig, MPNetModel

from formnet.modeling import FormNetModel, warm_config, warm_start

VOCAB_SIZE = 64
#: Shape of the encoder to start from.
ENCODER = {"vocab_size": VOCAB_SIZE, "hidden_size": 32, "num_attention_heads": 4, "intermediate_size": 64}


@pytest.mark.parametrize("rich", [True, False])
def test_warm_start_from_bert_gives_equal_states(tmp_path: Path, rich: bool) -> None:
    torch.manual_seed(0)
    shape = BertConfig(**ENCODER, num_hidden_layers=3, max_position_embeddings=40)
    bert = BertModel(shape, add_pooling_layer=False).eval()
    bert.save_pretrained(tmp_path)
    config = warm_config(tmp_path, initial_theta=0.0, rich_attention=rich)
    model = FormNetModel(config).eval()
    model.attention_backend = "tiled"
    if not rich:
        for layer in model.layers:
            layer.relative.data.zero_()
    warm_start(model, tmp_path, cls_id=2)
    ids = torch.randint(3, VOCAB_SIZE, (2, 30))
    mask = torch.ones_like(ids)
    mask[1, 20:] = 0
    expected = bert(
        input_ids=torch.cat([torch.full((2, 1), 2), ids], dim=1),
        attention_mask=torch.nn.functional.pad(mask, (1, 0), value=1),
    ).last_hidden_state
    words = torch.arange(30).expand(2, -1)
    output = model(
        input_ids=ids,
        attention_mask=mask,
        token_boxes=torch.rand(2, 30, 4) * 1000,
        word_ids=torch.where(mask > 0, words, -1),
        node_features=torch.rand(2, 30, 10),
        neighbors=torch.full((2, 30, 8), -1),
        edge_features=torch.zeros(2, 30, 8, 11),
    )
    for layer in model.layers:  # the bias leaves orders undecided; queries and keys must not decide them yet
        if rich:
            assert layer.rich.bias[:, :2].abs().max() == 0
    states = torch.cat([output.global_state[:, None], output.last_hidden_state], dim=1)
    valid = torch.nn.functional.pad(mask, (1, 0), value=1).bool()
    assert torch.allclose(states[valid], expected[valid], atol=1e-5)


def test_warm_start_from_mpnet_drops_only_relative_bias(tmp_path: Path) -> None:
    torch.manual_seed(0)
    shape = MPNetConfig(**ENCODER, num_hidden_layers=2, max_position_embeddings=42)
    mpnet = MPNetModel(shape, add_pooling_layer=False).eval()
    mpnet.encoder.relative_attention_bias.weight.data.zero_()
    mpnet.save_pretrained(tmp_path)
    config = warm_config(tmp_path, initial_theta=0.0, super_tokens=False)
    model = FormNetModel(config).eval()
    model.attention_backend = "tiled"
    warm_start(model, tmp_path)
    ids = torch.randint(3, VOCAB_SIZE, (1, 30))
    expected = mpnet(input_ids=torch.cat([torch.zeros(1, 1, dtype=torch.long), ids], dim=1)).last_hidden_state
    output = model(
        input_ids=ids,
        attention_mask=torch.ones_like(ids),
        token_boxes=torch.rand(1, 30, 4) * 1000,
        word_ids=torch.arange(30)[None],
    )
    states = torch.cat([output.global_state[:, None], output.last_hidden_state], dim=1)
    assert torch.allclose(states, expected, atol=1e-5)


def test_warm_config_unsupported_encoder_raises(tmp_path: Path) -> None:
    AutoConfig.for_model("roberta").save_pretrained(tmp_path)
    with pytest.raises(ValueError, match="'roberta'"):
        warm_config(tmp_path)
