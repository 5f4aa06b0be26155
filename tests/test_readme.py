"""Documentation tests: the README blocks run as written, and commands, files and settings in the docs exist."""

import json
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
import typer
import yaml

from benchmarks.__main__ import app as benchmarks_app
from formnet.cli import app as formnet_app

ROOT = Path(__file__).parent.parent
#: pip resolves the requirements without installing them, so that the blocks run with the packages under test.
DRY_RUN = 'pip() { command pip "$@" --quiet --dry-run; }\n'
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
#: Code spans such as `io/limits.py` or `tests/io/test_limits.py`, and the names listed after them.
SOURCE_FILE = re.compile(r"`((?:[\w-]+/)*[\w-]+\.py)`(?:: (`\w[\w.]*`(?:, `\w[\w.]*`)*))?")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
PAGES = sorted(
    [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "src").rglob("*.md")],
    key=lambda path: path.relative_to(ROOT).as_posix(),
)
#: The changelog lists old names.
CURRENT_PAGES = [page for page in PAGES if page.name not in ("CHANGELOG.md", "changes.md")]


def shell_code(page: Path) -> str:
    """Return the bash blocks and the code spans of a page, on one line."""
    text = page.read_text(encoding="utf-8")
    code = [block for language, block in BLOCK.findall(text) if language == "bash"]
    code += re.findall(r"`([^`]+)`", FENCE.sub("", text))
    return " ; ".join(code).replace("\n", " ")


def page_id(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("checkout") / "formnet"
    ignored = shutil.ignore_patterns(".*", "__pycache__", "data", "runs", "pages", "results", "*.egg-info")
    shutil.copytree(ROOT, folder, ignore=ignored)
    return folder


def blocks(name: str) -> list[tuple[str, str]]:
    return BLOCK.findall((ROOT / name).read_text(encoding="utf-8"))


@cache
def run_block(language: str, block: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a block of the README once."""
    is_python = language == "python"
    command = [sys.executable, "-c", block] if is_python else ["bash", "-euo", "pipefail", "-c", DRY_RUN + block]
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "HF_HUB_OFFLINE": "1"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


@pytest.mark.slow
@pytest.mark.ocr
@pytest.mark.parametrize(("language", "block"), [block for block in blocks("README.md") if block[0] != "text"])
def test_readme_block_runs(language: str, block: str, checkout: Path) -> None:
    result = run_block(language, block, checkout)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(("page", "config"), [("training", "example"), ("tutorial", "tutorial")])
def test_docs_yaml_block_equals_config_file(page: str, config: str) -> None:
    shown = next(block for language, block in blocks(f"docs/{page}.md") if language == "yaml")
    assert yaml.safe_load(shown) == yaml.safe_load((ROOT / f"configs/{config}.yaml").read_text(encoding="utf-8"))


@pytest.mark.slow
@pytest.mark.ocr
def test_readme_output_equals_extract(checkout: Path) -> None:
    shown, _ = (block for language, block in blocks("README.md") if language == "text")
    (command,) = (block for _, block in blocks("README.md") if block.startswith("formnet extract examples/receipt.jpg"))
    (document,) = json.loads(run_block("bash", command, checkout).stdout)
    fields = document["fields"]
    header, items, checks = shown.split("\n\n")
    found = {
        **{name: field for name, field in fields.items() if "value" in field},
        **{f"merchant.{name}": field for name, field in fields["merchant"].items()},
        "payments cash": fields["payments"][0]["amount"],
    }
    rows = re.findall(r"^([a-z_. ]+?)  +(\S+).* (\d\.\d\d)  (\d\.\d\d)$", header, re.MULTILINE)
    assert {name for name, *_ in rows} == set(found)
    for name, value, confidence, _ in rows:
        assert str(found[name]["value"]).startswith(value.rstrip("0"))
        assert float(confidence) == pytest.approx(found[name]["score"], abs=0.02)
    rows = re.findall(r"^([A-Z ]+?)  +(\d)  +([\d.]+)$", items, re.MULTILINE)
    assert [(name, int(count), float(total)) for name, count, total in rows] == [
        (item["description"]["value"], item["quantity"]["value"], item["total"]["value"])
        for item in fields["line_items"]
    ]
    passed = [check["name"] for check in document["checks"] if check["status"] == "passed"]
    assert re.findall(r"(\w+) passed", checks) == passed
    assert not any(check["status"] == "failed" for check in document["checks"])


@pytest.mark.slow
def test_readme_values_of_invoice_equal_extract(checkout: Path) -> None:
    _, shown = (block for language, block in blocks("README.md") if language == "text")
    (command,) = (block for _, block in blocks("README.md") if block.startswith("formnet extract examples/invoice.pdf"))
    values = re.compile(r'"(\w+)": ("[^"]*"|[\d.]+)')
    printed = values.findall(shown)
    assert len(printed) > 10
    assert set(printed) <= set(values.findall(run_block("bash", command, checkout).stdout))


@pytest.mark.parametrize("page", CURRENT_PAGES, ids=page_id)
def test_docs_source_reference_exists(page: Path) -> None:
    for file, names in SOURCE_FILE.findall(page.read_text(encoding="utf-8")):
        if "/" not in file:
            continue
        paths = [root / file for root in (ROOT, ROOT / "src/formnet") if (root / file).is_file()]
        assert paths, f"no file {file}"
        source = paths[0].read_text(encoding="utf-8")
        for name in re.findall(r"\w[\w.]*", names):
            for part in name.split("."):
                assert re.search(rf"^\s*(?:async def|def|class) {part}\b|^\s*{part}\b.*=", source, re.MULTILINE), (
                    file,
                    name,
                )


@pytest.mark.parametrize("page", CURRENT_PAGES, ids=page_id)
@pytest.mark.parametrize(
    ("program", "app"),
    [("formnet", formnet_app), ("python -m benchmarks", benchmarks_app)],
    ids=["formnet", "benchmarks"],
)
def test_docs_command_exists(page: Path, program: str, app: typer.Typer) -> None:
    group = typer.main.get_command(app)
    commands = group.list_commands(None)  # type: ignore[attr-defined, arg-type] # a group
    for name in re.findall(rf"(?<![\w-]){program} ([a-z][a-z-]+)", shell_code(page)):
        assert name in commands, f"{program} {name}"


def test_docs_commands_are_found() -> None:
    code = shell_code(ROOT / "docs/training.md")
    assert {"train", "evaluate", "quantize"} <= set(re.findall(r"(?<![\w-])formnet ([a-z][a-z-]+)", code))
