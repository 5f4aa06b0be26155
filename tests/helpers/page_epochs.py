"""Pages of one epoch of a stream."""

from collections.abc import Iterator

from formnet.document import Document
from formnet.training.page_stream import PageStream, StreamPosition


def read_epoch(stream: PageStream, epoch: int = 0) -> Iterator[Document]:
    """Yield the pages of one epoch."""
    sequence = stream.pages(StreamPosition(epoch=epoch))
    for page in sequence:
        if sequence.epoch != epoch:
            return
        yield page
