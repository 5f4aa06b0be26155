"""A picture of a page → words with boxes and confidences, by whichever OCR engine is installed."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from shutil import which
from typing import Protocol

from PIL import Image

from formnet.document.boxes import Box
from formnet.errors import OcrError

#: What `auto` stands for where an engine is not named otherwise: one of these names, or nothing.
CHOICE = "FORMNET_OCR"
#: Engines by name, in the order of preference: module, and how one gets it.
ENGINES = {
    "rapidocr": ("formnet.io.ocr.rapid", "pip install 'formnet[ocr]'"),
    "tesseract": ("formnet.io.ocr.tesseract", "apt install tesseract-ocr (or brew install tesseract)"),
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


class NoEngineError(OcrError):
    """The engine that is wanted is not installed."""


def find_engine(name: str = "auto") -> OcrEngine:
    """Give an engine: the first that is installed, one by name, `tesseract:deu+eng`, or anybody's by `module:Class`.

    It is made once a process: a network that is loaded stays.
    """
    name = chosen(name)
    own, _, detail = name.partition(":")
    if is_theirs(name):
        return _theirs(name)
    for candidate in ENGINES if own == "auto" else (own,):
        if is_installed(candidate):
            return _ours(candidate, detail)
    ways = [ENGINES[own][1]] if own != "auto" else [way for _, way in ENGINES.values()]
    what = "no OCR engine is" if own == "auto" else f"the OCR engine {own!r} is not"
    raise NoEngineError(f"{what} installed, and a picture has no words without one; run {', or '.join(ways)}.")


@cache
def _ours(name: str, detail: str) -> OcrEngine:
    engine: OcrEngine = import_module(ENGINES[name][0]).Engine(*filter(None, [detail]))
    return engine


@cache
def _theirs(name: str) -> OcrEngine:
    return _class_of(name)()


def is_theirs(name: str) -> bool:
    """Tell an engine that is not ours, by `module:Class`."""
    return name.partition(":")[0] not in ("auto", *ENGINES)


def refuse_unknown(name: str) -> None:
    """Refuse a name that no engine has, before any work begins; the engine need not be installed here."""
    name = chosen(name)
    if is_theirs(name):
        _class_of(name)


def chosen(name: str) -> str:
    """Give the name of the engine meant: where it is left open, the one that this process's variable names."""
    name = os.environ.get(CHOICE) or name if name == "auto" else name
    own, _, detail = name.partition(":")
    if detail and own in ("auto", "rapidocr"):
        raise OcrError(f"{name!r}: {own} takes no language; tesseract does, as in tesseract:deu+eng.")
    return name


def _class_of(name: str) -> Callable[[], OcrEngine]:
    module, _, attribute = name.partition(":")
    if not attribute:
        known = f"auto, {', '.join(ENGINES)}, tesseract:deu+eng for languages, and your own as module:Class"
        raise OcrError(f"there is no OCR engine {name!r}; known are {known}.")
    try:
        found: Callable[[], OcrEngine] = getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise OcrError(f"the OCR engine {name!r} cannot be imported: {error}.") from error
    return found


def is_installed(name: str) -> bool:
    """Tell whether an engine is there."""
    if name == "tesseract":
        return which("tesseract") is not None
    return find_spec("rapidocr") is not None and find_spec("onnxruntime") is not None
