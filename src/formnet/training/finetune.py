"""Fine-tuning a token classifier on labeled documents (Section 4.2 of the paper)."""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace

import numpy as np
import torch
from transformers import set_seed

from formnet.document import Document
from formnet.encoding import Encoder, StructureScheme
from formnet.errors import SettingsError
from formnet.evaluation.calibration import POOLED_DEVIATION, Outcomes, fit_calibration, fit_platt
from formnet.evaluation.counts import sum_counts
from formnet.evaluation.evaluate import collect_outcomes, compute_metrics, predict_and_compare
from formnet.evaluation.fields import field_counts
from formnet.extraction.calibration import LabelCalibration, log_odds
from formnet.extraction.extractor import Extractor
from formnet.extraction.schema import Schema
from formnet.extraction.task import label_config
from formnet.modeling import FormNetForTokenClassification
from formnet.modeling.configuration import Task
from formnet.training.config import FineTuning
from formnet.training.data import HeadData, add_teacher_labels, load_training_data
from formnet.training.initialization import InitializedModel, initialize
from formnet.training.run_directory import HELD_OUT, claim_run_directory, finetuning_origin, mark_done
from formnet.training.sampling import DocumentDataset, make_document_dataloader
from formnet.training.trainer import (
    EvalFn,
    FormNetTrainer,
    limit_threads,
    process_count,
    process_rank,
)


