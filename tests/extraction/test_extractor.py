import json
import pickle
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from torch._dynamo.utils import counters

from formnet.document import Document
from formnet.document.builder import DocumentBuilder
from formnet.document.reading_order import join_cells
from formnet.errors import DocumentError, LimitError, SettingsError
from formnet.extraction.extractor import Extractor
from formnet.extraction.options import ExtractionOptions
from formnet.extraction.output import entity_output
from formnet.io.readers import read, read_one
from paper import LINES


def test_extract_accepts_path_document_and_list(extractor: Extractor, pdf: Path) -> None:
    (document,) = read(pdf)
    result = extractor.extract(pdf)
    assert result.entities
    assert result == extractor.extract(document)
    from_path, from_document = extractor.extract([str(pdf), document])
    for other in (from_path, from_document):
        assert [(e.label, e.words) for e in other.entities] == [(e.label, e.words) for e in result.entities]
    for entity in result.entities:
        assert 0 < entity.score <= 1
        assert entity.text == " ".join(result.texts[i] for i in entity.words)
        assert len(set(result.page_of_word[list(entity.words)])) == 1
    assert extractor.extract([]) == []


def test_extract_join_cells_reads_cells_together_and_keeps_word_numbers(extractor: Extractor) -> None:
    builder = DocumentBuilder("invoice")
    rows = [
        ("Item", "No.", "Price"),
        ("Oak", "1", "12.00"),
        ("bookcase",),
        ("Pine", "2", "9.00"),
        ("shelf",),
        ("Total", "3", "21.00"),
    ]
    cells = [(x, 12 * y, text) for y, row in enumerate(rows) for x, text in enumerate(row)]
    boxes = [[100 * x, y, 100 * x + 40, y + 10] for x, y, _ in cells]
    builder.add_page([text for _, _, text in cells], boxes, 300, 100)
    document = builder.build()
    joined, numbers = join_cells(document)
    assert joined.texts[:9] == ("Item", "No.", "Price", "Oak", "bookcase", "1", "12.00", "Pine", "shelf")
    (expected,) = extractor.annotate([joined])

    reader = pickle.loads(pickle.dumps(extractor))
    reader.model.config.task = replace(reader.model.config.get_task(), join_cells=True).to_dict()
    (found,) = reader.annotate([document])
    assert found.entities
    assert [e.text for e in found.entities] == [e.text for e in expected.entities]
    assert [e.words for e in found.entities] == [tuple(numbers[list(e.words)]) for e in expected.entities]
    for entity in found.entities:
        assert entity.text == " ".join(found.texts[i] for i in entity.words)
    assert np.allclose(reader.scores([document])[0][numbers], extractor.scores([joined])[0], atol=1e-5)
    weights, expected_weights = reader.attention(document), extractor.attention(joined)
    assert np.allclose(weights[:, numbers][:, :, numbers], expected_weights, atol=1e-6)


def test_extract_too_many_tokens_raises(model: Path, pdf: Path) -> None:
    document = read_one(pdf)
    extractor = Extractor.from_pretrained(model)
    count = extractor.count_tokens(document)
    assert Extractor.from_pretrained(model, max_tokens=count).extract(document).entities
    for limit in (count - 1, document.num_words - 1):
        with pytest.raises(LimitError, match=rf"more than {limit} tokens \(the limit\). Split the document."):
            Extractor.from_pretrained(model, max_tokens=limit).extract(document)


def test_extract_ocr_score_is_lowest_word_confidence(extractor: Extractor) -> None:
    builder = DocumentBuilder("scan")
    words = " ".join(LINES).split()
    boxes = [[10, 20 * i, 90, 20 * i + 10] for i in range(len(words))]
    confidences = np.linspace(0.5, 1, len(words))
    builder.add_page(words, boxes, 100, 300, confidences=confidences.tolist(), text_source="eyes")
    for entity in extractor.extract(builder.build()).entities:
        assert entity.ocr_score == pytest.approx(confidences[list(entity.words)].min())


