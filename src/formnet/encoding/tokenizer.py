"""Load a fast tokenizer from a vocabulary, a directory or the hub, and tokenize words with it."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

from formnet.errors import TokenizerError

#: Maximum characters tokenized per word; longer words are rows of dots or malicious input.
MAX_WORD_LENGTH = 256
_HUB_PREFIX = "hf://"
_UNKNOWN = ("[UNK]", "<unk>", "<|endoftext|>")
_PADDING = ("[PAD]", "<pad>", "<|endoftext|>")
_MASK = ("[MASK]", "<mask>")


class TokenizedWords(NamedTuple):
    """Tokens of words, in order; every word has at least one token."""

    ids: NDArray[np.int64]  # [P]
    word_ids: NDArray[np.int64]  # [P] word index of each token
    lengths: NDArray[np.int64]  # [P] characters covered by each token, at least 1


def load_tokenizer(source: str | Path) -> Tokenizer:
    """Load a tokenizer from a `vocab.txt`, a `tokenizer.json`, a directory with either, or hf://owner/name."""
    path = Path(source)
    if path.is_dir():
        files = [path / name for name in ("tokenizer.json", "vocab.txt") if (path / name).is_file()]
        if not files:
            raise TokenizerError(f"{path}: contains neither tokenizer.json nor vocab.txt.")
        path = files[0]
    if str(source).startswith(_HUB_PREFIX):
        tokenizer = _from_hub(str(source))
    elif path.is_file():
        try:
            tokenizer = _word_piece(path) if path.suffix == ".txt" else Tokenizer.from_file(str(path))
        except Exception as error:  # the library raises plain Exception
            raise TokenizerError(f"{path}: cannot load tokenizer: {error}") from error
    else:
        raise TokenizerError(f"{path}: no such file or folder. A tokenizer on the Hub is written as hf://owner/name.")
    tokenizer.no_truncation()  # a saved tokenizer may have a limit, but documents are never truncated
    tokenizer.no_padding()
    return tokenizer


def tokenize_words(tokenizer: Tokenizer, words: Sequence[str]) -> TokenizedWords:
    """Tokenize words; a word without tokens becomes one unknown token.

    Each distinct word is tokenized only once, because documents repeat words.
    """
    index_of_word: dict[str, int] = {}
    distinct = np.fromiter((index_of_word.setdefault(word, len(index_of_word)) for word in words), np.int64, len(words))
    tokens = _tokenize_distinct(tokenizer, list(index_of_word))
    count = np.bincount(tokens.word_ids, minlength=len(index_of_word))
    start = np.cumsum(count) - count
    word_ids = np.repeat(np.arange(len(words)), count[distinct])
    stop = np.cumsum(count[distinct])
    source = start[distinct][word_ids] + np.arange(len(word_ids)) - (stop - count[distinct])[word_ids]
    return TokenizedWords(tokens.ids[source], word_ids, tokens.lengths[source])


def _tokenize_distinct(tokenizer: Tokenizer, words: list[str]) -> TokenizedWords:
    truncated = [word[:MAX_WORD_LENGTH] for word in words]
    encoded = tokenizer.encode(truncated, is_pretokenized=True, add_special_tokens=False)
    ids = np.array(encoded.ids, np.int64)
    word_ids = np.array(encoded.word_ids, np.int64)
    offsets = np.array(encoded.offsets, np.int64).reshape(-1, 2)
    lengths = np.maximum(offsets[:, 1] - offsets[:, 0], 1)
    missing = np.flatnonzero(np.bincount(word_ids, minlength=len(words)) == 0)
    if len(missing):
        at = np.searchsorted(word_ids, missing)
        ids = np.insert(ids, at, unknown_id(tokenizer))
        word_ids, lengths = np.insert(word_ids, at, missing), np.insert(lengths, at, 1)
    return TokenizedWords(ids, word_ids, lengths)


def unknown_id(tokenizer: Tokenizer) -> int:
    """Return the ID of the unknown token."""
    return _first_known(tokenizer, _UNKNOWN)


def padding_id(tokenizer: Tokenizer) -> int:
    """Return the ID of the padding token."""
    return _first_known(tokenizer, _PADDING)


def mask_id(tokenizer: Tokenizer) -> int:
    """Return the ID of the mask token."""
    return _first_known(tokenizer, _MASK)


def _first_known(tokenizer: Tokenizer, names: Sequence[str]) -> int:
    for name in names:
        if (token_id := tokenizer.token_to_id(name)) is not None:
            return token_id
    raise TokenizerError(f"the tokenizer has none of the tokens {', '.join(names)}. One of them is required.")


def _word_piece(path: Path) -> Tokenizer:
    """Build a BERT tokenizer from a vocabulary; it is cased if the vocabulary contains uppercase letters."""
    tokens = path.read_text(encoding="utf-8").rstrip("\n").split("\n")
    if "[UNK]" not in tokens:
        raise TokenizerError(f"{path}: not a WordPiece vocabulary. Provide one token per line, including [UNK].")
    cased = any(token != token.lower() for token in tokens if not token.startswith("["))
    tokenizer = Tokenizer(WordPiece({token: i for i, token in enumerate(tokens)}, unk_token="[UNK]"))  # noqa: S106
    tokenizer.normalizer = BertNormalizer(lowercase=not cased)
    tokenizer.pre_tokenizer = BertPreTokenizer()
    return tokenizer


def _from_hub(name: str) -> Tokenizer:
    from transformers import AutoTokenizer

    repository, _, revision = name.removeprefix(_HUB_PREFIX).partition("@")
    try:
        tokenizer = AutoTokenizer.from_pretrained(repository, revision=revision or "main", trust_remote_code=False)
    except (OSError, ValueError) as error:
        raise TokenizerError(f"{name}: not a tokenizer that transformers can load: {error}") from error
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if not isinstance(backend, Tokenizer):
        raise TokenizerError(f"{name}: no fast tokenizer. Use a model with a tokenizer.json.")
    return backend
