"""RapidOCR: detection and recognition by networks that come with the package."""

import os
from collections.abc import Iterator, Sequence
from functools import cached_property
from importlib.metadata import version
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from formnet.document.boxes import Box, raster, split_line
from formnet.errors import OcrError
from formnet.io.ocr import Reading


class Engine:
    """RapidOCR; its lines are cut into words where its own text has spaces."""

    def __init__(self) -> None:
        self._lock = Lock()  # it keeps what it was asked in itself

    def __getstate__(self) -> dict[str, Any]:
        return {}

    def __setstate__(self, _: dict[str, Any]) -> None:
        self._lock = Lock()

    @property
    def name(self) -> str:
        """The package and its version."""
        return f"rapidocr {version('rapidocr')}"

    @cached_property
    def _engine(self) -> Any:
        from rapidocr import RapidOCR

        # Whoever runs several of us on one machine says so in the usual way; onnxruntime would take all cores.
        threads = int(os.environ.get("OMP_NUM_THREADS") or -1)
        return RapidOCR(params={"Global.log_level": "error", "EngineConfig.onnxruntime.intra_op_num_threads": threads})

    def read(self, image: Image.Image) -> Reading:
        """Read words; boxes are in the picture's pixels."""
        pixels = np.asarray(image.convert("RGB"))[:, :, ::-1]  # it wants BGR
        try:
            with self._lock:
                result = self._engine(pixels, return_word_box=True)
        except Exception as error:  # it raises what its own libraries raise
            raise OcrError(f"{self.name} failed: {type(error).__name__}: {str(error)[:200]}.") from error
        if result.boxes is None or result.txts is None:
            return Reading((), (), ())
        words = list(_words(result))
        return Reading([w[0] for w in words], [w[1] for w in words], [w[2] for w in words])


def _words(result: Any) -> Iterator[tuple[str, Box, float]]:
    pieces_by_line = result.word_results if len(result.word_results) == len(result.txts) else [()] * len(result.txts)
    lines = list(zip(result.txts, result.boxes, result.scores, pieces_by_line, strict=True))
    for number in line_by_line(np.asarray(result.boxes, np.float64)).tolist():
        text, quad, score, pieces = lines[number]
        parts = text.split()
        yield from _placed(parts, pieces) or _shared(text, np.asarray(quad), float(score))


def line_by_line(quads: NDArray[np.float64]) -> NDArray[np.intp]:
    """Order pieces of lines as people read them: [L] of corners [L, 4, 2], clockwise from the top left.

    On a page that lies a little askew the right end of a line may stand higher than the left end of the line above.
    """
    along = quads[:, 1] - quads[:, 0]
    length = np.linalg.norm(along, axis=1)
    flat = length > 2 * np.linalg.norm(quads[:, 3] - quads[:, 0], axis=1)  # a single letter says nothing of slope
    slope = float(np.median(along[flat, 1] / np.maximum(np.abs(along[flat, 0]), 1e-9))) if flat.any() else 0.0
    level = quads.copy()
    level[:, :, 1] -= np.clip(slope, -1, 1) * level[:, :, 0]
    return raster(np.concatenate([level.min(axis=1), level.max(axis=1)], axis=1))


def _placed(parts: Sequence[str], pieces: Sequence[Any]) -> list[tuple[str, Box, float]]:
    """Give each word the pieces that spell it; nothing if they spell something else."""
    found: list[tuple[str, Box, float]] = []
    waiting = [(str(t).strip(), float(s), np.asarray(b)) for t, s, b in pieces if b is not None and str(t).strip()]
    if "".join(t for t, _, _ in waiting) != "".join(parts):
        return []
    for part in parts:
        spelled, corners, scores = "", [], []
        while len(spelled) < len(part) and waiting:
            text, score, quad = waiting.pop(0)
            spelled += text
            corners.append(quad)
            scores.append(score)
        if spelled != part:
            return []
        found.append((part, _around(np.concatenate(corners)), min(scores)))
    return found


def _shared(text: str, quad: NDArray[np.floating], score: float) -> list[tuple[str, Box, float]]:
    """Give each word of a line its share of the line's width."""
    return [(part, box, score) for part, box in zip(*split_line(text, _around(quad)), strict=True)]


def _around(points: NDArray[np.floating]) -> Box:
    (x0, y0), (x1, y1) = points.min(axis=0).tolist(), points.max(axis=0).tolist()
    return x0, y0, x1, y1
