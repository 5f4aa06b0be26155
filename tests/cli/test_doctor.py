import json

import torch

from command_line import runner
from formnet.cli import app


def test_doctor_json_lists_components() -> None:
    result = runner.invoke(app, ["doctor", "--json"])
    components = {component["name"]: component for component in json.loads(result.stdout)}
    assert components["torch"]["found"].startswith(torch.__version__)
    assert {"models", "rapidocr", "tesseract", "compiler"} <= set(components)
