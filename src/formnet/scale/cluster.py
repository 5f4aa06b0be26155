"""Ray: the cluster that RAY_ADDRESS names, or one on this machine for as long as it is needed; quiet either way."""

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import ray

from formnet.errors import SettingsError
from formnet.extraction.runtime import own_cores


@contextmanager
def cluster() -> Iterator[int]:
    """Connect, or start, and give the number of cores; what was started is shut down."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing leaves the machine
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")  # what goes wrong is raised or retried
    address = os.environ.get("RAY_ADDRESS")
    try:
        with _silence():
            ray.init(
                address or "local",
                num_cpus=None if address else own_cores(),  # Ray counts the machine's
                include_dashboard=None if address else False,
                log_to_driver=False,
                logging_level=logging.ERROR,
            )
    except (ConnectionError, ValueError, RuntimeError) as error:
        hint = " If it asks for a token, set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN." if address else ""
        where = f"reached at {address}" if address else "started here"
        raise SettingsError(f"Ray cannot be {where}: {str(error).rstrip('.')}.{hint}") from error
    try:
        yield max(int(ray.cluster_resources().get("CPU", 1)), 1)
    finally:
        ray.shutdown()


@contextmanager
def _silence() -> Iterator[None]:
    """Keep what Ray's engine prints past Python's logging off the terminal; what matters it raises."""
    sys.stderr.flush()
    with Path(os.devnull).open("w") as nowhere:
        kept = os.dup(2)
        os.dup2(nowhere.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)
