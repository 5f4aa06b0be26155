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

#: Error codes of the service in earlier results.
EARLIER_CODES = {
    "bad_document": "invalid_document",
    "bad_form": "invalid_multipart",
    "bad_request": "invalid_request",
    "bad_request_id": "invalid_request_id",
    "no_key": "missing_api_key",
    "no_such_model": "unknown_model",
    "packed": "unsupported_encoding",
    "too_slow": "processing_timeout",
    "unknown_kind": "unsupported_media_type",
    "wrong_key": "invalid_api_key",
    "wrong_method": "method_not_allowed",
}

#: Wording in earlier results: variants, causes of lost values, and attempts of the security test.
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
    "a wrong key": "wrong key",
    "a key of 60,000 characters": "key of 60,000 characters",
    "bytes that are no text": "invalid UTF-8",
    "basic authorisation": "basic authentication",
    "the key in the query": "key in the query string",
    "the key less its last letter": "key without its last character",
    "65 letters": "65 characters",
    "5,000 letters": "5,000 characters",
    "a line of the log": "forged log line",
    "a model's path": "path as model name",
    "a score of 2": "min_score of 2",
    "says that it has 1 TB": "Content-Length of 1 TB",
    "never ends": "endless body",
    "a byte a second": "one byte per second",
    "says 1,000 bytes, sends none": "Content-Length of 1,000 without a body",
    "packed by gzip": "gzip-compressed body",
    "of no kind": "no Content-Type",
    "a form without an end": "incomplete multipart form",
    "half a document": "truncated document",
    "100,000 brackets": "100,000 nested brackets",
    "NaN for a box": "NaN in a box",
    "1e999 for a box": "1e999 in a box",
    "half a character": "lone surrogate",
    "a number of 5,000 digits": "number of 5,000 digits",
    "a picture from the service's disk": "image path on the service's disk",
    "no bytes": "empty file",
    "a PDF of nonsense": "corrupt PDF",
    "a JPEG of nonsense": "corrupt JPEG",
    "a program": "ELF executable",
    "a zip archive": "ZIP archive",
    "400 million pixels in a few kilobytes": "image of 400 million pixels in a few kilobytes",
    "the same, cut off": "the same image, truncated",
    "a billion laughs": "XML entity expansion (billion laughs)",
    "XML that asks for a file": "XML with an external entity: file",
    "XML that asks for an address": "XML with an external entity: URL",
    "a gzip bomb as JSONL": "gzip bomb as JSONL",
    "a PDF that takes half a minute": "PDF that takes half a minute to read",
    "Parquet of nonsense": "corrupt Parquet file",
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
    """Return the current wording of a recorded text, or of the part of it before a colon.

    >>> current_wording("a wrong key: GET /metrics"), current_wording("twice the epochs")
    ('wrong key: GET /metrics', 'twice the epochs')
    """
    if text in EARLIER_WORDING:
        return EARLIER_WORDING[text]
    name, colon, rest = text.partition(": ")
    return f"{EARLIER_WORDING.get(name, name)}{colon}{rest}"


def current_code(code: str) -> str:
    """Return the current error code for a recorded one."""
    return EARLIER_CODES.get(code, code)
