"""Alignment of field values with the words of a document.

`align` locates each value of `Document.fields` and adds it as an entity, so that documents labeled with values only can
be used for training. `find` locates a single value and reports the match method and the reason for the choice.
`align_items` locates a table of items, row by row. `with_captions` adds captions to the entities of
located values.
"""

from formnet.datasets.alignment.align import Alignment, Miss, align, find, with_entities
from formnet.datasets.alignment.captions import with_captions
from formnet.datasets.alignment.items import align_items
from formnet.datasets.alignment.search import Match

__all__ = ["Alignment", "Match", "Miss", "align", "align_items", "find", "with_captions", "with_entities"]
