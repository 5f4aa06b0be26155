"""Connect to the Ray cluster that RAY_ADDRESS names, or start one on this machine."""

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import ray

from formnet.errors import SettingsError
from formnet.extraction.runtime import available_cores

_START_ATTEMPTS = 3


@contextmanager
def cluster() -> Iterator[int]:
    """Connect to a cluster or start one, yield its number of cores, and disconnect or shut down."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # no telemetry
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")  # failures are raised or retried
    address = os.environ.get("RAY_ADDRESS")
    # Ray listens on all interfaces of the machine, whatever the address of the service. It uses a token by default.
    if not address and os.environ.get("RAY_AUTH_MODE", "token").lower() != "token":
        raise SettingsError("RAY_AUTH_MODE must be token: without a token, every client of Ray's ports can run code.")
    try:
        for attempts_left in reversed(range(_START_ATTEMPTS)):
            try:
                _start_ray(address)
                break
            except Exception as error:
                ray.shutdown()
                # Ray allows its processes 30 seconds to start, and raises a bare Exception if that is not enough.
                if type(error) is not Exception:
                    raise
                if not attempts_left:
                    raise RuntimeError(f"{error} The machine may be too busy") from error
    except (ConnectionError, ValueError, RuntimeError) as error:
        hint = " If it requires a token, set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN." if address else ""
        problem = f"cannot connect to Ray at {address}" if address else "cannot start Ray"
        raise SettingsError(f"{problem}: {str(error).rstrip('.')}.{hint}") from error
    try:
        yield max(int(ray.cluster_resources().get("CPU", 1)), 1)
    finally:
        ray.shutdown()


def _start_ray(address: str | None) -> None:
    with _redirect_stderr():
        ray.init(
            address or "local",
            num_cpus=None if address else available_cores(),  # Ray would count all cores of the machine
            include_dashboard=None if address else False,
            log_to_driver=False,
            logging_level=logging.ERROR,
        )


@contextmanager
def _redirect_stderr() -> Iterator[None]:
    """Discard what Ray's native code prints to stderr; errors are raised as exceptions."""
    sys.stderr.flush()
    with Path(os.devnull).open("w") as null:
        saved = os.dup(2)
        os.dup2(null.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(saved, 2)
            os.close(saved)
