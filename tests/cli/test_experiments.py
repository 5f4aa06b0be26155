"""Training, evaluation and experiments from the command line."""

import json
from pathlib import Path

import pytest

from command_line import run_command, run_for_stdout, runner
from formnet.cli import app
from formnet.errors import SettingsError
from formnet.io.readers import read
from small_runs import write_renamed_examples


@pytest.mark.slow
@pytest.mark.training
def test_train_evaluate_and_experiments_run_end_to_end(tmp_path: Path, examples: Path) -> None:
    corpus = f"jsonl:{examples / 'documents.jsonl'}"
    texts = {c for document in read(examples / "documents.jsonl") for text in document.texts for c in text.lower()}
    (tmp_path / "vocab.txt").write_text(
        "\n".join(["[PAD]", "[UNK]", *sorted(texts), *(f"##{c}" for c in sorted(texts))])
    )
    settings = {
        "corpus": corpus,
        "validation": write_renamed_examples(tmp_path),
        "init": {"size": "tiny", "tokenizer": str(tmp_path / "vocab.txt")},
        "output": str(tmp_path / "run"),
        "epochs": 2,
        "optimization": {"learning_rate": 3e-3, "compile": False},
    }
    config = tmp_path / "run.yaml"
    config.write_text(json.dumps(settings))
    run_command("train", str(config))
    pictures = tmp_path / "pictures"
    shown = run_command("evaluate", str(tmp_path / "run"), corpus, "--error-pages", str(pictures))
    assert "calibration error" in shown
    assert (pictures / "given" / "reliability.png").is_file()
    assert len(list((pictures / "given").glob("*.png"))) == 4  # a tiny network is wrong on all three pages
    shown = run_command("evaluate", str(tmp_path / "run"), corpus, "--graph-use")
    assert "graph messages cut" in shown
    told = json.loads(run_for_stdout("evaluate", str(tmp_path / "run"), corpus, "--order", "raster", "--json"))
    assert {"entities", "words", "calibration", "fields"} <= set(told["orders"]["raster"])

    labeled = tmp_path / "labeled.jsonl"
    assert "2 documents" in run_command("label", str(tmp_path / "run"), corpus, str(labeled))
    sure = tmp_path / "sure.jsonl"
    run_command("label", str(tmp_path / "run"), corpus, str(sure), "--drop-below", "1", "--documents", "1")
    assert [document.texts for document in read(labeled)] == [d.texts for d in read(examples / "documents.jsonl")]
    assert [len(document.entities) for document in read(sure)] == [0]

    repeated = json.loads(run_for_stdout("run-seeds", str(config), "--test", corpus, "--seed", "0", "--seed", "1"))
    assert {"command", "commit", "config", "seeds", "f1", "per_type"} <= set(repeated)
    assert len(repeated["f1"]["per_seed"]) == 2
    assert {"mean", "std"} <= set(repeated["f1"])
    assert 0 <= repeated["ensemble"] <= 1
    assert repeated["held_out"][""]["per_seed"] == repeated["f1"]["per_seed"]  # the same documents in this test

    (tmp_path / "variants.yaml").write_text("as it is: []\nlonger: [epochs=3]\n")
    compared = json.loads(run_for_stdout("compare", str(config), str(tmp_path / "variants.yaml")))
    assert [row["variant"] for row in compared["rows"]] == ["as it is", "longer"]
    assert compared["judged_on"] == "the held-out part of training"
    one_by_one = ("compare", str(config), str(tmp_path / "variants.yaml"), "--out", str(tmp_path / "compared.json"))
    for name in ("longer", "as it is"):
        rows = json.loads(run_for_stdout(*one_by_one, "--variant", name))["rows"]
    assert [(row["variant"], row["f1"], {"commit", "command"} <= row.keys()) for row in rows] == [
        (row["variant"], row["f1"], row["variant"] == "longer") for row in reversed(compared["rows"])
    ]
    in_folds = (*one_by_one[:3], "--variant", "as it is", "--fold", "7", "--fold", "9")  # a document each
    with pytest.raises(SettingsError, match="Set held_out, and no validation"):
        run_for_stdout(*in_folds)
    folds = json.loads(run_for_stdout(*in_folds, "--set", "validation=[]", "--set", "held_out=0.1"))
    assert folds["folds"] == [7, 9]
    assert len(folds["rows"][0]["f1"]["per_seed"]) == 2
    with pytest.raises(SettingsError, match="--variant: unknown variant shorter"):
        run_for_stdout(*one_by_one, "--variant", "shorter")
    shown = json.loads(run_for_stdout("compare", str(config), str(tmp_path / "variants.yaml"), "--test", corpus))
    assert shown["judged_on"] == corpus
    assert shown["rows"][0]["parameters"] == repeated["parameters"] > 0

    table = tmp_path / "ablation.json"
    ablation = ("ablate", str(config), "--test", corpus, "--trained-in", "raster", "--out", str(table))
    ablated = json.loads(run_for_stdout(*ablation))
    assert {(row["variant"], row["trained_in"]) for row in ablated["rows"]} == {
        (name, "raster") for name in ("ETC", "ETC + RichAtt", "ETC + GCN", "FormNet")
    }
    assert set(ablated["rows"][0]["f1"]) == {"given", "raster", "shuffled"}
    again = json.loads(run_for_stdout(*ablation, "--variant", "FormNet"))["rows"]
    assert [row["variant"] for row in again] == [row["variant"] for row in ablated["rows"]]
    assert ["commit" in row for row in again] == [True, True, True, False]  # the last was measured again
    with pytest.raises(SettingsError, match="different seeds"):
        run_for_stdout(*ablation, "--variant", "FormNet", "--seed", "7")
    with pytest.raises(SettingsError, match="different epochs"):
        run_for_stdout(*ablation, "--variant", "FormNet", "--set", "epochs=3")
    (tmp_path / "pretrained/FormNet").mkdir(parents=True)
    (tmp_path / "pretrained/FormNet/seed-0").symlink_to(tmp_path / "run")
    warm = ("ablate", str(config), "--test", corpus, "--pretrained", str(tmp_path / "pretrained"))
    warm += ("--set", f"output={tmp_path / 'warm'}")
    run_for_stdout(*warm, "--variant", "FormNet")
    settings = json.loads((tmp_path / "warm/formnet-given/seed-0/settings.json").read_text())
    assert settings["init"]["checkpoint"] == str(tmp_path / "pretrained/FormNet/seed-0")
    with pytest.raises(SettingsError, match="pretrained/ETC/seed-0"):
        run_for_stdout(*warm, "--variant", "ETC")

    curve = ["learning-curve", str(config), "--test", corpus, "--documents", "1", "--out", str(tmp_path / "curve.json")]
    (first,) = json.loads(run_for_stdout(*curve))["rows"]
    assert [point["documents"] for point in first["points"]] == [1, 2]
    (again,) = json.loads(run_for_stdout(*curve))["rows"]
    assert again["init"] == first["init"]  # measured again, not added
    overrides = [
        "--set",
        "init.size=null",
        "--set",
        "init.tokenizer=null",
        "--set",
        f"init.checkpoint={tmp_path / 'run'}",
    ]
    _, other = json.loads(run_for_stdout(*curve, *overrides, "--set", f"output={tmp_path / 'other'}"))["rows"]
    assert other["init"] == str(tmp_path / "run")


def test_evaluate_folder_without_model_raises(tmp_path: Path) -> None:
    failed = runner.invoke(app, ["evaluate", str(tmp_path), "jsonl:examples"])
    assert isinstance(failed.exception, SettingsError)
    assert "config.json" in str(failed.exception)
