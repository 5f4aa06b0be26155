"""RapidOCR engine: text detection and recognition with the models of the `rapidocr` package.

OpenVINO runs them where it is installed, otherwise onnxruntime, which is slower but takes less memory.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache, cached_property
from importlib.metadata import version
from importlib.util import find_spec
from threading import Lock
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from formnet.document.boxes import Box, raster_order, split_line
from formnet.errors import OcrError
from formnet.io.ocr import RAPIDOCR_RUNTIMES, OcrResult

#: Settings for the number of threads.
_THREADS = {"openvino": "inference_num_threads", "onnxruntime": "intra_op_num_threads"}


#: Lines needed to decide whether an image is upright.
MIN_LINES = 3


class Engine:
    """RapidOCR, with its text lines split into words at spaces.

    `runtime` is one of `RAPIDOCR_RUNTIMES`; by default, the first that is installed.
    """

    def __init__(self, runtime: str | None = None) -> None:
        choices = RAPIDOCR_RUNTIMES if runtime is None else (runtime,)
        installed = [name for name in choices if find_spec(name) is not None]
        if not installed:
            package = runtime or "'formnet[ocr]'"
            raise OcrError(f"RapidOCR needs {' or '.join(choices)}. Run pip install {package}.")
        self.runtime = installed[0]
        self._lock = Lock()  # RapidOCR keeps per-call options on the instance

    def __getstate__(self) -> dict[str, Any]:
        return {"runtime": self.runtime}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.runtime, self._lock = state["runtime"], Lock()

    @property
    def name(self) -> str:
        """Package name and version."""
        return f"rapidocr {version('rapidocr')}"

    @cached_property
    def _engine(self) -> Any:
        from rapidocr import EngineType

        # Both libraries would use all cores; OMP_NUM_THREADS limits them where several engines share a machine.
        threads = int(os.environ.get("OMP_NUM_THREADS") or -1)
        stages = {f"{stage}.engine_type": EngineType(self.runtime) for stage in ("Det", "Cls", "Rec")}
        limit = {f"EngineConfig.{self.runtime}.{_THREADS[self.runtime]}": threads}
        if self.runtime == "openvino":
            _adapt_openvino()
        return _orientation_aware_class()(params={"Global.log_level": "error", **stages, **limit})

    def read(self, image: Image.Image) -> OcrResult:
        """Recognize the words of an image; boxes are in pixels of the upright image."""
        pixels, rotation = np.asarray(image.convert("RGB"))[:, :, ::-1], 0  # RapidOCR expects BGR
        try:
            with self._lock:
                try:
                    result = self._engine(pixels, return_word_box=True)
                except _OrientationFound as found:
                    rotation = found.rotation
                    pixels = np.ascontiguousarray(np.rot90(pixels, -rotation // 90))  # counterclockwise turns
                    with self._engine.accept_any_orientation():
                        result = self._engine(pixels, return_word_box=True)
        except Exception as error:  # RapidOCR does not wrap the errors of its dependencies
            raise OcrError(f"{self.name} failed: {type(error).__name__}: {str(error)[:200]}.") from error
        if result.boxes is None or result.txts is None:
            return OcrResult((), (), (), rotation)
        words = list(_iter_words(result))
        return OcrResult([w[0] for w in words], [w[1] for w in words], [w[2] for w in words], rotation)

    def find_rotation(self, image: Image.Image) -> int:
        """Return by how many degrees an image must be turned clockwise to be upright, without reading its words."""
        pixels = np.asarray(image.convert("RGB"))[:, :, ::-1]
        with self._lock, self._engine.stop_before_recognition():
            try:
                self._engine(pixels, return_word_box=True)
            except _OrientationFound as found:
                return found.rotation
        return 0


class _OrientationFound(Exception):  # noqa: N818
    """The orientation of an image, which ends its processing before recognition."""

    def __init__(self, rotation: int) -> None:
        super().__init__(rotation)
        self.rotation = rotation


@cache
def _orientation_aware_class() -> Any:
    """Return a class of RapidOCR that stops before recognition, the slowest stage, if an image is not upright."""
    from rapidocr import RapidOCR

    class OrientationAwareRapidOCR(RapidOCR):
        checks_orientation = True
        stops_if_upright = False
        quads: Any = None

        def detect_and_crop(self, *args: Any) -> Any:
            crops, found = super().detect_and_crop(*args)
            self.quads = found.boxes
            return crops, found

        def cls_and_rotate(self, crops: Any) -> Any:
            images, result = super().cls_and_rotate(crops)
            if self.checks_orientation and self.quads is not None and result.cls_res is not None:
                is_reversed = np.array([label == "180" for label, _ in result.cls_res], np.bool_)
                rotation = find_rotation(np.asarray(self.quads, np.float64), is_reversed)
                if rotation or self.stops_if_upright:
                    raise _OrientationFound(rotation)
            return images, result

        @contextmanager
        def accept_any_orientation(self) -> Iterator[None]:
            self.checks_orientation = False
            try:
                yield
            finally:
                self.checks_orientation = True

        @contextmanager
        def stop_before_recognition(self) -> Iterator[None]:
            self.stops_if_upright = True
            try:
                yield
            finally:
                self.stops_if_upright = False

    return OrientationAwareRapidOCR


def find_rotation(quads: NDArray[np.float64], is_reversed: NDArray[np.bool_]) -> int:
    """Return by how many degrees an image must be turned clockwise to be upright: 0, 90, 180 or 270.

    Takes the corners of line segments [L, 4, 2], and whether the classifier for single lines takes each for upside down
    [L]; it sees vertical lines turned counterclockwise. Long lines decide; with few of them the image stays as it is.
    """
    width = np.linalg.norm(quads[:, 1] - quads[:, 0], axis=1)
    height = np.linalg.norm(quads[:, 3] - quads[:, 0], axis=1)
    length = np.maximum(width, height)
    is_line = length > 2 * np.minimum(width, height)
    if is_line.sum() < MIN_LINES:
        return 0
    weights = length * is_line / (length * is_line).sum()
    is_vertical, is_upside_down = weights @ (height > width) > 0.5, weights @ is_reversed > 0.5
    if is_vertical:
        return 90 if is_upside_down else 270
    return 180 if is_upside_down else 0


@cache
def _adapt_openvino() -> None:
    """Change how RapidOCR uses OpenVINO where it has no setting for it.

    Importing it sends telemetry if `openvino_telemetry` is installed. On some processors, it
    uses bf16, which changes the recognized words. It caches kernels for every shape; each page has others, and hundreds
    of MB add up. And without memory for a result, a request returns the result of its last call, which would become
    wrong words; a new request has none.
    """
    sys.modules.setdefault("openvino_telemetry", cast("Any", None))  # as if it were not installed
    from rapidocr.inference_engine.openvino import device_config, main

    config, session = cast("Any", device_config.CPUConfig), cast("Any", main.OpenVINOInferSession)
    get_config = config.get_config
    settings = {"CPU_RUNTIME_CACHE_CAPACITY": "0", "INFERENCE_PRECISION_HINT": "f32"}
    config.get_config = lambda self: {**get_config(self), **settings}

    def checked_infer(self: Any, inputs: NDArray[np.float32]) -> NDArray[np.float32]:
        request = self.session.get_compiled_model().create_infer_request()
        request.infer([inputs])
        output: NDArray[np.float32] = request.get_output_tensor().data.copy()
        if not has_matching_shape(inputs.shape, output.shape):
            raise MemoryError(f"no result of OpenVINO for an input of shape {inputs.shape}")
        return output

    session.__call__ = checked_infer


def has_matching_shape(inputs: Sequence[int], output: Sequence[int]) -> bool:
    """Return whether an output may belong to inputs [B, C, H, W]: a map of pixels, steps of 8 pixels, or classes."""
    if len(output) == 4:
        return (inputs[0], *inputs[2:]) == (output[0], *output[2:])
    return inputs[0] == output[0] and (len(output) < 3 or abs(inputs[3] / 8 - output[1]) <= 2)


def _iter_words(result: Any) -> Iterator[tuple[str, Box, float]]:
    segments_by_line = result.word_results if len(result.word_results) == len(result.txts) else [()] * len(result.txts)
    lines = list(zip(result.txts, result.boxes, result.scores, segments_by_line, strict=True))
    for number in sort_lines(np.asarray(result.boxes, np.float64)).tolist():
        text, quad, score, segments = lines[number]
        yield from _match_segments(text.split(), segments) or _split_proportionally(
            text, np.asarray(quad), float(score)
        )


def sort_lines(quads: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the reading order [L] of line segments, given their corners [L, 4, 2] clockwise from the top left.

    The slope of the page is removed first: on a skewed page, the right end of a line may be higher than the left end
    of the line above.
    """
    along = quads[:, 1] - quads[:, 0]
    length = np.linalg.norm(along, axis=1)
    is_wide = length > 2 * np.linalg.norm(
        quads[:, 3] - quads[:, 0], axis=1
    )  # the slope of short segments is unreliable
    slope = float(np.median(along[is_wide, 1] / np.maximum(np.abs(along[is_wide, 0]), 1e-9))) if is_wide.any() else 0.0
    level = quads.copy()
    level[:, :, 1] -= np.clip(slope, -1, 1) * level[:, :, 0]
    return raster_order(np.concatenate([level.min(axis=1), level.max(axis=1)], axis=1))


