"""OCR engines: convert the image of a page to words with boxes and confidences."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from shutil import which
from typing import NamedTuple, Protocol

from PIL import Image

from formnet.document.boxes import Box
from formnet.errors import OcrError

#: Environment variable with the engine that `auto` selects.
ENGINE_VARIABLE = "FORMNET_OCR"


class BuiltinEngine(NamedTuple):
    """A module with a class `Engine`, and what it needs to run."""

    module: str
    install: str
    packages: tuple[tuple[str, ...], ...] = ()  # one of each group
    program: str | None = None


#: Libraries that can run the models of RapidOCR, in order of preference. OpenVINO is faster and needs more memory.
RAPIDOCR_RUNTIMES = ("openvino", "onnxruntime")
#: Built-in engines by name, in order of preference.
ENGINES = {
    "rapidocr": BuiltinEngine(
        "formnet.io.ocr.rapid",
        "pip install 'formnet[ocr]'",
        packages=(("rapidocr",), RAPIDOCR_RUNTIMES),
    ),
    "tesseract": BuiltinEngine(
        "formnet.io.ocr.tesseract", "apt install tesseract-ocr (or brew install tesseract)", program="tesseract"
    ),
}


@dataclass(frozen=True)
class OcrResult:
    """Words recognized on a page, in reading order.

    An engine may set an image upright before it reads it: `rotation` is by how many degrees it turned it clockwise, and
    boxes are those of the upright image.
    """

    texts: Sequence[str]
    boxes: Sequence[Box]
    confidences: Sequence[float]
    rotation: int = 0


class OcrEngine(Protocol):
    """Interface of an OCR engine."""

    @property
    def name(self) -> str:
        """Name and version of the engine, stored with the pages it reads."""
        ...

    def read(self, image: Image.Image) -> OcrResult:
        """Recognize the words of an image; boxes are in pixels."""
        ...


class NoEngineError(OcrError):
    """The requested engine is not installed."""


def find_engine(name: str = "auto") -> OcrEngine:
    """Return an engine, created once per process.

    `auto` selects the first installed engine. Other names are `rapidocr`, `rapidocr:onnxruntime` for the library that
    runs its models, `tesseract`, `tesseract:deu+eng` for languages, and `module:Class` for a custom engine.
    """
    name = resolve_engine_name(name)
    base_name, _, option = name.partition(":")
    if is_custom_engine(name):
        return _create_custom(name)
    names = list(ENGINES) if base_name == "auto" else [base_name]
    for candidate in names:
        if is_installed(candidate):
            return _create_builtin(candidate, option)
    commands = [ENGINES[candidate].install for candidate in names]
    problem = "no OCR engine is" if base_name == "auto" else f"the OCR engine {base_name!r} is not"
    raise NoEngineError(f"{problem} installed, but one is required to read images. Run {', or '.join(commands)}.")


@cache
def _create_builtin(name: str, option: str) -> OcrEngine:
    engine: OcrEngine = import_module(ENGINES[name].module).Engine(*filter(None, [option]))
    return engine


@cache
def _create_custom(name: str) -> OcrEngine:
    return _import_class(name)()


def is_custom_engine(name: str) -> bool:
    """Return whether a name refers to a custom engine (`module:Class`)."""
    return name.partition(":")[0] not in ("auto", *ENGINES)


def check_engine_name(name: str) -> None:
    """Raise `OcrError` if no engine has this name. A built-in engine need not be installed."""
    name = resolve_engine_name(name)
    if is_custom_engine(name):
        _import_class(name)


def resolve_engine_name(name: str) -> str:
    """Replace `auto` by the engine named in `FORMNET_OCR`, if set."""
    name = os.environ.get(ENGINE_VARIABLE) or name if name == "auto" else name
    base_name, _, option = name.partition(":")
    if option and (base_name == "auto" or (base_name == "rapidocr" and option not in RAPIDOCR_RUNTIMES)):
        raise OcrError(f"{name!r}: {base_name} does not accept a language. Use tesseract, as in tesseract:deu+eng.")
    return name


def _import_class(name: str) -> Callable[[], OcrEngine]:
    module, _, attribute = name.partition(":")
    if not attribute:
        available = f"auto, {', '.join(ENGINES)}, tesseract:deu+eng for languages, module:Class for a custom engine"
        raise OcrError(f"unknown OCR engine {name!r}. Available: {available}.")
    try:
        engine_class: Callable[[], OcrEngine] = getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise OcrError(f"the OCR engine {name!r} cannot be imported: {error}.") from error
    return engine_class


def is_installed(name: str) -> bool:
    """Return whether a built-in engine is installed."""
    engine = ENGINES[name]
    has_program = engine.program is None or which(engine.program) is not None
    return has_program and all(
        any(find_spec(package) is not None for package in alternatives) for alternatives in engine.packages
    )
