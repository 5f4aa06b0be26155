"""Ad-buy: political ad invoices and contracts filed with the FCC, with five field values per document and no boxes.

Layout: `{train,validation,test}.jsonl.gz` in FormNet JSONL with `fields`; `datasets.alignment` locates the values.
Words and boxes come from the text layers of the PDFs (public filings), the values from DeepForm (MIT).
A sixth of the documents print the flight dates as one word, 05/28/20-06/03/20, which contains two of the values.
"""

from formnet.datasets.jsonl import Jsonl
from formnet.document import Document
from formnet.io.glued_words import split_glued_words
from formnet.io.readers.jsonl import Line


class Adbuy(Jsonl):
    """The ad-buy corpus."""

    entity_types = ("contract_num", "advertiser", "gross_amount", "flight_from", "flight_to")
    canonical_names = {  # noqa: RUF012
        "contract_num": "contract_number",
        "advertiser": "customer.name",
        "gross_amount": "total",
        "flight_from": "service_start",
        "flight_to": "service_end",
    }

    def parse(self, source: Line) -> Document:
        """Parse one document and split glued words, such as date ranges."""
        return split_glued_words(super().parse(source))

    def expected(self) -> str:
        """Return the error message for a path without ad-buy files."""
        return "no ad-buy files found. Expected a folder with train.jsonl.gz, validation.jsonl.gz or test.jsonl.gz."


CORPUS = Adbuy
