"""Training-time augmentation: word-level noise, and amounts with decimals."""

from formnet.training.augmentation.words import augment, with_decimals

__all__ = ["augment", "with_decimals"]
