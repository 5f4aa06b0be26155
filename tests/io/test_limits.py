from pathlib import Path

import pytest

from formnet.errors import DocumentError
from ocr_files import read_single


def test_check_file_missing_or_directory_raises(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="no such file"):
        read_single(tmp_path / "nowhere.pdf")
    with pytest.raises(DocumentError, match="is a directory"):
        read_single(tmp_path)
