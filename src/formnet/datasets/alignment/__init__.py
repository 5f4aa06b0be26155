"""A value somebody keyed in → the words that say it.

Most people have a table of values and no boxes. `align` finds each value of `Document.fields` in the document and makes
it an entity; `find` does it for one value and says how it was found and why this occurrence was chosen.
"""

from formnet.datasets.alignment.align import Alignment, Miss, align, find, with_entities
from formnet.datasets.alignment.search import Match

__all__ = ["Alignment", "Match", "Miss", "align", "find", "with_entities"]
