"""Tesseract, run as a program: its table of words, parsed."""

import csv
import os
import subprocess
from functools import cached_property
from io import BytesIO, StringIO

from PIL import Image

from formnet.document.boxes import Box
from formnet.errors import OcrError
from formnet.io.ocr import Reading

#: A page that takes longer is given up.
SECONDS = 120
#: Small print is read better larger: shorter sides than this are doubled, unless Tesseract would refuse the longer.
SMALL_SIDE, LARGEST_SIDE = 1000, 32_767
#: Dots an inch. Told none, Tesseract guesses from the letters, and loses words where the guess is poor.
RESOLUTION = 300


class Engine:
    """Tesseract with its English data, unless another language is named."""

    def __init__(self, language: str = "eng", seconds: float = SECONDS) -> None:
        self.language, self.seconds = language, seconds

    @cached_property
    def name(self) -> str:
        """The program's own name and version."""
        first = self._run(["tesseract", "--version"], b"").partition("\n")[0]
        return first.strip() or "tesseract"

    def read(self, image: Image.Image) -> Reading:
        """Read words; boxes are in the picture's pixels."""
        scale = 2 if min(image.size) < SMALL_SIDE and 2 * max(image.size) <= LARGEST_SIDE else 1
        gray = image.convert("L")
        if scale > 1:
            gray = gray.resize((gray.width * scale, gray.height * scale), Image.Resampling.BICUBIC)
        png = BytesIO()
        gray.save(png, "PNG", compress_level=1)
        command = ["tesseract", "-", "-", "-l", self.language, "--dpi", str(RESOLUTION), "tsv"]
        return parse(self._run(command, png.getvalue()), scale)

    def _run(self, command: list[str], data: bytes) -> str:
        try:
            done = subprocess.run(  # noqa: S603
                command,
                input=data,
                capture_output=True,
                timeout=self.seconds,
                check=False,
                # One page is not worth two threads that wait for each other.
                env={**os.environ, "OMP_THREAD_LIMIT": "1"},
            )
        except subprocess.TimeoutExpired as error:
            raise OcrError(f"tesseract took longer than {self.seconds:g} seconds over a page.") from error
        except OSError as error:
            raise OcrError(f"tesseract cannot be run: {error}.") from error
        if done.returncode:
            reason = done.stderr.decode("utf-8", "replace").strip().splitlines()
            told = reason[-1].rstrip(".") if reason else f"exit code {done.returncode}"
            raise OcrError(f"tesseract failed: {told}. Try --ocr rapidocr, or save the picture anew.")
        return done.stdout.decode("utf-8", "replace")


def parse(table: str, scale: float = 1) -> Reading:
    """Read Tesseract's TSV: rows of level 5 are words, and a confidence of −1 is none."""
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
    return Reading(texts, boxes, confidences)
