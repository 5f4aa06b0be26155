"""OCR engines for tests: one that recognizes nothing, and parameters for the installed ones."""

import pytest

from formnet.io import ocr
from formnet.io.ocr import OcrResult

#: Parameters for `pytest.mark.parametrize`; engines that are not installed are skipped.
ENGINE_PARAMS = [
    pytest.param(name, marks=pytest.mark.skipif(not ocr.is_installed(name), reason=f"{name} is not installed"))
    for name in ocr.ENGINES
]


class BlankEngine:
    """OCR engine that recognizes nothing."""

    name = "blank"

    def read(self, _: object) -> OcrResult:
        """Return an empty result."""
        return OcrResult((), (), ())