def _match_segments(words: Sequence[str], segments: Sequence[Any]) -> list[tuple[str, Box, float]]:
    """Merge the segments that spell each word; return an empty list if they do not match the words."""
    merged: list[tuple[str, Box, float]] = []
    remaining = [(str(t).strip(), float(s), np.asarray(b)) for t, s, b in segments if b is not None and str(t).strip()]
    if "".join(t for t, _, _ in remaining) != "".join(words):
        return []
    for word in words:
        spelled, corners, scores = "", [], []
        while len(spelled) < len(word) and remaining:
            text, score, quad = remaining.pop(0)
            spelled += text
            corners.append(quad)
            scores.append(score)
        if spelled != word:
            return []
        merged.append((word, _bounding_box(np.concatenate(corners)), min(scores)))
    return merged


def _split_proportionally(text: str, quad: NDArray[np.floating], score: float) -> list[tuple[str, Box, float]]:
    """Split a line into words, dividing its width in proportion to their characters."""
    return [(word, box, score) for word, box in zip(*split_line(text, _bounding_box(quad)), strict=True)]


def _bounding_box(points: NDArray[np.floating]) -> Box:
    (x0, y0), (x1, y1) = points.min(axis=0).tolist(), points.max(axis=0).tolist()
    return x0, y0, x1, y1
