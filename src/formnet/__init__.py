"""FormNet: fields out of forms, receipts and invoices.

The public names, loaded when first asked for so that importing the package costs nothing.

    >>> import formnet
    >>> formnet.Document.__name__
    'Document'
"""

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
    from formnet.extraction.decoding import decode
    from formnet.extraction.extractor import Extractor
    from formnet.io.readers import read
    from formnet.modeling import FormNetConfig, FormNetForMaskedLM, FormNetForTokenClassification, FormNetModel

__version__ = "0.1.0"

__all__ = [
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

_HOME = {
    "datasets.alignment": ("align", "find"),
    "document.builder": ("DocumentBuilder",),
    "datasets": ("open_corpus",),
    "extraction.decoding": ("decode",),
    "document": ("Document", "Entity", "Page", "Word"),
    "encoding": ("Encoder", "collate", "load_tokenizer"),
    "errors": ("FormNetError",),
    "extraction.extractor": ("Extractor",),
    "encoding.graph": ("PageGraph", "page_graph"),
    "document.tags": ("Span", "TagScheme"),
    "modeling": ("FormNetConfig", "FormNetForMaskedLM", "FormNetForTokenClassification", "FormNetModel"),
    "io.readers": ("read",),
    "document.reading_order": ("reorder",),
}
_MODULE = {name: module for module, names in _HOME.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULE[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
