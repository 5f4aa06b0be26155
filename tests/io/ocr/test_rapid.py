import os
import pickle
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from formnet.errors import OcrError
from formnet.io.isolation import IsolatedReader
from formnet.io.ocr import RAPIDOCR_RUNTIMES, find_engine, is_installed, rapid
from formnet.io.ocr.rapid import find_rotation, has_matching_shape, sort_lines
from paper import picture


@pytest.mark.parametrize("slope", [-0.06, 0.0, 0.06])
def test_sort_lines_skewed_page_keeps_line_order(slope: float) -> None:
    quads = []
    for row in range(6):
        for x0, x1 in ((40, 300), (620, 700)):
            y = 40 + 36 * row
            quads.append([[x, y + h + slope * x] for x, h in ((x0, 0), (x1, 0), (x1, 24), (x0, 24))])
    shuffled = np.random.default_rng(0).permutation(len(quads))
    order = sort_lines(np.array(quads)[shuffled])
    assert shuffled[order].tolist() == list(range(len(quads)))


def test_find_rotation_long_lines_decide() -> None:
    across = np.array([[[10, y], [210, y], [210, y + 20], [10, y + 20]] for y in (0, 40, 80, 120)], np.float64)
    down = np.stack([150 - across[..., 1], across[..., 0]], axis=2)[
        :, [3, 0, 1, 2]
    ]  # turned, corners from the top left
    upright, reversed_lines = np.zeros(4, np.bool_), np.ones(4, np.bool_)
    assert [find_rotation(across, upright), find_rotation(across, reversed_lines)] == [0, 180]
    assert [find_rotation(down, upright), find_rotation(down, reversed_lines)] == [270, 90]
    assert find_rotation(across, np.array([True, False, False, False])) == 0
    assert find_rotation(across[:2], reversed_lines[:2]) == 0  # too few lines
    squares = np.repeat(np.array([[[0, 0], [9, 0], [9, 9], [0, 9]]], np.float64), 9, axis=0)
    assert find_rotation(np.concatenate([across, squares]), np.repeat([False, True], [4, 9])) == 0


@pytest.mark.ocr
@pytest.mark.slow
@pytest.mark.skipif(not all(map(find_spec, ("rapidocr", *RAPIDOCR_RUNTIMES))), reason="needs both libraries")
def test_engine_runtimes_read_the_same_words() -> None:
    by_default, other = rapid.Engine(), find_engine("rapidocr:onnxruntime")
    assert by_default.runtime == "openvino"
    assert getattr(other, "runtime", None) == "onnxruntime"
    image = picture()
    expected, result = other.read(image), pickle.loads(pickle.dumps(by_default)).read(image)
    assert result.texts == expected.texts
    assert len(result.texts) > 3
    assert np.allclose(result.boxes, expected.boxes, atol=2)
    from rapidocr.inference_engine.openvino.device_config import CPUConfig

    assert CPUConfig({}).get_config()["CPU_RUNTIME_CACHE_CAPACITY"] == "0"


@pytest.mark.ocr
@pytest.mark.slow
@pytest.mark.skipif(find_spec("openvino_telemetry") is None, reason="needs OpenVINO's telemetry")
@pytest.mark.parametrize(("engine", "reports"), [("openvino", True), ("formnet.io.ocr.rapid", False)])
def test_engine_openvino_reports_nothing_over_the_network(engine: str, reports: bool, tmp_path: Path) -> None:
    """Without the engine, importing OpenVINO starts to report, which leaves files in the home directory."""
    load = "import openvino" if engine == "openvino" else f"import {engine}; {engine}.Engine('openvino')._engine"
    code = f"{load}; import sys; print(sys.modules.get('openvino_telemetry') is not None)"
    hidden = {"CI": "", "TF_BUILD": "", "JENKINS_URL": "", "https_proxy": "http://127.0.0.1:9"}
    environment = {**os.environ, **hidden, "HOME": str(tmp_path)}
    result = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert result.stdout.split() == [str(reports)]
    assert any(tmp_path.iterdir()) == reports


@pytest.mark.ocr
@pytest.mark.slow
@pytest.mark.skipif(find_spec("openvino") is None, reason="needs OpenVINO")
def test_isolated_reader_openvino_reads_within_memory_limit(examples: Path) -> None:
    with IsolatedReader("rapidocr") as reader:
        document, _ = reader.read_one(examples / "receipt.jpg", images=False)
    assert len(document.texts) > 50


@pytest.mark.parametrize(
    ("inputs", "output", "fits"),
    [
        ((1, 3, 736, 480), (1, 1, 736, 480), True),
        ((1, 3, 736, 480), (1, 1, 704, 480), False),
        ((6, 3, 48, 192), (6, 2), True),
        ((6, 3, 48, 192), (4, 2), False),
        ((6, 3, 48, 443), (6, 55, 18710), True),
        ((6, 3, 48, 817), (6, 55, 18710), False),
    ],
)
def test_has_matching_shape_recognizes_stale_results(inputs: tuple[int], output: tuple[int], fits: bool) -> None:
    assert has_matching_shape(inputs, output) == fits


def test_engine_without_openvino_uses_onnxruntime(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rapid, "find_spec", lambda name: None if name == "openvino" else name)
    assert rapid.Engine().runtime == "onnxruntime"
    with pytest.raises(OcrError, match=r"needs openvino. Run pip install openvino\."):
        rapid.Engine("openvino")
    monkeypatch.setattr(rapid, "find_spec", lambda _: None)
    with pytest.raises(OcrError, match=r"needs onnxruntime. Run pip install onnxruntime\."):
        rapid.Engine("onnxruntime")
    with pytest.raises(OcrError, match=r"needs openvino or onnxruntime. Run pip install 'formnet\[ocr\]'"):
        rapid.Engine()
    monkeypatch.setattr("formnet.io.ocr.find_spec", lambda name: None if name in RAPIDOCR_RUNTIMES else name)
    assert not is_installed("rapidocr")


@pytest.mark.skipif(find_spec("onnxruntime") is None, reason="needs onnxruntime")
def test_onnxruntime_telemetry_is_disabled_by_a_setting_that_it_reads() -> None:
    assert os.environ["ORT_DISABLE_TELEMETRY"] == "1"
    library = next(Path(find_spec("onnxruntime").origin).parent.glob("capi/onnxruntime_pybind11_state*"))
    assert b"ORT_DISABLE_TELEMETRY" in library.read_bytes()
