"""Parameter counts of the named sizes, compared with the paper."""

from typing import Any

import torch

from formnet.modeling import FormNetConfig, FormNetForMaskedLM

#: Parameters in millions, from the paper.
PUBLISHED = {"etc-standard": 104, "etc-heavy": 187, "a1": 131, "a2": 217, "a3": 345}


def count() -> dict[str, Any]:
    """Count parameters without allocating them; the output layer shares its matrix with the embedding."""
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
