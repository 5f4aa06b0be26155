"""What hostile or broken input may cost: words without end, pages within pages, messages that quote all of it."""

import json
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from pyarrow import Table
from pyarrow.parquet import write_table
from tokenizers import Tokenizer

from benchmarks.memory import peak_megabytes
from formnet.cli.options import size
from formnet.datasets import open_corpus
from formnet.document.builder import MOST_REPAIRS, DocumentBuilder
from formnet.encoding import load_tokenizer
from formnet.encoding.graph import skeleton
from formnet.encoding.tokenizer import LONGEST_WORD, cut
from formnet.errors import LONGEST_MESSAGE, CorpusError, DocumentError, FormNetError, LimitError, SettingsError
from formnet.io.images import size_of
from formnet.io.readers import read
from formnet.io.readers.jsonl import from_json
from formnet.scale.service.auth import VARIABLE, load_digests
from formnet.scale.service.errors import ApiError
from formnet.scale.service.reader import CHARACTERS, refuse_long
from formnet.scale.service.request_body import LARGEST_BODIES, Store, _documents
from formnet.scale.service.settings import Settings

SETTINGS = Settings(max_pages=20, max_words=1000)


@pytest.fixture
def tokenizer(tmp_path: Path) -> Tokenizer:
    (tmp_path / "vocab.txt").write_text("[PAD]\n[UNK]\n.\n")
    return load_tokenizer(tmp_path / "vocab.txt")


def test_a_word_without_end_has_an_end(tokenizer: Tokenizer) -> None:
    pieces = cut(tokenizer, ["." * 1_000_000, "."])
    assert np.bincount(pieces.word).tolist() == [LONGEST_WORD, 1]


def test_characters_have_a_limit_as_words_have() -> None:
    builder = DocumentBuilder("long")
    builder.add_page(["x" * (CHARACTERS * 1000), "x"], [[0, 0, 1, 1], [1, 0, 2, 1]], 2, 1)
    with pytest.raises(LimitError, match="characters"):
        refuse_long(builder.build(), SETTINGS)


def test_hocr_that_promises_words_without_end_is_read_in_time(tmp_path: Path) -> None:
    file = tmp_path / "a.hocr"
    file.write_text("<html><div class='ocr_page'>" + "class=" * 20_000)
    start = time.perf_counter()
    with suppress(DocumentError):
        list(read(file))
    assert time.perf_counter() - start < 5


@pytest.mark.parametrize("far", [(10_000, 2**20), (2**20, 1), (2**20, 2**20)])
def test_a_line_and_a_point_far_from_it_take_no_time(far: tuple[int, int]) -> None:
    points = np.array([*([i, 0] for i in range(20_000)), far])
    start = time.perf_counter()
    assert skeleton(points).shape[1] >= 20_000
    assert time.perf_counter() - start < 5


def test_a_body_is_counted_before_it_is_built() -> None:
    start = time.perf_counter()
    pages = [{"words": [], "boxes": []}] * 200_000
    with pytest.raises(LimitError, match="200,000 pages"):
        _documents(json.dumps({"id": "a", "pages": pages}).encode(), SETTINGS)
    words = [{"words": ["a"] * 100_000, "boxes": [[9, 9, 0, 0]] * 100_000}]
    with pytest.raises(LimitError, match="100,000 words"):
        _documents(json.dumps([{"id": "a", "pages": words}]).encode(), SETTINGS)
    assert time.perf_counter() - start < 5
    for strange in (b'{"pages": 3}', b'{"pages": [3]}', b'{"pages": [{"words": 3}]}'):
        with pytest.raises(DocumentError):
            _documents(strange, SETTINGS)


def test_bodies_are_held_up_to_a_limit() -> None:
    store = Store(Settings(max_bytes=100))
    with store.shelf() as one, store.shelf() as other:
        one(100 * LARGEST_BODIES)
        with pytest.raises(ApiError) as refused:
            other(1)
        assert refused.value.status == 503
    assert store.held == 0


@pytest.mark.parametrize("slope", [0, 1, 3])
def test_words_on_one_line_are_a_chain(slope: int) -> None:
    along = np.random.default_rng(0).permutation(20_000).astype(np.int64)
    points = np.stack([along, slope * along], axis=1)
    edges = skeleton(points)
    assert edges.shape == (2, len(points) - 1)
    assert (np.abs(along[edges[0]] - along[edges[1]]) == 1).all()


def test_pages_within_pages_are_read_once(tmp_path: Path) -> None:
    word = '<String CONTENT="a" HPOS="1" VPOS="1" WIDTH="5" HEIGHT="5"/>'
    inner = f'<Page WIDTH="10" HEIGHT="10">{word}'
    (tmp_path / "a.xml").write_text(f"<alto><Layout>{inner * 20}{'</Page>' * 20}</Layout></alto>")
    (document,) = read(tmp_path / "a.xml")
    assert (len(document.pages), document.num_words) == (1, 20)


