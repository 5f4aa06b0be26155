"""Error handling that all corpora share."""

from pathlib import Path

import pytest

from formnet.datasets import open_corpus
from formnet.errors import CorpusError, DocumentError


@pytest.mark.parametrize("kind", ["funsd", "cord", "sroie", "adbuy", "xfund", "jsonl"])
def test_corpus_missing_files_raises(kind: str, tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r": no .+ found\. Expected"):
        open_corpus(f"{kind}:{tmp_path}")
    with pytest.raises(CorpusError, match="no such"):
        open_corpus(f"{kind}:{tmp_path / 'nowhere'}")


def test_corpus_unknown_split_raises(examples: Path) -> None:
    with pytest.raises(CorpusError, match=r"no split 'test'\. Available splits: documents"):
        open_corpus(f"jsonl:{examples}@test")


@pytest.mark.parametrize(
    ("kind", "file", "text"),
    [
        ("funsd", "training_data/annotations/a.json", '{"form": [{"text": 1}]}'),
        ("funsd", "training_data/annotations/a.json", "[" * 100_000),
        ("funsd", "training_data/annotations/a.json", '{"form": 3}'),
        ("cord", "train/json/a.json", '{"valid_line": [{"words": [{"text": "x"}]}], "meta": {}}'),
        ("cord", "train/json/a.json", "{"),
        ("sroie", "train/box/a.txt", "1,2,3,total"),
        ("xfund", "fr.val.paddle.tsv", "a.jpg\tnonsense"),
    ],
)
def test_corpus_malformed_document_raises_with_file_name(kind: str, file: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DocumentError, match=path.name):
        list(open_corpus(f"{kind}:{tmp_path}"))


def test_corpus_two_files_of_one_split_raises(tmp_path: Path) -> None:
    for names, kind in ((("train.csv", "train.tsv"), "values"), (("t.json", "t.label-studio.json"), "label_studio")):
        for name in names:
            (tmp_path / name).write_text("[]" if kind == "label_studio" else "file,total\n")
        with pytest.raises(CorpusError, match="remove one"):
            open_corpus(f"{kind}:{tmp_path}")
        for name in names:
            (tmp_path / name).unlink()
