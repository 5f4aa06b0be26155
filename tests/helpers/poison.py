"""An OCR engine for tests: a picture's first pixel says whether it reads, crashes, hangs or eats memory."""

import os
import time

from PIL import Image

from formnet.io.ocr import Reading

HARMLESS, CRASH, HANG, MEMORY = (255, 255, 255), (255, 0, 0), (0, 255, 0), (0, 0, 255)


class Engine:
    """Reads the same three words off every picture that does not kill it."""

    name = "poison 1"

    def read(self, image: Image.Image) -> Reading:
        kind = image.getpixel((0, 0))
        if kind == CRASH:
            os.abort()
        while kind == HANG:
            time.sleep(1)
        if kind == MEMORY:
            [bytearray(2**28) for _ in range(256)]  # 64 GiB
        boxes = [(10.0, 10.0, 60.0, 20.0), (10.0, 30.0, 60.0, 40.0), (10.0, 50.0, 60.0, 60.0)]
        return Reading(["acme", "total", "9.00"], boxes, [0.9, 0.8, 0.7])


def draw(kind: tuple[int, int, int]) -> Image.Image:
    """Draw a picture that does to the engine what it should."""
    return Image.new("RGB", (200, 200), kind)
