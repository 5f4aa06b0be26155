import pickle
from pathlib import Path

import pytest
from PIL import Image

from formnet.errors import OcrError
from formnet.io import ocr
from formnet.io.ocr import OcrResult, check_engine_name, find_engine
from ocr_engines import ENGINE_PARAMS
from ocr_files import read_single
from paper import picture, scanned_pdf


def test_find_engine_custom_is_created_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ourocr.py").write_text(
        "from formnet.io.ocr import OcrResult\nclass Engine:\n    name, created = 'ours', 0\n"
        "    def __init__(self):\n        Engine.created += 1\n"
        "    def read(self, image):\n        return OcrResult((f'{Engine.created}',), ((0, 0, 9, 9),), (1.0,))\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    frames = [picture(), picture()]
    for name in ("a.tif", "b.tif"):
        frames[0].save(tmp_path / name, save_all=True, append_images=frames[1:])
        assert read_single(tmp_path / name, "ourocr:Engine").texts == ("1", "1")


def test_find_engine_not_installed_raises_with_install_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ocr, "is_installed", lambda _: False)
    with pytest.raises(OcrError, match=r"no OCR engine is installed.*pip install 'formnet\[ocr\]'.*tesseract-ocr"):
        read_single(scanned_pdf(tmp_path / "scan.pdf"))
    with pytest.raises(OcrError, match=r"the OCR engine 'tesseract' is not installed"):
        find_engine("tesseract")
    with pytest.raises(OcrError, match=r"unknown OCR engine 'magic'. Available: auto, rapidocr, tesseract"):
        find_engine("magic")


def test_find_engine_accepts_names_and_environment_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    class CustomEngine:
        name = "custom 1"

        def read(self, _: Image.Image) -> OcrResult:
            return OcrResult((), (), ())

    monkeypatch.setattr(ocr, "CustomEngine", CustomEngine, raising=False)
    assert find_engine("formnet.io.ocr:CustomEngine").name == "custom 1"
    monkeypatch.setenv(ocr.ENGINE_VARIABLE, "formnet.io.ocr:CustomEngine")
    assert find_engine().name == "custom 1"
    monkeypatch.delenv(ocr.ENGINE_VARIABLE)
    for name in ("formnet.io.ocr:Engne", "nowhere.at.all:Mine"):
        with pytest.raises(OcrError, match="cannot be imported"):
            check_engine_name(name)
    with pytest.raises(OcrError, match="does not accept a language"):
        check_engine_name("rapidocr:deu")
    for name in ("auto", "rapidocr", "tesseract", "tesseract:deu+eng"):
        check_engine_name(name)
    if ocr.is_installed("tesseract"):
        assert getattr(find_engine("tesseract:osd"), "language", None) == "osd"


@pytest.mark.ocr
@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINE_PARAMS)
def test_engine_pickled_reads_blank_image(engine: str) -> None:
    restored = pickle.loads(pickle.dumps(find_engine(engine)))
    assert not restored.read(Image.new("RGB", (300, 200), "white")).texts
    assert any(c.isdigit() for c in restored.name)
