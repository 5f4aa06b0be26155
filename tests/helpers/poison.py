"""OCR engine for tests that succeeds, crashes, hangs or exhausts memory, depending on the first pixel of the image."""

import os
import time

from PIL import Image

from formnet.io.ocr import OcrResult

HARMLESS, CRASH, HANG, MEMORY = (255, 255, 255), (255, 0, 0), (0, 255, 0), (0, 0, 255)
SLOW = (255, 255, 0)


class Engine:
    """An engine that returns the same three words for every harmless image."""

    name = "poison 1"

    def read(self, image: Image.Image) -> OcrResult:
        pixel = image.getpixel((0, 0))
        if pixel == CRASH:
            os.abort()
        while pixel == HANG:
            time.sleep(1)
        if pixel == SLOW:
            time.sleep(0.5)
        if pixel == MEMORY:
            [bytearray(2**28) for _ in range(256)]  # 64 GiB
        boxes = [(10.0, 10.0, 60.0, 20.0), (10.0, 30.0, 60.0, 40.0), (10.0, 50.0, 60.0, 60.0)]
        return OcrResult(["acme", "total", "9.00"], boxes, [0.9, 0.8, 0.7])


def draw(color: tuple[int, int, int]) -> Image.Image:
    """Create an image of one color, which determines the behavior of the engine."""
    return Image.new("RGB", (200, 200), color)
