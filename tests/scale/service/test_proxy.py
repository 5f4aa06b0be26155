"""HAProxy with the shipped configuration, in front of a server that returns the size of the body."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import psutil
import pytest

from formnet.errors import SettingsError
from formnet.scale.service.proxy import find_haproxy, free_port, run_proxy

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_haproxy() is None, reason="HAProxy is not installed"),
]
HEADER_SECONDS = 10


class Handler(BaseHTTPRequestHandler):
    """Return the size of the request body."""

    def do_POST(self) -> None:
        size = len(self.rfile.read(int(self.headers["Content-Length"])))
        body = str(size).encode()
        status, _, content_type = self.path.removeprefix("/").partition("/")
        self.send_response(int(status or 200))
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Type", content_type or "text/plain")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    program = find_haproxy()
    assert program
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        public = free_port()
        with run_proxy(program, "127.0.0.1", public, server.server_port) as check:
            check()
            yield public
        server.shutdown()
    with pytest.raises(ConnectionRefusedError):
        connect(public)


def connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=HEADER_SECONDS + 5)


def haproxy_memory() -> int:
    return sum(process.memory_info().rss for process in psutil.process_iter() if "haproxy" in process.name())


def test_run_proxy_passes_large_bodies(port: int) -> None:
    response = httpx.post(f"http://127.0.0.1:{port}/", content=b"x" * 2**24)
    assert (response.status_code, response.text) == (200, str(2**24))


def test_run_proxy_large_headers_are_rejected_without_buffering(port: int) -> None:
    before = haproxy_memory()
    response = httpx.post(f"http://127.0.0.1:{port}/", headers={"X-A": "a" * 2**15})
    assert response.status_code == 400
    line = b"X-A: " + b"a" * 1000 + b"\r\n"
    with connect(port) as connection:
        connection.sendall(b"POST / HTTP/1.1\r\nHost: x\r\n")
        with pytest.raises(OSError, match=r"reset|Broken pipe"):
            connection.sendall(line * 60_000)
    assert haproxy_memory() - before < 2**25


def test_run_proxy_errors_without_json_become_503(port: int) -> None:
    url = f"http://127.0.0.1:{port}"
    for path in ("500", "500/text/html", "502/text/plain"):
        response = httpx.post(f"{url}/{path}", content=b"x")
        assert (response.status_code, response.json()["error"]["code"]) == (503, "overloaded")
        assert response.headers["retry-after"] == "1"
    response = httpx.post(f"{url}/500/application/json", content=b"x")
    assert (response.status_code, response.text) == (500, "1")
    assert httpx.post(f"{url}/404", content=b"x").status_code == 404


def test_run_proxy_slow_headers_are_disconnected(port: int) -> None:
    connections = [connect(port) for _ in range(200)]
    start = time.monotonic()
    for connection in connections:
        connection.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nX-")
    assert httpx.post(f"http://127.0.0.1:{port}/", content=b"x").status_code == 200
    for connection in connections:
        answer = connection.recv(4096)
        assert not answer or answer.startswith(b"HTTP/1.1 408")
        connection.close()
    assert time.monotonic() - start < HEADER_SECONDS + 5


def test_run_proxy_limits_connections_of_one_address(port: int) -> None:
    rejected = 0
    with ExitStack() as stack:
        connections = []
        for _ in range(300):
            try:
                connections.append(stack.enter_context(connect(port)))
            except ConnectionError:  # on some systems, a reset arrives before `connect` returns
                rejected += 1
        time.sleep(1)
        for connection in connections:
            connection.settimeout(0.001)
            try:
                rejected += connection.recv(1) == b""
            except TimeoutError:
                continue
            except OSError:
                rejected += 1
    assert 40 <= rejected <= 60


def test_run_proxy_without_server_returns_503() -> None:
    program = find_haproxy()
    assert program
    port = free_port()
    with run_proxy(program, "127.0.0.1", port, free_port()):
        response = httpx.post(f"http://127.0.0.1:{port}/", content=b"x")
    assert response.status_code == 503
    assert response.json()["error"]["code"] == "not_ready"


def test_run_proxy_check_raises_if_it_ended() -> None:
    port = free_port()
    program = find_haproxy()
    assert program
    with run_proxy(program, "127.0.0.1", port, free_port()) as check:
        for process in psutil.Process().children():
            if "haproxy" in process.name():
                process.kill()
                time.sleep(1)
        with pytest.raises(SettingsError, match="HAProxy ended with status -9"):
            check()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends children with their parent")
def test_run_proxy_ends_with_its_parent() -> None:
    port = free_port()
    script = (
        "import time; from formnet.scale.service.proxy import *\n"
        f"with run_proxy(find_haproxy(), '127.0.0.1', {port}, 9):\n    print('up', flush=True); time.sleep(60)"
    )
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    assert parent.stdout
    assert parent.stdout.readline() == b"up\n"
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    time.sleep(1)
    with pytest.raises(ConnectionRefusedError):
        connect(port)
