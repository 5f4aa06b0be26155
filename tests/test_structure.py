"""Limits on the size of the package, so that it stays readable."""

from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src"
MAX_TOP_LEVEL_ENTRIES = 14
MAX_LINES = 400
#: Files with a limit of their own; `formnet.py` holds the model of the paper from top to bottom.
LONGER_FILES = {"src/formnet/modeling/formnet.py": 650}


def test_package_top_level_has_few_entries() -> None:
    entries = sorted(path.name for path in (SOURCE / "formnet").iterdir() if path.name != "__pycache__")
    assert len(entries) <= MAX_TOP_LEVEL_ENTRIES, entries


def test_source_files_are_short() -> None:
    lines = {
        path.relative_to(ROOT).as_posix(): len(path.read_text(encoding="utf-8").splitlines())
        for folder in (SOURCE, ROOT / "benchmarks")
        for path in folder.rglob("*.py")
    }
    assert lines.keys() >= LONGER_FILES.keys()
    assert {name: count for name, count in lines.items() if count > LONGER_FILES.get(name, MAX_LINES)} == {}
