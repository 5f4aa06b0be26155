"""What a fuzzer once broke a parser with, and many ways to spoil a whole file: only a FormNetError, and soon."""

import time
from pathlib import Path

import numpy as np
import pytest

from fuzz import HOSTILE, PARSERS, SECONDS, Blind, read_all
from hostile_seeds import SEEDS

KEPT = sorted(file for file in HOSTILE.rglob("*") if file.is_file()) if HOSTILE.is_dir() else []


@pytest.mark.parametrize("file", KEPT, ids=lambda file: f"{file.parent.name}-{file.stem[:8]}")
def test_what_was_found_once_is_told_in_words(file: Path) -> None:
    began = time.perf_counter()
    read_all(file, file.parent.name)
    assert time.perf_counter() - began < SECONDS


@pytest.mark.parametrize("parser", PARSERS)
def test_a_whole_file_is_read(parser: str, tmp_path: Path) -> None:
    """So that what follows spoils something that would have been read."""
    from formnet.datasets import open_corpus
    from formnet.io.readers import read

    for number, seed in enumerate(SEEDS[parser]):
        file = tmp_path / f"{number}{PARSERS[parser]}"
        file.write_bytes(seed)
        documents = open_corpus(f"label_studio:{file}") if parser == "label-studio" else read(file, Blind())
        assert sum(1 for _ in documents) == 1


@pytest.mark.parametrize("parser", PARSERS)
def test_spoilt_files_are_refused_or_read(parser: str, tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    file = tmp_path / f"spoilt{PARSERS[parser]}"
    for seed in SEEDS[parser]:
        for kind, spoilt in spoil(seed, generator):
            file.write_bytes(spoilt)
            began = time.perf_counter()
            try:
                read_all(file, parser)
            except Exception as error:
                raise AssertionError(f"{kind} broke the parser") from error
            assert time.perf_counter() - began < SECONDS, kind


def spoil(seed: bytes, generator: np.random.Generator) -> list[tuple[str, bytes]]:
    """Cut, swell, flip and mix a file in some thirty ways."""
    ways = [(f"cut at {share:.0%}", seed[: int(len(seed) * share)]) for share in np.linspace(0.05, 0.98, 8)]
    ways += [
        ("nothing", b""),
        ("twice", seed + seed),
        ("backwards", seed[::-1]),
        ("zeros after", seed + bytes(10_000)),
        ("zeros before", bytes(100) + seed),
        ("byte order mark", b"\xef\xbb\xbf" + seed),
        ("UTF-16", seed.decode("latin-1").encode("utf-16")),
        ("no digits", bytes(c for c in seed if not 48 <= c <= 57)),
        ("nines", bytes(57 if 48 <= c <= 57 else c for c in seed)),
        ("minus", seed.replace(b" ", b" -")),
        ("huge numbers", seed.replace(b"1", b"1" + b"0" * 400)),
        ("NaN", seed.replace(b"2", b"NaN")),
        ("null", seed.replace(b"Total", b"\0")),
        ("long word", seed.replace(b"Total", b"x" * 200_000)),
        ("many brackets", seed.replace(b"[", b"[" * 5000)),
        ("many braces", seed.replace(b"{", b'{"a":' * 5000)),
        ("many tags", seed.replace(b"<", b"<a><", 1).replace(b">", b">" + b"<b>" * 5000, 1)),
        ("lone surrogate", seed.replace(b"Total", b"\\ud800")),
        ("right to left", seed.replace(b"Total", "\u202e\u0000\ufffe".encode())),
    ]
    for number in range(12):
        flipped = bytearray(seed)
        for at in generator.integers(len(seed), size=1 + len(seed) // 50):
            flipped[at] = int(generator.integers(256))
        ways.append((f"flipped {number}", bytes(flipped)))
    return ways
