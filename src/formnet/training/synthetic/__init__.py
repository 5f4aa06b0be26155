"""Synthetic receipts: words, boxes, labels and links, and pictures of them, for training and tests."""

from formnet.training.synthetic.receipts import generate_receipt

__all__ = ["generate_receipt"]
