"""The service as a user runs it, over HTTP."""

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from openapi_spec_validator import validate
from PIL import Image

from benchmarks.attack_list import attempts, slow_pdf
from benchmarks.attacks import Attacker, Attempt
from benchmarks.worst_request import candidates, measure_requests
from formnet.document import Document
from formnet.extraction.extractor import Extractor
from formnet.extraction.output import to_output
from formnet.extraction.schema import Schema
from formnet.scale import Client
from formnet.scale.client import ServiceError
from paper import LINES, picture, text_pdf
from plain_documents import documents, words_and_boxes
from running_service import KEY, Service, run_service

pytestmark = [pytest.mark.ray, pytest.mark.slow]

LABELS = ["company", "date", "total"]
BYTES, PAGES, PIXELS, TIMEOUT, QUEUE = 2**20, 20, 1_000_000, 6, 2


@pytest.fixture(scope="module")
def service(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    options = ["--model", model, "--no-warm-up", "--max-bytes", "1MiB", "--max-pages", PAGES]
    options += ["--max-pixels", PIXELS, "--timeout", TIMEOUT, "--max-queue", QUEUE]
    with run_service(tmp_path_factory.mktemp("keys") / "keys", *options) as running:
        yield running


def jpeg(*lines: str) -> bytes:
    file = BytesIO()
    picture(lines or LINES).save(file, "JPEG")
    return file.getvalue()


def to_json(document: Document) -> dict[str, Any]:
    return to_output(document, Schema.flat(LABELS)).model_dump(mode="json")


def assert_equal(actual: dict[str, Any], expected: dict[str, Any]) -> None:
    """Compare documents; scores may differ in the last digit, depending on the batch."""
    assert list(pop_scores(actual)) == pytest.approx(list(pop_scores(expected)), abs=2e-3)
    assert actual == expected


def pop_scores(tree: Any) -> Iterator[float]:
    """Remove all scores from JSON data, and yield them."""
    if isinstance(tree, dict):
        if "score" in tree:
            yield tree.pop("score")
        for value in tree.values():
            yield from pop_scores(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from pop_scores(value)


def error_message(response: httpx.Response, status: int, code: str) -> str:
    """Check the format of an error response, and return its message."""
    assert response.status_code == status, response.text
    error = response.json()["error"]
    assert set(error) == {"code", "message", "request_id"}
    assert error["code"] == code
    assert error["request_id"] == response.headers["x-request-id"]
    assert "Traceback" not in error["message"]
    assert "/tmp" not in error["message"]
    return str(error["message"])


# Results


def test_service_started_is_ready_and_lists_models(service: Service) -> None:
    assert httpx.get(f"{service.url}/healthz").text == "ok\n"
    assert httpx.get(f"{service.url}/readyz").text == "ready\n"
    response = service.request("GET", "/v1/models").json()
    assert [model["labels"] for model in response["models"]] == [LABELS]
    assert response["limits"]["bytes"] == BYTES


def test_extract_files_equals_extractor(service: Service, model: Path, tmp_path: Path) -> None:
    extractor = Extractor.from_pretrained(model, min_score=0.9)
    expected = []
    files = (("one.pdf", text_pdf([LINES, ("Page two",)])), ("photo.jpg", jpeg()))
    for name, content in files:
        file = tmp_path / name
        file.write_bytes(content)
        expected.append(to_json(replace(extractor.extract(file), id=name)))
    response = service.extract(*files, query="?min_score=0.9").json()
    assert len(response["documents"]) == 2
    for actual, document in zip(response["documents"], expected, strict=True):
        assert document["entities"]
        assert_equal(actual, document)


def test_extract_json_equals_extractor(service: Service, extractor: Extractor) -> None:
    documents = [words_and_boxes(f"{i}", *" ".join(LINES).split()[i:]) for i in range(3)]
    bodies = [document.to_json() for document in documents]
    for body in ({"documents": bodies}, bodies):
        response = service.send(body).json()
        for actual, document in zip(response["documents"], documents, strict=True):
            assert_equal(actual, to_json(extractor.extract(document)))
    (actual,) = service.send(documents[0].to_json()).json()["documents"]
    assert_equal(actual, to_json(extractor.extract(documents[0])))


def test_extract_day_first_changes_dates(service: Service) -> None:
    document = next(documents(1))
    dates: dict[bool | None, set[str]] = {}
    with Client(service.url, KEY) as client:
        for day_first in (None, True, False):
            entities = client.extract(document, day_first=day_first).entities
            dates[day_first] = {e.value.value for e in entities if e.value and e.value.kind == "date"}
    assert dates == {None: {"2019-03-04"}, True: {"2019-04-03"}, False: {"2019-03-04"}}


def test_extract_values_have_all_keys(service: Service) -> None:
    (document,) = service.send(next(documents(1)).to_json()).json()["documents"]
    values = [entity["value"] for entity in document["entities"] if entity["value"]]
    assert values
    assert all(set(value) == {"kind", "value", "currency", "ambiguous"} for value in values)


def test_extract_images_returned_only_on_request(service: Service, tmp_path: Path) -> None:
    assert "image" not in service.extract(("a.jpg", jpeg())).json()["documents"][0]["pages"][0]
    (document,) = service.extract(("a.jpg", jpeg()), query="?images=true").json()["documents"]
    assert document["pages"][0]["image"].startswith("data:image/jpeg;base64,")
    # A document may refer to an image file, but not to one on the machine of the service.
    secret = tmp_path / "secret.png"
    picture().save(secret)
    body = words_and_boxes().to_json()
    body["pages"][0]["image"] = str(secret)
    (document,) = service.extract(("a.json", json.dumps(body).encode()), query="?images=true").json()["documents"]
    assert document["pages"][0]["image"] is None


def test_extract_markup_in_document_returned_as_json(service: Service) -> None:
    texts = ["<script>alert(1)</script>", "<img src=x onerror=alert(1)>", '"&', "Total", "9.00"]
    response = service.send(words_and_boxes("<b>name</b>", *texts).to_json())
    assert response.headers["content-type"] == "application/json"
    assert response.headers["x-content-type-options"] == "nosniff"
    (document,) = response.json()["documents"]
    assert document["document"] == "<b>name</b>"
    assert {entity["text"] for entity in document["entities"]} & set(texts)


def test_client_returns_typed_documents(service: Service, extractor: Extractor, tmp_path: Path) -> None:
    file = tmp_path / "one.pdf"
    file.write_bytes(text_pdf())
    expected = extractor.extract(file).entities
    with Client(service.url, KEY) as client:
        for source in (file, str(file), file.read_bytes(), extractor.extract(file)):
            document = client.extract(source, min_score=0.5)
            assert [(e.label, e.text, tuple(e.words)) for e in document.entities] == [
                (e.label, e.text, e.words) for e in expected
            ]
        assert client.models().limits.pages == PAGES
        with pytest.raises(ServiceError, match="unsupported file type") as rejected:
            client.extract(b"not a document")
        assert (rejected.value.status, rejected.value.code) == (422, "invalid_document")
    with Client(service.url, "an unknown key") as client, pytest.raises(ServiceError, match="Invalid API key"):
        client.extract(b"%PDF-")


# Errors


@pytest.mark.parametrize(
    ("name", "content", "text"),
    [
        ("a.pdf", b"%PDF-1.4 nonsense", "a.pdf: cannot be opened as a PDF"),
        ("a.pdf", b"", "a.pdf: file is empty"),
        ("a.txt", b"plain text", "a.txt: unsupported file type"),
        ("a.jpg", b"\xff\xd8\xff\xe0 broken", "a.jpg: cannot be opened as an image"),
        ("a.json", b'{"id": "a", "pages": [{"words": ["x"], "boxes": []}]}', "1 words but 0"),
        ("a.jsonl", b"", "a.jsonl: file is empty"),
        ("a.parquet", b"PAR1", "a.parquet: Parquet is not accepted"),
        ("../../etc/passwd", b"root", "passwd: unsupported file type"),
    ],
)
def test_extract_invalid_file_returns_422(service: Service, name: str, content: bytes, text: str) -> None:
    message = error_message(service.extract((name, content)), 422, "invalid_document")
    assert text in message
    assert "etc" not in message


def test_extract_one_invalid_file_of_several_is_named(service: Service) -> None:
    files = (("good.pdf", text_pdf()), ("bad.pdf", b"%PDF-1.4 nonsense"))
    assert error_message(service.extract(*files), 422, "invalid_document").startswith("bad.pdf")


def test_extract_invalid_request_returns_error(service: Service) -> None:
    document = words_and_boxes().to_json()
    request = service.request
    message = error_message(request("POST", "/v1/extract", content=b"x"), 415, "unsupported_media_type")
    assert "multipart/form-data" in message
    compressed = {"Content-Encoding": "gzip"}
    error_message(service.send(document, headers=compressed), 415, "unsupported_encoding")
    error_message(request("POST", "/v1/extract", files={"a": ("", b"")}), 422, "missing_file")
    multipart = {"Content-Type": "multipart/form-data"}
    error_message(request("POST", "/v1/extract", content=b"incomplete", headers=multipart), 400, "invalid_multipart")
    error_message(request("POST", "/v1/extract?min_score=2", json=document), 422, "invalid_request")
    unknown = request("POST", "/v1/extract?model=x", json=document)
    assert "There is no model 'x'" in error_message(unknown, 404, "unknown_model")
    wrong = request("GET", "/v1/extract")
    error_message(wrong, 405, "method_not_allowed")
    assert wrong.headers["allow"] == "POST"
    for route in ("/nothing", "/page/../routes.py", "/page/..%2froutes.py", "/page/index.html"):
        error_message(request("GET", route), 404, "not_found")


def test_routes_api_key_is_required(service: Service) -> None:
    body = words_and_boxes().to_json()
    for headers, code in (
        ({}, "missing_api_key"),
        ({"X-API-Key": ""}, "missing_api_key"),
        ({"X-API-Key": "wrong"}, "invalid_api_key"),
        ({"X-API-Key": KEY[:-1]}, "invalid_api_key"),
        ({"Authorization": "Basic YTpi"}, "missing_api_key"),
        ({"X-API-Key": b"\xff\xfe"}, "invalid_api_key"),
    ):
        for method, route in (("POST", "/v1/extract"), ("GET", "/v1/models"), ("GET", "/metrics")):
            response = httpx.request(method, f"{service.url}{route}", headers=headers)
            assert "key" in error_message(response, 401, code).lower()
    for headers in ({"Authorization": f"Bearer {KEY}"}, {"X-API-Key": "another key"}):
        assert httpx.post(f"{service.url}/v1/extract", json=body, headers=headers).status_code == 200


def test_routes_request_id_is_returned_or_rejected(service: Service) -> None:
    body = words_and_boxes().to_json()
    response = service.send(body, headers={"X-Request-ID": "order-66.a:b"})
    assert response.headers.get_list("x-request-id") == [response.json()["request_id"]] == ["order-66.a:b"]
    first, second = (service.send(body).json()["request_id"] for _ in range(2))
    assert first != second
    for invalid in ("x" * 65, "a b", "<script>", "a;b", "é".encode()):
        response = service.send(body, headers={"X-Request-ID": invalid})
        assert response.status_code == 400
        assert response.json()["error"]["code"] == "invalid_request_id"


# Hostile clients


@pytest.mark.parametrize("attempt", list(attempts()), ids=lambda attempt: f"{attempt.kind}: {attempt.name}")
def test_routes_hostile_request_is_rejected(service: Service, attempt: Attempt) -> None:
    start = time.monotonic()
    outcome = attempt.send(Attacker(service.port, KEY))
    assert outcome.status in attempt.accepted, outcome
    assert not any(text in outcome.text for text in ("Traceback", "/tmp/", attempt.forbidden) if text)
    assert time.monotonic() - start < TIMEOUT + 4
    assert service.send(words_and_boxes().to_json()).status_code == 200


# Limits


def test_extract_over_limit_returns_413(service: Service) -> None:
    pages = text_pdf([("a page",)] * (PAGES + 1))
    assert f"(limit {PAGES})" in error_message(service.extract(("long.pdf", pages)), 413, "too_large")
    bomb = BytesIO()
    Image.new("1", (20_000, 20_000)).save(bomb, "PNG")
    assert "pixels" in error_message(service.extract(("bomb.png", bomb.getvalue())), 413, "too_large")
    large = BytesIO()
    Image.new("1", (1001, 1000)).save(large, "PNG")
    assert "(limit 1,000,000)" in error_message(service.extract(("large.png", large.getvalue())), 413, "too_large")
    words = words_and_boxes("long", *["a"] * 20_001).to_json()
    words["pages"][0]["boxes"] = [[0, 0, 1, 1]] * 20_001
    assert "20,001 words" in error_message(service.send(words), 413, "too_large")
    body = {"id": "long", "pages": [{"words": [], "boxes": []}] * (PAGES + 1)}
    assert f"{PAGES + 1} pages" in error_message(service.send(body), 413, "too_large")
    many = [words_and_boxes().to_json()] * 33
    assert "33 documents" in error_message(service.send(many), 413, "too_large")
    assert service.extract(*[("a.pdf", text_pdf())] * 33).status_code == 400


def test_extract_slow_file_times_out_alone(service: Service) -> None:
    start = time.monotonic()
    message = error_message(service.extract(("slow.pdf", slow_pdf())), 422, "processing_timeout")
    assert message.startswith(f"slow.pdf: reading took longer than {TIMEOUT} seconds (the limit)")
    assert time.monotonic() - start < TIMEOUT + 4
    assert service.extract(("good.pdf", text_pdf())).status_code == 200


def test_extract_reader_process_killed_fails_one_file(service: Service) -> None:
    (process,) = service.processes("-m formnet.io.isolation")
    with ThreadPoolExecutor() as pool:
        response = pool.submit(service.extract, ("slow.pdf", slow_pdf()))
        time.sleep(1)
        process.kill()
        assert "crashed the process that read it" in error_message(response.result(), 422, "invalid_document")
    assert service.extract(("good.pdf", text_pdf())).status_code == 200


def test_extract_queue_full_returns_503(service: Service) -> None:
    service.extract(("a.jpg", jpeg("Total")))
    with ThreadPoolExecutor(6) as pool:
        responses = list(pool.map(lambda i: service.extract((f"{i}.jpg", jpeg("Total"))), range(6)))
    statuses = [response.status_code for response in responses]
    assert set(statuses) == {200, 503}
    assert statuses.count(200) >= QUEUE
    for response in responses:
        if response.status_code == 503:
            assert "Retry after the delay" in error_message(response, 503, "overloaded")
            assert response.headers["retry-after"] == "1"


def test_extract_short_document_does_not_wait_for_long_ones(service: Service) -> None:
    requests = {
        name: send for name, send in candidates(1600, 2) if name.startswith(("2 longest", "2 documents of 512"))
    }
    rows = measure_requests(service.url, requests, 2, {"X-API-Key": KEY})
    assert len(rows) == 2
    for row in rows:
        assert row["honest_answers_equal"]
        assert set(row["statuses"]) <= {"200", "503"}
        assert row["max_seconds"] < 5


# OpenAPI, web page, metrics and logs


def test_openapi_document_is_valid_and_examples_work(service: Service) -> None:
    spec = httpx.get(f"{service.url}/openapi.json").json()
    validate(spec)
    assert {"/v1/extract", "/v1/models", "/healthz", "/readyz", "/metrics"} == set(spec["paths"])
    examples = spec["paths"]["/v1/extract"]["post"]["requestBody"]["content"]["application/json"]["examples"]
    for example in examples.values():
        assert service.send(example["value"]).status_code == 200


def test_page_loads_own_assets_only(service: Service) -> None:
    page = httpx.get(f"{service.url}/")
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    script, style = (httpx.get(f"{service.url}/page/page.{kind}") for kind in ("js", "css"))
    assert script.headers["content-type"].startswith("text/javascript")
    assert style.headers["content-type"].startswith("text/css")
    source = page.text + style.text + script.text.replace("http://www.w3.org/2000/svg", "")
    assert "//" not in source.replace("// ", "")  # no URL of another host
    for unsafe in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "style=", "onclick="):
        assert unsafe not in source


def test_metrics_include_serve_and_formnet(service: Service) -> None:
    service.send(words_and_boxes().to_json())
    deadline = time.monotonic() + 30
    while "ray_formnet_documents_total" not in (text := service.request("GET", "/metrics").text):
        assert time.monotonic() < deadline, text
        time.sleep(1)
    assert "ray_serve_num_http_requests_total" in text
    assert "ray_node_" not in text


def test_logs_have_request_ids_and_no_content(service: Service) -> None:
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


def test_replicas_run_at_normal_priority(service: Service) -> None:
    assert {process.nice() for process in service.processes("ray::ServeReplica:formnet")} == {psutil.Process().nice()}


def test_extract_model_replica_killed_recovers(service: Service) -> None:
    """Every response is correct or 503, never wrong."""
    expected = service.send(words_and_boxes().to_json()).json()["documents"]
    replicas = service.processes("ray::ServeReplica:formnet:model")
    (replica,) = (process for process in replicas if "-long" not in process.cmdline()[0])
    replica.kill()
    deadline = time.monotonic() + 60
    while (response := service.send(words_and_boxes().to_json())).status_code != 200:
        assert response.status_code == 503, response.text
        assert time.monotonic() < deadline
        time.sleep(0.5)
    assert_equal(response.json()["documents"][0], expected[0])
