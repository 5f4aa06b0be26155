"""`formnet data`."""

import json
from pathlib import Path

from command_line import run_command, runner
from formnet.cli import app


def test_stats_counts_documents_and_entities(examples: Path) -> None:
    table = run_command("data", "stats", f"jsonl:{examples}")
    assert "item.name, × words" in table
    counts = json.loads(run_command("data", "stats", f"jsonl:{examples}", "--json"))["documents"]
    assert (counts["documents"], counts["pages"], counts["entities"]) == (2, 3, 36)
    assert counts["fields"]["total"] == 2
    assert counts["scattered_entities"] == 0
    shuffled = json.loads(run_command("data", "stats", f"jsonl:{examples}", "--json", "--order", "shuffled"))[
        "documents"
    ]
    assert shuffled["scattered_entities"] > 5


def test_validate_reports_every_problem(examples: Path, tmp_path: Path) -> None:
    assert "no problems found" in run_command("data", "validate", f"jsonl:{examples}")
    page = {"width": 10, "height": 10, "words": ["a", "b"], "boxes": [[3, 0, 2, 1], [0, 0, 1, 1]]}
    rows = [
        {"id": "repaired", **page, "entities": [{"label": "x", "words": [0, 1]}, {"label": "y", "words": [1]}]},
        {"id": "refused", **page, "boxes": [[0, 0, 1, 1]]},
        {"id": "repaired", **page},
    ]
    file = tmp_path / "bad.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    result = runner.invoke(app, ["data", "validate", f"jsonl:{file}"])
    assert result.exit_code == 1
    for words in (
        "'a' [3.0, 0.0, 2.0, 1.0] on 10 × 10",
        "2 words but 1 boxes",
        "line 2",
        "duplicate id",
        "overlapping entities",
    ):
        assert words in result.output
    counts = json.loads(runner.invoke(app, ["data", "validate", f"jsonl:{file}", "--json"]).output)["counts"]
    assert counts == {"inverted box turned round": 2, "overlapping entities": 1, "refused": 1, "duplicate id": 1}
    file.write_text(json.dumps(rows[2]))
    run_command("data", "validate", f"jsonl:{file}")
    assert runner.invoke(app, ["data", "validate", f"jsonl:{file}", "--strict"]).exit_code == 1


def test_validate_invalid_utf8_continues_with_next_line(tmp_path: Path) -> None:
    file = tmp_path / "bad.jsonl"
    file.write_bytes(b"\xff\n{bad\n{}\n")
    found = json.loads(runner.invoke(app, ["data", "validate", f"jsonl:{file}", "--json"]).output)["findings"]
    assert [finding["source"] for finding in found] == [f"{file}, line {n}" for n in (1, 2, 3)]


def test_convert_onto_itself_keeps_documents(examples: Path, tmp_path: Path) -> None:
    file = tmp_path / "documents.jsonl"
    file.write_bytes((examples / "documents.jsonl").read_bytes())
    before = json.loads(run_command("data", "stats", f"jsonl:{file}", "--json"))
    assert "2 documents" in run_command("data", "convert", f"jsonl:{file}", str(file), "--align")
    assert json.loads(run_command("data", "stats", f"jsonl:{file}", "--json")) == before
    assert list(tmp_path.iterdir()) == [file]


def test_overlap_counts_near_duplicates(examples: Path) -> None:
    told = json.loads(run_command("data", "overlap", f"jsonl:{examples}", f"jsonl:{examples}", "--json"))
    assert (told["documents"], told["same"], told["pairs"][0]["share"]) == (2, 2, 1.0)
    assert "2 of 2 documents share 80%" in run_command("data", "overlap", f"jsonl:{examples}", f"jsonl:{examples}")


def test_convert_align_adds_entities(examples: Path, tmp_path: Path) -> None:
    from formnet.datasets import open_corpus

    bare = tmp_path / "values.jsonl"
    rows = [json.loads(line) for line in (examples / "documents.jsonl").read_text().splitlines()]
    bare.write_text("\n".join(json.dumps({**row, "entities": []}) for row in rows))
    out = tmp_path / "out.jsonl.gz"
    assert "2 documents" in run_command("data", "convert", f"jsonl:{bare}", str(out), "--align")
    labels = {e.label for d in open_corpus(f"jsonl:{out}") for e in d.entities}
    assert labels == {"company", "date", "due_date", "invoice_number", "total", "vendor"}
    table = run_command("data", "align", f"jsonl:{examples}", "--sample", "3")
    assert table.count("hit ") == 3
    record = json.loads(run_command("data", "align", f"jsonl:{examples}", "--json"))
    assert record["corpora"][f"jsonl:{examples}"]["all"]["found"] == 7
    assert record["configuration"] == {"corpora": [f"jsonl:{examples}"]}
    assert runner.invoke(app, ["data", "convert", f"jsonl:{examples}", str(tmp_path / "out.txt")]).exit_code == 2
