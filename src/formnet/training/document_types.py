"""A classifier of document types on the global token of a trained model, whose other weights stay as they are."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from formnet.document import Document
from formnet.encoding import buckets, collate
from formnet.errors import SettingsError
from formnet.extraction.extractor import Extractor
from formnet.modeling.onnx import OnnxModel

#: Weight of the squared norm in the loss, which keeps probabilities of separable types below 1.
_REGULARIZATION = 1e-4
_MAX_STEPS = 200
#: One document in this number is held out to measure recall.
_FOLDS = 5


def add_type_classifier(extractor: Extractor, documents: Mapping[str, Sequence[Document]]) -> dict[str, float]:
    """Fit the classifier to documents by type, and return its recall of each type.

    Recall is measured on every fifth document of a type, with a classifier that was fitted to the others.
    """
    model = extractor.model
    if isinstance(model, OnnxModel):
        raise SettingsError("an exported model cannot be changed. Use the model that it was exported from.")
    if len(documents) < 2 or any(len(part) < _FOLDS for part in documents.values()):
        raise SettingsError(f"at least two types with {_FOLDS} documents each are needed.")
    types = torch.repeat_interleave(torch.tensor([len(part) for part in documents.values()]))
    states = global_states(extractor, [document for part in documents.values() for document in part])
    model.config.document_types = list(documents)
    model.type_classifier = fit_classifier(states, types).to(model.device)
    held_out = torch.cat([torch.arange(len(part)) % _FOLDS == 0 for part in documents.values()])
    predicted = fit_classifier(states[~held_out], types[~held_out])(states[held_out]).argmax(-1)
    is_right = (predicted == types[held_out]).float()
    return {name: float(is_right[types[held_out] == number].mean()) for number, name in enumerate(documents)}


def global_states(extractor: Extractor, documents: Sequence[Document]) -> Tensor:
    """Compute the states of the global token: [documents, d]."""
    assert not isinstance(extractor.model, OnnxModel)
    encoded = [extractor.encoder(document) for document in documents]
    states = torch.empty(len(documents), extractor.model.config.hidden_size)
    for indices in buckets([len(document) for document in encoded], extractor.max_batch_tokens):
        batch = collate([encoded[i] for i in indices], extractor.encoder.padding_id)
        inputs = {name: tensor.to(extractor.model.device) for name, tensor in batch.items() if name != "ids"}
        with torch.inference_mode():
            states[indices] = extractor.model.formnet(**inputs).global_state.float().cpu()
    return states


def fit_classifier(states: Tensor, types: Tensor) -> nn.Linear:
    """Fit a multinomial logistic regression of types [n] on states [n, d]."""
    counts = types.bincount()
    classifier = nn.Linear(states.shape[1], len(counts))
    nn.init.zeros_(classifier.weight)
    nn.init.zeros_(classifier.bias)
    optimizer = torch.optim.LBFGS(classifier.parameters(), max_iter=_MAX_STEPS, line_search_fn="strong_wolfe")
    weight = len(types) / (len(counts) * counts)

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss = F.cross_entropy(classifier(states), types, weight)
        loss = loss + _REGULARIZATION * classifier.weight.square().sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    return classifier.requires_grad_(False)
