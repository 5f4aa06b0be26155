"""Several models with the same labels as one."""

from collections.abc import Iterator, Sequence

import numpy as np

from formnet.document import Document
from formnet.errors import SettingsError
from formnet.extraction.extractor import Extractor
from formnet.extraction.links import BatchScores


class Ensemble(Extractor):
    """Averages the tag scores of its members, and decodes them like the first member."""

    def __init__(self, members: Sequence[Extractor]) -> None:
        if any(member.heads != members[0].heads for member in members):
            raise SettingsError("the models have different labels. Use models trained on the same labels.")
        vars(self).update(vars(members[0]))
        self.members = members

    def _score_batches(self, documents: Sequence[Document]) -> Iterator[tuple[list[int], BatchScores]]:
        for batches in zip(*(member._score_batches(documents) for member in self.members), strict=True):
            indices, scores = batches[0]
            yield indices, scores._replace(tags=np.mean([part.tags for _, part in batches], axis=0))
