"""How often a model recognizes the type of a document."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from formnet.datasets import open_corpus
from formnet.evaluation.calibration import proportion
from formnet.extraction.extractor import Extractor


def benchmark(model: str, corpora: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Count the documents of each corpus by recognized type, given corpora with their types."""
    extractor = Extractor.from_pretrained(model)
    rows: list[dict[str, Any]] = []
    for expected, spec in corpora:
        documents = extractor.annotate(open_corpus(spec))
        found = Counter("" if document.type is None else document.type.name for document in documents)
        rows.append({"corpus": spec, "type": expected, "documents": found.total(), "recognized": dict(found)})
    right = sum(row["recognized"].get(row["type"], 0) for row in rows)
    return {"model": model, "corpora": rows, "right": proportion(right, sum(row["documents"] for row in rows))}
