"""Fuzz a parser with coverage guidance: `python tests/helpers/fuzz.py hocr --seconds 600`.

A parser may raise only `FormNetError`, within the time and memory limits. Inputs that break it are saved to
tests/hostile/<parser>/, which tests/io/test_hostile_input.py reads.
"""

import argparse
import hashlib
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

HOSTILE_DIR = Path(__file__).parent.parent / "hostile"
#: Time limit per input in seconds; a slower input counts as a failure.
TIMEOUT = 5.0
#: Parsers by name, with the suffix of their files.
PARSERS = {
    "pdf": ".pdf",
    "image": ".png",
    "hocr": ".hocr",
    "alto": ".xml",
    "page-xml": ".xml",
    "textract": ".json",
    "azure": ".json",
    "document-ai": ".json",
    "jsonl": ".jsonl",
    "label-studio": ".json",
}


def read_all(file: Path, parser: str) -> None:
    """Read all documents of a file, ignoring `FormNetError`."""
    from formnet.errors import FormNetError

    try:
        if parser == "label-studio":
            from formnet.datasets import open_corpus

            list(open_corpus(f"label_studio:{file}"))
        else:
            from formnet.io.readers import read
            from ocr_engines import BlankEngine

            list(read(file, BlankEngine()))
    except FormNetError:
        pass


def make_target(parser: str, folder: Path) -> Callable[[bytes], None]:
    """Return the function that the fuzzer calls with each input."""
    file = folder / f"input{PARSERS[parser]}"

    def run_input(data: bytes) -> None:
        file.write_bytes(data)
        start = time.perf_counter()
        try:
            read_all(file, parser)
            if time.perf_counter() - start > TIMEOUT:
                raise TimeoutError(f"took {time.perf_counter() - start:.1f} s")
        except BaseException:
            saved = HOSTILE_DIR / parser / f"{hashlib.sha256(data).hexdigest()[:16]}{PARSERS[parser]}"
            saved.parent.mkdir(parents=True, exist_ok=True)
            saved.write_bytes(data)
            print(f"saved as {saved}", file=sys.stderr)
            raise

    return run_input


def write_seeds(parser: str, folder: Path) -> None:
    """Write the initial corpus of the fuzzer."""
    from hostile_seeds import SEEDS

    for number, seed in enumerate(SEEDS[parser]):
        (folder / f"seed-{number}").write_bytes(seed)


def main() -> None:
    """Run the fuzzer."""
    import atheris

    options = argparse.ArgumentParser()
    options.add_argument("parser", choices=PARSERS)
    options.add_argument("--seconds", type=int, default=600)
    arguments = options.parse_args()
    with atheris.instrument_imports(include=["formnet", "PIL", "defusedxml", "xml", "json"]):
        import formnet.datasets.label_studio
        import formnet.io.images
        import formnet.io.pdfium
        import formnet.io.readers

        # Reader modules are imported on first use, which is after instrumentation.
        for module in iter_modules(formnet.io.readers.__path__):
            import_module(f"formnet.io.readers.{module.name}")
    work = Path(tempfile.mkdtemp())
    corpus = work / "corpus"
    corpus.mkdir()
    write_seeds(arguments.parser, corpus)
    flags = [sys.argv[0], str(corpus), f"-max_total_time={arguments.seconds}", "-rss_limit_mb=2048", "-timeout=20"]
    atheris.Setup(flags, make_target(arguments.parser, work))
    atheris.Fuzz()


if __name__ == "__main__":
    main()
