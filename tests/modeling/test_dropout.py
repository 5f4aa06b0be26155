import torch

from formnet.modeling.dropout import Dropout


def test_dropout_seeded_drops_share_and_keeps_mean() -> None:
    dropout, ones = Dropout(0.25), torch.ones(400, 500)
    torch.manual_seed(1)
    first = dropout(ones)
    torch.manual_seed(1)
    assert torch.equal(first, dropout(ones))
    assert not torch.equal(first, dropout(ones))
    assert abs((first == 0).float().mean() - 0.25) < 0.005
    assert abs(first.mean() - 1) < 0.01
    assert torch.equal(dropout.eval()(ones), ones)
