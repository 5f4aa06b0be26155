"""FormNet: extract fields from forms, receipts and invoices.

Public names are imported on first access, which keeps `import formnet` fast.

    >>> import formnet
    >>> formnet.Document.__name__
    'Document'
"""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from formnet.datasets import open_corpus
    from formnet.datasets.alignment import align, find
    from formnet.document import Document, Entity, Page, Word
    from formnet.document.builder import DocumentBuilder
    from formnet.document.reading_order import reorder
    from formnet.document.tags import Span, TagScheme
    from formnet.encoding import Encoder, collate, load_tokenizer
    from formnet.encoding.graph import PageGraph, page_graph
    from formnet.errors import FormNetError
    from formnet.extraction.auto import AutoExtractor
    from formnet.extraction.decoding import decode
    from formnet.extraction.extractor import Extractor
    from formnet.extraction.processor import FormNetProcessor
    from formnet.io.readers import read
    from formnet.modeling import FormNetConfig, FormNetForMaskedLM, FormNetForTokenClassification, FormNetModel

__version__ = "0.2.0"

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # read by onnxruntime when it is imported

__all__ = [
    "AutoExtractor",
    "Document",
    "DocumentBuilder",
    "Encoder",
    "Entity",
    "Extractor",
    "FormNetConfig",
    "FormNetError",
    "FormNetForMaskedLM",
    "FormNetForTokenClassification",
    "FormNetModel",
    "FormNetProcessor",
    "Page",
    "PageGraph",
    "Span",
    "TagScheme",
    "Word",
    "align",
    "collate",
    "decode",
    "find",
    "load_tokenizer",
    "open_corpus",
    "page_graph",
    "read",
    "reorder",
]

_EXPORTS = {
    "datasets": ("open_corpus",),
    "datasets.alignment": ("align", "find"),
    "document": ("Document", "Entity", "Page", "Word"),
    "document.builder": ("DocumentBuilder",),
    "document.reading_order": ("reorder",),
    "document.tags": ("Span", "TagScheme"),
    "encoding": ("Encoder", "collate", "load_tokenizer"),
    "encoding.graph": ("PageGraph", "page_graph"),
    "errors": ("FormNetError",),
    "extraction.auto": ("AutoExtractor",),
    "extraction.decoding": ("decode",),
    "extraction.extractor": ("Extractor",),
    "extraction.processor": ("FormNetProcessor",),
    "io.readers": ("read",),
    "modeling": ("FormNetConfig", "FormNetForMaskedLM", "FormNetForTokenClassification", "FormNetModel"),
}
_MODULE_OF_NAME = {name: module for module, names in _EXPORTS.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF_NAME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULE_OF_NAME[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