def test_extract_file_with_several_documents_raises(extractor: Extractor, examples: Path) -> None:
    with pytest.raises(DocumentError, match="holds several documents; expected exactly one"):
        extractor.extract(examples / "documents.jsonl")
    assert len(list(extractor.annotate(read(examples / "documents.jsonl")))) == 2


def test_extract_documents_without_words_have_no_entities(extractor: Extractor) -> None:
    empty = Document("empty", ())
    builder = DocumentBuilder("blank")
    builder.add_page([], [], 100, 100)
    assert [d.entities for d in extractor.extract([empty, builder.build()])] == [(), ()]


def test_extract_is_the_same_pickled_threaded_and_in_any_batch(extractor: Extractor, pdf: Path, examples: Path) -> None:
    documents = [*read(pdf), *read(examples / "documents.jsonl")]
    expected = extractor.extract(documents)
    assert pickle.loads(pickle.dumps(extractor)).extract(documents) == expected
    with ThreadPoolExecutor(4) as pool:
        for result in pool.map(lambda _: extractor.extract(documents), range(12)):
            assert result == expected
    for document, batched in zip(documents, expected, strict=True):
        separate = extractor.extract(document)
        assert [(e.label, e.words) for e in separate.entities] == [(e.label, e.words) for e in batched.entities]
        assert np.allclose([e.score for e in separate.entities], [e.score for e in batched.entities], atol=1e-4)


@pytest.mark.slow
def test_warm_up_keeps_scores_and_avoids_later_compilation(model: Path, extractor: Extractor, pdf: Path) -> None:
    warm = Extractor.from_pretrained(model)
    warm.warm_up([(700,), (300,)])  # all batches take minutes
    assert warm.model.formnet.attention_backend == "compiled"
    compiled = counters["stats"]["unique_graphs"]
    assert compiled
    page = read_one(pdf)
    document = replace(page, pages=page.pages * (200 // page.num_words))
    assert np.allclose(extractor.scores([document])[0], warm.scores([document])[0], atol=1e-4)
    assert counters["stats"]["unique_graphs"] == compiled


def test_save_pretrained_after_warm_up_omits_backend(extractor: Extractor, tmp_path: Path) -> None:
    extractor.model.formnet.attention_backend = "compiled"
    try:
        extractor.save_pretrained(tmp_path)
        assert extractor.model.formnet.attention_backend == "compiled"
    finally:
        extractor.model.formnet.attention_backend = "auto"
    assert "attention_backend" not in json.loads((tmp_path / "config.json").read_text())
    assert Extractor.from_pretrained(tmp_path).model.formnet.attention_backend == "auto"


def test_entities_unknown_head_raises(extractor: Extractor, pdf: Path) -> None:
    with pytest.raises(SettingsError, match="the model has no head 'typo'"):
        extractor.entities([read_one(pdf)], "typo")


def test_options_day_first_comes_from_model_or_argument(
    extractor: Extractor, model: Path, pdf: Path, tmp_path: Path
) -> None:
    shutil.copytree(model, tmp_path, dirs_exist_ok=True)
    config = json.loads((tmp_path / "config.json").read_text())
    config["task"]["day_first"] = True
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert Extractor.from_pretrained(tmp_path).options.day_first
    assert extractor.options.day_first is None
    day_first = Extractor.from_pretrained(model, day_first=True)
    assert day_first.options.day_first is True
    date = replace(day_first.extract(pdf).entities[0], label="date", text="03/04/2018")
    assert entity_output(day_first.options.apply(date)).model_dump()["value"] == {
        "kind": "date", "value": "2018-04-03", "currency": None, "ambiguous": True
    }  # fmt: skip
    assert entity_output(extractor.options.apply(date)).model_dump()["value"]["value"] == "2018-03-04"


def test_iter_annotations_options_apply_per_document(extractor: Extractor, pdf: Path) -> None:
    document = read_one(pdf)
    options = [ExtractionOptions(), ExtractionOptions(min_score=1.0)]
    annotations = dict(extractor.iter_annotations([document, document], options=options))
    first, second = annotations[0].entities, annotations[1].entities
    assert not any(entity.review for entity in first)
    assert [entity.review for entity in second] == [entity.score < 1 for entity in second]
    assert any(entity.review for entity in second)
