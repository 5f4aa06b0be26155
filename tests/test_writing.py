"""The writing guide, as far as a pattern can check it: docstrings, comments, messages, help texts and documentation."""

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
#: Words and turns of phrase to avoid, each with what to write instead.
BANNED = {
    r"\banew\b": "again",
    r"\bjust so\b": "exact",
    r"\bmend(s|ed|ing)?\b": "fix",
    r"\bspoil(t|ed|s)?\b": "corrupt",
    r"\btold\b": "reported, detected",
    r"(?<!there )\b(is|are) no\b(?! longer| more\b)": "is not a",
    r"\bbeside\b": "next to",
    r"\bwhole\b(?![ _-](words?|numbers?)\b)": "complete",
    r"\bso many\b": "N",
    r"\bas often as\b": "as frequently as",
    r"\bof like (length|size)\b": "of similar length",
    r"\bwhoever\b": "name the subject",
    r"\b(no|any|some)body\b": "name the subject",
    r"\bfields out of\b": "extract fields from",
    r"\bway of a document\b": "path of a document",
    r"\bfor company\b": "batching delay",
    r"\bpatience\b": "timeout",
    r"\bdice\b": "random number",
    r"\bwitness(es)?\b": "evidence",
    r"\bby heart\b": "overfit",
    r"\bstumbles?\b": "fails",
    r"\bhonest probabilit": "calibrated probability",
    r"\blearnt\b": "learned",
    r"\b(seconds?|ms|milliseconds|bytes|megabytes|MB|pages|documents|words|tokens|pieces|rows?|keys?|numbers?|one) "
    r"an? (second|page|line|document|word|core|head|request|row|pair|point|minute|file|block|shard|type)\b": "per",
}
#: A docstring that starts like this uses the wrong verb.
OPENING = re.compile(r'^[rb]?"""(Give|Tell|Say|Put|Let|Ask|Know)s?\b')
#: Correct uses of a banned word: file and text.
ALLOWED: tuple[tuple[str, str], ...] = (
    ("benchmarks/extract.py", "whole"),  # a key in recorded results
    ("benchmarks/tables/costs.py", "whole"),
)
#: Files that quote banned words: this one, and the wording of recorded results.
QUOTING = ("tests/test_writing.py", "benchmarks/tables/recorded.py")

PYTHON = [*(ROOT / "src").rglob("*.py"), *(ROOT / "benchmarks").rglob("*.py"), *(ROOT / "tests").rglob("*.py")]
TEXT = [
    *ROOT.glob("*.md"),
    *(path for suffix in ("md", "html", "js", "yaml", "yml") for path in (ROOT / "docs").rglob(f"*.{suffix}")),
    *(ROOT / "src").rglob("*.md"),
    *(ROOT / "src").rglob("*.html"),
    *(ROOT / "src").rglob("*.js"),
    *(ROOT / "configs").rglob("*.yaml"),
    *(ROOT / "deploy").rglob("*"),
    *(ROOT / "examples").rglob("*.py"),
    *(ROOT / ".github").rglob("*.y*ml"),
    ROOT / "results/README.md",
    ROOT / "pyproject.toml",
]


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def passages(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the strings and comments of a Python file; of a test, its docstrings and comments only."""
    is_test = path.is_relative_to(ROOT / "tests")
    start = tokenize.NEWLINE
    for token in tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline):
        is_docstring = token.type == tokenize.STRING and start in (tokenize.NEWLINE, tokenize.INDENT, tokenize.NL)
        is_text = (
            token.type in (tokenize.STRING, tokenize.FSTRING_MIDDLE)
            if hasattr(tokenize, "FSTRING_MIDDLE")
            else (token.type == tokenize.STRING)
        )
        if token.type == tokenize.COMMENT or is_docstring or (is_text and not is_test):
            yield token.start[0], token.string
        if token.type not in (tokenize.COMMENT, tokenize.NL):
            start = token.type


def findings(path: Path, passage: str, line: int) -> Iterator[str]:
    for pattern, instead in BANNED.items():
        for match in re.finditer(pattern, passage, re.IGNORECASE):
            if (name_of(path), match[0]) not in ALLOWED:
                number = line + passage[: match.start()].count("\n")
                yield f"{name_of(path)}:{number}: {match[0]!r}. Write: {instead}."
    if OPENING.match(passage):
        yield f"{name_of(path)}:{line}: {passage[:40]!r}. Write an imperative such as Return, Build or Parse."


@pytest.mark.parametrize("path", [path for path in PYTHON if name_of(path) not in QUOTING], ids=name_of)
def test_writing_python_follows_guide(path: Path) -> None:
    assert [finding for line, passage in passages(path) for finding in findings(path, passage, line)] == []


@pytest.mark.parametrize("path", [path for path in TEXT if path.is_file()], ids=name_of)
def test_writing_documents_follow_guide(path: Path) -> None:
    lines = enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
    assert [finding for number, line in lines for finding in findings(path, line, number)] == []


def test_writing_banned_word_is_found() -> None:
    assert len(list(findings(ROOT / "README.md", '"""Give it anew."""', 1))) == 2
