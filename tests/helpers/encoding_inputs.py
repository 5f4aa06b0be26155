"""Vocabulary and words for tests of the encoding."""

VOCABULARY = ["[PAD]", "[UNK]", "a", "##a", "b", "##b", "total", "##s", "9", ".", "0", "##0", "中", "é"]
#: Words that tokenizers tend to drop or normalize away.
UNUSUAL_WORDS = [
    "",
    " ",
    "😀",
    "中文字",
    "a" * 5_000,
    "\u200b",
    "\x00",
    "👩‍👩‍👧‍👧",
    "é" * 3,
    "­",
    "total",
    "...",
    "‮",
    "𝔉𝔬𝔯𝔪",
]
