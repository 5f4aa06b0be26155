"""Whole models in one run, with random weights: ours beside other layout models, and a training step beside BERT's."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from transformers import AutoConfig, AutoModel, AutoModelForTokenClassification, PreTrainedConfig

from benchmarks.attention import DTYPES
from benchmarks.memory import peak_megabytes
from benchmarks.timing import seconds_of
from formnet.modeling import FormNetConfig, FormNetForTokenClassification, FormNetModel

VOCABULARY = 30_522
WINDOW = 512  # what the others can read at once
OURS = ("small", "a1")
PEERS = ("layoutlm", "bros", "lilt", "layoutlmv3")


def inference(
    tokens: tuple[int, ...] = (512, 4096), repeats: int = 5, names: tuple[str, ...] = (*OURS, *PEERS)
) -> dict[str, Any]:
    """Read one document at a time with each model in turn; the others read long ones in windows, as they must."""
    rows = []
    for name in names:
        model = _model(name).eval()
        parameters = sum(p.numel() for p in model.parameters())
        for dtype_name, dtype in DTYPES.items():
            model.to(dtype)
            for count in tokens:
                read = _reader(name, model, count, dtype)
                seconds = [seconds_of(read) for _ in range(1 + repeats)][1:]
                rows.append(
                    {
                        "name": name,
                        "parameters": parameters,
                        "tokens": count,
                        "dtype": dtype_name,
                        "docs_per_second": 1 / float(np.median(seconds)),
                        "spread": [1 / max(seconds), 1 / min(seconds)],
                        "peak_mb": peak_megabytes(read),
                    }
                )
    return {"rows": rows}


def _model(name: str) -> nn.Module:
    torch.manual_seed(0)
    if name in OURS:
        return FormNetModel(FormNetConfig.of_size(name, vocab_size=VOCABULARY, attention_backend="compiled"))
    shape: dict[str, Any] = {}
    if name in ("lilt", "layoutlmv3"):  # positions are counted from the padding's number on, as in their checkpoints
        shape["max_position_embeddings"] = WINDOW + 2
    if name == "layoutlmv3":
        shape["visual_embed"] = False
    config: PreTrainedConfig = AutoConfig.for_model(name, **shape)
    return AutoModel.from_config(config)


def _reader(name: str, model: nn.Module, tokens: int, dtype: torch.dtype) -> Callable[[], object]:
    if name in OURS:
        inputs = document(tokens, dtype)
        return _quietly(lambda: model(**inputs))
    windows = max(tokens // WINDOW, 1)
    ids = torch.randint(5, 30_000, (windows, min(tokens, WINDOW)))
    boxes = torch.randint(0, 500, (*ids.shape, 4)).sort(-1).values
    if name == "bros":
        box: Tensor = torch.rand(*ids.shape, 8).to(dtype)
        return _quietly(lambda: model(input_ids=ids, bbox=box))
    return _quietly(lambda: model(input_ids=ids, bbox=boxes))


def document(tokens: int, dtype: torch.dtype = torch.float32, batch: int = 1) -> dict[str, Tensor]:
    """Make up a page: lines of words of one piece each, every word with four neighbors."""
    generator = torch.Generator().manual_seed(0)
    corner = torch.rand(batch, tokens, 2, generator=generator) * 900
    boxes = torch.cat([corner, corner + 40], dim=-1)
    number = torch.arange(tokens).expand(batch, -1)
    near = torch.stack([(number + step) % tokens for step in (-10, -1, 1, 10)], dim=-1)
    return {
        "input_ids": torch.randint(5, 30_000, (batch, tokens), generator=generator),
        "attention_mask": torch.ones(batch, tokens, dtype=torch.int64),
        "token_boxes": boxes,
        "word_ids": number,
        "node_features": torch.rand(batch, tokens, 10, generator=generator).to(dtype),
        "neighbors": torch.nn.functional.pad(near, (0, 4), value=-1),
        "edge_features": torch.rand(batch, tokens, 8, 11, generator=generator).to(dtype),
    }


def training(batches: list[dict[str, Tensor]], tags: int, repeats: int = 5) -> dict[str, Any]:
    """Time training steps of `small` and of a plain BERT of the same width and depth on the same batches, in turn."""
    torch.manual_seed(0)
    ours = FormNetForTokenClassification(
        FormNetConfig.of_size("small", vocab_size=VOCABULARY, num_labels=tags, attention_backend="compiled")
    )
    shape = AutoConfig.for_model(
        "bert",
        hidden_size=384,
        num_hidden_layers=6,
        num_attention_heads=12,
        intermediate_size=1536,
        max_position_embeddings=4096,
        num_labels=tags,
    )
    bert = AutoModelForTokenClassification.from_config(shape)
    rows: dict[str, dict[str, Any]] = {}
    for name in DTYPES:
        steps = [_step(ours.train(), batches, name, plain=False), _step(bert.train(), batches, name, plain=True)]
        for step in steps:
            step()  # compile
        times = np.array([[seconds_of(step) for step in steps] for _ in range(repeats)])
        ratios = times[:, 0] / times[:, 1]
        rows[name] = {
            "ratio_to_bert": float(np.median(ratios)),
            "spread": [float(ratios.min()), float(ratios.max())],
            "seconds_per_batch": dict(
                zip(("small", "bert"), (np.median(times, axis=0) / len(batches)).tolist(), strict=True)
            ),
        }
    better = min(rows, key=lambda name: rows[name]["seconds_per_batch"]["small"])
    return {"ratio_to_bert": rows[better]["ratio_to_bert"], "dtype": better, "by_dtype": rows, "batches": len(batches)}


def _step(model: nn.Module, batches: list[dict[str, Tensor]], dtype: str, *, plain: bool) -> Callable[[], object]:
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)

    def step() -> None:
        for inputs in batches:
            with torch.autocast("cpu", torch.bfloat16, enabled=dtype == "bfloat16"):
                given = plain_inputs(inputs) if plain else inputs
                loss = model(**given).loss
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()

    return step


def plain_inputs(inputs: dict[str, Tensor]) -> dict[str, Tensor]:
    """Give what BERT reads of a batch: pieces, and a tag at each word's first piece."""
    labels = torch.full_like(inputs["input_ids"], -100)
    document, word = torch.nonzero(inputs["labels"] >= 0, as_tuple=True)
    labels[document, inputs["first_token"][document, word]] = inputs["labels"][document, word]
    return {"input_ids": inputs["input_ids"], "attention_mask": inputs["attention_mask"], "labels": labels}


def _quietly(work: Callable[[], object]) -> Callable[[], object]:
    def run() -> object:
        with torch.no_grad():
            return work()

    return run
