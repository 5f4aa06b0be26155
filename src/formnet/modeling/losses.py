"""Losses of token classification with one or several heads, and their normalization.

With several heads, the tags of all heads are numbered one head after the other, and each document has labels for one of
them, `head` [B], numbered within that head. `sizes` are the numbers of tags per head.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from formnet.modeling.crf import crf_loss, soft_crf_loss

IGNORE_INDEX = -100  # label of words and tokens without a loss


def mean_loss(logits: Tensor, labels: Tensor, count: Tensor | int | None) -> Tensor:
    """Compute the mean cross-entropy over labels."""
    return divide_by_labels(F.cross_entropy(logits.float(), labels, reduction="sum"), labels, count)


def divide_by_labels(total: Tensor, labels: Tensor, count: Tensor | int | None) -> Tensor:
    """Divide a summed loss by the number of labels, or by `count` if this batch is a part of a larger one."""
    return total / torch.as_tensor((labels >= 0).sum() if count is None else count).clamp(min=1)


def restrict_to_head(
    labels: Tensor, logits: Tensor, head: Tensor | None, sizes: Sequence[int]
) -> tuple[Tensor, Tensor]:
    """Number labels across all heads, and mask the tags of other heads."""
    if head is None or len(sizes) == 1:
        return labels, logits
    counts = torch.tensor(sizes, device=labels.device)
    head_of_tag = torch.repeat_interleave(torch.arange(len(counts), device=labels.device), counts)  # [T]
    offset = (torch.cumsum(counts, 0) - counts)[head][:, None]
    other = head_of_tag[None, None, :] != head[:, None, None]
    return torch.where(labels >= 0, labels + offset, labels), logits.masked_fill(other, -math.inf)


def multi_head_crf_loss(
    logits: Tensor,
    labels: Tensor,
    head: Tensor | None,
    sizes: Sequence[int],
    count: Tensor | int | None,
    unknown_types: Tensor | None = None,
) -> Tensor:
    """Compute the negative log-likelihood of each document's tag path among all legal paths of its head.

    With `unknown_types` [B, K], there is one head, and types may be unknown in some documents; see `crf_loss`.
    """
    if unknown_types is not None:
        return divide_by_labels(crf_loss(logits, labels, unknown_types).sum(), labels, count)
    total = logits.new_zeros(())
    for number, scores in enumerate(logits.split(list(sizes), dim=-1)):
        own = slice(None) if head is None or len(sizes) == 1 else head == number
        total = total + crf_loss(scores[own], labels[own]).sum()
    return divide_by_labels(total, labels, count)


def distillation_loss(
    logits: Tensor, probabilities: Tensor, sizes: Sequence[int], count: Tensor | int | None
) -> Tensor:
    """Compute the expected negative log-likelihood under the tag probabilities [B, W, T] of a teacher.

    Probabilities are −100 for padding, and `count` is the number of others, as for labels.
    """
    mask = probabilities[..., 0] >= 0
    parts = zip(logits.split(list(sizes), dim=-1), probabilities.split(list(sizes), dim=-1), strict=True)
    total = sum((soft_crf_loss(*part, mask).sum() for part in parts), start=logits.new_zeros(()))
    words = mask.sum() if count is None else torch.as_tensor(count) / probabilities.shape[-1]
    return total / words.clamp(min=1)


def all_tokens_loss(
    logits: Tensor,
    word_ids: Tensor,
    labels: Tensor,
    head: Tensor | None,
    sizes: Sequence[int],
    count: Tensor | int | None,
) -> Tensor:
    """Compute the cross-entropy at all tokens, from logits [B, N, T]; those of a word weigh as much as one word."""
    word = word_ids.clamp(min=0)
    targets = labels.gather(1, word).masked_fill(word_ids < 0, IGNORE_INDEX)  # [B, N]
    targets, logits = restrict_to_head(targets, logits, head, sizes)
    losses = F.cross_entropy(logits.flatten(0, 1).float(), targets.flatten(), reduction="none").view_as(targets)
    mask = (word_ids >= 0).to(losses.dtype)
    tokens = torch.zeros_like(labels, dtype=losses.dtype).scatter_add(1, word, mask)  # [B, W] per word
    return divide_by_labels((losses / tokens.gather(1, word).clamp(min=1)).sum(), labels, count)
