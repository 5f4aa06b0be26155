"""Training-time augmentation: word-level noise, and header and footer lines swapped between documents."""

from formnet.training.augmentation.words import augment, with_decimals

__all__ = ["augment", "with_decimals"]
