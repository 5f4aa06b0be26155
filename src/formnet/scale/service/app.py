"""The service put together: a door, a reader and a network a model, each with its own replicas and its own queue."""

import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ray import serve
from ray.serve import Application
from ray.serve.config import BackpressureConfig, HTTPOptions
from ray.serve.schema import LoggingConfig

from formnet.errors import SettingsError
from formnet.extraction.pretrained import find_model, portable
from formnet.scale.cluster import cluster
from formnet.scale.service.auth import VARIABLE, load_digests
from formnet.scale.service.errors import RETRY_AFTER
from formnet.scale.service.model import ONGOING, Network
from formnet.scale.service.reader import Reader
from formnet.scale.service.routes import Ingress
from formnet.scale.service.settings import Settings, name_of

APPLICATION = "formnet"
_THIS_MACHINE = ("127.0.0.1", "localhost", "::1")
_LOGS = LoggingConfig(encoding="JSON")


def build(settings: Settings) -> Application:
    """Give the application: `import_path: formnet.scale.service.app:build` in a Serve configuration file."""
    reader = _deployment(
        Reader,
        "reader",
        num_replicas=settings.replicas,
        max_ongoing_requests=1,
        max_queued_requests=settings.max_queue,
        num_cpus=settings.reader_cores,
    ).bind(settings)
    networks = {
        name_of(model): _deployment(
            Network,
            f"network-{name_of(model)}",
            num_replicas=settings.replicas,
            max_ongoing_requests=ONGOING,
            max_queued_requests=settings.max_queue,
            num_cpus=settings.cores,
        ).bind(portable(model), max(int(settings.cores), 1), settings.warm_up)
        for model in settings.models
    }
    # The queues that matter are those inside; these only bound what may be on its way to them.
    many = 4 * (settings.max_queue + ONGOING)
    door = _deployment(
        Ingress,
        "door",
        num_replicas=settings.doors,
        max_ongoing_requests=many,
        max_queued_requests=many,
        num_cpus=0,
    )
    application: Application = door.bind(settings, load_digests(settings.api_key_file), reader, networks)
    return application


def _deployment(kind: type, name: str, *, num_cpus: float, **options: Any) -> Any:
    return serve.deployment(
        name=name,
        backpressure_config=BackpressureConfig(retry_after_s=RETRY_AFTER),
        ray_actor_options={"num_cpus": num_cpus},
        max_constructor_retry_count=2,
        graceful_shutdown_wait_loop_s=0.5,
        logging_config=_LOGS,
        **options,
    )(kind)


@contextmanager
def running(settings: Settings, host: str, port: int) -> Iterator[None]:
    """Run the service: on the cluster that RAY_ADDRESS names, or else on this machine."""
    for model in settings.models:
        find_model(model)
    if not load_digests(settings.api_key_file) and host not in _THIS_MACHINE:
        logging.getLogger(__name__).warning(
            "anybody who reaches %s may use this service; give --api-key-file or %s to ask for keys.", host, VARIABLE
        )
    if "RAY_ADDRESS" not in os.environ:
        _refuse_taken(host, port)
    os.environ.setdefault("RAY_SERVE_LOG_TO_STDERR", "0")  # logs are files
    with cluster():
        logging.getLogger("ray.serve").setLevel(logging.WARNING)
        serve.start(http_options=HTTPOptions(host=host, port=port), logging_config=_LOGS)
        try:
            serve.run(build(settings), name=APPLICATION, route_prefix="/", logging_config=_LOGS)
        except RuntimeError as error:
            raise SettingsError(f"the service could not be started: {error}") from error
        try:
            yield
        finally:
            serve.delete(APPLICATION)


def _refuse_taken(host: str, port: int) -> None:
    """Find out before Ray starts whether somebody else listens there."""
    try:
        with socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET):
            pass
    except OSError as error:
        raise SettingsError(f"cannot listen on {host}:{port}: {error.strerror}.") from error
