import asyncio
from pathlib import Path

import pytest

from formnet.document import Document
from formnet.extraction.annotations import Annotations
from formnet.extraction.extractor import Extractor
from formnet.extraction.references import ReferenceList
from formnet.extraction.schema import load_schema
from formnet.scale.service import model as module
from formnet.scale.service.errors import ApiError
from formnet.scale.service.model import ModelInput, ModelReplica, ModelSettings, Result, TooLong
from linked_receipts import linked_receipt
from plain_documents import documents, words_and_boxes

EXAMPLES = Path(__file__).parents[3] / "examples"
MAX_TOKENS = 500


def replica(model: Path, *, is_long: bool = False) -> ModelReplica:
    settings = ModelSettings(str(model), 1, warm_up=False, max_tokens=MAX_TOKENS, timeout=30, is_long=is_long)
    return ModelReplica(settings)


def with_tokens(count: int) -> Document:
    return words_and_boxes(f"{count} tokens", *["a"] * count)


async def extract_all(replica: ModelReplica, inputs: list[Document]) -> list[Result]:
    return await asyncio.gather(*(replica.annotate(ModelInput(document)) for document in inputs))


def test_annotate_equals_extract(model: Path, extractor: Extractor) -> None:
    inputs = list(documents(5))
    results = asyncio.run(extract_all(replica(model), inputs))
    for document, result in zip(inputs, results, strict=True):
        assert isinstance(result, Annotations)
        expected = extractor.extract(document).entities
        assert [(e.label, e.words) for e in result.entities] == [(e.label, e.words) for e in expected]
        assert [e.score for e in result.entities] == pytest.approx([e.score for e in expected], abs=1e-3)


def test_replica_auto_chooses_a_model_per_document() -> None:
    settings = ModelSettings("auto", 1, warm_up=False, max_tokens=5000, timeout=30, is_long=False)
    chooser = ModelReplica(settings)
    inputs = [linked_receipt(4, "receipt"), chooser.extractor.read(EXAMPLES / "invoice.pdf")]
    receipt, invoice = asyncio.run(extract_all(chooser, inputs))
    assert isinstance(receipt, Annotations)
    assert isinstance(invoice, Annotations)
    assert (receipt.type.name, invoice.type.name) == ("receipts", "invoices")
    assert {"line_items.description", "vendor.name"} <= set(chooser.describe().labels)
    assert chooser.describe().schema == load_schema("auto")


def test_replica_uses_the_lists_for_its_own_fields(model: Path, extractor: Extractor) -> None:
    own = ReferenceList([extractor.schema.text_paths[0]], [["A"]])
    other = ReferenceList(["field.of.another.model"], [["B"]])
    settings = ModelSettings(str(model), 1, False, MAX_TOKENS, 30, False, (own, other))
    described = ModelReplica(settings).describe()
    assert list(described.schema.references) == [own.path]


def test_annotate_long_document_goes_to_another_replica(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_BATCH_TOKENS", 50)
    monkeypatch.setattr("os.nice", lambda _: 0)
    inputs = [with_tokens(50), with_tokens(51), with_tokens(MAX_TOKENS + 1)]
    short, long, too_long = asyncio.run(extract_all(replica(model), inputs))
    assert isinstance(short, Annotations)
    assert long == TooLong(51)
    assert isinstance(too_long, ApiError)
    assert (too_long.status, too_long.code) == (413, "too_large")
    assert "more than 500 tokens (the limit)" in too_long.message
    _, long, too_long = asyncio.run(extract_all(replica(model, is_long=True), inputs))
    assert isinstance(long, Annotations)
    assert isinstance(too_long, ApiError)


def test_annotate_short_documents_are_scored_first(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_BATCH_TOKENS", 60)
    tested = replica(model)
    batches: list[list[int]] = []
    extract = tested._extract

    def record(inputs: list[ModelInput]) -> list[Result]:
        batches.append([item.document.num_words for item in inputs])
        return extract(inputs)

    monkeypatch.setattr(tested, "_extract", record)
    asyncio.run(extract_all(tested, [with_tokens(count) for count in (50, 59, 40, 3, 5)]))
    assert batches == [[3, 5, 40], [50], [59]]


def test_annotate_canceled_request_is_not_scored(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tested = replica(model)
    scored: list[str] = []

    def record(inputs: list[ModelInput]) -> list[Result]:
        scored.extend(item.document.id for item in inputs)
        return [Annotations([], []) for _ in inputs]

    monkeypatch.setattr(tested, "_extract", record)

    async def run() -> None:
        monkeypatch.setattr(module, "BATCH_WAIT_SECONDS", 0.5)
        tasks = [asyncio.ensure_future(tested.annotate(ModelInput(with_tokens(count)))) for count in (3, 4)]
        await asyncio.sleep(0.2)
        tasks[0].cancel()
        assert await tasks[1] == Annotations([], [])

    asyncio.run(run())
    assert scored == ["4 tokens"]


def test_annotate_error_fails_one_document(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tested = replica(model)
    iter_annotations = tested.extractor.iter_annotations

    def fail(documents: list[Document], **options: object) -> object:
        if any(document.id == "3 tokens" for document in documents):
            raise ValueError("broken")
        return iter_annotations(documents, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(tested.extractor, "iter_annotations", fail)
    bad, good = asyncio.run(extract_all(tested, [with_tokens(3), with_tokens(4)]))
    assert isinstance(bad, ApiError)
    assert bad.status == 500
    assert isinstance(good, Annotations)
