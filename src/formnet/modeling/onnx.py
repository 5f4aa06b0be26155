"""A trained network for other engines: written as ONNX, and run by onnxruntime in the network's place."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np
import torch
from torch import Tensor, nn
from torch.export import Dim

from formnet.errors import SettingsError
from formnet.modeling import FormNetConfig, FormNetForTokenClassification
from formnet.modeling.network import FormNetScores

GRAPH = "model.onnx"
#: What the network is given, in this order; B documents, P pieces, W words.
INPUTS = {
    "input_ids": "BP",
    "attention_mask": "BP",
    "token_boxes": "BP",
    "word_ids": "BP",
    "first_token": "BW",
    "node_features": "BW",
    "neighbors": "BW",
    "edge_features": "BW",
}


class OnnxNetwork:
    """Stands where a `FormNetForTokenClassification` stands, and is run by onnxruntime."""

    device = torch.device("cpu")
    training = False

    def __init__(self, folder: Path) -> None:
        self.folder, self.config = folder, FormNetConfig.from_pretrained(folder)
        try:
            import onnxruntime
        except ImportError as error:
            raise SettingsError(f"{folder}: is run by onnxruntime; run pip install 'formnet[onnx]'.") from error
        try:
            self.session = onnxruntime.InferenceSession(folder / GRAPH, providers=["CPUExecutionProvider"])
        except Exception as error:  # it raises classes of its own that share no other base
            raise SettingsError(f"{folder / GRAPH}: is no ONNX that can be run: {error}") from error
        self.asked = [node.name for node in self.session.get_inputs()]

    def __reduce__(self) -> tuple[type["OnnxNetwork"], tuple[Path]]:
        return OnnxNetwork, (self.folder,)

    def __call__(self, **batch: Tensor) -> FormNetScores:
        """Score tags [B, W, T]."""
        (scores,) = self.session.run(["scores"], {name: batch[name].numpy() for name in self.asked})
        return FormNetScores(None, torch.from_numpy(scores))


def export_onnx(model: FormNetForTokenClassification, folder: Path, *, int8: bool = False) -> Path:
    """Write the network as ONNX with its configuration; with `int8`, its matrices are in eight bits."""
    try:
        import onnxruntime  # noqa: F401
        import onnxscript  # noqa: F401
    except ImportError as error:
        raise SettingsError("exporting needs more packages; run pip install 'formnet[onnx]'.") from error
    folder.mkdir(parents=True, exist_ok=True)
    backend = model.config.attention_backend
    try:
        model.config.attention_backend = "gathered"
        program = _traced(model.eval())
    finally:
        model.config.attention_backend = backend
    target = folder / GRAPH
    model.config.save_pretrained(folder)
    if not int8:
        program.save(target, external_data=False)
        return target
    whole = folder / ".whole.onnx"
    try:
        program.save(whole, external_data=False)
        quantize(whole, target)
    finally:
        whole.unlink(missing_ok=True)
    return target


def quantize(whole: Path, target: Path) -> None:
    """Write a graph anew with its matrices in eight bits."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    kinds = ["MatMul", "Gather"]
    with _quiet():
        quantize_dynamic(whole, target, per_channel=True, weight_type=QuantType.QInt8, op_types_to_quantize=kinds)


class _Scores(nn.Module):
    """The network with its inputs by place, as tracing wants them."""

    def __init__(self, model: FormNetForTokenClassification) -> None:
        super().__init__()
        self.model = model

    def forward(self, *inputs: Tensor) -> Tensor:
        scores: Tensor = self.model(**dict(zip(INPUTS, inputs, strict=True))).logits
        return scores


def _traced(model: FormNetForTokenClassification) -> Any:
    sizes = {
        "B": Dim("documents", min=1, max=2**16),
        "P": Dim("pieces", min=2, max=2**24),
        "W": Dim("words", min=2, max=2**24),
    }
    shapes = tuple({i: sizes[letter] for i, letter in enumerate(letters)} for letters in INPUTS.values())
    with _quiet():
        return torch.onnx.export(
            _Scores(model),
            _example(model.config.node_features, model.config.edge_features),
            input_names=list(INPUTS),
            output_names=["scores"],
            dynamic_shapes=(shapes,),
            dynamo=True,
            verbose=False,
        )


def _example(node_features: int, edge_features: int) -> tuple[Tensor, ...]:
    """Two documents of a few words, whatever they say."""
    pieces, words = 7, 5
    generator = np.random.default_rng(0)
    boxes = np.sort(generator.uniform(0, 1000, (2, pieces, 2, 2)), axis=2).reshape(2, pieces, 4)
    edges = generator.uniform(0.1, 1, (2, words, 8, edge_features))
    return (
        torch.ones(2, pieces, dtype=torch.long),
        torch.ones(2, pieces, dtype=torch.long),
        torch.tensor(boxes, dtype=torch.float32),
        torch.arange(pieces).clamp(max=words - 1).expand(2, -1).contiguous(),
        torch.arange(words).expand(2, -1).contiguous(),
        torch.rand(2, words, node_features),
        (torch.arange(8) % words).expand(2, words, -1).contiguous(),
        torch.tensor(edges, dtype=torch.float32),
    )


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep what exporters say of themselves out of the way."""
    loggers = [logging.getLogger(name) for name in ("torch.onnx", "onnxscript", "onnx_ir", "root")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with catch_warnings():
            simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
