"""Options of extraction that a caller may set per document. This module does not import torch."""

from dataclasses import dataclass, replace

from formnet.document import Entity
from formnet.document.values.normalize import normalize, normalize_as
from formnet.extraction.schema import FieldSchema


@dataclass(frozen=True)
class ExtractionOptions:
    """How extracted values are normalized, and which are marked for review."""

    min_score: float = 0.0  # entities with a lower score are marked for review
    day_first: bool | None = None  # how 03/04/2019 is read; None: inferred from the document

    def apply(self, entity: Entity, field: FieldSchema | None = None) -> Entity:
        """Normalize an entity's value, as its field in the schema or else its label says; decide if it needs review."""
        if field is None:
            value = normalize(entity.text, entity.label, day_first=self.day_first)
        else:
            value = None if field.kind is None else normalize_as(entity.text, field.kind, day_first=self.day_first)
        return replace(entity, value=value, review=(entity.score or 0.0) < self.min_score)
