"""Plots of the docs, drawn from `results/*.json`."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.tables.scores import PUBLISHED, SHIPPED
from formnet.visualization.plots import BLUE, GREEN, ORANGE, draw_reliability, plot

Sized = tuple[str, float, float]  # name, millions of parameters, F1


def draw_results(results: Path, folder: Path) -> Iterator[Path]:
    """Draw every figure whose results are there; give the files written."""
    folder.mkdir(parents=True, exist_ok=True)

    def record(name: str) -> dict[str, Any] | None:
        file = results / f"{name}.json"
        return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else None

    for name, draw in (("curve", draw_curve), ("ablation", draw_ablation)):
        if (told := record(name)) is not None:
            draw(told, folder / f"{name}.png")
            yield folder / f"{name}.png"
    whole, told = record("funsd"), record("funsd-rows")
    if whole is not None and told is not None:
        same_task = [row for row in told["rows"] if "segment_boxes=true" not in row["overrides"]]
        named = [("FormNet, here", whole), *((row["variant"], row) for row in same_task)]
        ours = [(name, row["parameters"] / 1e6, 100 * row["f1"]["mean"]) for name, row in named]
        others = [(name, float(millions), f1) for name, f1, millions, _ in PUBLISHED["funsd"]]
        draw_sizes(ours, others, folder / "sizes.png")
        yield folder / "sizes.png"
    for name in SHIPPED:
        if (told := record(name)) is not None:
            draw_reliability(told["orders"]["given"]["calibration"], folder / f"reliability-{name}.png", name)
            yield folder / f"reliability-{name}.png"


def draw_curve(record: dict[str, Any], path: Path) -> None:
    """Draw how F1 grows with labeled documents."""
    points = record["points"]
    with plot(path, "How many labels are enough", "labeled documents", "F1 on test documents") as axes:
        x, y = [p["documents"] for p in points], [100 * p["f1"]["mean"] for p in points]
        axes.errorbar(x, y, yerr=[100 * (p["f1"]["std"] or 0) for p in points], color=BLUE, marker="o", capsize=3)
        axes.margins(y=0.15)
        for a, b in zip(x, y, strict=True):
            axes.annotate(f"{b:.1f}", (a, b), textcoords="offset points", xytext=(6, -12))
        axes.set(xscale="log", xticks=x, xticklabels=[str(n) for n in x])
        axes.minorticks_off()


def draw_sizes(ours: Sequence[Sized], others: Sequence[Sized], path: Path) -> None:
    """Draw F1 against millions of parameters, ours beside what others report."""
    with plot(path, "Size against F1, FUNSD with word boxes", "parameters, millions", "F1") as axes:
        for points, color, marker in ((others, "gray", "o"), (ours, ORANGE, "D")):
            axes.scatter([p[1] for p in points], [p[2] for p in points], color=color, marker=marker, zorder=3)
            height = float("-inf")
            for name, size, f1 in sorted(points, key=lambda point: point[2]):
                height = max(f1, height + 0.5)  # no name on another
                axes.annotate(name, (size, height), textcoords="offset points", fontsize=7, xytext=(6, -3))
        ticks = [20, 50, 100, 200, 500, 1000]
        axes.set(xscale="log", xlim=(15, 1700), xticks=ticks, xticklabels=[str(tick) for tick in ticks])
        axes.minorticks_off()


def draw_ablation(record: dict[str, Any], path: Path) -> None:
    """Draw the 2×2 as bars, a group for each order that was trained and scored in."""
    rows = record["rows"]
    variants = list(dict.fromkeys(row["variant"] for row in rows))
    groups = [(row["trained_in"], order) for row in rows if row["variant"] == variants[0] for order in row["f1"]]
    with plot(path, "The paper's 2×2, in good and bad order", "trained in → scored in", "F1") as axes:
        for i, (variant, color) in enumerate(zip(variants, ("gray", GREEN, ORANGE, BLUE), strict=False)):
            of_variant = {row["trained_in"]: row["f1"] for row in rows if row["variant"] == variant}
            figures = [of_variant[trained][scored] for trained, scored in groups]
            at = [g + 0.2 * (i - 1.5) for g in range(len(groups))]
            axes.bar(
                at,
                [100 * f["mean"] for f in figures],
                0.19,
                yerr=[100 * (f["std"] or 0) for f in figures],
                color=color,
                label=variant,
                capsize=2,
            )
        axes.set_xticks(range(len(groups)), [f"{trained}\n→ {scored}" for trained, scored in groups], fontsize=8)
        axes.set_ylim(top=1.12 * axes.get_ylim()[1])  # room above the bars
        axes.legend(fontsize=8, loc="upper center", ncols=len(variants))
