"""Deployment files are consistent with the code: application, arguments, commands and versions."""

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
from formnet.scale.service.settings import ServiceSettings

ROOT = Path(__file__).parent.parent
DEPLOY = ROOT / "deploy"


def manifest(name: str) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((DEPLOY / name).read_text(encoding="utf-8"))
    return content


def containers(spec: dict[str, Any]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    pods = [group["template"]["spec"] for group in (spec["headGroupSpec"], *spec["workerGroupSpecs"])]
    return [(pod, container) for pod in pods for container in pod["containers"]]


def test_service_manifest_is_valid_serve_configuration() -> None:
    spec = manifest("service.yaml")["spec"]
    schema = ServeDeploySchema.model_validate(yaml.safe_load(spec["serveConfigV2"]))
    (application,) = schema.applications
    module, _, name = application.import_path.partition(":")
    assert callable(getattr(import_module(module), name))
    settings = ServiceSettings.model_validate(application.args)
    (workers,) = spec["rayClusterConfig"]["workerGroupSpecs"]
    cores = int(workers["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"]) * workers["replicas"]
    assert settings.replicas * (settings.threads + settings.reader_cores) <= cores


def test_proxy_manifest_fits_service_and_package() -> None:
    proxy, service, policy = yaml.safe_load_all((DEPLOY / "proxy.yaml").read_text(encoding="utf-8"))
    spec = proxy["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    config = (ROOT / "src/formnet/scale/service/haproxy.cfg").read_text(encoding="utf-8")
    assert {variable["name"] for variable in container["env"]} == set(re.findall(r"\$\{(\w+)\}", config))
    assert spec["automountServiceAccountToken"] is False
    assert container["securityContext"]["readOnlyRootFilesystem"]
    labels = proxy["spec"]["template"]["metadata"]["labels"]
    assert service["spec"]["selector"] == labels
    ray_service = manifest("service.yaml")
    assert {"name": "FORMNET_SERVER", "value": f"{ray_service['metadata']['name']}-serve-svc:8000"} in container["env"]
    cluster = ray_service["spec"]["rayClusterConfig"]
    for group in (cluster["headGroupSpec"], *cluster["workerGroupSpecs"]):
        assert group["template"]["metadata"]["labels"] == policy["spec"]["podSelector"]["matchLabels"]
        assert group["template"]["spec"]["automountServiceAccountToken"] is False
    peers = [peer["podSelector"]["matchLabels"] for rule in policy["spec"]["ingress"] for peer in rule["from"]]
    assert labels in peers


def test_archive_manifest_entrypoint_is_valid_command() -> None:
    program, command, *arguments = shlex.split(manifest("archive.yaml")["spec"]["entrypoint"])
    assert (program, command) == ("formnet", "bulk")
    help_text = CliRunner().invoke(app, ["bulk", "--help"], env={"COLUMNS": "200"}).output
    assert all(word in help_text for word in arguments if word.startswith("--"))


def test_compose_commands_are_valid_and_unprivileged() -> None:
    compose = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
    for service in compose["services"].values():
        command, *arguments = service["command"]
        help_text = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "200"}).output
        assert all(word in help_text for word in arguments if word.startswith("--")), help_text
        assert service["cap_drop"] == ["ALL"]
        assert service["read_only"]
    assert [service["command"][0] for service in compose["services"].values()] == ["serve", "watch"]
    for service in compose["services"].values():
        temporary = [mount.partition(":")[0] for mount in service["tmpfs"]]
        assert service["environment"]["HOME"] in temporary  # Ray writes there, and the rest is read-only
        if "0.0.0.0" in service["command"]:  # refused without keys
            assert service["environment"]["FORMNET_API_KEYS"].startswith("${FORMNET_API_KEYS:?")


@pytest.mark.parametrize(
    ("name", "cluster"), [("service.yaml", "rayClusterConfig"), ("archive.yaml", "rayClusterSpec")]
)
def test_manifest_containers_are_unprivileged_and_current(name: str, cluster: str) -> None:
    spec = manifest(name)["spec"][cluster]
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    min_version = re.search(r'"ray\[data,serve\]>=([\d.]+)"', project)
    assert min_version is not None
    assert spec["rayVersion"].startswith(min_version[1])
    for pod, container in containers(spec):
        assert pod["securityContext"]["runAsNonRoot"]
        assert container["securityContext"]["allowPrivilegeEscalation"] is False
        assert container["image"] == f"formnet:{__version__}"


def test_dockerfile_is_unprivileged_and_installs_existing_extras() -> None:
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    final_stage = text[text.rindex("\nFROM ") :]
    assert re.search(r"^USER 1000$", final_stage, re.MULTILINE)
    assert final_stage.index("USER 1000") < final_stage.index("ENTRYPOINT")
    extras = re.search(r"'\.\[([\w,]+)\]'", text)
    assert extras is not None
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert all(re.search(rf"^{extra} = \[", project, re.MULTILINE) for extra in extras[1].split(","))
    included = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", text, re.MULTILINE)
    assert all(f"!{name}" in included for line in copied for name in line.split())


def test_package_size_is_below_documented_limit() -> None:
    size = sum(file.stat().st_size for file in (ROOT / "src").rglob("*") if file.is_file() and file.suffix != ".pyc")
    assert size < 75e6
    assert "under 75 MB" in (ROOT / "docs/install.md").read_text(encoding="utf-8")
