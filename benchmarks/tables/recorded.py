"""Names and wording in recorded results, which are never rewritten, mapped to the current ones."""

from collections.abc import Mapping
from typing import Any

#: Settings by their current name, with the name in earlier results.
EARLIER_SETTINGS = {
    "init": "start",
    "overrides": "changes",
    "optimization": "optimisation",
    "max_batch_tokens": "batch_pieces",
    "gradient_accumulation_steps": "accumulate",
}

#: Wording in earlier results: variants, and causes of lost values.
EARLIER_WORDING = {
    "first trained on pages that a model has labelled": "first trained on pages labeled by a model",
    "one learning rate for all": "one learning rate for all parameters",
    "lower layers learn slower": "lower learning rate in lower layers",
    "loss on first pieces": "loss at the first token of each word",
    "loss on all pieces": "loss at all tokens",
    "attention within 512 pieces": "attention radius of 512 tokens",
    "not pre-trained, warm from MiniLM": "not pre-trained, initialized from MiniLM",
    "not pre-trained, warm from MPNet": "not pre-trained, initialized from MPNet",
    "not pre-trained, from scratch, half as wide": "not pre-trained, from scratch, half the width",
    "boxes of whole segments (an easier task, which LiLT, LayoutLMv3 and FormNetV2 report)": (
        "segment boxes (an easier task, reported by LiLT, LayoutLMv3 and FormNetV2)"
    ),
    "no words that the engine saw say it": "the OCR output does not contain the value",
    "the engine saw its words, but does not read them one after the other": (
        "the OCR output contains the words of the value, but not in consecutive order"
    ),
    "missed with the corpus's own words, too": "the model also misses the value with the words of the corpus",
    "the engine's words say it, and with the corpus's own words it was found": (
        "the OCR output contains the value, and the model finds it with the words of the corpus"
    ),
}


def get_setting(config: Mapping[str, Any], *path: str) -> Any:
    """Return a setting of a recorded configuration by its current names.

    >>> get_setting({"optimisation": {"batch_pieces": 1024}}, "optimization", "max_batch_tokens")
    1024
    """
    value: Any = config
    for name in path:
        value = value[name] if name in value else value[EARLIER_SETTINGS[name]]
    return value


def current_wording(text: str) -> str:
    """Return the current wording of a recorded text.

    >>> current_wording("loss on all pieces"), current_wording("twice the epochs")
    ('loss at all tokens', 'twice the epochs')
    """
    return EARLIER_WORDING.get(text, text)
