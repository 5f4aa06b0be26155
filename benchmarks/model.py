"""Complete models with random weights: FormNet against other layout models, and a training step against BERT."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from transformers import AutoConfig, AutoModel, AutoModelForTokenClassification, PreTrainedConfig

from benchmarks.attention import DTYPES
from benchmarks.memory import peak_megabytes
from benchmarks.timing import time_call
from formnet.modeling import FormNetConfig, FormNetForTokenClassification, FormNetModel

VOCABULARY = 30_522
WINDOW = 512  # maximum tokens of the other models
TOKENS = (512, 4096)
OURS = ("small", "a1")
PEERS = ("layoutlm", "bros", "lilt", "layoutlmv3")
#: Lengths and models of a quick run.
QUICK_TOKENS, QUICK_NAMES = (512,), ("small", "layoutlm", "layoutlmv3")


def inference(
    tokens: tuple[int, ...] = TOKENS, repeats: int = 5, names: tuple[str, ...] = (*OURS, *PEERS)
) -> dict[str, Any]:
    """Time each model on one document at a time; the other models process long documents in windows."""
    rows = []
    for name in names:
        model = _model(name).eval()
        parameters = sum(p.numel() for p in model.parameters())
        for dtype_name, dtype in DTYPES.items():
            model.to(dtype)
            for count in tokens:
                forward = _forward(name, model, count, dtype)
                seconds = [time_call(forward) for _ in range(1 + repeats)][1:]
                rows.append(
                    {
                        "name": name,
                        "parameters": parameters,
                        "tokens": count,
                        "dtype": dtype_name,
                        "docs_per_second": 1 / float(np.median(seconds)),
                        "spread": [1 / max(seconds), 1 / min(seconds)],
                        "peak_mb": peak_megabytes(forward),
                    }
                )
    return {"rows": rows}


def _model(name: str) -> nn.Module:
    torch.manual_seed(0)
    if name in OURS:
        model = FormNetModel(FormNetConfig.of_size(name, vocab_size=VOCABULARY))
        model.attention_backend = "compiled"
        return model
    options: dict[str, Any] = {}
    if name in ("lilt", "layoutlmv3"):  # their position ids start after the padding id
        options["max_position_embeddings"] = WINDOW + 2
    if name == "layoutlmv3":
        options["visual_embed"] = False
    config: PreTrainedConfig = AutoConfig.for_model(name, **options)
    return AutoModel.from_config(config)


def _forward(name: str, model: nn.Module, tokens: int, dtype: torch.dtype) -> Callable[[], object]:
    if name in OURS:
        inputs = document(tokens, dtype)
        return _without_gradients(lambda: model(**inputs))
    windows = max(tokens // WINDOW, 1)
    ids = torch.randint(5, 30_000, (windows, min(tokens, WINDOW)))
    boxes = torch.randint(0, 500, (*ids.shape, 4)).sort(-1).values
    if name == "bros":
        box: Tensor = torch.rand(*ids.shape, 8).to(dtype)
        return _without_gradients(lambda: model(input_ids=ids, bbox=box))
    return _without_gradients(lambda: model(input_ids=ids, bbox=boxes))


def document(tokens: int, dtype: torch.dtype = torch.float32, batch: int = 1) -> dict[str, Tensor]:
    """Build a random page of words with one token and four neighbors each."""
    generator = torch.Generator().manual_seed(0)
    corner = torch.rand(batch, tokens, 2, generator=generator) * 900
    boxes = torch.cat([corner, corner + 40], dim=-1)
    index = torch.arange(tokens).expand(batch, -1)
    neighbors = torch.stack([(index + step) % tokens for step in (-10, -1, 1, 10)], dim=-1)
    return {
        "input_ids": torch.randint(5, 30_000, (batch, tokens), generator=generator),
        "attention_mask": torch.ones(batch, tokens, dtype=torch.int64),
        "token_boxes": boxes,
        "word_ids": index,
        "node_features": torch.rand(batch, tokens, 10, generator=generator).to(dtype),
        "neighbors": torch.nn.functional.pad(neighbors, (0, 4), value=-1),
        "edge_features": torch.rand(batch, tokens, 8, 11, generator=generator).to(dtype),
    }


def training(batches: list[dict[str, Tensor]], tags: int, repeats: int = 5) -> dict[str, Any]:
    """Time training steps of `small` and of a BERT of the same width and depth alternately on the same batches."""
    torch.manual_seed(0)
    ours = FormNetForTokenClassification(FormNetConfig.of_size("small", vocab_size=VOCABULARY, num_labels=tags))
    ours.formnet.attention_backend = "compiled"
    config = AutoConfig.for_model(
        "bert",
        hidden_size=384,
        num_hidden_layers=6,
        num_attention_heads=12,
        intermediate_size=1536,
        max_position_embeddings=4096,
        num_labels=tags,
    )
    bert = AutoModelForTokenClassification.from_config(config)
    rows: dict[str, dict[str, Any]] = {}
    for name in DTYPES:
        steps = [_step(ours.train(), batches, name, plain=False), _step(bert.train(), batches, name, plain=True)]
        for step in steps:
            step()  # compiles
        times = np.array([[time_call(step) for step in steps] for _ in range(repeats)])
        ratios = times[:, 0] / times[:, 1]
        rows[name] = {
            "ratio_to_bert": float(np.median(ratios)),
            "spread": [float(ratios.min()), float(ratios.max())],
            "seconds_per_batch": dict(
                zip(("small", "bert"), (np.median(times, axis=0) / len(batches)).tolist(), strict=True)
            ),
        }
    fastest = min(rows, key=lambda name: rows[name]["seconds_per_batch"]["small"])
    return {
        "ratio_to_bert": rows[fastest]["ratio_to_bert"],
        "dtype": fastest,
        "by_dtype": rows,
        "batches": len(batches),
    }


def _step(model: nn.Module, batches: list[dict[str, Tensor]], dtype: str, *, plain: bool) -> Callable[[], object]:
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)

    def step() -> None:
        for inputs in batches:
            with torch.autocast("cpu", torch.bfloat16, enabled=dtype == "bfloat16"):
                loss = model(**(bert_inputs(inputs) if plain else inputs)).loss
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()

    return step


def bert_inputs(inputs: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return the inputs of BERT for a batch: tokens, and a label at the first token of each word."""
    labels = torch.full_like(inputs["input_ids"], -100)
    document, word = torch.nonzero(inputs["labels"] >= 0, as_tuple=True)
    labels[document, inputs["first_token"][document, word]] = inputs["labels"][document, word]
    return {"input_ids": inputs["input_ids"], "attention_mask": inputs["attention_mask"], "labels": labels}


def _without_gradients(function: Callable[[], object]) -> Callable[[], object]:
    def run() -> object:
        with torch.no_grad():
            return function()

    return run
