"""A picture of a page → words with boxes and confidences, by whichever OCR engine is installed."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from shutil import which
from typing import Protocol

from PIL import Image

from formnet.boxes import Box
from formnet.errors import OcrError

#: Engines by name, in the order of preference: module, and how one gets it.
ENGINES = {
    "rapidocr": ("formnet.ocr.rapid", "pip install 'formnet[ocr]'"),
    "tesseract": ("formnet.ocr.tesseract", "apt install tesseract-ocr (or brew install tesseract)"),
}


@dataclass(frozen=True)
class Reading:
    """What an engine saw on a page, in the order in which it read."""

    texts: Sequence[str]
    boxes: Sequence[Box]
    confidences: Sequence[float]


class OcrEngine(Protocol):
    """Anything that reads words off a picture."""

    @property
    def name(self) -> str:
        """The engine with its version: it is written beside what it read."""
        ...

    def read(self, image: Image.Image) -> Reading:
        """Give the words of a picture, boxes in its pixels."""
        ...


def find_engine(name: str = "auto") -> OcrEngine:
    """Give an engine by name, or the first that is installed."""
    if name != "auto" and name not in ENGINES:
        raise OcrError(f"there is no OCR engine {name!r}; known are auto, {', '.join(ENGINES)}.")
    for candidate in ENGINES if name == "auto" else (name,):
        if is_installed(candidate):
            engine: OcrEngine = import_module(ENGINES[candidate][0]).Engine()
            return engine
    ways = [ENGINES[name][1]] if name != "auto" else [way for _, way in ENGINES.values()]
    what = "no OCR engine is" if name == "auto" else f"the OCR engine {name!r} is not"
    raise OcrError(f"{what} installed, and a picture has no words without one; run {', or '.join(ways)}.")


def is_installed(name: str) -> bool:
    """Tell whether an engine is there."""
    if name == "tesseract":
        return which("tesseract") is not None
    return find_spec("rapidocr") is not None and find_spec("onnxruntime") is not None
