from pathlib import Path

from formnet.datasets import open_corpus


def test_jsonl_without_split_reads_all_files(examples: Path) -> None:
    corpus = open_corpus(f"jsonl:{examples}")
    assert corpus.splits == ("documents",)
    assert [d.id for d in corpus] == ["cafe-receipt", "printer-invoice"]
