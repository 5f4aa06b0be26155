"""Past fuzzer findings and mutations of valid files: only `FormNetError` may be raised, within the timeout."""

import time
from pathlib import Path

import numpy as np
import pytest

from formnet.datasets import open_corpus
from formnet.io.readers import read
from fuzz import HOSTILE_DIR, PARSERS, TIMEOUT, read_all
from hostile_seeds import SEEDS
from ocr_engines import BlankEngine

HOSTILE_FILES = sorted(file for file in HOSTILE_DIR.rglob("*") if file.is_file()) if HOSTILE_DIR.is_dir() else []


@pytest.mark.parametrize("file", HOSTILE_FILES, ids=lambda file: f"{file.parent.name}-{file.stem[:8]}")
def test_read_fuzzer_finding_raises_only_formnet_error(file: Path) -> None:
    start = time.process_time()
    read_all(file, file.parent.name)
    assert time.process_time() - start < TIMEOUT


@pytest.mark.parametrize("parser", PARSERS)
def test_read_seed_returns_one_document(parser: str, tmp_path: Path) -> None:
    """The mutation test is meaningful only if the unmodified seeds are valid."""
    for number, seed in enumerate(SEEDS[parser]):
        file = tmp_path / f"{number}{PARSERS[parser]}"
        file.write_bytes(seed)
        documents = open_corpus(f"label_studio:{file}") if parser == "label-studio" else read(file, BlankEngine())
        assert sum(1 for _ in documents) == 1


@pytest.mark.parametrize("parser", PARSERS)
def test_read_mutated_seed_raises_only_formnet_error(parser: str, tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    file = tmp_path / f"mutated{PARSERS[parser]}"
    for seed in SEEDS[parser]:
        for name, mutated in mutate(seed, generator):
            file.write_bytes(mutated)
            start = time.process_time()
            try:
                read_all(file, parser)
            except Exception as error:
                raise AssertionError(f"{name} broke the parser") from error
            assert time.process_time() - start < TIMEOUT, name


def mutate(seed: bytes, generator: np.random.Generator) -> list[tuple[str, bytes]]:
    """Return about forty named mutations of a file."""
    mutations = [(f"cut at {share:.0%}", seed[: int(len(seed) * share)]) for share in np.linspace(0.05, 0.98, 8)]
    mutations += [
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
        mutations.append((f"flipped {number}", bytes(flipped)))
    return mutations