def test_messages_quote_no_more_than_is_read() -> None:
    builder = DocumentBuilder("a")
    with pytest.raises(DocumentError) as told:
        builder.add_page(["\0" * 1_000_000], [[float("nan"), 0, 1, 1]])
    assert len(str(told.value)) <= LONGEST_MESSAGE + 1
    assert str(FormNetError("short")) == "short"


def test_repairs_are_not_remembered_without_end() -> None:
    builder = DocumentBuilder("a")
    builder.add_page(["x"] * 20_000, [[9, 9, 0, 0]] * 20_000, 10, 10)
    assert len(builder.build().repairs) == MOST_REPAIRS


def test_keys_that_are_none_do_not_open_the_service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "#secret123")
    assert len(load_digests(None)) == 1
    monkeypatch.setenv(VARIABLE, " , ")
    with pytest.raises(SettingsError, match="holds no key"):
        load_digests(None)


def test_broken_parquet_is_told(tmp_path: Path) -> None:
    for name, content in (("a", b"PAR1" + b"\xff" * 64 + b"PAR1"), ("b", b"PAR1\0\0\0\0" + b"\x04\0\0\0PAR1")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(DocumentError, match="Parquet"):
            list(read(tmp_path / name))


def test_two_files_of_one_split_are_a_mistake(tmp_path: Path) -> None:
    for names, kind in ((("train.csv", "train.tsv"), "values"), (("t.json", "t.label-studio.json"), "label_studio")):
        for name in names:
            (tmp_path / name).write_text("[]" if kind == "label_studio" else "file,total\n")
        with pytest.raises(CorpusError, match="remove one"):
            open_corpus(f"{kind}:{tmp_path}")
        for name in names:
            (tmp_path / name).unlink()


def test_a_picture_on_its_side_has_the_size_it_is_shown_in(tmp_path: Path) -> None:
    image = Image.new("RGB", (40, 20))
    exif = image.getexif()
    exif[0x0112] = 6
    image.save(tmp_path / "a.jpg", exif=exif)
    assert size_of(tmp_path / "a.jpg") == (20, 40)
    image.save(tmp_path / "b.png")
    assert size_of(tmp_path / "b.png") == (40, 20)
    assert size_of(tmp_path / "none.png") is None


def test_sizes() -> None:
    assert size("2GiB") == 2**31


def test_text_among_boxes_does_not_grow() -> None:
    long = json.dumps({"id": "a", "width": 9, "height": 9, "words": ["w"] * 2000, "boxes": [[0, 0, 1, 1]] * 2000})
    spoilt = long.replace("[0, 0, 1, 1]]", f'[0, 0, 1, "{"x" * 10_000}"]]')
    assert peak_megabytes(lambda: _refused(spoilt)) < 20


def _refused(text: str) -> None:
    with pytest.raises(DocumentError, match=r"word 1999.*four numbers") as refusal:
        from_json(json.loads(text))
    assert len(str(refusal.value)) < 300


def test_a_row_of_parquet_that_unpacks_without_end_is_refused(tmp_path: Path) -> None:
    row = {"id": "a", "width": 9.0, "height": 9.0, "words": ["w" * (80 << 20)], "boxes": [[0.0, 0.0, 1.0, 1.0]]}
    write_table(Table.from_pylist([row]), tmp_path / "a.parquet", compression="zstd")
    assert (tmp_path / "a.parquet").stat().st_size < 1 << 20
    with pytest.raises(LimitError, match=r"a.parquet, row 1: holds more than 64 MiB"):
        list(read(tmp_path / "a.parquet"))


def test_the_service_looks_at_words_only() -> None:
    settings = Settings(max_words=10)
    page = {"id": "a", "width": 9, "height": 9, "words": ["w"] * 20, "boxes": [[0, 0, 1, 1]] * 20}
    with pytest.raises(LimitError, match="20 words; the limit is 10"):
        _documents(json.dumps(page).encode(), settings)
    page |= {"words": ["w"], "boxes": [[0, 0, 1, 1]], "entities": [{"label": "a", "words": [99]}], "links": "none"}
    (document,) = _documents(json.dumps(page).encode(), settings)
    assert document.entities == ()


def test_repairs_are_bounded_whatever_is_mended() -> None:
    builder = DocumentBuilder("a")
    builder.add_page(["w"], [[0, 0, 1, 1]], 9, 9)
    builder.add_entity("a", [0])
    builder.add_entity("b", [0])
    for _ in range(MOST_REPAIRS + 50):
        builder.add_link(0, 1)
    assert len(builder.build().repairs) == MOST_REPAIRS
