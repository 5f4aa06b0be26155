"""Pages that a pre-training run leaves out: held-out documents, excluded ones, and near-duplicates of both."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from formnet.datasets import open_corpus
from formnet.datasets.near_duplicates import NEAR_DUPLICATE_SHARE, PageIndex
from formnet.document import Document
from formnet.io.readers import read
from formnet.io.writers import write

#: Suffix of the id of a page that is a record of its own, as in report.pdf#2 and report_3.
_PAGE_NUMBER = re.compile(r"[#/_]\d{1,3}$")
_FILE_SUFFIX = re.compile(r"\.\w{2,4}$")


#: Files of a split: the pages that are not trained on, with reasons, and those of them to evaluate on.
LEFT_OUT, HELD_OUT_PAGES = "left_out.json", "held_out_pages.jsonl"


@dataclass(frozen=True)
class LeftOut:
    """A page that is not trained on, and why."""

    file: str  # its name, because a run may be moved with the copies of corpora in it
    page: str
    reason: str


@dataclass(frozen=True)
class PageSplit:
    """Pages to evaluate on, and pages to leave out of training: the former, excluded ones and near-duplicates."""

    held_out: list[Document]
    left_out: list[LeftOut]

    def save(self, folder: Path) -> None:
        """Write the pages to a folder, with the numbers of pages left out for each reason."""
        reasons = Counter(page.reason.partition(":")[0] for page in self.left_out)
        pages = [[page.file, page.page, page.reason] for page in self.left_out]
        left_out = json.dumps({"counts": dict(reasons), "pages": pages}, indent=1)
        (folder / LEFT_OUT).write_text(left_out, encoding="utf-8")
        if self.held_out:
            write(self.held_out, folder / HELD_OUT_PAGES)

    @classmethod
    def load(cls, folder: Path) -> "PageSplit":
        """Load a split that `save` wrote."""
        left_out = json.loads((folder / LEFT_OUT).read_text(encoding="utf-8"))["pages"]
        held_out = folder / HELD_OUT_PAGES
        pages = [LeftOut(Path(file).name, page, reason) for file, page, reason in left_out]
        return cls(list(read(held_out)) if held_out.is_file() else [], pages)


def copy_words(corpora: Sequence[str], folder: Path, *, reuse: bool) -> list[Path]:
    """Write the words of each corpus to a file of pages in a folder, and return the files; `reuse` keeps old ones.

    IDs name the corpus: its documents are complete, also if their IDs end like page numbers, and a document of another
    corpus may have the same ID.
    """
    files: list[Path] = []
    for number, spec in enumerate(corpora):
        file = folder / f"corpus-{number}-{spec.partition(':')[0]}.jsonl.gz"
        files.append(file)
        if not (reuse and file.is_file()):
            write((_without_labels(document, f"{document.id} of {spec}") for document in open_corpus(spec)), file)
    return files


def _without_labels(document: Document, name: str) -> Document:
    pages = tuple(replace(page, image=None) for page in document.pages)
    return replace(document, id=name, pages=pages, entities=(), links=(), fields={})


def split_pages(files: Sequence[Path], held_out_pages: int, exclude: Sequence[str]) -> PageSplit:
    """Hold out complete documents from the start of each file, and find the pages to leave out.

    Args:
        files: Files of pages.
        held_out_pages: Pages to hold out per file, rounded up to complete documents.
        exclude: Corpora whose documents, and near-duplicates of their pages, are left out.
    """
    excluded = [document for spec in exclude for document in open_corpus(spec)]
    held_out_ids = [_first_documents(file, held_out_pages) for file in files]
    held_out = [
        page
        for file, ids in zip(files, held_out_ids, strict=True)
        if ids
        for page in read_pages(file)
        if source_id(page.id) in ids
    ]
    if not (excluded or held_out):
        return PageSplit([], [])
    excluded_ids = {source_id(document.id) for document in excluded}
    index = PageIndex([*excluded, *held_out])
    left_out: list[LeftOut] = []
    for file, ids in zip(files, held_out_ids, strict=True):
        for page in read_pages(file):
            reason = _reason(page, ids, excluded_ids, index)
            if reason:
                left_out.append(LeftOut(file.name, page.id, reason))
    # A page of an excluded document must not be evaluated on either.
    kept = [page for page in held_out if source_id(page.id) not in excluded_ids]
    return PageSplit(kept, left_out)


def _reason(page: Document, held_out: set[str], excluded: set[str], index: PageIndex) -> str | None:
    """Return why a page is left out; None if it is trained on."""
    source = source_id(page.id)
    if source in excluded:
        return "page of an excluded document"
    if source in held_out:
        return "held out"
    nearest = index.nearest(page)
    return f"near-duplicate: {nearest.other}" if nearest.share >= NEAR_DUPLICATE_SHARE else None


def _first_documents(file: Path, pages: int) -> set[str]:
    """Return the ids of the first documents of a file, until they have this number of pages."""
    return {source_id(page.id) for page in islice(read_pages(file), pages)}


def source_id(page_id: str) -> str:
    """Return the id of the document that a page is from, without page number and file suffix.

    >>> source_id("report.pdf#2"), source_id("ffbf0023_4"), source_id("receipt_00068")
    ('report', 'ffbf0023', 'receipt_00068')
    """
    previous = None
    while previous != page_id:  # a one-page record of a page: report.pdf#2/1
        previous, page_id = page_id, _PAGE_NUMBER.sub("", page_id)
    return _FILE_SUFFIX.sub("", page_id)


def read_pages(file: Path) -> Iterator[Document]:
    """Yield the pages of a file as documents of one page each, except those without words."""
    return (page for _, _, page in read_numbered_pages(file))


def read_numbered_pages(file: Path, documents: int = 0, pages: int = 0) -> Iterator[tuple[int, int, Document]]:
    """Yield pages with the numbers of their document and within it, both from 0.

    The first `documents` are skipped without parsing them, and then the first `pages` of the next one.
    """
    for document_number, document in enumerate(read(file, skip=documents), documents):
        for number, page in enumerate(document.pages):
            if page.texts and (document_number, number) >= (documents, pages):
                single = replace(document, id=f"{document.id}/{number + 1}", pages=(page,), entities=(), links=())
                yield document_number, number, single
