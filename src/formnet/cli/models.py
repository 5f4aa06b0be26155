"""`formnet quantize` and `formnet export`: smaller checkpoints, and ONNX."""

from pathlib import Path
from typing import Annotated

import typer

from formnet.cli.options import Model
from formnet.cli.results import configure_runtime


def quantize(
    model: Model,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder to write the quantized model to.")],
    vocab_from: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CORPUS", help="Corpus whose tokens stay in the vocabulary; repeatable. Default: keep all tokens."
        ),
    ] = None,
) -> None:
    """Store matrices as int8, a quarter of their size, and prune unused tokens from the vocabulary."""
    configure_runtime()
    from formnet.datasets import open_corpus
    from formnet.encoding.tokenizer import tokenize_words
    from formnet.extraction.extractor import Extractor
    from formnet.modeling.onnx import OnnxModel
    from formnet.modeling.quantization import INT8_WEIGHTS_NAME, prune_vocabulary

    extractor = Extractor.from_pretrained(model)
    if isinstance(extractor.model, OnnxModel):
        raise typer.BadParameter(f"{model}: is an exported model. Use the folder that it was exported from.")
    tokenizer = extractor.encoder.tokenizer
    before = tokenizer.get_vocab_size()
    if vocab_from:
        kept_ids = {
            int(i)
            for spec in vocab_from
            for document in open_corpus(spec)
            for i in tokenize_words(tokenizer, document.texts).ids
        }
        schema = extractor.schema if extractor.typed_fields else None
        extractor = Extractor(extractor.model, prune_vocabulary(extractor.model, tokenizer, kept_ids), schema=schema)
    extractor.save_pretrained(folder, quantized=True)
    size = (folder / INT8_WEIGHTS_NAME).stat().st_size / 2**20
    kept = extractor.encoder.tokenizer.get_vocab_size()
    typer.echo(f"{folder}: {size:.1f} MiB of weights, {kept:,} of {before:,} tokens")


def export(
    model: Model,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder to write model.onnx and its files to.")],
    int8: Annotated[bool, typer.Option("--int8", help="Quantize matrices to int8.")] = False,
) -> None:
    """Export a model to ONNX, for onnxruntime; `--model FOLDER` then extracts with it."""
    configure_runtime()
    from formnet.extraction.extractor import Extractor
    from formnet.extraction.pretrained import check_single_format
    from formnet.modeling.onnx import ONNX_NAME, OnnxModel, export_onnx

    check_single_format(folder, ONNX_NAME)
    extractor = Extractor.from_pretrained(model)
    if isinstance(extractor.model, OnnxModel):
        raise typer.BadParameter(f"{model}: is already exported.")
    path = export_onnx(extractor.model, folder, int8=int8)
    extractor.save_files(folder)
    typer.echo(f"{path}: {path.stat().st_size / 2**20:.1f} MiB")
