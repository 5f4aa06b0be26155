"""`formnet quantize`, `formnet export` and `formnet add-types`: changes to trained models."""

from pathlib import Path
from typing import Annotated

import typer

from formnet.cli.options import Model, TypedCorpora, split_types
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
    from formnet.extraction.pretrained import find_model
    from formnet.modeling import FormNetConfig
    from formnet.modeling.onnx import OnnxModel
    from formnet.modeling.quantization import is_pretrained_only, prune_vocabulary
    from formnet.modeling.weights import INT8_WEIGHTS_NAME

    if is_pretrained_only(FormNetConfig.from_pretrained(find_model(model))):
        if vocab_from:
            raise typer.BadParameter(f"{model}: a pre-trained model keeps its vocabulary. Leave out --vocab-from.")
        _quantize_pretrained(find_model(model), folder)
        return
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
        tokenizer = prune_vocabulary(extractor.model, tokenizer, kept_ids)
        extractor = Extractor(extractor.model, tokenizer, schema=extractor.own_schema)
    extractor.save_pretrained(folder, quantized=True)
    size = (folder / INT8_WEIGHTS_NAME).stat().st_size / 2**20
    kept = extractor.encoder.tokenizer.get_vocab_size()
    typer.echo(f"{folder}: {size:.1f} MiB of weights, {kept:,} of {before:,} tokens")


def _quantize_pretrained(source: Path, folder: Path) -> None:
    """Write a masked language model in int8, with its tokenizer."""
    from formnet.encoding import load_tokenizer
    from formnet.extraction.pretrained import check_single_format
    from formnet.modeling import FormNetForMaskedLM
    from formnet.modeling.quantization import save_quantized
    from formnet.modeling.weights import INT8_WEIGHTS_NAME

    check_single_format(folder, INT8_WEIGHTS_NAME)
    save_quantized(FormNetForMaskedLM.from_pretrained(source), folder)
    load_tokenizer(source).save(str(folder / "tokenizer.json"))
    typer.echo(f"{folder}: {(folder / INT8_WEIGHTS_NAME).stat().st_size / 2**20:.1f} MiB of weights")


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


def add_types(
    model: Model,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder to write the model to.")],
    documents: TypedCorpora,
) -> None:
    """Add a classifier of document types to a model, by which `AutoExtractor` chooses a model per document."""
    configure_runtime()
    from formnet.datasets import open_corpus
    from formnet.document import Document
    from formnet.extraction.extractor import Extractor
    from formnet.training.document_types import add_type_classifier

    by_type: dict[str, list[Document]] = {}
    for name, spec in split_types(documents):
        by_type.setdefault(name, []).extend(open_corpus(spec))
    extractor = Extractor.from_pretrained(model)
    recall = add_type_classifier(extractor, by_type)
    extractor.save_pretrained(folder)
    types = ", ".join(f"{name} ({recall[name]:.1%} of every fifth of {len(part):,})" for name, part in by_type.items())
    typer.echo(f"{folder}: recognizes {types}")
