"""Choice of a model per document: the network of the first model also recognizes the types of documents."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from formnet.document import Document
from formnet.errors import SettingsError
from formnet.extraction.annotations import Annotations
from formnet.extraction.base import DocumentExtractor
from formnet.extraction.extractor import WARM_UP_BATCHES, Extractor
from formnet.extraction.options import ExtractionOptions
from formnet.extraction.pretrained import AUTO, AUTO_MODELS
from formnet.extraction.references import ReferenceList, read_references
from formnet.extraction.schema import Schema


class AutoExtractor(DocumentExtractor):
    """An extractor per type of document. The first one has a type classifier, and reads types without an extractor.

    The classifier knows no other types: a document that is of none of them is assigned the most similar one.
    """

    def __init__(
        self, extractors: Mapping[str, Extractor], references: Iterable[ReferenceList | str | Path] = ()
    ) -> None:
        self.extractors = dict(extractors)
        self.first_type, self.first = next(iter(self.extractors.items()))
        types = self.first.model.config.document_types or []
        if missing := [name for name in self.extractors if name not in types]:
            raise SettingsError(f"the first model does not recognize documents of type {', '.join(missing)}.")
        self.ocr, self.limits = self.first.ocr, self.first.limits
        by_type = {name: extractor.schema for name, extractor in self.extractors.items()}
        self.schema = Schema.union(by_type).with_references(read_references(references))

    @classmethod
    def from_pretrained(cls, sources: Mapping[str, str | Path] = AUTO_MODELS, **options: Any) -> "AutoExtractor":
        """Load a model per type of document, by default the shipped ones; options as for `Extractor`."""
        references = options.pop("references", ())
        return cls({name: Extractor.from_pretrained(source, **options) for name, source in sources.items()}, references)

    def iter_annotations(
        self,
        documents: Sequence[Document],
        head: str | None = None,
        options: Sequence[ExtractionOptions] | None = None,
    ) -> Iterator[tuple[int, Annotations]]:
        """Yield each document's index and annotations, first of the documents that the first model reads."""
        routed: dict[str, dict[int, Annotations]] = {}
        for i, annotations in self.first.iter_annotations(documents, head, options):
            name = self.first_type if annotations.type is None else annotations.type.name
            if name == self.first_type or name not in self.extractors:
                yield i, annotations
            else:
                routed.setdefault(name, {})[i] = annotations
        for name, by_index in routed.items():
            indices = list(by_index)
            own_options = None if options is None else [options[i] for i in indices]
            found = self.extractors[name].iter_annotations([documents[i] for i in indices], head, own_options)
            for number, annotations in found:
                yield indices[number], annotations._replace(type=by_index[indices[number]].type)

    def count_tokens(self, document: Document) -> int:
        """Return the highest number of tokens for any of the models; raise `LimitError` if one has too many."""
        return max(extractor.count_tokens(document) for extractor in self.extractors.values())

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels of all models."""
        return tuple(dict.fromkeys(label for extractor in self.extractors.values() for label in extractor.labels))

    def warm_up(self, batches: Iterable[Sequence[int]] = WARM_UP_BATCHES) -> None:
        """Load and compile everything of each model now."""
        for extractor in self.extractors.values():
            extractor.warm_up(batches)


def load_extractor(source: str | Path, **options: Any) -> AutoExtractor | Extractor:
    """Load a model, or the shipped ones for receipts and invoices by the name "auto"."""
    if str(source) == AUTO:
        return AutoExtractor.from_pretrained(**options)
    return Extractor.from_pretrained(source, **options)
