import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer import Typer
from typer.testing import CliRunner

from benchmarks.__main__ import app as benchmarks
from formnet.cli import app, main
from formnet.errors import SettingsError
from formnet.io.readers import read
from formnet.visualization.graph import ACROSS, ALONG
from small_runs import under_other_names

run = CliRunner()


def formnet(*words: str, app: Typer = app) -> str:
    result = run.invoke(app, list(words), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def stdout(*words: str, app: Typer = app) -> str:
    """What a command says to programs, without what it says to people."""
    result = run.invoke(app, list(words), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_help_and_version() -> None:
    assert "data" in formnet("--help")
    assert formnet("--version").startswith("formnet ")
    for room in ("data", "view"):
        assert "Usage" in formnet(room, "--help")
    assert "Usage" in formnet("--help", app=benchmarks)


def test_nothing_heavy_is_imported_for_help() -> None:
    heavy = ("torch", "numpy", "scipy", "PIL", "transformers")
    code = f"import formnet, formnet.cli, sys; print([m for m in {heavy} if m in sys.modules])"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    )


def test_help_is_as_quick_as_a_bare_typer_program(tmp_path: Path) -> None:
    bare = tmp_path / "bare.py"
    bare.write_text("import typer\napp = typer.Typer()\n@app.command()\ndef hello(name: str): ...\napp()\n")

    def seconds(*command: str) -> float:
        start = time.perf_counter()
        subprocess.run([sys.executable, *command, "--help"], capture_output=True, check=True)
        return time.perf_counter() - start

    seconds("-m", "formnet.cli")  # byte code
    # Pairs, since the machine's own speed changes from one second to the next.
    ratios = [seconds("-m", "formnet.cli") / seconds(str(bare)) for _ in range(9)]
    assert statistics.median(ratios) < 1.5, ratios


def test_stats(examples: Path) -> None:
    table = formnet("data", "stats", f"jsonl:{examples}")
    assert "item.name, × words" in table
    counts = json.loads(formnet("data", "stats", f"jsonl:{examples}", "--json"))["documents"]
    assert (counts["documents"], counts["pages"], counts["entities"]) == (2, 3, 36)
    assert counts["fields"]["total"] == 2
    assert counts["scattered_entities"] == 0
    shuffled = json.loads(formnet("data", "stats", f"jsonl:{examples}", "--json", "--order", "shuffled"))["documents"]
    assert shuffled["scattered_entities"] > 5


def test_validate(examples: Path, tmp_path: Path) -> None:
    assert "nothing to mend" in formnet("data", "validate", f"jsonl:{examples}")
    page = {"width": 10, "height": 10, "words": ["a", "b"], "boxes": [[3, 0, 2, 1], [0, 0, 1, 1]]}
    rows = [
        {"id": "mended", **page, "entities": [{"label": "x", "words": [0, 1]}, {"label": "y", "words": [1]}]},
        {"id": "refused", **page, "boxes": [[0, 0, 1, 1]]},
        {"id": "mended", **page},
    ]
    file = tmp_path / "bad.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    result = run.invoke(app, ["data", "validate", f"jsonl:{file}"])
    assert result.exit_code == 1
    for words in (
        "'a' [3.0, 0.0, 2.0, 1.0] on 10 × 10",
        "2 words but 1 boxes",
        "line 2",
        "id used twice",
        "overlapping entities",
    ):
        assert words in result.output
    counts = json.loads(run.invoke(app, ["data", "validate", f"jsonl:{file}", "--json"]).output)["counts"]
    assert counts == {"inverted box turned round": 2, "overlapping entities": 1, "refused": 1, "id used twice": 1}
    file.write_text(json.dumps(rows[2]))
    formnet("data", "validate", f"jsonl:{file}")
    assert run.invoke(app, ["data", "validate", f"jsonl:{file}", "--strict"]).exit_code == 1


def test_validate_goes_on_after_a_line_that_is_not_text(tmp_path: Path) -> None:
    file = tmp_path / "bad.jsonl"
    file.write_bytes(b"\xff\n{bad\n{}\n")
    found = json.loads(run.invoke(app, ["data", "validate", f"jsonl:{file}", "--json"]).output)["findings"]
    assert [finding["source"] for finding in found] == [f"{file}, line {n}" for n in (1, 2, 3)]


def test_a_corpus_may_be_converted_onto_itself(examples: Path, tmp_path: Path) -> None:
    file = tmp_path / "documents.jsonl"
    file.write_bytes((examples / "documents.jsonl").read_bytes())
    before = json.loads(formnet("data", "stats", f"jsonl:{file}", "--json"))
    assert "2 documents" in formnet("data", "convert", f"jsonl:{file}", str(file), "--align")
    assert json.loads(formnet("data", "stats", f"jsonl:{file}", "--json")) == before
    assert list(tmp_path.iterdir()) == [file]


def test_overlap_is_counted(examples: Path) -> None:
    told = json.loads(formnet("data", "overlap", f"jsonl:{examples}", f"jsonl:{examples}", "--json"))
    assert (told["documents"], told["same"], told["pairs"][0]["share"]) == (2, 2, 1.0)
    assert "2 of 2 documents share 80%" in formnet("data", "overlap", f"jsonl:{examples}", f"jsonl:{examples}")


def test_convert_and_align(examples: Path, tmp_path: Path) -> None:
    from formnet.datasets import open_corpus

    bare = tmp_path / "values.jsonl"
    rows = [json.loads(line) for line in (examples / "documents.jsonl").read_text().splitlines()]
    bare.write_text("\n".join(json.dumps({**row, "entities": []}) for row in rows))
    out = tmp_path / "out.jsonl.gz"
    assert "2 documents" in formnet("data", "convert", f"jsonl:{bare}", str(out), "--align")
    labels = {e.label for d in open_corpus(f"jsonl:{out}") for e in d.entities}
    assert labels == {"company", "date", "due_date", "invoice_number", "total", "vendor"}
    table = formnet("data", "align", f"jsonl:{examples}", "--sample", "3")
    assert table.count("hit ") == 3
    record = json.loads(formnet("data", "align", f"jsonl:{examples}", "--json"))
    assert record["corpora"][f"jsonl:{examples}"]["all"]["found"] == 7
    assert record["configuration"] == {"corpora": [f"jsonl:{examples}"]}
    assert run.invoke(app, ["data", "convert", f"jsonl:{examples}", str(tmp_path / "out.txt")]).exit_code == 2


def test_view_graph(examples: Path, tmp_path: Path) -> None:
    out = tmp_path / "graph.png"
    said = formnet(
        "view", "graph", f"jsonl:{examples}", "--document", "printer-invoice", "--page", "2", "--out", str(out)
    )
    assert "35 words" in said
    with Image.open(out) as picture:
        assert max(picture.size) == 2000
        colors = np.array([color for _, color in picture.convert("RGB").getcolors(2**24) or []])
    for meant in (ALONG, ACROSS):
        assert (np.abs(colors - meant).max(axis=1) < 16).any()


def test_view_graph_over_a_scan(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "graph.png"
    formnet("view", "graph", f"funsd:{data}/funsd@test", "--out", str(out))
    with Image.open(out) as picture:
        assert picture.height == 2000


def test_bench_graph(examples: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from benchmarks import graph

    monkeypatch.setattr(graph.benchmark, "__defaults__", ((100, 1000),))
    record = json.loads(formnet("graph", f"jsonl:{examples}", "--repeats", "2", "--json", app=benchmarks))
    assert record["points"] == [100, 1000]
    assert len(record["seconds"]) == 2
    assert record["ratio_to_delaunay"] > 1
    assert "Delaunay" in formnet("graph", f"jsonl:{examples}", "--repeats", "1", app=benchmarks)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["data", "stats", "nonsense"], "names no corpus"),
        (["data", "stats", "funsd:/nowhere"], "no such file"),
        (["view", "graph", "EXAMPLES", "--document", "x"], "holds no document 'x'"),
        (["view", "graph", "EXAMPLES", "--page", "9"], "no page 9"),
        (["view", "graph", "EXAMPLES", "--out", "/no/such/folder/x.png"], "No such file"),
        (["data", "convert", "EXAMPLES", "/no/such/folder/x.jsonl"], "No such file"),
    ],
)
def test_mistakes_are_one_line(
    words: list[str], says: str, examples: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["formnet", *(w.replace("EXAMPLES", f"jsonl:{examples}") for w in words)])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2
    error = capsys.readouterr().err
    assert says in error
    assert error.count("\n") == 1


