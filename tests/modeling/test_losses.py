import torch

from formnet.modeling.crf import crf_loss
from formnet.modeling.losses import multi_head_crf_loss


def test_multi_head_crf_loss_uses_paths_of_own_head() -> None:
    torch.manual_seed(0)
    logits, labels = torch.randn(2, 4, 14), torch.tensor([[1, 3, 0, 8], [1, 3, 0, 4]])
    loss = multi_head_crf_loss(logits, labels, torch.tensor([0, 1]), [9, 5], None)
    separate = crf_loss(logits[:1, :, :9], labels[:1]) + crf_loss(logits[1:, :, 9:], labels[1:])
    assert torch.allclose(loss, separate.sum() / 8)
