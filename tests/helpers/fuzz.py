"""Feed a parser what a coverage-guided fuzzer makes up: `python tests/helpers/fuzz.py hocr --seconds 600`.

Only a `FormNetError` may come out, within the time and memory given. What breaks a parser is written to
tests/hostile/<parser>/, where test_hostile.py reads it for ever after.
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

HOSTILE = Path(__file__).parent.parent / "hostile"
#: An input that takes longer is as bad as one that raises.
SECONDS = 5.0
#: Parsers by name, with the suffix that their files have.
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


class Blind:
    """An engine that sees nothing."""

    name = "blind"

    def read(self, _: object) -> object:
        from formnet.io.ocr import Reading

        return Reading((), (), ())


def read_all(file: Path, parser: str) -> None:
    """Read a file to its end, as a user would; what a user may be told is fine."""
    from formnet.errors import FormNetError

    try:
        if parser == "label-studio":
            from formnet.datasets import open_corpus

            list(open_corpus(f"label_studio:{file}"))
        else:
            from formnet.io.readers import read

            list(read(file, Blind()))
    except FormNetError:
        pass


def target(parser: str, folder: Path) -> Callable[[bytes], None]:
    file = folder / f"input{PARSERS[parser]}"

    def one_input(data: bytes) -> None:
        file.write_bytes(data)
        began = time.perf_counter()
        try:
            read_all(file, parser)
            if time.perf_counter() - began > SECONDS:
                raise TimeoutError(f"took {time.perf_counter() - began:.1f} s")
        except BaseException:
            kept = HOSTILE / parser / f"{hashlib.sha256(data).hexdigest()[:16]}{PARSERS[parser]}"
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_bytes(data)
            print(f"kept as {kept}", file=sys.stderr)
            raise

    return one_input


def seeds(parser: str, folder: Path) -> None:
    """Give the fuzzer something to start from."""
    from hostile_seeds import SEEDS

    for number, seed in enumerate(SEEDS[parser]):
        (folder / f"seed-{number}").write_bytes(seed)


def main() -> None:
    import atheris

    options = argparse.ArgumentParser()
    options.add_argument("parser", choices=PARSERS)
    options.add_argument("--seconds", type=int, default=600)
    chosen = options.parse_args()
    with atheris.instrument_imports(include=["formnet", "PIL", "defusedxml", "xml", "json"]):
        import formnet.datasets.label_studio
        import formnet.io.images
        import formnet.io.pdfium
        import formnet.io.readers

        for module in iter_modules(formnet.io.readers.__path__):  # they are loaded when asked for, which is too late
            import_module(f"formnet.io.readers.{module.name}")
    work = Path(tempfile.mkdtemp())
    corpus = work / "corpus"
    corpus.mkdir()
    seeds(chosen.parser, corpus)
    arguments = [sys.argv[0], str(corpus), f"-max_total_time={chosen.seconds}", "-rss_limit_mb=2048", "-timeout=20"]
    atheris.Setup(arguments, target(chosen.parser, work))
    atheris.Fuzz()


if __name__ == "__main__":
    main()
