"""How long was trained, by the clock: from the curves that runs leave behind for TensorBoard."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

from formnet.errors import SettingsError

#: A gap between two points of a curve is a pause, and not training, if it is so many times as long as most.
PAUSE = 5


def hours_trained(folders: Sequence[Path]) -> dict[str, Any]:
    """Add up the runs under the folders; runs that were given up count, too."""
    files = sorted({file for folder in folders for file in folder.rglob("events.out.tfevents.*")})
    if not files:
        raise SettingsError(f"{', '.join(map(str, folders))}: no run has left a curve there.")
    runs: dict[str, float] = {}
    for file in files:
        run = str(file.parents[2])  # which keeps them under runs/<start>/
        runs[run] = runs.get(run, 0.0) + seconds_of(_moments(file)) / 3600
    return {"hours": sum(runs.values()), "runs": runs}


def seconds_of(moments: Sequence[float]) -> float:
    """Time from the first to the last, pauses left out."""
    gaps = [later - earlier for earlier, later in pairwise(moments)]
    usual = median([gap for gap in gaps if gap > 0.05] or [0.0])  # a look at documents writes several points at once
    return sum(gap if gap <= PAUSE * usual else usual for gap in gaps)


def _moments(file: Path) -> list[float]:
    from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
    from tensorboard.compat.proto.event_pb2 import Event

    return [Event.FromString(event).wall_time for event in RawEventFileLoader(str(file)).Load()]
