"""Alignment of field values with the words of a document.

`align` locates each value of `Document.fields` and adds it as an entity, so that documents labeled with values only can
be used for training. `find` locates a single value and reports the match method and the reason for the choice.
"""

from formnet.datasets.alignment.align import Alignment, Miss, align, find, with_entities
from formnet.datasets.alignment.search import Match

__all__ = ["Alignment", "Match", "Miss", "align", "find", "with_entities"]
