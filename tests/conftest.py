import os
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"  # read once, when the hub's client is imported

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"


def find_data() -> Path | None:
    """Where the public corpora are: $FORMNET_DATA, or a folder `data` in the checkout."""
    named = os.environ.get("FORMNET_DATA")
    folder = Path(named) if named else ROOT / "data"
    return folder if folder.is_dir() else None


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of public corpora; a test that needs it says so when it is missing, and fails in CI."""
    folder = find_data()
    if folder is None:
        message = "the public corpora are not here: set FORMNET_DATA to the folder that holds funsd, cord, sroie, …"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return folder


@pytest.fixture(scope="session")
def examples() -> Path:
    return EXAMPLES
