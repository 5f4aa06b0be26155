"""Reference lists, such as a company's vendors or products, that extracted values are matched with."""

import csv
import hashlib
import json
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from io import StringIO
from pathlib import Path

from pydantic import BaseModel, Field

from formnet.document.values.parse import fold
from formnet.errors import SettingsError

#: Minimum share of characters that agree, chosen on the companies of SROIE's training receipts.
MIN_SIMILARITY = 0.88
#: Number of most similar entries considered, and of values whose entry is remembered.
_LIMIT, MAX_CACHED = 8, 10_000
#: Maximum size of a file.
MAX_BYTES = 100 * 2**20
#: Characters that OCR confuses.
_LOOK_ALIKES = str.maketrans("0158l", "oisbi")
#: Legal forms, which a list or a receipt may leave out at the end of a name.
_LEGAL_FORMS = {
    "ag", "bhd", "bv", "co", "company", "corp", "corporation", "gmbh", "inc", "incorporated", "kg", "limited",
    "llc", "llp", "ltd", "nv", "ohg", "oy", "plc", "pte", "pty", "sa", "sarl", "sas", "sb", "sdn", "se", "spa",
    "srl"
}  # fmt: skip


class ReferenceMatch(BaseModel):
    """The entry of a reference list that is most similar to a value."""

    entry: dict[str, str] = Field(description="The row of the list, by column.")
    score: float = Field(description="The share of letters and digits that agree.")

    def describe(self) -> str:
        """Return the entry in one line."""
        return ", ".join(self.entry.values())


class ReferenceList:
    """Entries for one field: the first column is named after its path, and the others are returned with a match."""

    def __init__(self, columns: Sequence[str], rows: Sequence[Sequence[str]], name: str = "reference list") -> None:
        self.name, self.columns, self.rows = name, tuple(columns), tuple(map(tuple, rows))
        self._matches: dict[str, ReferenceMatch | None] = {}
        self._keys = [[key(row[0]) for row in self.rows] for key in _KEYS]
        if find_spec("rapidfuzz") is None:
            raise SettingsError("reference lists require rapidfuzz. Run pip install 'formnet[references]'.")

    @classmethod
    def read(cls, file: str | Path) -> "ReferenceList":
        """Read a CSV file in UTF-8, separated by commas, semicolons or tabs, with column names in the first line."""
        file = Path(file)
        try:
            if file.stat().st_size > MAX_BYTES:
                raise SettingsError(f"{file}: larger than {MAX_BYTES:,} bytes. Shorten the list.")
            text = file.read_text(encoding="utf-8-sig")
            separator = max(",;\t", key=text.partition("\n")[0].count)
            columns, *rows = list(csv.reader(StringIO(text, newline=""), delimiter=separator, strict=True)) or [[]]
        except OSError as error:
            raise SettingsError(f"{file}: cannot be read: {error.strerror}.") from error
        except (UnicodeDecodeError, csv.Error) as error:
            raise SettingsError(f"{file}: is not a CSV file in UTF-8: {error}.") from error
        rows = [row for row in rows if row and row[0].strip()]
        for row in rows:
            if len(row) != len(columns):
                raise SettingsError(f"{file}: the entry {row[0]!r} has {len(row)} columns, not {len(columns)}.")
        columns = [column.strip() for column in columns]
        if not rows:
            raise SettingsError(f"{file}: has no entries after the line with column names.")
        if len({*columns, "score"}) <= len(columns):
            raise SettingsError(f"{file}: column names must differ, and none may be 'score'. Rename a column.")
        return cls(columns, rows, str(file))

    @property
    def path(self) -> str:
        """The path of the field, such as `merchant.name`."""
        return self.columns[0]

    @property
    def digest(self) -> str:
        """A hash of the contents."""
        return hashlib.sha256(json.dumps([self.columns, self.rows]).encode()).hexdigest()

    def describe_unknown_path(self, paths: Iterable[str]) -> str:
        """Return the error message for a list whose first column is none of these paths."""
        return (
            f"{self.name}: the first column is {self.path!r}, which is not a text field of the model. "
            f"Name it after the field to match: {', '.join(sorted(paths))}."
        )

    def match(self, text: str) -> ReferenceMatch | None:
        """Return the most similar entry, if it is similar enough and has the same numbers.

        Equally similar entries whose other columns differ are ambiguous, and none of them is returned.

        >>> ReferenceList(["merchant.name", "id"], [["KEDAI KOPI MELUR", "V7"]]).match("KEDAI K0PI MELVR")
        ReferenceMatch(entry={'merchant.name': 'KEDAI KOPI MELUR', 'id': 'V7'}, score=0.9286)
        """
        try:
            return self._matches[text]
        except KeyError:
            match = self._find(text)
        if len(self._matches) >= MAX_CACHED:  # other threads may clear it, too
            self._matches.clear()
        self._matches[text] = match
        return match

    def _find(self, text: str) -> ReferenceMatch | None:
        from rapidfuzz import process
        from rapidfuzz.distance import Levenshtein

        best: dict[int, float] = {}  # similarity by row
        for key, keys in zip(_KEYS, self._keys, strict=True):
            if key(text):
                similar = process.extract(
                    key(text), keys, scorer=Levenshtein.normalized_similarity, score_cutoff=MIN_SIMILARITY, limit=_LIMIT
                )
                for _, similarity, row in similar:
                    best[row] = max(similarity, best.get(row, 0.0))
        # Of equally similar entries, the one without look-alikes is better.
        candidates = {
            row: (similarity, Levenshtein.normalized_similarity(fold(text), fold(self.rows[row][0])))
            for row, similarity in best.items()
            if _have_same_numbers(text, self.rows[row][0])
        }
        highest = max(candidates.values(), default=(0.0, 0.0))
        rows = [self.rows[row] for row in sorted(candidates) if candidates[row] == highest]
        if len({row[1:] for row in rows}) != 1:  # none, or several vendors of the same name
            return None
        return ReferenceMatch(entry=dict(zip(self.columns, rows[0], strict=True)), score=round(highest[0], 4))


def _key(text: str) -> str:
    """Return the letters and digits of a text, with those that OCR confuses made equal."""
    return fold(text).translate(_LOOK_ALIKES)


def read_references(references: Iterable[ReferenceList | str | Path]) -> list[ReferenceList]:
    """Read the lists that are given as files."""
    return [item if isinstance(item, ReferenceList) else ReferenceList.read(item) for item in references]


def _key_without_legal_form(text: str) -> str:
    words = text.split()
    while len(words) > 1 and fold(words[-1]) in _LEGAL_FORMS:
        words.pop()
    return _key(" ".join(words))


#: Comparison keys; the higher similarity counts.
_KEYS = (_key, _key_without_legal_form)


def _have_same_numbers(a: str, b: str) -> bool:
    """Return whether the words of each text that are mostly digits also occur in the other."""
    return all(number in _key(other) for text, other in ((a, b), (b, a)) for number in _numbers(text))


def _numbers(text: str) -> list[str]:
    words = [word for word in map(fold, text.split()) if 2 * sum(map(str.isdigit, word)) >= len(word) > 0]
    return [word.translate(_LOOK_ALIKES) for word in words]
