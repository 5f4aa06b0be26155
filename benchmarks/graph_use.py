"""What shipped models use the page graph for: their scores with the graph as it is and edited."""

from pathlib import Path
from typing import Any

from formnet.datasets import open_corpus, open_corpus_for
from formnet.datasets.alignment import with_entities
from formnet.encoding import Encoder
from formnet.evaluation.graph_use import graph_use
from formnet.extraction.extractor import Extractor
from formnet.extraction.pretrained import find_model
from formnet.modeling import FormNetConfig, FormNetForMaskedLM
from formnet.training.config import InitConfig, Optimization
from formnet.training.initialization import initialize
from formnet.training.masked_lm import Masker
from formnet.training.pretrain import HeldOutPages

#: Share of words to mask, as in the pre-training of `base`.
MASKED = 0.3
MAX_BATCH_TOKENS = 2048


def benchmark(model: str, corpus: str) -> dict[str, Any]:
    """Score a model on documents of a corpus: F1, or the masked-language accuracy of a pre-trained model."""
    architectures = FormNetConfig.from_pretrained(find_model(model)).architectures or []
    if FormNetForMaskedLM.__name__ in architectures:
        number, scores = _masked_language_accuracy(model, corpus)
        return {"model": model, "corpus": corpus, "documents": number, "masked_language_accuracy": scores}
    extractor = Extractor.from_pretrained(model)
    documents = with_entities(open_corpus_for(extractor.labels, corpus))
    return {"model": model, "corpus": corpus, "documents": len(documents), "f1": graph_use(extractor, documents)}


def _masked_language_accuracy(model: str, corpus: str) -> tuple[int, dict[str, float]]:
    initialized = initialize(InitConfig(checkpoint=Path(model)), Optimization(), FormNetForMaskedLM)
    encoder = Encoder(initialized.tokenizer, segments=initialized.model.config.segments)
    masker = Masker(initialized.tokenizer, MASKED, whole_words=True)
    documents = list(open_corpus(corpus))
    pages = HeldOutPages(documents, encoder, masker, max_batch_tokens=MAX_BATCH_TOKENS, seed=0, bf16=False)
    return len(documents), {name: part["accuracy"] for name, part in pages.graph_use(initialized.model).items()}
