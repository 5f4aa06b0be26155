"""Results with one row per variant, to which later runs add rows or replace them."""

import json
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from formnet.errors import SettingsError
from formnet.training.config import Run
from formnet.training.run_directory import changed_settings

Record = dict[str, Any]


def choose_variants(chosen: Collection[str], available: Collection[str]) -> list[str]:
    """Return the chosen variants in their usual order, or all if none is chosen."""
    unknown = sorted({*chosen} - {*available})
    if unknown:
        raise SettingsError(f"--variant: unknown variant {', '.join(unknown)}. Use one of {', '.join(available)}.")
    return [name for name in available if name in chosen or not chosen]


def read_earlier_rows(out: Path | None, run: Run, **conditions: Any) -> Record | None:
    """Read earlier results, and raise if they are of another run or were measured under other conditions."""
    earlier = read_rows(out)
    if earlier is None:
        return None
    changed = [name.replace("_", " ") for name, value in conditions.items() if earlier.get(name) != value]
    changed += changed_settings(earlier.get("config", {}), run)
    if changed:
        raise SettingsError(f"{out}: contains results with different {', '.join(changed)}. Use another file.")
    return earlier


def read_rows(out: Path | None) -> Record | None:
    """Read the results that new rows are added to, if there are any."""
    return None if out is None or not out.is_file() else json.loads(out.read_text(encoding="utf-8"))


def merge_rows(new: Record, earlier: Record | None, key: Callable[[Record], Any]) -> Record:
    """Replace the earlier rows that were measured again, and add the earlier commit and command to the others."""
    if earlier is None:
        return new
    new_rows = {key(row): row for row in new["rows"]}
    provenance = {name: earlier[name] for name in ("commit", "command") if name in earlier}
    earlier_rows = [row if "commit" in row else {**provenance, **row} for row in earlier["rows"]]
    rows = [new_rows.pop(key(row), row) for row in earlier_rows]
    return {**new, "rows": [*rows, *new_rows.values()]}
