import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from formnet import DocumentBuilder, open_corpus, read
from formnet.cli import app
from formnet.errors import CorpusError, DocumentError
from formnet.io.writers import write
from label_studio_tasks import make_receipt, make_region, make_task


def test_label_studio_converted_corpus_round_trip(tmp_path: Path, examples: Path) -> None:
    source = list(read(examples / "documents.jsonl"))
    out = tmp_path / "train.label-studio.json"
    result = CliRunner().invoke(app, ["data", "convert", f"jsonl:{examples}", str(out), "--images", "http://x/"])
    assert "2 documents" in result.output
    assert sorted(file.name for file in tmp_path.iterdir()) == [out.name, "train.label-studio.xml"]
    assert 'value="total"' in (tmp_path / "train.label-studio.xml").read_text()
    corpus = open_corpus(f"label_studio:{out}")
    assert corpus.splits == ("train",)
    assert list(corpus) == list(open_corpus(f"label_studio:{tmp_path}@train")) == source


def test_label_studio_unannotated_tasks_are_skipped(tmp_path: Path) -> None:
    task = make_task(make_region("a", 0, 0, 50, 50, labels=["x"]))
    (tmp_path / "export.json").write_text(json.dumps([task, {"data": {}}, {"annotations": 3}]))
    words = DocumentBuilder("slip 1")
    words.add_page(["in", "out"], [[10, 10, 20, 20], [60, 60, 70, 70]], 100, 100)
    write([words.build()], tmp_path / "documents.jsonl")
    sources = list(open_corpus(f"label_studio:{tmp_path}").sources("export"))
    assert [source.number for source in sources] == [1, 3]
    corpus = open_corpus(f"label_studio:{tmp_path / 'export.json'}")
    assert [e.text for e in corpus.read(sources[0]).entities] == ["in"]
    with pytest.raises(DocumentError, match="task 3 of the list: "):
        corpus.read(sources[1])
    write([make_receipt()], tmp_path / "predictions.label-studio.json", model_version="m")
    with pytest.raises(CorpusError, match="none of the 1 tasks is annotated"):
        list(open_corpus(f"label_studio:{tmp_path}@predictions"))
    (tmp_path / "export.json").write_text('{"a": 1}')
    with pytest.raises(DocumentError, match="not a list of tasks"):
        list(corpus)
    (tmp_path / "export.json").write_text("[" * 100_000)
    with pytest.raises(DocumentError, match="not JSON"):
        list(corpus)
