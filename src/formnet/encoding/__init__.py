"""Encode documents as batches of tensors, and convert batches back."""

from formnet.encoding.collate import buckets, collate, uncollate
from formnet.encoding.encoder import EncodedDocument, Encoder, StructureScheme
from formnet.encoding.tokenizer import load_tokenizer, tokenize_words

__all__ = [
    "EncodedDocument",
    "Encoder",
    "StructureScheme",
    "buckets",
    "collate",
    "load_tokenizer",
    "tokenize_words",
    "uncollate",
]
