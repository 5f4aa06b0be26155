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


@pytest.mark.slow
def test_extract_service_overloaded_retries() -> None:
    """The server responds with 503 twice, then with a document without fields."""
    times: list[float] = []

    class Overloaded(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            times.append(time.monotonic())
            empty = {"document": "a", "pages": [], "entities": [], "fields": {}, "checks": []}
            body = json.dumps({"request_id": "1", "model": "m", "documents": [empty]}).encode()
            self.send_response(503 if len(times) < 3 else 200)
            self.send_header("Retry-After", "0" if len(times) < 2 else "1")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Overloaded)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        url = f"http://127.0.0.1:{server.server_port}"
        with Client(url) as client:
            assert client.extract(b"x").document == "a"
        assert len(times) == 3
        assert times[2] - times[1] >= 1
        times.clear()
        with Client(url, retries=1) as client, pytest.raises(ServiceError) as rejected:
            client.extract(words_and_boxes())
        assert rejected.value.status == 503
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    with Client(url) as client, pytest.raises(ServiceError, match="request failed"):
        client.extract(b"x")


def test_client_other_server_raises(tmp_path: Path) -> None:
    server = HTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=str(tmp_path)))
    (tmp_path / "v1").mkdir()
    (tmp_path / "v1" / "models").write_text("<html>a page of another program</html>")
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        with Client(f"http://127.0.0.1:{server.server_port}") as client:
            with pytest.raises(ServiceError, match="not one of a FormNet service") as unknown:
                client.models()
            with pytest.raises(ServiceError, match="responded with status 501") as rejected:
                client.extract(b"x")
        assert (unknown.value.code, rejected.value.code) == ("unknown", "unknown")
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_client_invalid_key_or_file_raises(tmp_path: Path) -> None:
    with pytest.raises(ServiceError, match="non-ASCII characters"):
        Client("http://127.0.0.1:1", "clé")
    with Client("http://127.0.0.1:1") as client, pytest.raises(DocumentError, match="cannot be read"):
        client.extract(tmp_path / "gone.pdf")
