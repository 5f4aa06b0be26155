"""Scores of links and trees over several runs of one configuration."""

from collections.abc import Mapping, Sequence
from typing import Any

from formnet.errors import SettingsError
from formnet.evaluation.evaluate import headline_f1
from formnet.training.config import FineTuning
from formnet.training.experiments.trial import for_seed, mean_and_std, parameter_count, score_trial

TREE_METRICS = ("donut_f1", "nted", "item_f1")


def run_seeds_structure(run: FineTuning, test: str, seeds: Sequence[int]) -> dict[str, Any]:
    """Train with every seed and score links and trees on the test documents."""
    if not run.structure:
        raise SettingsError("links are scored for models that predict them. Set structure: true.")
    scores = [score_trial(for_seed(run, seed), test)["given"] for seed in seeds]
    if not all("structure" in score for score in scores):
        raise SettingsError(f"{test}: the documents have no links between entities, so there is nothing to score.")
    return {
        "test": test,
        "seeds": list(seeds),
        "parameters": parameter_count(for_seed(run, seeds[0])),
        "scored": "structure",
        "documents": scores[0]["documents"],
        "entity_f1": mean_and_std([headline_f1(score) for score in scores]),
        **summarize_structure([score["structure"] for score in scores]),
    }


def summarize_structure(structure: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return mean and deviation of the scores of links and trees; the rule of position is under `rule`."""

    def spread(part: str, metric: str) -> dict[str, Any]:
        return mean_and_std([scores[part][metric] for scores in structure])

    summary: dict[str, Any] = {
        "f1": spread("links", "f1"),
        "f1_spans_given": spread("links_entities_given", "f1"),
        "parts_attached": spread("links_entities_given", "parts_attached"),
    }
    if all("trees" in scores for scores in structure):
        summary |= {metric: spread("trees", metric) for metric in TREE_METRICS}
        summary["rule"] = {
            "f1_spans_given": spread("rule_entities_given", "f1"),
            "parts_attached": spread("rule_entities_given", "parts_attached"),
            **{metric: spread("trees_by_rule", metric) for metric in TREE_METRICS},
        }
    return summary
