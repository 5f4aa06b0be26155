"""Plots in the docs, drawn from `results/*.json`."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.tables.scores import SHIPPED
from formnet.visualization.plots import BLUE, GREEN, ORANGE, draw_reliability, draw_risk_coverage, plot


def draw_results(results: Path, folder: Path) -> Iterator[Path]:
    """Draw every plot for which there are results, and yield the files written."""
    folder.mkdir(parents=True, exist_ok=True)

    def record(name: str) -> dict[str, Any] | None:
        file = results / f"{name}.json"
        return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else None

    for name, draw in (
        ("curve", draw_curve),
        ("ablation", draw_ablation),
        ("ablation-cord", draw_ablation),
        ("pretrain-variants", draw_pretraining),
    ):
        if (result := record(name)) is not None:
            draw(result, folder / f"{name}.png")
            yield folder / f"{name}.png"
    for name in SHIPPED:
        if (result := record(name)) is not None:
            calibration = result["orders"]["given"]["calibration"]
            for kind, draw_diagram in (("reliability", draw_reliability), ("risk", draw_risk_coverage)):
                draw_diagram(calibration, folder / f"{kind}-{name}.png", name)
                yield folder / f"{kind}-{name}.png"


def draw_curve(record: dict[str, Any], path: Path) -> None:
    """Draw F1 by number of labeled documents: a color for each corpus, a line style for each start of training."""
    corpora = list(dict.fromkeys(row["test"].partition(":")[0] for row in record["rows"]))
    starts = list(dict.fromkeys(row["init"] for row in record["rows"]))
    colors, styles = dict(zip(corpora, (BLUE, ORANGE, GREEN), strict=False)), ("-", ":", "--")
    with plot(path, "F1 by number of labeled documents", "labeled documents", "test F1") as axes:
        for row in record["rows"]:
            name = row["test"].partition(":")[0]
            x, f1 = [p["documents"] for p in row["points"]], [p["f1"] for p in row["points"]]
            axes.errorbar(
                x,
                [100 * score["mean"] for score in f1],
                yerr=[100 * (score["std"] or 0) for score in f1],
                color=colors[name],
                linestyle=styles[starts.index(row["init"])],
                marker="o",
                capsize=3,
                label=f"{name.upper()}, from {row['init']}",
            )
        ticks = sorted({point["documents"] for row in record["rows"] for point in row["points"]})
        axes.set(xscale="log", xticks=ticks, xticklabels=[str(tick) for tick in ticks])
        axes.minorticks_off()
        axes.legend(fontsize=8)


def draw_ablation(record: dict[str, Any], path: Path) -> None:
    """Draw the ablation as bars, one group per pair of training order and test order."""
    rows = record["rows"]
    variants = list(dict.fromkeys(row["variant"] for row in rows))
    groups = [(row["trained_in"], order) for row in rows if row["variant"] == variants[0] for order in row["f1"]]
    corpus = record["test"].partition(":")[0].upper()
    with plot(path, f"Ablation on {corpus} by reading order", "training order → test order", "F1") as axes:
        for i, (variant, color) in enumerate(zip(variants, ("gray", GREEN, ORANGE, BLUE), strict=False)):
            by_order = {row["trained_in"]: row["f1"] for row in rows if row["variant"] == variant}
            scores = [by_order[trained][tested] for trained, tested in groups]
            positions = [g + 0.2 * (i - 1.5) for g in range(len(groups))]
            axes.bar(
                positions,
                [100 * f1["mean"] for f1 in scores],
                0.19,
                yerr=[100 * (f1["std"] or 0) for f1 in scores],
                color=color,
                label=variant,
                capsize=2,
            )
        axes.set_xticks(range(len(groups)), [f"{trained}\n→ {tested}" for trained, tested in groups], fontsize=8)
        axes.set_ylim(top=1.12 * axes.get_ylim()[1])  # leave space for the legend
        axes.legend(fontsize=8, loc="upper center", ncols=len(variants))


def draw_pretraining(record: dict[str, Any], path: Path) -> None:
    """Draw masked-language accuracy on held-out pages by step, as the mean over seeds with their range."""
    colors = ("gray", GREEN, ORANGE, BLUE)
    with plot(path, "Masked language modeling on held-out pages", "steps", "accuracy (%)") as axes:
        for row, color in zip(record["rows"], colors, strict=False):
            steps = [point["step"] for point in row["curves"][0]]
            for key, style in (("accuracy", "-"), ("accuracy_shuffled", ":")):
                seeds = [[100 * point[key] for point in curve] for curve in row["curves"]]
                middle = [sum(values) / len(values) for values in zip(*seeds, strict=True)]
                name = row["variant"] + (", words shuffled" if style == ":" else "")
                axes.plot(steps, middle, style, color=color, label=name)
                low, high = zip(*((min(v), max(v)) for v in zip(*seeds, strict=True)), strict=True)
                axes.fill_between(steps, low, high, color=color, alpha=0.2, linewidth=0)
        axes.legend(fontsize=7, loc="upper left", bbox_to_anchor=(1.01, 1))
