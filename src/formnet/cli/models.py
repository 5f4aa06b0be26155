"""`formnet compact` and `formnet export`: a trained network made small, or written for another engine."""

from pathlib import Path
from typing import Annotated

import typer

from formnet.cli.figures import prepare
from formnet.cli.options import Model


def compact(
    model: Model,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where to write the small model.")],
    seen: Annotated[
        list[str] | None,
        typer.Option(metavar="CORPUS", help="Keep only pieces that occur here; give it several times."),
    ] = None,
) -> None:
    """Store matrices in eight bits, a quarter of their size, and forget pieces that never occur."""
    prepare()
    from formnet.datasets import open_corpus
    from formnet.encoding.tokenizer import cut
    from formnet.extraction.extractor import Extractor
    from formnet.modeling.onnx import OnnxNetwork
    from formnet.modeling.quantization import WEIGHTS, prune_vocabulary

    extractor = Extractor.from_pretrained(model)
    if isinstance(extractor.model, OnnxNetwork):
        raise typer.BadParameter(f"{model}: is exported; name the folder that it was exported from")
    tokenizer = extractor.encoder.tokenizer
    before = tokenizer.get_vocab_size()
    if seen:
        pieces = {int(i) for spec in seen for document in open_corpus(spec) for i in cut(tokenizer, document.texts).ids}
        extractor = Extractor(extractor.model, prune_vocabulary(extractor.model, tokenizer, pieces))
    extractor.save_pretrained(folder, compact=True)
    size = (folder / WEIGHTS).stat().st_size / 2**20
    kept = extractor.encoder.tokenizer.get_vocab_size()
    typer.echo(f"{folder}: {size:.1f} MiB of weights, {kept:,} of {before:,} pieces")


def export(
    model: Model,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where to write model.onnx and what goes with it.")],
    int8: Annotated[bool, typer.Option("--int8", help="Store and multiply matrices in eight bits.")] = False,
) -> None:
    """Write a trained network as ONNX, for onnxruntime; `--model FOLDER` then extracts with it."""
    prepare()
    from formnet.extraction.extractor import Extractor
    from formnet.extraction.pretrained import refuse_other_forms
    from formnet.modeling.onnx import GRAPH, OnnxNetwork, export_onnx

    refuse_other_forms(folder, GRAPH)
    extractor = Extractor.from_pretrained(model)
    if isinstance(extractor.model, OnnxNetwork):
        raise typer.BadParameter(f"{model}: is exported already")
    written = export_onnx(extractor.model, folder, int8=int8)
    extractor.encoder.tokenizer.save(str(folder / "tokenizer.json"))
    typer.echo(f"{written}: {written.stat().st_size / 2**20:.1f} MiB")
