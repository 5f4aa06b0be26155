"""How many parameters the named sizes have, beside the paper's figures."""

from typing import Any

import torch

from formnet.modeling import FormNetConfig, FormNetForMaskedLM

#: The paper's figures, in millions.
PUBLISHED = {"etc-standard": 104, "etc-heavy": 187, "a1": 131, "a2": 217, "a3": 345}


def count() -> dict[str, Any]:
    """Count without allocating; the output layer's matrix is the embedding's."""
    rows = []
    for name, published in PUBLISHED.items():
        config = FormNetConfig.of_size(name)
        with torch.device("meta"):
            model = FormNetForMaskedLM(config)
        total = sum(p.numel() for key, p in model.named_parameters() if key != "decoder.weight")
        rows.append(
            {"name": name, "parameters": total, "published_millions": published, "ratio": total / published / 1e6}
        )
    return {"rows": rows}
