"""The README does what it says: every block is run as pasted, in order, in a checkout of its own."""

import csv
import os
import re
import shutil
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent
#: pip only says what it would install: the rest should run on what is tested.
DRY = 'pip() { command pip "$@" --quiet --dry-run; }\n'
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("checkout") / "formnet"
    kept = shutil.ignore_patterns(".*", "__pycache__", "data", "runs", "pages", "results", "*.egg-info")
    shutil.copytree(ROOT, folder, ignore=kept)
    return folder


def blocks(name: str) -> list[tuple[str, str]]:
    return BLOCK.findall((ROOT / name).read_text(encoding="utf-8"))


@pytest.mark.parametrize(("language", "block"), blocks("README.md"))
def test_every_block_of_the_readme(language: str, block: str, checkout: Path) -> None:
    if language == "text":
        return
    command = [sys.executable, "-c", block] if language == "python" else ["bash", "-euo", "pipefail", "-c", DRY + block]
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    here = {**os.environ, "PATH": path, "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(command, cwd=checkout, env=here, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("page", "config"), [("training", "example"), ("tutorial", "invoices")])
def test_settings_in_the_docs_are_those_of_the_file(page: str, config: str) -> None:
    shown = next(block for language, block in blocks(f"docs/{page}.md") if language == "yaml")
    assert yaml.safe_load(shown) == yaml.safe_load((ROOT / f"configs/{config}.yaml").read_text(encoding="utf-8"))


def test_what_the_readme_shows_is_what_is_printed() -> None:
    (shown,) = (block for language, block in blocks("README.md") if language == "text")
    rows = re.findall(r"^([a-z_.]+) .* (\d\.\d\d)  (\d\.\d\d)$", shown, re.MULTILINE)
    command = [sys.executable, "-m", "formnet.cli", "extract", "examples/receipt.jpg", "--ocr", "rapidocr"]
    told = subprocess.run([*command, "--format", "csv"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    found = {(row["label"], float(row["score"])) for row in csv.DictReader(StringIO(told))}
    assert len(rows) > 10
    for label, sure, _ in rows:
        assert any(label == name and abs(float(sure) - score) < 0.02 for name, score in found), (label, sure)
