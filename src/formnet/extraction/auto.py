"""Choice of a model per document: the network of the first model also recognizes the types of documents."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from formnet.document import Document
from formnet.errors import SettingsError
from formnet.extraction.annotations import Annotations
from formnet.extraction.extractor import Extractor
from formnet.extraction.options import ExtractionOptions
from formnet.extraction.references import read_references
from formnet.extraction.schema import Schema


class AutoExtractor(Extractor):
    """The extractor of one type of document, and others for the types that its network recognizes.

    Documents of an unknown type are read by the first model.
    """

    others: dict[str, Extractor]

    @classmethod
    def from_models(cls, sources: Sequence[str | Path], **options: Any) -> "AutoExtractor":
        """Load models, which have the names of document types; the first one must have a type classifier."""
        references = options.pop("references", ())
        first = cls.from_pretrained(sources[0], **options)
        assert isinstance(first, AutoExtractor)
        types = first.model.config.document_types or []
        names = [Path(source).name for source in sources]
        if missing := [name for name in names if name not in types]:
            raise SettingsError(f"{sources[0]}: does not recognize documents of type {', '.join(missing)}.")
        first.others = {
            name: Extractor.from_pretrained(source, **options)
            for name, source in zip(names[1:], sources[1:], strict=True)
        }
        by_type = {names[0]: first.schema} | {name: other.schema for name, other in first.others.items()}
        first.schema = Schema.union(by_type).with_references(read_references(references))
        return first

    def iter_annotations(
        self,
        documents: Sequence[Document],
        head: str | None = None,
        options: Sequence[ExtractionOptions] | None = None,
    ) -> Iterator[tuple[int, Annotations]]:
        """Yield each document's index and annotations, first of the documents that the first model reads."""
        routed: dict[str, dict[int, Annotations]] = {name: {} for name in self.others}
        for i, annotations in super().iter_annotations(documents, head, options):
            if annotations.type is not None and annotations.type.name in routed:
                routed[annotations.type.name][i] = annotations
            else:
                yield i, annotations
        for name, by_index in routed.items():
            indices = list(by_index)
            own_options = None if options is None else [options[i] for i in indices]
            found = self.others[name].iter_annotations([documents[i] for i in indices], head, own_options)
            for number, annotations in found:
                yield indices[number], annotations._replace(type=by_index[indices[number]].type)
