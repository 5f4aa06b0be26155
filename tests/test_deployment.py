"""What is deployed must name what there is: application, arguments, commands, versions."""

import re
import shlex
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml
from ray.serve.schema import ServeDeploySchema
from typer.testing import CliRunner

from formnet import __version__
from formnet.cli import app
from formnet.scale.service.settings import Settings

ROOT = Path(__file__).parent.parent
DEPLOY = ROOT / "deploy"


def manifest(name: str) -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load((DEPLOY / name).read_text(encoding="utf-8"))
    return read


def containers(spec: dict[str, Any]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    pods = [group["template"]["spec"] for group in (spec["headGroupSpec"], *spec["workerGroupSpecs"])]
    return [(pod, container) for pod in pods for container in pod["containers"]]


def test_the_service_is_one_that_serve_accepts_and_we_build() -> None:
    spec = manifest("service.yaml")["spec"]
    schema = ServeDeploySchema.model_validate(yaml.safe_load(spec["serveConfigV2"]))
    (application,) = schema.applications
    module, _, name = application.import_path.partition(":")
    assert callable(getattr(import_module(module), name))
    settings = Settings.model_validate(application.args)
    (workers,) = spec["rayClusterConfig"]["workerGroupSpecs"]
    cores = int(workers["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"]) * workers["replicas"]
    assert settings.replicas * (settings.threads + settings.reader_cores) <= cores


def test_the_job_says_a_command_that_there_is() -> None:
    program, command, *words = shlex.split(manifest("archive.yaml")["spec"]["entrypoint"])
    assert (program, command) == ("formnet", "bulk")
    known = CliRunner().invoke(app, ["bulk", "--help"], env={"COLUMNS": "200"}).output
    assert all(word in known for word in words if word.startswith("--"))


@pytest.mark.parametrize(
    ("name", "cluster"), [("service.yaml", "rayClusterConfig"), ("archive.yaml", "rayClusterSpec")]
)
def test_every_container_runs_without_rights_and_is_ours(name: str, cluster: str) -> None:
    spec = manifest(name)["spec"][cluster]
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    least = re.search(r'"ray\[data,serve\]>=([\d.]+)"', project)
    assert least is not None
    assert spec["rayVersion"].startswith(least[1])
    for pod, container in containers(spec):
        assert pod["securityContext"]["runAsNonRoot"]
        assert container["securityContext"]["allowPrivilegeEscalation"] is False
        assert container["image"] == f"formnet:{__version__}"


def test_the_image_runs_as_nobody_special_and_installs_extras_that_there_are() -> None:
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    last = text[text.rindex("\nFROM ") :]
    assert re.search(r"^USER 1000$", last, re.MULTILINE)
    assert last.index("USER 1000") < last.index("ENTRYPOINT")
    extras = re.search(r"'\.\[([\w,]+)\]'", text)
    assert extras is not None
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert all(re.search(rf"^{extra} = \[", project, re.MULTILINE) for extra in extras[1].split(","))
    kept = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", text, re.MULTILINE)
    assert all(f"!{name}" in kept for line in copied for name in line.split())


def test_what_is_packed_is_as_small_as_the_docs_say() -> None:
    packed = sum(file.stat().st_size for file in (ROOT / "src").rglob("*") if file.is_file() and file.suffix != ".pyc")
    assert packed < 50e6
    assert "under 50 MB" in (ROOT / "docs/install.md").read_text(encoding="utf-8")
