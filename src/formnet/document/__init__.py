"""Document model: pages of words with bounding boxes, and labeled entities over those words.

Build documents from parsed input with `formnet.document.builder.DocumentBuilder`.
"""

from formnet.document.document import SCHEMA, Document, DocumentType, Entity, Page, Repair, Word

__all__ = ["SCHEMA", "Document", "DocumentType", "Entity", "Page", "Repair", "Word"]
