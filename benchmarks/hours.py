"""Training time by the clock, from the TensorBoard event files of runs."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

from formnet.errors import SettingsError

#: A gap between events counts as an interruption if it exceeds the median gap by this factor.
INTERRUPTION_FACTOR = 5


def training_hours(folders: Sequence[Path]) -> dict[str, Any]:
    """Sum the training time of the runs below the folders, including unfinished runs."""
    files = sorted({file for folder in folders for file in folder.rglob("events.out.tfevents.*")})
    if not files:
        raise SettingsError(f"{', '.join(map(str, folders))}: no TensorBoard event files. Pass the folders of runs.")
    runs: dict[str, float] = {}
    for file in files:
        run = str(file.parents[2])  # event files are in <run>/runs/<start>/
        runs[run] = runs.get(run, 0.0) + training_seconds(_event_times(file)) / 3600
    return {"hours": sum(runs.values()), "runs": runs}


def training_seconds(times: Sequence[float]) -> float:
    """Return the seconds from the first to the last event, without interruptions."""
    gaps = [later - earlier for earlier, later in pairwise(times)]
    typical = median([gap for gap in gaps if gap > 0.05] or [0.0])  # an evaluation writes several events at once
    return sum(gap if gap <= INTERRUPTION_FACTOR * typical else typical for gap in gaps)


def _event_times(file: Path) -> list[float]:
    from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
    from tensorboard.compat.proto.event_pb2 import Event

    return [Event.FromString(event).wall_time for event in RawEventFileLoader(str(file)).Load()]
