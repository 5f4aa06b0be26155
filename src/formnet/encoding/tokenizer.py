"""Loading a fast tokenizer from a vocabulary, a folder or a hub name, and cutting words into pieces with it."""

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

#: A word's pieces are those of its first characters: what is longer is no word, but a line of dots, or an attack.
LONGEST_WORD = 256
_UNKNOWN = ("[UNK]", "<unk>", "<|endoftext|>")
_PADDING = ("[PAD]", "<pad>", "<|endoftext|>")
_MASK = ("[MASK]", "<mask>")


class Pieces(NamedTuple):
    """Words cut into pieces, in order; every word has at least one."""

    ids: NDArray[np.int64]  # [P]
    word: NDArray[np.int64]  # [P] the word each piece is of
    length: NDArray[np.int64]  # [P] characters of the word that it stands for, at least 1


def load_tokenizer(source: str | Path) -> Tokenizer:
    """Load a tokenizer: a `vocab.txt`, a `tokenizer.json`, a folder with either, or a name that transformers knows."""
    path = Path(source)
    if path.is_dir():
        found = [path / name for name in ("tokenizer.json", "vocab.txt") if (path / name).is_file()]
        if not found:
            raise TokenizerError(f"{path}: holds neither tokenizer.json nor vocab.txt.")
        path = found[0]
    if path.is_file():
        try:
            tokenizer = _word_piece(path) if path.suffix == ".txt" else Tokenizer.from_file(str(path))
        except Exception as error:  # the library raises plain Exception
            raise TokenizerError(f"{path}: is no tokenizer: {error}") from error
    else:
        tokenizer = _from_hub(str(source))
    tokenizer.no_truncation()  # a saved tokenizer may carry a limit; documents are never cut
    tokenizer.no_padding()
    return tokenizer


def cut(tokenizer: Tokenizer, words: Sequence[str]) -> Pieces:
    """Cut words into pieces; a word that the tokenizer leaves nothing of becomes one unknown piece.

    Every different word is cut once: documents repeat themselves.
    """
    different: dict[str, int] = {}
    which = np.fromiter((different.setdefault(word, len(different)) for word in words), np.int64, len(words))
    pieces = _cut_each(tokenizer, list(different))
    count = np.bincount(pieces.word, minlength=len(different))
    start = np.cumsum(count) - count
    word = np.repeat(np.arange(len(words)), count[which])
    stop = np.cumsum(count[which])
    place = start[which][word] + np.arange(len(word)) - (stop - count[which])[word]
    return Pieces(pieces.ids[place], word, pieces.length[place])


def _cut_each(tokenizer: Tokenizer, words: list[str]) -> Pieces:
    encoded = tokenizer.encode([word[:LONGEST_WORD] for word in words], is_pretokenized=True, add_special_tokens=False)
    ids = np.array(encoded.ids, np.int64)
    word = np.array(encoded.word_ids, np.int64)
    offsets = np.array(encoded.offsets, np.int64).reshape(-1, 2)
    length = np.maximum(offsets[:, 1] - offsets[:, 0], 1)
    missing = np.flatnonzero(np.bincount(word, minlength=len(words)) == 0)
    if len(missing):
        at = np.searchsorted(word, missing)
        ids = np.insert(ids, at, unknown_id(tokenizer))
        word, length = np.insert(word, at, missing), np.insert(length, at, 1)
    return Pieces(ids, word, length)


def unknown_id(tokenizer: Tokenizer) -> int:
    """Give the piece that stands for what cannot be said otherwise."""
    return _first_known(tokenizer, _UNKNOWN)


def padding_id(tokenizer: Tokenizer) -> int:
    """Give the piece that fills up a batch."""
    return _first_known(tokenizer, _PADDING)


def mask_id(tokenizer: Tokenizer) -> int:
    """Give the piece that hides another."""
    return _first_known(tokenizer, _MASK)


def _first_known(tokenizer: Tokenizer, names: Sequence[str]) -> int:
    for name in names:
        if (number := tokenizer.token_to_id(name)) is not None:
            return number
    raise TokenizerError(f"the tokenizer has none of the pieces {', '.join(names)}, one of which is needed.")


def _word_piece(path: Path) -> Tokenizer:
    """Build BERT's tokenizer around a vocabulary, cased if the vocabulary has capitals."""
    names = path.read_text(encoding="utf-8").rstrip("\n").split("\n")
    if "[UNK]" not in names:
        raise TokenizerError(f"{path}: a word-piece vocabulary has one piece a line, [UNK] among them.")
    cased = any(name != name.lower() for name in names if not name.startswith("["))
    tokenizer = Tokenizer(WordPiece({name: i for i, name in enumerate(names)}, unk_token="[UNK]"))  # noqa: S106
    tokenizer.normalizer = BertNormalizer(lowercase=not cased)
    tokenizer.pre_tokenizer = BertPreTokenizer()
    return tokenizer


def _from_hub(name: str) -> Tokenizer:
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(name)
    except (OSError, ValueError) as error:
        raise TokenizerError(
            f"{name}: neither a file, a folder nor a model that transformers can load: {error}"
        ) from error
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if not isinstance(backend, Tokenizer):
        raise TokenizerError(f"{name}: has no fast tokenizer; use one with a tokenizer.json.")
    return backend
