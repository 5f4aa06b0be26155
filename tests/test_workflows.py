"""GitHub configuration: workflows have the keys that GitHub requires, and call what exists in this repository."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from formnet import __version__

ROOT = Path(__file__).parent.parent
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
ISSUE_FORMS = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*_*.yml"))
#: An action of a repository at a version, as in actions/checkout@v6.0.2.
PINNED = re.compile(r"[\w.-]+/[\w./-]+@v\d+(\.\d+){0,2}")
EVENTS = {"push", "pull_request", "workflow_dispatch", "schedule", "release"}


def load(path: Path) -> dict[Any, Any]:
    # The base loader keeps `on` a string, which YAML 1.1 would read as true.
    data: dict[Any, Any] = yaml.load(path.read_text(encoding="utf-8"), yaml.BaseLoader)
    return data


def problems(workflow: dict[Any, Any]) -> list[str]:
    """List what GitHub, or our rules on pinning and permissions, would reject in a workflow."""
    found = [f"no {key}" for key in ("name", "on", "jobs", "permissions") if not workflow.get(key)]
    events = workflow.get("on") or {}
    found += [f"unknown event {event}" for event in events if event not in EVENTS]
    jobs = workflow.get("jobs") or {}
    for name, job in jobs.items():
        found += [f"{name}: no {key}" for key in ("runs-on", "steps", "timeout-minutes") if not job.get(key)]
        needed = job.get("needs", [])
        for other in [needed] if isinstance(needed, str) else needed:
            if other not in jobs:
                found.append(f"{name}: needs {other}, which does not exist")
        for number, step in enumerate(job.get("steps", [])):
            if ("uses" in step) == ("run" in step):
                found.append(f"{name}: step {number} must have either uses or run")
            if "uses" in step and not PINNED.fullmatch(step["uses"]):
                found.append(f"{name}: {step['uses']} is not pinned to a version")
    return found


def commands(workflow: dict[Any, Any]) -> str:
    return "\n".join(step.get("run", "") for job in workflow["jobs"].values() for step in job["steps"])


def test_workflows_are_found() -> None:
    assert [path.name for path in WORKFLOWS] == ["ci.yml", "docs.yml", "release.yml"]
    assert len(ISSUE_FORMS) == 2


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflow_is_valid(path: Path) -> None:
    assert problems(load(path)) == []


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda workflow: workflow.pop("on"), "no on"),
        (lambda workflow: workflow.pop("permissions"), "no permissions"),
        (lambda workflow: workflow["on"].update(merge=None), "unknown event merge"),
        (lambda workflow: workflow["jobs"]["test"].pop("runs-on"), "test: no runs-on"),
        (lambda workflow: workflow["jobs"]["test"].pop("steps"), "test: no steps"),
        (lambda workflow: workflow["jobs"]["test"].update(needs="lint"), "test: needs lint, which does not exist"),
        (
            lambda workflow: workflow["jobs"]["test"]["steps"][0].update(uses="actions/checkout@main"),
            "test: actions/checkout@main is not pinned to a version",
        ),
        (
            lambda workflow: workflow["jobs"]["test"]["steps"][0].update(run="ls"),
            "test: step 0 must have either uses or run",
        ),
    ],
)
def test_workflow_invalid_is_reported(change: Any, problem: str) -> None:
    workflow = load(ROOT / ".github/workflows/ci.yml")
    change(workflow)
    assert problem in problems(workflow)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflow_make_targets_exist(path: Path) -> None:
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    called = re.findall(r"\bmake ([\w-]+)", commands(load(path)))
    assert set(called) <= set(targets)


@pytest.mark.parametrize("name", ["ci.yml", "docs.yml"])
def test_workflow_installs_torch_before_project(name: str) -> None:
    for job in load(ROOT / ".github/workflows" / name)["jobs"].values():
        script = "\n".join(step.get("run", "") for step in job["steps"])
        if "pip install -e" in script:
            assert script.index("pip install torch==2.13.0") < script.index("pip install -e '.[")


def test_ci_runs_unit_tests_on_supported_versions_and_all_tests_on_oldest() -> None:
    jobs = load(ROOT / ".github/workflows/ci.yml")["jobs"]
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    supported = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', project)
    assert jobs["test-fast"]["strategy"]["matrix"]["python-version"] == supported
    assert "make test-fast" in commands({"jobs": {"test-fast": jobs["test-fast"]}})
    setup = next(step for step in jobs["test"]["steps"] if "setup-python" in step.get("uses", ""))
    assert setup["with"]["python-version"] == supported[0]
    assert jobs["test"]["steps"][-1]["run"] == "make test"
    for target in ("lint", "types", "imports", "tables"):
        assert f"make {target}" in commands({"jobs": {"check": jobs["check"]}})


def test_release_publishes_with_identity_token_only() -> None:
    workflow = load(ROOT / ".github/workflows/release.yml")
    assert list(workflow["on"]) == ["push"]
    assert workflow["on"]["push"]["tags"] == ["v*"]
    publish = workflow["jobs"]["publish"]
    assert publish["environment"] == "pypi"
    assert publish["permissions"] == {"id-token": "write"}
    assert publish["steps"][-1]["uses"].startswith("pypa/gh-action-pypi-publish@v")
    assert "secrets." not in (ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", ISSUE_FORMS, ids=lambda path: path.name)
def test_issue_form_is_valid(path: Path) -> None:
    form = load(path)
    assert form["name"]
    assert form["description"]
    for element in form["body"]:
        assert element["type"] in ("textarea", "input", "dropdown", "checkboxes", "markdown")
        assert element["attributes"]["label"]
    ids = [element["id"] for element in form["body"]]
    assert len(set(ids)) == len(ids)


def test_dependabot_updates_every_ecosystem() -> None:
    config = load(ROOT / ".github/dependabot.yml")
    assert config["version"] == "2"
    ecosystems = {update["package-ecosystem"]: update for update in config["updates"]}
    assert set(ecosystems) == {"pip", "github-actions", "docker"}
    assert all(update["directory"] == "/" and update["schedule"]["interval"] for update in ecosystems.values())


def test_pre_commit_hooks_are_pinned() -> None:
    repositories = load(ROOT / ".pre-commit-config.yaml")["repos"]
    remote = [repository for repository in repositories if repository["repo"] != "local"]
    assert remote
    assert all(re.fullmatch(r"v\d+\.\d+\.\d+", repository["rev"]) for repository in remote)


def test_version_is_the_same_everywhere() -> None:
    assert load(ROOT / "CITATION.cff")["version"] == __version__
    assert __version__.partition(".dev")[0] in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