def test_train_evaluate_and_the_experiments_around_them(tmp_path: Path, examples: Path) -> None:
    corpus = f"jsonl:{examples / 'documents.jsonl'}"
    texts = {c for document in read(examples / "documents.jsonl") for text in document.texts for c in text.lower()}
    (tmp_path / "vocab.txt").write_text(
        "\n".join(["[PAD]", "[UNK]", *sorted(texts), *(f"##{c}" for c in sorted(texts))])
    )
    settings = {
        "corpus": corpus,
        "validation": under_other_names(tmp_path),
        "start": {
            "size": "tiny",
            "tokenizer": str(tmp_path / "vocab.txt"),
            "changes": {"attention_backend": "blocked"},
        },
        "output": str(tmp_path / "run"),
        "epochs": 2,
        "optimization": {"learning_rate": 3e-3},
    }
    config = tmp_path / "run.yaml"
    config.write_text(json.dumps(settings))
    formnet("train", str(config))
    pictures = tmp_path / "pictures"
    shown = formnet("evaluate", str(tmp_path / "run"), corpus, "--pictures", str(pictures))
    assert "calibration error" in shown
    assert (pictures / "given" / "reliability.png").is_file()
    assert len(list((pictures / "given").glob("*.png"))) == 4  # a tiny network is wrong on all three pages
    told = json.loads(stdout("evaluate", str(tmp_path / "run"), corpus, "--order", "raster", "--json"))
    assert {"entities", "words", "calibration", "fields"} <= set(told["orders"]["raster"])

    labeled = tmp_path / "labeled.jsonl"
    assert "2 documents" in formnet("label", str(tmp_path / "run"), corpus, str(labeled))
    sure = tmp_path / "sure.jsonl"
    formnet("label", str(tmp_path / "run"), corpus, str(sure), "--drop-below", "1", "--documents", "1")
    assert [document.texts for document in read(labeled)] == [d.texts for d in read(examples / "documents.jsonl")]
    assert [len(document.entities) for document in read(sure)] == [0]

    repeated = json.loads(stdout("experiment", str(config), "--test", corpus, "--seed", "0", "--seed", "1"))
    assert {"command", "commit", "config", "seeds", "f1", "per_type"} <= set(repeated)
    assert len(repeated["f1"]["per_seed"]) == 2
    assert {"mean", "std"} <= set(repeated["f1"])
    assert repeated["held_out"][""]["per_seed"] == repeated["f1"]["per_seed"]  # the same documents in this test

    (tmp_path / "variants.yaml").write_text("as it is: []\nlonger: [epochs=3]\n")
    compared = json.loads(stdout("compare", str(config), str(tmp_path / "variants.yaml")))
    assert [row["variant"] for row in compared["rows"]] == ["as it is", "longer"]
    assert compared["judged_on"] == "the held-out part of training"
    shown = json.loads(stdout("compare", str(config), str(tmp_path / "variants.yaml"), "--test", corpus))
    assert shown["judged_on"] == corpus
    assert shown["rows"][0]["parameters"] == repeated["parameters"] > 0

    table = tmp_path / "ablation.json"
    ablation = ("ablate", str(config), "--test", corpus, "--trained-in", "raster", "--out", str(table))
    ablated = json.loads(stdout(*ablation))
    assert {(row["variant"], row["trained_in"]) for row in ablated["rows"]} == {
        (name, "raster") for name in ("ETC", "ETC + RichAtt", "ETC + GCN", "FormNet")
    }
    assert set(ablated["rows"][0]["f1"]) == {"given", "raster", "shuffled"}
    again = json.loads(stdout(*ablation, "--variant", "FormNet"))["rows"]
    assert [row["variant"] for row in again] == [row["variant"] for row in ablated["rows"]]
    assert ["commit" in row for row in again] == [True, True, True, False]  # the last was measured again
    with pytest.raises(SettingsError, match="of another test or other seeds"):
        stdout(*ablation, "--variant", "FormNet", "--seed", "7")
    with pytest.raises(SettingsError, match="of runs with another epochs"):
        stdout(*ablation, "--variant", "FormNet", "--set", "epochs=3")

    curve = json.loads(stdout("curve", str(config), "--test", corpus, "--documents", "1"))
    assert [point["documents"] for point in curve["points"]] == [1, 2]

    spent = json.loads(stdout("hours", str(tmp_path), app=benchmarks))
    assert {str(tmp_path / name) for name in ("run", "run/seed-0", "run/seed-1")} <= set(spent["runs"])
    assert 0 < spent["hours"] < 0.5


def test_a_model_that_is_none_is_refused(tmp_path: Path) -> None:
    failed = run.invoke(app, ["evaluate", str(tmp_path), "jsonl:examples"])
    assert isinstance(failed.exception, SettingsError)
    assert "config.json" in str(failed.exception)
