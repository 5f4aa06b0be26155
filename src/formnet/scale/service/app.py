"""The Serve application: an ingress, a reader and one deployment per model, each with replicas and a queue."""

import logging
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ray import serve
from ray.serve import Application
from ray.serve.config import BackpressureConfig, HTTPOptions
from ray.serve.schema import LoggingConfig

from formnet.errors import SettingsError
from formnet.extraction.pretrained import absolute_name
from formnet.extraction.references import ReferenceList
from formnet.extraction.schema import load_schema
from formnet.scale.cluster import cluster
from formnet.scale.service.auth import KEYS_VARIABLE, load_digests
from formnet.scale.service.errors import RETRY_AFTER
from formnet.scale.service.model import MAX_ONGOING_REQUESTS, ModelReplica, ModelSettings
from formnet.scale.service.proxy import find_haproxy, free_port, run_proxy
from formnet.scale.service.reader import Reader
from formnet.scale.service.routes import Ingress, ModelHandles
from formnet.scale.service.settings import ServiceSettings, model_name

APPLICATION = "formnet"
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_LOGGING = LoggingConfig(encoding="JSON")


def build(settings: ServiceSettings) -> Application:
    """Build the application: `import_path: formnet.scale.service.app:build` in a Serve configuration file."""
    digests = load_digests(settings.api_key_file)
    if not digests and not settings.allow_anonymous:
        raise SettingsError(
            f"the service has no API keys. Set api_key_file or {KEYS_VARIABLE}, or set allow_anonymous to accept "
            "requests from everyone."
        )
    reader = _deployment(
        Reader,
        "reader",
        num_replicas=settings.replicas,
        max_ongoing_requests=1,
        max_queued_requests=settings.max_queue,
        num_cpus=settings.reader_cores,
    ).bind(settings)
    references = _read_references(settings)
    models = {
        model_name(model): ModelHandles(
            _bind_model(settings, model, references, is_long=False),
            _bind_model(settings, model, references, is_long=True),
        )
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
    application: Application = ingress.bind(settings, digests, reader, models)
    return application


def _bind_model(settings: ServiceSettings, model: str, references: tuple[ReferenceList, ...], *, is_long: bool) -> Any:
    """Bind the replicas of a model: those for short documents, or those for long ones, which reserve no cores."""
    replica_settings = ModelSettings(
        absolute_name(model),
        threads=max(int(settings.model_cores), 1),
        warm_up=settings.warm_up,
        max_tokens=settings.max_tokens,
        timeout=settings.timeout,
        is_long=is_long,
        references=references,
    )
    return _deployment(
        ModelReplica,
        f"model-{model_name(model)}{'-long' if is_long else ''}",
        num_replicas=max(settings.replicas // 2, 1) if is_long else settings.replicas,
        max_ongoing_requests=MAX_ONGOING_REQUESTS,
        max_queued_requests=settings.max_queue,
        num_cpus=0 if is_long else settings.model_cores,
    ).bind(replica_settings)


def _read_references(settings: ServiceSettings) -> tuple[ReferenceList, ...]:
    """Read the reference lists; raise if no model can have the field of a list."""
    schemas = [load_schema(model) for model in settings.models]
    known = {path for schema in schemas if schema is not None for path in schema.text_paths}
    references = tuple(map(ReferenceList.read, settings.references))
    for number, reference in enumerate(references):
        if reference.path in (other.path for other in references[:number]):
            raise SettingsError(f"{reference.name}: a second list for {reference.path}. Merge the two.")
        if None not in schemas and reference.path not in known:
            raise SettingsError(reference.describe_unknown_path(known))
    return references


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
def run_service(settings: ServiceSettings, host: str, port: int, *, proxy: bool = True) -> Iterator[Callable[[], None]]:
    """Run the service within the context, on the cluster that RAY_ADDRESS names or on this machine.

    Args:
        settings: Models and limits.
        host: Address to listen on.
        port: Port to listen on.
        proxy: Run HAProxy in front of Ray Serve, except on a cluster.

    Yields:
        A function that raises `SettingsError` if the service has ended.
    """
    _read_references(settings)  # raises before Ray starts, also for a missing model
    if host in _LOOPBACK:
        settings = settings.model_copy(update={"allow_anonymous": True})
    elif not load_digests(settings.api_key_file) and not settings.allow_anonymous:
        raise SettingsError(
            f"--host {host}: other machines could use the service without a key. Set --api-key-file or "
            f"{KEYS_VARIABLE}, or pass --allow-anonymous."
        )
    is_cluster = "RAY_ADDRESS" in os.environ
    if not is_cluster:
        check_port(host, port)
    program = find_haproxy() if proxy and not is_cluster else None
    http_options = HTTPOptions(host="127.0.0.1", port=free_port()) if program else HTTPOptions(host=host, port=port)
    os.environ.setdefault("RAY_SERVE_LOG_TO_STDERR", "0")  # logs go to files
    os.environ.setdefault("RAY_worker_niceness", "0")  # clients wait for the workers, which Ray starts at 15
    with cluster():
        logging.getLogger("ray.serve").setLevel(logging.WARNING)
        serve.start(http_options=http_options, logging_config=_LOGGING)
        try:
            serve.run(build(settings), name=APPLICATION, route_prefix="/", logging_config=_LOGGING)
        except RuntimeError as error:
            raise SettingsError(f"the service cannot be started: {error}") from error
        try:
            if program:
                with run_proxy(program, host, port, http_options.port) as check:
                    yield check
            else:
                yield lambda: None
        finally:
            serve.delete(APPLICATION)


def check_port(host: str, port: int) -> None:
    """Raise `SettingsError` if the port is in use, before Ray starts."""
    try:
        with socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET):
            pass
    except OSError as error:
        raise SettingsError(f"cannot listen on {host}:{port}: {error.strerror}.") from error
