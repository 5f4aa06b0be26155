"""Tesseract engine, run as a subprocess with TSV output."""

import csv
import os
import subprocess
from dataclasses import replace
from functools import cached_property
from io import BytesIO, StringIO
from statistics import mean

from PIL import Image, ImageOps

from formnet.document.boxes import Box
from formnet.errors import OcrError
from formnet.io.images import turn
from formnet.io.ocr import OcrResult

#: Default timeout per page in seconds.
TIMEOUT = 120
#: Images with a side shorter than this are enlarged to it, which improves recognition of small print.
MIN_SIDE = 1600
#: Maximum factor.
MAX_SCALE = 4.0
#: Longest side in pixels that Tesseract accepts.
MAX_SIDE = 32_767
#: Images read with a lower mean confidence may be upside down.
MIN_CONFIDENCE = 0.5
#: Resolution passed to Tesseract. Without it, Tesseract estimates one and loses words if the estimate is wrong.
DPI = 300


class Engine:
    """Tesseract with its English model, unless another language is given."""

    def __init__(self, language: str = "eng", timeout: float = TIMEOUT) -> None:
        self.language, self.timeout = language, timeout

    @cached_property
    def name(self) -> str:
        """Program name and version."""
        first_line = self._run(["tesseract", "--version"], b"").partition("\n")[0]
        return first_line.strip() or "tesseract"

    def read(self, image: Image.Image) -> OcrResult:
        """Recognize the words of an image; boxes are in pixels of the upright image.

        Tesseract finds vertical lines, and reads them from top to bottom. From lines that are upside down it reads
        nonsense, with little confidence. Both are more reliable than its own detection of orientation.
        """
        result = self._read_as_is(image)
        is_vertical, is_clear = has_vertical_words(result), is_read_clearly(result)
        candidates = [] if is_vertical else [result]
        for degrees in (270, 90) if is_vertical else () if is_clear else (180,):
            candidates.append(replace(self._read_as_is(turn(image, degrees)), rotation=degrees))
            if is_read_clearly(candidates[-1]):
                break
        return max(candidates, key=lambda candidate: mean(candidate.confidences or [0.0]))

    def _read_as_is(self, image: Image.Image) -> OcrResult:
        scale = min(max(MIN_SIDE / min(image.size), 1.0), MAX_SCALE, max(MAX_SIDE / max(image.size), 1.0))
        gray = image.convert("L")
        if scale > 1:
            size = (int(gray.width * scale), int(gray.height * scale))
            gray = gray.resize(size, Image.Resampling.BICUBIC)
        gray = ImageOps.autocontrast(gray, cutoff=1)  # for faint print
        png = BytesIO()
        gray.save(png, "PNG", compress_level=1)
        command = ["tesseract", "-", "-", "-l", self.language, "--dpi", str(DPI), "tsv"]
        return parse_tsv(self._run(command, png.getvalue()), scale)

    def _run(self, command: list[str], data: bytes) -> str:
        try:
            process = subprocess.run(  # noqa: S603
                command,
                input=data,
                capture_output=True,
                timeout=self.timeout,
                check=False,
                # Threads do not speed up a single page.
                env={**os.environ, "OMP_THREAD_LIMIT": "1"},
            )
        except subprocess.TimeoutExpired as error:
            raise OcrError(f"tesseract timed out after {self.timeout:g} seconds.") from error
        except OSError as error:
            raise OcrError(f"tesseract cannot be run: {error}.") from error
        if process.returncode:
            lines = process.stderr.decode("utf-8", "replace").strip().splitlines()
            reason = lines[-1].rstrip(".") if lines else f"exit code {process.returncode}"
            raise OcrError(f"tesseract failed: {reason}. Try --ocr rapidocr, or re-save the image.")
        return process.stdout.decode("utf-8", "replace")


def has_vertical_words(result: OcrResult) -> bool:
    """Return whether most words of three letters or more are higher than wide."""
    boxes = [box for text, box in zip(result.texts, result.boxes, strict=True) if len(text) >= 3]
    return sum(y1 - y0 > x1 - x0 for x0, y0, x1, y1 in boxes) > len(boxes) / 2


def is_read_clearly(result: OcrResult) -> bool:
    """Return whether the words, if there are any, were read with confidence."""
    return not result.texts or mean(result.confidences) >= MIN_CONFIDENCE


def parse_tsv(table: str, scale: float = 1) -> OcrResult:
    """Parse Tesseract's TSV output; rows of level 5 are words, and a confidence of -1 (unknown) becomes 0."""
    texts: list[str] = []
    boxes: list[Box] = []
    confidences: list[float] = []
    for row in csv.DictReader(StringIO(table), delimiter="\t", quoting=csv.QUOTE_NONE):
        if row.get("level") != "5" or not (row.get("text") or "").strip():
            continue
        x, y, w, h = (float(row[key]) / scale for key in ("left", "top", "width", "height"))
        texts.append(row["text"])
        boxes.append((x, y, x + w, y + h))
        confidences.append(min(max(float(row["conf"]) / 100, 0.0), 1.0))
    return OcrResult(texts, boxes, confidences)
