"""The Serve application: an ingress, a reader and one deployment per model, each with replicas and a queue."""

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
from formnet.extraction.pretrained import absolute_name, find_model
from formnet.scale.cluster import cluster
from formnet.scale.service.auth import KEYS_VARIABLE, load_digests
from formnet.scale.service.errors import RETRY_AFTER
from formnet.scale.service.model import MAX_ONGOING_REQUESTS, ModelReplica
from formnet.scale.service.reader import Reader
from formnet.scale.service.routes import Ingress
from formnet.scale.service.settings import ServiceSettings, model_name

APPLICATION = "formnet"
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_LOGGING = LoggingConfig(encoding="JSON")


def build(settings: ServiceSettings) -> Application:
    """Build the application: `import_path: formnet.scale.service.app:build` in a Serve configuration file."""
    reader = _deployment(
        Reader,
        "reader",
        num_replicas=settings.replicas,
        max_ongoing_requests=1,
        max_queued_requests=settings.max_queue,
        num_cpus=settings.reader_cores,
    ).bind(settings)
    models = {
        model_name(model): _deployment(
            ModelReplica,
            f"model-{model_name(model)}",
            num_replicas=settings.replicas,
            max_ongoing_requests=MAX_ONGOING_REQUESTS,
            max_queued_requests=settings.max_queue,
            num_cpus=settings.model_cores,
        ).bind(absolute_name(model), max(int(settings.model_cores), 1), settings.warm_up)
        for model in settings.models
    }
    # The queues of the reader and the models limit the load; this one only has to be larger.
    max_requests = 4 * (settings.max_queue + MAX_ONGOING_REQUESTS)
    ingress = _deployment(
        Ingress,
        "ingress",
        num_replicas=settings.ingress_replicas,
        max_ongoing_requests=max_requests,
        max_queued_requests=max_requests,
        num_cpus=0,
    )
    application: Application = ingress.bind(settings, load_digests(settings.api_key_file), reader, models)
    return application


def _deployment(replica_class: type, name: str, *, num_cpus: float, **options: Any) -> Any:
    return serve.deployment(
        name=name,
        backpressure_config=BackpressureConfig(retry_after_s=RETRY_AFTER),
        ray_actor_options={"num_cpus": num_cpus},
        max_constructor_retry_count=2,
        graceful_shutdown_wait_loop_s=0.5,
        logging_config=_LOGGING,
        **options,
    )(replica_class)


@contextmanager
def run_service(settings: ServiceSettings, host: str, port: int) -> Iterator[None]:
    """Run the service within the context, on the cluster that RAY_ADDRESS names or on this machine."""
    for model in settings.models:
        find_model(model)
    if not load_digests(settings.api_key_file) and host not in _LOOPBACK:
        logging.getLogger(__name__).warning(
            "the service on %s accepts requests without a key. Use --api-key-file or %s to require one.",
            host,
            KEYS_VARIABLE,
        )
    if "RAY_ADDRESS" not in os.environ:
        check_port(host, port)
    os.environ.setdefault("RAY_SERVE_LOG_TO_STDERR", "0")  # logs go to files
    with cluster():
        logging.getLogger("ray.serve").setLevel(logging.WARNING)
        serve.start(http_options=HTTPOptions(host=host, port=port), logging_config=_LOGGING)
        try:
            serve.run(build(settings), name=APPLICATION, route_prefix="/", logging_config=_LOGGING)
        except RuntimeError as error:
            raise SettingsError(f"the service cannot be started: {error}") from error
        try:
            yield
        finally:
            serve.delete(APPLICATION)


def check_port(host: str, port: int) -> None:
    """Raise `SettingsError` if the port is in use, before Ray starts."""
    try:
        with socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET):
            pass
    except OSError as error:
        raise SettingsError(f"cannot listen on {host}:{port}: {error.strerror}.") from error
