"""Ad-buy: political ad invoices and contracts filed with the FCC, with five keyed-in values each and no boxes.

Words and boxes come from the PDFs' own text layers, the values from DeepForm's labels (MIT); the documents are
public filings. `{train,validation,test}.jsonl.gz`, our JSONL with `fields`; `datasets.alignment` finds the words.
A sixth of the documents print the flight as one word, 05/28/20-06/03/20, which is two of the values.
"""

from formnet.datasets.jsonl import Jsonl
from formnet.document import Document
from formnet.io.date_ranges import split_ranges
from formnet.io.readers.jsonl import Line


class Adbuy(Jsonl):
    """Invoices and contracts of the ad-buy corpus."""

    entity_types = ("contract_num", "advertiser", "gross_amount", "flight_from", "flight_to")

    def parse(self, source: Line) -> Document:
        """Read one document, ranges of dates taken apart."""
        return split_ranges(super().parse(source))

    def expected(self) -> str:
        """Say what should have been there."""
        return "holds no ad-buy corpus; expected train.jsonl.gz, validation.jsonl.gz or test.jsonl.gz in it."


CORPUS = Adbuy