def finetune(run: FineTuning, *, resume: bool = True) -> Extractor:
    """Train, and write a model to `run.output` that `Extractor.from_pretrained` loads."""
    limit_threads(run.threads)
    schema = None if run.schema_file is None else Schema.read(run.schema_file)
    heads = load_training_data(run)
    if schema is not None:
        _check_schema(schema, heads)
    origin = finetuning_origin(run.init, heads)
    for head in heads.values():
        add_teacher_labels(head)
    set_seed(run.seed)
    single_value_heads = [name for name, head in heads.items() if head.single_valued]
    schemes = {name: head.scheme for name, head in heads.items()}
    structure = {
        name: StructureScheme.from_documents(head.training, head.scheme.entity_types) for name, head in heads.items()
    }
    config = label_config(
        schemes,
        single_value_heads,
        label_all_occurrences=run.label_all_occurrences,
        day_first=run.day_first,
        join_cells=run.join_cells,
        structure=structure if run.structure else None,
    )
    if run.structure:
        config["key_head"] = any(part.has_keys for part in structure.values())
        config["link_size"] = run.link_size if any(part.link_labels for part in structure.values()) else 0
        config["link_states"] = run.link_states
        linked_labels = Task(**config["task"]).linked_labels
        structure = {name: part._replace(linked_labels=linked_labels) for name, part in structure.items()}
    if run.loss is not None:
        config["loss"] = run.loss
    initialized = initialize(run.init, run.optimization, FormNetForTokenClassification, **config)
    model, tokenizer = initialized.model, initialized.tokenizer
    encoders = [
        Encoder(
            tokenizer,
            head.scheme,
            structure[name] if run.structure else None,
            join_cells=run.join_cells,
            segments=model.config.segments,
        )
        for name, head in heads.items()
    ]
    extractor = Extractor(
        model, tokenizer, max_batch_tokens=run.optimization.max_batch_tokens, bf16=run.optimization.bf16, schema=schema
    )
    training = [head.training for head in heads.values()]
    dataset = DocumentDataset(training, encoders, run.augmentation, run.seed)
    rank, num_processes = process_rank(), process_count()
    loader = make_document_dataloader(run, dataset, encoders[0].padding_id)
    steps = -(-len(loader) // run.optimization.gradient_accumulation_steps)
    held_out = [head.held_out for head in heads.values()]
    if rank == 0:
        claim_run_directory(run, resume=resume, origin={**origin, "processes": num_processes})
        _print_summary(heads, initialized)
        tokenizer.save(str(run.output / "tokenizer.json"))
        if schema is not None:
            schema.save(run.output)
    trainer = FormNetTrainer(
        run,
        initialized,
        loader,
        _make_eval_fn(extractor, held_out) if any(held_out) else None,
        num_train_epochs=1,  # the sampler covers all epochs
        eval_steps=max(1, round(steps * run.eval_every / run.epochs)),
        logging_steps=max(1, round(steps / run.epochs)),
    )
    trainer.run(resume=resume)
    if rank == 0 and any(held_out):
        calibrate(extractor, held_out)
        extractor.save_pretrained(run.output)
        metrics = {
            head: compute_metrics(*predict_and_compare(extractor, documents, head))
            for head, documents in zip(extractor.heads, held_out, strict=True)
        }
        summary = {
            "heads": metrics,
            "calibration": model.config.get_task().calibration,
            "parameters": model.num_parameters(),
        }
        (run.output / HELD_OUT).write_text(json.dumps(summary, indent=2), encoding="utf-8")
    if rank == 0:
        mark_done(run, model.num_parameters())
    return extractor


def _check_schema(schema: Schema, heads: Mapping[str, HeadData]) -> None:
    """Raise if the schema has a label that the documents do not have."""
    labels = {label for head in heads.values() for label in head.scheme.entity_types}
    if unknown := sorted(schema.by_label.keys() - labels):
        raise SettingsError(
            f"schema_file: the documents have no label {unknown[0]!r}. Their labels are {', '.join(sorted(labels))}."
        )


def _print_summary(heads: Mapping[str, HeadData], initialized: InitializedModel[FormNetForTokenClassification]) -> None:
    """Print heads and labels to stderr: a label missing in one corpus creates another head, unnoticed by scores."""
    for name, head in heads.items():
        counts = f"{len(head.training):,} training documents, {len(head.held_out):,} held out"
        print(f"{name}: {counts}; labels: {', '.join(head.scheme.entity_types)}", file=sys.stderr)
    if initialized.new_parameters:
        total = sum(1 for _ in initialized.model.parameters())
        new = len(initialized.new_parameters)
        print(f"{new:,} of {total:,} parameter tensors are newly initialized", file=sys.stderr)


def _make_eval_fn(extractor: Extractor, held_out: Sequence[Sequence[Document]]) -> EvalFn:
    """Return a function that scores field values where documents have them, and entities otherwise."""
    parts = [(head, documents) for head, documents in zip(extractor.heads, held_out, strict=True) if documents]

    def evaluate(_: torch.nn.Module) -> dict[str, float]:
        counts = []
        for head, documents in parts:
            evaluated = predict_and_compare(extractor, documents, head)
            if any(document.fields for document in documents):
                judged = [result.document for result in evaluated.documents]  # words in the order of the predictions
                predicted = [result.predicted for result in evaluated.documents]
                counts += field_counts(judged, predicted, evaluated.scheme.entity_types).by_document
            else:
                counts += [result.counts for result in evaluated.documents]
        score = sum_counts(counts).micro.score
        return {"precision": score.precision, "recall": score.recall, "f1": score.f1}

    return evaluate


def calibrate(extractor: Extractor, held_out: Sequence[Sequence[Document]]) -> None:
    """Fit the calibration of each head on its held-out documents, with the probabilities before calibration."""
    extractor.set_calibration({})
    config = extractor.model.config
    config.task = replace(config.get_task(), link_calibration={}).to_dict()
    extractor.set_calibration(
        {
            head: fit_calibration(collect_outcomes(*predict_and_compare(extractor, documents, head)))
            for head, documents in zip(extractor.heads, held_out, strict=True)
            if documents
        }
    )
    links = {
        head: fit_link_calibration(extractor, head, documents)
        for head, documents in zip(extractor.heads, held_out, strict=True)
        if documents and extractor.predicts_links(head)
    }
    config.task = replace(
        config.get_task(), link_calibration={head: asdict(part) for head, part in links.items()}
    ).to_dict()


def fit_link_calibration(extractor: Extractor, head: str, documents: Sequence[Document]) -> LabelCalibration:
    """Fit the calibration of links on those predicted between the labeled entities."""
    outcomes = [
        (log_odds(score), (owner, part) in document.links)
        for document, links in zip(documents, extractor.link_entities(documents, head), strict=True)
        for owner, part, score in links
    ]
    if not outcomes:
        return LabelCalibration()
    values, correct = zip(*outcomes, strict=True)
    slope, intercept = fit_platt(Outcomes(np.array(values), np.array(correct, np.bool_)), (1.0, 0.0), POOLED_DEVIATION)
    return LabelCalibration(slope, intercept)
