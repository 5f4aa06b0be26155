"""The document model: words with bounding boxes on pages, and labeled entities over them.

`formnet.document.builder.DocumentBuilder` is the only way from parsed input to a `Document`.
"""

from formnet.document.document import SCHEMA, Document, Entity, Page, Repair, Word

__all__ = ["SCHEMA", "Document", "Entity", "Page", "Repair", "Word"]
