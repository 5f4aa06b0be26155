"""The service as a user runs it: the same answers as the extractor's, and words for everything that goes wrong."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import httpx
import pytest
from openapi_spec_validator import validate
from PIL import Image

from benchmarks.attack_list import attempts, slow_pdf
from benchmarks.attacks import Attacker, Attempt
from formnet.extraction.extractor import Extractor
from formnet.extraction.output import answer
from formnet.scale import Client
from formnet.scale.client import ServiceError
from paper import LINES, picture, text_pdf
from plain_documents import documents, words_and_boxes
from running_service import KEY, Service

BYTES, PAGES, PIXELS, SECONDS, QUEUE = 2**20, 20, 1_000_000, 6, 2


@pytest.fixture(scope="module")
def service(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = Path(mkdtemp(prefix="fn", dir="/tmp"))  # short, for Ray's sockets are in it
    keys = tmp_path_factory.mktemp("keys") / "keys"
    keys.write_text(f"# ours\n{KEY}\n")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = ["serve", "--model", model, "--port", port, "--no-warm-up", "--api-key-file", keys, "--max-bytes", "1MiB"]
    words += ["--max-pages", PAGES, "--max-pixels", PIXELS, "--seconds", SECONDS, "--max-queue", QUEUE]
    process = subprocess.Popen(
        [sys.executable, "-m", "formnet.cli", *map(str, words)],
        env={**os.environ, "RAY_TMPDIR": str(folder), "FORMNET_API_KEYS": "another key"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout
    first = process.stdout.readline()
    assert "FormNet answers at" in first, first + process.stdout.read()
    yield Service(port, folder, process)
    process.send_signal(signal.SIGTERM)
    rest = process.communicate(timeout=60)[0]
    assert process.returncode == 0, rest
    shutil.rmtree(folder, ignore_errors=True)


def jpeg(*lines: str) -> bytes:
    file = BytesIO()
    picture(lines or LINES).save(file, "JPEG")
    return file.getvalue()


def same(told: dict[str, Any], expected: dict[str, Any]) -> None:
    """Compare answers; scores may differ in the last digit, by the batch they were in."""
    scores = [[entity.pop("score") for entity in one["entities"]] for one in (told, expected)]
    assert scores[0] == pytest.approx(scores[1], abs=2e-3)
    assert told == expected


def problem(response: httpx.Response, status: int, code: str) -> str:
    """Check that an error has the one form that errors have, and give its sentence."""
    assert response.status_code == status, response.text
    error = response.json()["error"]
    assert set(error) == {"code", "message", "request_id"}
    assert error["code"] == code
    assert error["request_id"] == response.headers["x-request-id"]
    assert "Traceback" not in error["message"]
    assert "/tmp" not in error["message"]
    return str(error["message"])


# Answers


def test_it_is_alive_ready_and_says_what_it_has(service: Service) -> None:
    assert httpx.get(f"{service.url}/healthz").text == "ok\n"
    assert httpx.get(f"{service.url}/readyz").text == "ready\n"
    told = service.ask("GET", "/v1/models").json()
    assert [one["labels"] for one in told["models"]] == [["company", "date", "total"]]
    assert told["limits"]["bytes"] == BYTES


def test_files_give_what_the_extractor_gives(service: Service, extractor: Extractor, tmp_path: Path) -> None:
    expected = []
    sent = (("one.pdf", text_pdf([LINES, ("Page two",)])), ("photo.jpg", jpeg()))
    for name, content in sent:
        file = tmp_path / name
        file.write_bytes(content)
        expected.append(answer(replace(extractor.extract(file), id=name), 0.9))
    reply = service.extract(*sent, query="?min_score=0.9").json()
    assert len(reply["documents"]) == 2
    for told, one in zip(reply["documents"], expected, strict=True):
        assert one["entities"]
        same(told, one)


def test_words_and_boxes_give_what_the_extractor_gives(service: Service, extractor: Extractor) -> None:
    documents = [words_and_boxes(f"{i}", *" ".join(LINES).split()[i:]) for i in range(3)]
    for body in ({"documents": [one.to_json() for one in documents]}, [one.to_json() for one in documents]):
        reply = service.send(body).json()
        for told, document in zip(reply["documents"], documents, strict=True):
            same(told, answer(extractor.extract(document)))
    (told,) = service.send(documents[0].to_json()).json()["documents"]
    same(told, answer(extractor.extract(documents[0])))


def test_dates_are_read_as_asked(service: Service) -> None:
    document = next(documents(1))
    read: dict[bool | None, set[str]] = {}
    with Client(service.url, KEY) as client:
        for day_first in (None, True, False):
            found = client.extract(document, day_first=day_first).entities
            read[day_first] = {e.value["value"] for e in found if e.value and e.value["kind"] == "date"}
    assert read == {None: {"2019-03-04"}, True: {"2019-04-03"}, False: {"2019-03-04"}}


def test_pictures_come_only_when_asked_for(service: Service, tmp_path: Path) -> None:
    assert "picture" not in service.extract(("a.jpg", jpeg())).json()["documents"][0]["pages"][0]
    (told,) = service.extract(("a.jpg", jpeg()), query="?pictures=true").json()["documents"]
    assert told["pages"][0]["picture"].startswith("data:image/jpeg;base64,")
    # A document may name a picture, but not one of the service's machine.
    secret = tmp_path / "secret.png"
    picture().save(secret)
    document = words_and_boxes().to_json()
    document["pages"][0]["image"] = str(secret)
    (told,) = service.extract(("a.json", json.dumps(document).encode()), query="?pictures=true").json()["documents"]
    assert told["pages"][0]["picture"] is None


def test_what_documents_say_comes_back_as_data(service: Service) -> None:
    texts = ["<script>alert(1)</script>", "<img src=x onerror=alert(1)>", '"&', "Total", "9.00"]
    response = service.send(words_and_boxes("<b>name</b>", *texts).to_json())
    assert response.headers["content-type"] == "application/json"
    assert response.headers["x-content-type-options"] == "nosniff"
    (told,) = response.json()["documents"]
    assert told["document"] == "<b>name</b>"
    assert {entity["text"] for entity in told["entities"]} & set(texts)


def test_the_client_gives_typed_answers(service: Service, extractor: Extractor, tmp_path: Path) -> None:
    file = tmp_path / "one.pdf"
    file.write_bytes(text_pdf())
    expected = extractor.extract(file).entities
    with Client(service.url, KEY) as client:
        for source in (file, str(file), file.read_bytes(), extractor.extract(file)):
            found = client.extract(source, min_score=0.5)
            assert [(e.label, e.text, tuple(e.words)) for e in found.entities] == [
                (e.label, e.text, e.words) for e in expected
            ]
        assert client.models().limits.pages == PAGES
        with pytest.raises(ServiceError, match="is none of the kinds") as refused:
            client.extract(b"nothing that can be read")
        assert (refused.value.status, refused.value.code) == (422, "bad_document")
    with Client(service.url, "no key of ours") as client, pytest.raises(ServiceError, match="not known"):
        client.extract(b"%PDF-")


# What goes wrong


@pytest.mark.parametrize(
    ("name", "content", "status", "code", "words"),
    [
        ("a.pdf", b"%PDF-1.4 nonsense", 422, "bad_document", "a.pdf: cannot be opened as a PDF"),
        ("a.pdf", b"", 422, "bad_document", "a.pdf: is empty"),
        ("a.txt", b"plain text", 422, "bad_document", "a.txt: is none of the kinds"),
        ("a.jpg", b"\xff\xd8\xff\xe0 broken", 422, "bad_document", "a.jpg: cannot be opened as an image"),
        ("a.json", b'{"id": "a", "pages": [{"words": ["x"], "boxes": []}]}', 422, "bad_document", "1 words but 0"),
        ("a.jsonl", b"", 422, "bad_document", "a.jsonl: is empty"),
        ("a.parquet", b"PAR1", 422, "bad_document", "a.parquet: is Parquet"),
        ("../../etc/passwd", b"root", 422, "bad_document", "passwd: is none of the kinds"),
    ],
)
def test_bad_files_are_refused_in_words(
    service: Service, name: str, content: bytes, status: int, code: str, words: str
) -> None:
    message = problem(service.extract((name, content)), status, code)
    assert words in message
    assert "etc" not in message


def test_one_bad_file_of_several_is_named(service: Service) -> None:
    sent = (("good.pdf", text_pdf()), ("bad.pdf", b"%PDF-1.4 nonsense"))
    assert problem(service.extract(*sent), 422, "bad_document").startswith("bad.pdf")


def test_requests_that_are_none(service: Service) -> None:
    document = words_and_boxes().to_json()
    asked = service.ask
    assert "multipart/form-data" in problem(asked("POST", "/v1/extract", content=b"x"), 415, "unknown_kind")
    packed = {"Content-Encoding": "gzip"}
    problem(service.send(document, headers=packed), 415, "packed")
    problem(asked("POST", "/v1/extract", files={"a": ("", b"")}), 422, "no_file")
    torn = {"Content-Type": "multipart/form-data"}
    problem(asked("POST", "/v1/extract", content=b"torn", headers=torn), 400, "bad_form")
    problem(asked("POST", "/v1/extract?min_score=2", json=document), 422, "bad_request")
    assert "There is no model 'x'" in problem(asked("POST", "/v1/extract?model=x", json=document), 404, "no_such_model")
    wrong = asked("GET", "/v1/extract")
    problem(wrong, 405, "wrong_method")
    assert wrong.headers["allow"] == "POST"
    for route in ("/nothing", "/page/../ingress.py", "/page/..%2fingress.py", "/page/index.html"):
        problem(asked("GET", route), 404, "not_found")


def test_keys(service: Service) -> None:
    body = words_and_boxes().to_json()
    for headers, code in (
        ({}, "no_key"),
        ({"X-API-Key": ""}, "no_key"),
        ({"X-API-Key": "wrong"}, "wrong_key"),
        ({"X-API-Key": KEY[:-1]}, "wrong_key"),
        ({"Authorization": "Basic YTpi"}, "no_key"),
        ({"X-API-Key": b"\xff\xfe"}, "wrong_key"),
    ):
        for method, route in (("POST", "/v1/extract"), ("GET", "/v1/models"), ("GET", "/metrics")):
            response = httpx.request(method, f"{service.url}{route}", headers=headers)
            assert "key" in problem(response, 401, code).lower()
    for headers in ({"Authorization": f"Bearer {KEY}"}, {"X-API-Key": "another key"}):
        assert httpx.post(f"{service.url}/v1/extract", json=body, headers=headers).status_code == 200


def test_request_ids(service: Service) -> None:
    body = words_and_boxes().to_json()
    response = service.send(body, headers={"X-Request-ID": "order-66.a:b"})
    assert response.headers.get_list("x-request-id") == [response.json()["request_id"]] == ["order-66.a:b"]
    one, other = (service.send(body).json()["request_id"] for _ in range(2))
    assert one != other
    for insane in ("x" * 65, "a b", "<script>", "a;b", "é".encode()):
        response = service.send(body, headers={"X-Request-ID": insane})
        assert response.status_code == 400
        assert response.json()["error"]["code"] == "bad_request_id"


# Hostile clients


@pytest.mark.parametrize("attempt", list(attempts()), ids=lambda attempt: f"{attempt.kind}: {attempt.name}")
def test_hostile_clients_get_nowhere(service: Service, attempt: Attempt) -> None:
    start = time.monotonic()
    came = attempt.send(Attacker(service.port, KEY))
    assert came.status in attempt.right, came
    assert not any(sign in came.text for sign in ("Traceback", "/tmp/", attempt.never) if sign)
    assert time.monotonic() - start < SECONDS + 4
    assert service.send(words_and_boxes().to_json()).status_code == 200


# Limits


def test_more_than_the_limits_is_refused(service: Service) -> None:
    pages = text_pdf([("a page",)] * (PAGES + 1))
    assert f"the limit is {PAGES}" in problem(service.extract(("long.pdf", pages)), 413, "too_large")
    bomb = BytesIO()
    Image.new("1", (20_000, 20_000)).save(bomb, "PNG")
    assert "pixels" in problem(service.extract(("bomb.png", bomb.getvalue())), 413, "too_large")
    large = BytesIO()
    Image.new("1", (1001, 1000)).save(large, "PNG")
    assert "the limit is 1,000,000" in problem(service.extract(("large.png", large.getvalue())), 413, "too_large")
    words = words_and_boxes("long", *["a"] * 20_001).to_json()
    words["pages"][0]["boxes"] = [[0, 0, 1, 1]] * 20_001
    assert "20,001 words" in problem(service.send(words), 413, "too_large")
    paged = {"id": "long", "pages": [{"words": [], "boxes": []}] * (PAGES + 1)}
    assert f"{PAGES + 1} pages" in problem(service.send(paged), 413, "too_large")
    many = [words_and_boxes().to_json()] * 33
    assert "33 documents" in problem(service.send(many), 413, "too_large")
    assert service.extract(*[("a.pdf", text_pdf())] * 33).status_code == 400


def test_a_document_that_takes_too_long_costs_itself(service: Service) -> None:
    start = time.monotonic()
    message = problem(service.extract(("slow.pdf", slow_pdf())), 422, "too_slow")
    assert message.startswith(f"slow.pdf: takes too long to read; the limit is {SECONDS} seconds")
    assert time.monotonic() - start < SECONDS + 4
    assert service.extract(("good.pdf", text_pdf())).status_code == 200


def test_a_crash_costs_the_document_that_caused_it(service: Service) -> None:
    (reading,) = service.processes("ray::ReadingProcess")
    with ThreadPoolExecutor() as pool:
        answered = pool.submit(service.extract, ("slow.pdf", slow_pdf()))
        time.sleep(1)
        reading.kill()
        assert "crashed what was to read it" in problem(answered.result(), 422, "bad_document")
    assert service.extract(("good.pdf", text_pdf())).status_code == 200


def test_when_the_queue_is_full_others_are_told_to_come_back(service: Service) -> None:
    service.extract(("a.jpg", jpeg("Total")))
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda i: service.extract((f"{i}.jpg", jpeg("Total"))), range(6)))
    statuses = [one.status_code for one in answers]
    assert set(statuses) == {200, 503}
    assert statuses.count(200) >= QUEUE
    for one in answers:
        if one.status_code == 503:
            assert "try the same again" in problem(one, 503, "busy")
            assert one.headers["retry-after"] == "1"


# What programs and people are told of it


def test_the_openapi_document_is_valid_and_its_examples_work(service: Service) -> None:
    spec = httpx.get(f"{service.url}/openapi.json").json()
    validate(spec)
    assert {"/v1/extract", "/v1/models", "/healthz", "/readyz", "/metrics"} == set(spec["paths"])
    examples = spec["paths"]["/v1/extract"]["post"]["requestBody"]["content"]["application/json"]["examples"]
    for example in examples.values():
        assert service.send(example["value"]).status_code == 200


def test_the_page_is_safe_and_whole(service: Service) -> None:
    page = httpx.get(f"{service.url}/")
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    script, style = (httpx.get(f"{service.url}/page/page.{kind}") for kind in ("js", "css"))
    assert script.headers["content-type"].startswith("text/javascript")
    assert style.headers["content-type"].startswith("text/css")
    whole = page.text + style.text + script.text.replace("http://www.w3.org/2000/svg", "")
    assert "//" not in whole.replace("// ", "")  # no address of anybody else's
    for way in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "style=", "onclick="):
        assert way not in whole


def test_metrics_tell_of_serve_and_of_us(service: Service) -> None:
    service.send(words_and_boxes().to_json())
    deadline = time.monotonic() + 30
    while "ray_formnet_documents_total" not in (text := service.ask("GET", "/metrics").text):
        assert time.monotonic() < deadline, text
        time.sleep(1)
    assert "ray_serve_num_http_requests_total" in text
    assert "ray_node_" not in text


def test_logs_are_json_with_ids_and_without_contents(service: Service) -> None:
    service.send(words_and_boxes("x", "SECRET").to_json(), headers={"X-Request-ID": "look-for-me"})
    service.extract(("PRIVATE.pdf", text_pdf([("SECRET words",)])))
    service.send({"id": "x", "words": ["SECRET"], "boxes": [[1]]})
    time.sleep(1)
    logs = service.logs()
    lines = [json.loads(line) for line in logs.splitlines()]
    assert {"extracted", "POST /v1/extract 200"} <= {
        line["message"].rpartition(" ")[0] if "ms" in line["message"] else line["message"]
        for line in lines
        if line.get("request_id") == "look-for-me"
    }
    for content in ("SECRET", "PRIVATE", "ACME", "STORES", KEY):
        assert content not in logs


def test_a_network_that_is_killed_comes_back(service: Service) -> None:
    """Nobody gets a wrong answer: right, or told to come back."""
    expected = service.send(words_and_boxes().to_json()).json()["documents"]
    (network,) = service.processes("ray::ServeReplica:formnet:network")
    network.kill()
    deadline = time.monotonic() + 60
    while (response := service.send(words_and_boxes().to_json())).status_code != 200:
        assert response.status_code == 503, response.text
        assert time.monotonic() < deadline
        time.sleep(0.5)
    same(response.json()["documents"][0], expected[0])
