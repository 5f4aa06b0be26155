"""Fine-tuning: tags for the words of labelled documents (Section 4.2 of the paper)."""

import json
import os
from functools import partial

import torch
from transformers import set_seed

from formnet.document import Document
from formnet.encoding import Encoder
from formnet.evaluation.calibration import fit_temperature
from formnet.evaluation.counts import sum_counts
from formnet.evaluation.evaluate import judge, report
from formnet.extractor import Extractor, labels_of
from formnet.modeling import FormNetForTagging
from formnet.training.batching import Documents, Plan, put_together
from formnet.training.folder import claim_folder
from formnet.training.labelled import load_labelled
from formnet.training.settings import FineTuning
from formnet.training.start import load_start
from formnet.training.trainer import FormNetTrainer, Look, batches_of, limit_threads


def finetune(run: FineTuning, *, resume: bool = True) -> Extractor:
    """Train, and leave in `run.output` what `Extractor.from_pretrained` loads."""
    limit_threads(run.threads)
    data = load_labelled(run)
    set_seed(run.seed)
    model, tokenizer = load_start(run.start, FormNetForTagging, **labels_of(data.scheme))
    encoder = Encoder(tokenizer, data.scheme)
    extractor = Extractor(model, tokenizer, batch_pieces=run.optimisation.batch_pieces, bf16=run.optimisation.bf16)
    documents = Documents(data.training, encoder, run.augmentation, run.seed)
    rank, world = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    lengths = [len(document) for document in documents.encoded]
    plan = Plan(lengths, run.optimisation, run.epochs, run.seed, rank, world)
    steps = -(-len(plan) // run.optimisation.accumulate)
    batches = batches_of(documents, batch_sampler=plan, collate_fn=partial(put_together, padding_id=encoder.padding_id))
    claim_folder(run, resume=resume)
    tokenizer.save(str(run.output / "tokenizer.json"))
    trainer = FormNetTrainer(
        run,
        model,
        batches,
        _look(extractor, data.held_out) if data.held_out else None,
        num_train_epochs=1,  # the plan holds all of them
        eval_steps=max(1, round(steps * run.look_every / run.epochs)),
        logging_steps=max(1, round(steps / run.epochs)),
    )
    trainer.run(resume=resume)
    if data.held_out and rank == 0:
        _calibrate(extractor, encoder, data.held_out)
        extractor.save_pretrained(run.output)
        figures = {**report(judge(extractor, data.held_out)), "parameters": model.num_parameters()}
        (run.output / "held_out.json").write_text(json.dumps(figures, indent=2), encoding="utf-8")
    return extractor


def _look(extractor: Extractor, held_out: list[Document]) -> Look:
    def look(_: torch.nn.Module) -> dict[str, float]:
        score = sum_counts(one.counts for one in judge(extractor, held_out)).micro.score
        return {"precision": score.precision, "recall": score.recall, "f1": score.f1}

    return look


def _calibrate(extractor: Extractor, encoder: Encoder, held_out: list[Document]) -> None:
    tags = [encoder.scheme.document_tags(document) for document in held_out if encoder.scheme is not None]
    extractor.model.config.temperature = fit_temperature(extractor.scores(held_out), tags)
