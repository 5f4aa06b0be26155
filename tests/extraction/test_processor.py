import sys
from pathlib import Path
from subprocess import run

import numpy as np
import pytest
import torch
from PIL import Image
from transformers import AutoModelForTokenClassification

from formnet import FormNetForTokenClassification, FormNetProcessor
from formnet.encoding import load_tokenizer
from formnet.errors import DocumentError
from formnet.modeling import FormNetConfig

ROOT = Path(__file__).parents[2]
WORDS = ["Total", "9.00", "Thanks"]
BOXES = [[100, 100, 200, 120], [300, 100, 400, 120], [100, 300, 200, 320]]


@pytest.fixture
def processor(vocabulary: Path) -> FormNetProcessor:
    return FormNetProcessor(load_tokenizer(vocabulary))


def test_processor_batch_has_inputs_of_the_model(processor: FormNetProcessor) -> None:
    batch = processor(words=[WORDS, WORDS[:2]], boxes=[BOXES, BOXES[:2]], word_labels=[[0, 1, 0], [2, 1]])
    assert batch["labels"].tolist() == [[0, 1, 0], [2, 1, -100]]
    config = FormNetConfig.of_size("tiny", vocab_size=processor.tokenizer.get_vocab_size(), num_labels=3)
    output = FormNetForTokenClassification(config)(**batch)
    assert output.logits.shape == (2, 3, 3)
    assert torch.isfinite(output.loss)


def test_processor_single_document_equals_batch_of_one(processor: FormNetProcessor) -> None:
    single, batch = processor(words=WORDS, boxes=BOXES), processor(words=[WORDS], boxes=[BOXES])
    assert all(torch.equal(single[name], batch[name]) for name in batch)


def test_processor_image_gives_the_shape_of_the_page(processor: FormNetProcessor) -> None:
    document = processor.to_document(Image.new("RGB", (600, 1200)), WORDS, BOXES)
    assert document.boxes[0].tolist() == [60, 120, 120, 144]
    assert (document.pages[0].width, document.pages[0].height) == (600, 1200)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"words": WORDS, "boxes": BOXES[:2]}, "3 words but 2 boxes"),
        ({"words": WORDS}, "3 words but 0 boxes"),
        ({"words": WORDS, "boxes": BOXES, "word_labels": [0]}, "3 words but 1 labels"),
        ({"words": ["a", " "], "boxes": BOXES[:2]}, "a word is blank"),
        ({"images": Image.new("RGB", (9, 9))}, "words are missing"),
        ({"words": [WORDS, WORDS], "boxes": [BOXES]}, "must have the same number of documents"),
    ],
)
def test_processor_inconsistent_input_raises(
    processor: FormNetProcessor, arguments: dict[str, object], message: str
) -> None:
    with pytest.raises(DocumentError, match=message):
        processor(**arguments)  # type: ignore[arg-type]


def test_processor_save_pretrained_is_loaded_with_the_model(processor: FormNetProcessor, tmp_path: Path) -> None:
    config = FormNetConfig.of_size("tiny", vocab_size=processor.tokenizer.get_vocab_size(), num_labels=3)
    FormNetForTokenClassification(config).save_pretrained(tmp_path)
    processor.save_pretrained(tmp_path)
    loaded = FormNetProcessor.from_pretrained(tmp_path)
    model = AutoModelForTokenClassification.from_pretrained(tmp_path)
    inputs = loaded(words=WORDS, boxes=BOXES)
    assert np.array_equal(inputs["input_ids"], processor(words=WORDS, boxes=BOXES)["input_ids"])
    assert model(**inputs).logits.shape == (1, 3, 3)


@pytest.mark.ocr
@pytest.mark.slow
def test_processor_apply_ocr_reads_the_words_of_an_image() -> None:
    pytest.importorskip("rapidocr")
    processor = FormNetProcessor.from_pretrained("receipts", apply_ocr=True, ocr="rapidocr")
    with Image.open(ROOT / "examples/receipt.jpg") as image:
        assert processor(image)["first_token"].shape[1] > 50


@pytest.mark.training
@pytest.mark.slow
def test_example_script_learns_ten_forms_by_heart(data: Path, tmp_path: Path) -> None:
    script = ROOT / "examples/finetune_with_transformers.py"
    command = [sys.executable, str(script), f"funsd:{data}/funsd@train", "--output", str(tmp_path), "--epochs", "20"]
    result = run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    accuracy = float(result.stdout.rpartition("%")[0].split()[-1])
    assert accuracy > 99
