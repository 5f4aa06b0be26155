"""ONNX: export of a token classifier, and inference with onnxruntime."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.export import Dim

from formnet.errors import SettingsError
from formnet.modeling.configuration import FormNetConfig
from formnet.modeling.formnet import FormNetForTokenClassification, FormNetTokenClassifierOutput
from formnet.modeling.links import LinkHead, make_link_head

ONNX_NAME = "model.onnx"
#: The part of the link head that scores pairs of entities, which are known only after decoding.
LINK_HEAD_NAME = "links.safetensors"
#: Inputs in order, with their leading dimensions: B documents, N tokens, W words.
INPUTS = {
    "input_ids": "BN",
    "attention_mask": "BN",
    "token_boxes": "BN",
    "word_ids": "BN",
    "first_token": "BW",
    "node_features": "BW",
    "neighbors": "BW",
    "edge_features": "BW",
}


class OnnxModel:
    """Drop-in replacement for `FormNetForTokenClassification` that runs in onnxruntime."""

    device = torch.device("cpu")
    training = False

    def __init__(self, folder: Path) -> None:
        self.folder, self.config = folder, FormNetConfig.from_pretrained(folder)
        try:
            import onnxruntime
        except ImportError as error:
            raise SettingsError(
                f"{folder}: an ONNX model needs onnxruntime. Run pip install 'formnet[onnx]'."
            ) from error
        try:
            self.session = onnxruntime.InferenceSession(folder / ONNX_NAME, providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime's exceptions have no common base class
            raise SettingsError(f"{folder / ONNX_NAME}: cannot load the ONNX model: {error}") from error
        self.input_names = [node.name for node in self.session.get_inputs()]
        self.output_names = [node.name for node in self.session.get_outputs()]
        self.link_head = _load_link_head(self.config, folder)

    def __reduce__(self) -> tuple[type["OnnxModel"], tuple[Path]]:
        return OnnxModel, (self.folder,)

    def __call__(self, **batch: Tensor) -> FormNetTokenClassifierOutput:
        """Compute tag scores [B, W, T] and, with heads for structure, their scores."""
        arrays = self.session.run(self.output_names, {name: batch[name].numpy() for name in self.input_names})
        outputs = dict(zip(self.output_names, map(torch.from_numpy, arrays), strict=True))
        return FormNetTokenClassifierOutput(
            logits=outputs["scores"],
            key_logits=outputs.get("key_scores"),
            link_terms=outputs.get("link_terms"),
            type_logits=outputs.get("type_scores"),
        )


def export_onnx(model: FormNetForTokenClassification, folder: Path, *, int8: bool = False) -> Path:
    """Write the model as ONNX with its configuration; `int8` quantizes its matrices."""
    try:
        import onnxruntime  # noqa: F401
        import onnxscript  # noqa: F401
    except ImportError as error:
        raise SettingsError("ONNX export needs more packages. Run pip install 'formnet[onnx]'.") from error
    folder.mkdir(parents=True, exist_ok=True)
    backend = model.formnet.attention_backend
    try:
        model.formnet.attention_backend = "export"
        program = _trace(model.eval())
    finally:
        model.formnet.attention_backend = backend
    target = folder / ONNX_NAME
    model.config.save_pretrained(folder)
    if model.link_head is not None:
        save_file(model.link_head.state_dict(), folder / LINK_HEAD_NAME)
    if not int8:
        program.save(target, external_data=False)
        return target
    unquantized = folder / ".float32.onnx"
    try:
        program.save(unquantized, external_data=False)
        quantize(unquantized, target)
    finally:
        unquantized.unlink(missing_ok=True)
    return target


def quantize(source: Path, target: Path) -> None:
    """Quantize the matrices of an ONNX file to int8."""
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic

    model = onnx.load(source)
    del model.graph.value_info[:]  # the quantizer transposes matrices, but not the shapes recorded for them
    with _quiet():
        quantize_dynamic(
            model,
            target,
            per_channel=True,
            reduce_range=True,  # seven bits: on CPUs without VNNI, sums of products of eight bits overflow
            weight_type=QuantType.QInt8,
            op_types_to_quantize=["MatMul", "Gather"],
        )


class _PositionalInputs(nn.Module):
    """The model with positional inputs, as tracing requires."""

    def __init__(self, model: FormNetForTokenClassification) -> None:
        super().__init__()
        self.model = model

    def forward(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        output = self.model(**dict(zip(INPUTS, inputs, strict=True)))
        scores = (output.logits, output.key_logits, output.link_terms, output.type_logits)
        return tuple(tensor for tensor in scores if tensor is not None)


def _trace(model: FormNetForTokenClassification) -> Any:
    sizes = {
        "B": Dim("documents", min=1, max=2**16),
        "N": Dim("tokens", min=2, max=2**24),
        "W": Dim("words", min=2, max=2**24),
    }
    shapes = tuple({i: sizes[letter] for i, letter in enumerate(letters)} for letters in INPUTS.values())
    with _quiet():
        return torch.onnx.export(
            _PositionalInputs(model),
            _example(model.config.num_node_features, model.config.num_edge_features),
            input_names=list(INPUTS),
            output_names=_output_names(model.config),
            dynamic_shapes=(shapes,),
            dynamo=True,
            verbose=False,
        )


def _output_names(config: FormNetConfig) -> list[str]:
    has_terms = bool(config.link_size) and config.link_states
    names = ["scores"] + ["key_scores"] * config.key_head + ["link_terms"] * has_terms
    return [*names, "type_scores"] if config.num_types else names


def _load_link_head(config: FormNetConfig, folder: Path) -> LinkHead | None:
    head = make_link_head(config)
    if head is not None:
        head.load_state_dict(load_file(folder / LINK_HEAD_NAME))
        head.eval()
    return head


def _example(node_features: int, edge_features: int) -> tuple[Tensor, ...]:
    """Build an example batch of two short documents."""
    tokens, words = 7, 5
    generator = np.random.default_rng(0)
    boxes = np.sort(generator.uniform(0, 1000, (2, tokens, 2, 2)), axis=2).reshape(2, tokens, 4)
    edges = generator.uniform(0.1, 1, (2, words, 8, edge_features))
    return (
        torch.ones(2, tokens, dtype=torch.long),
        torch.ones(2, tokens, dtype=torch.long),
        torch.tensor(boxes, dtype=torch.float32),
        torch.arange(tokens).clamp(max=words - 1).expand(2, -1).contiguous(),
        torch.arange(words).expand(2, -1).contiguous(),
        torch.rand(2, words, node_features),
        (torch.arange(8) % words).expand(2, words, -1).contiguous(),
        torch.tensor(edges, dtype=torch.float32),
    )


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress log messages and warnings of the exporters."""
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
