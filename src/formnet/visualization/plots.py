"""Plots with matplotlib, an optional dependency."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from formnet.errors import SettingsError

BLUE, ORANGE, GREEN = "#0072B2", "#D55E00", "#009E73"


@contextmanager
def plot(path: Path, title: str, x: str, y: str) -> Iterator[Any]:
    """Yield axes with a title and axis labels, and save the figure to a file afterwards."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise SettingsError("plots require matplotlib. Run pip install 'formnet[views]'.") from error
    figure = Figure(figsize=(6, 4.5), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.set(title=title, xlabel=x, ylabel=y)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.3)
    yield axes
    figure.savefig(path)


def draw_reliability(calibration: dict[str, Any], path: Path, name: str = "") -> None:
    """Draw a reliability diagram: accuracy against confidence, with marker areas by entities per bin."""
    title = f"Reliability{name and f' of {name}'} (expected calibration error {calibration['ece']:.3f})"
    with plot(path, title, "confidence", "accuracy") as axes:
        axes.plot([0, 1], [0, 1], color="gray", linewidth=1, linestyle="--")
        bins = calibration["bins"]
        size = [max(12, 400 * b["entities"] / max(sum(b["entities"] for b in bins), 1)) for b in bins]
        axes.scatter(
            [b["confidence"] for b in bins], [b["accuracy"] for b in bins], s=size, color=BLUE, zorder=3, clip_on=False
        )
        axes.set(xlim=(0, 1), ylim=(0, 1.02))


def draw_risk_coverage(calibration: dict[str, Any], path: Path, name: str = "") -> None:
    """Draw the share of errors against the share of predictions accepted, and the point that the thresholds choose."""
    with plot(path, f"Risk and coverage{name and f' of {name}'}", "predictions accepted", "errors among them") as axes:
        points = calibration["risk_coverage"]
        axes.plot(
            [p["coverage"] for p in points], [p["risk"] for p in points], color=BLUE, label="one threshold for all"
        )
        accepted = calibration.get("accepted")
        if accepted and accepted["precision"]["share"] is not None:
            risk = 1 - accepted["precision"]["share"]
            low, high = (1 - bound for bound in reversed(accepted["precision"]["interval"]))
            axes.errorbar(
                [accepted["coverage"]["share"]], [risk], [[risk - low], [high - risk]],
                fmt="o", color=ORANGE, capsize=3, label="thresholds of the model",
            )  # fmt: skip
            axes.axhline(1 - accepted["nominal_precision"], color="gray", linewidth=1, linestyle="--")
            axes.legend(frameon=False)
        axes.set(xlim=(0, 1.02), ylim=(0, None))
