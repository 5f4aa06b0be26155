"""The client: it comes back to a service that is busy, and gives up in words."""

import json
import threading
import time
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer, SimpleHTTPRequestHandler
from pathlib import Path

import pytest

from formnet.errors import DocumentError
from formnet.scale import Client
from formnet.scale.client import ServiceError
from plain_documents import words_and_boxes


def test_the_client_comes_back() -> None:
    """A service that is busy twice, and then gives nothing that was found."""
    asked: list[float] = []

    class Busy(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            asked.append(time.monotonic())
            empty = {"document": "a", "pages": [], "entities": []}
            body = json.dumps({"request_id": "1", "model": "m", "documents": [empty]}).encode()
            self.send_response(503 if len(asked) < 3 else 200)
            self.send_header("Retry-After", "0" if len(asked) < 2 else "1")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Busy)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        url = f"http://127.0.0.1:{server.server_port}"
        with Client(url) as client:
            assert client.extract(b"x").document == "a"
        assert len(asked) == 3
        assert asked[2] - asked[1] >= 1
        asked.clear()
        with Client(url, retries=1) as client, pytest.raises(ServiceError) as refused:
            client.extract(words_and_boxes())
        assert refused.value.status == 503
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    with Client(url) as client, pytest.raises(ServiceError, match="cannot be asked"):
        client.extract(b"x")


def test_an_address_of_something_else_is_said(tmp_path: Path) -> None:
    server = HTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=str(tmp_path)))
    (tmp_path / "v1").mkdir()
    (tmp_path / "v1" / "models").write_text("<html>a page of another program</html>")
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        with Client(f"http://127.0.0.1:{server.server_port}") as client:
            with pytest.raises(ServiceError, match="not as the service does") as strange:
                client.models()
            with pytest.raises(ServiceError, match="answered 501") as refused:
                client.extract(b"x")
        assert (strange.value.code, refused.value.code) == ("unknown", "unknown")
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_what_is_wrong_on_this_side_is_said(tmp_path: Path) -> None:
    with pytest.raises(ServiceError, match="no key can have"):
        Client("http://127.0.0.1:1", "clé")
    with Client("http://127.0.0.1:1") as client, pytest.raises(DocumentError, match="cannot be read"):
        client.extract(tmp_path / "gone.pdf")
