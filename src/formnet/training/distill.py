"""Distillation: training on the tag probabilities of other models for unlabeled documents."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

import numpy as np
from numpy.typing import NDArray
from transformers import set_seed

from formnet.datasets import open_corpus
from formnet.document import Document
from formnet.encoding.tokenizer import mask_id
from formnet.errors import SettingsError
from formnet.extraction.extractor import Extractor
from formnet.modeling import FormNetForTokenClassification
from formnet.modeling.crf import forward_backward
from formnet.training.config import Distillation
from formnet.training.ensemble import Ensemble
from formnet.training.initialization import initialize
from formnet.training.run_directory import claim_run_directory, compute_origin, mark_done
from formnet.training.sampling import TaughtDataset, make_document_dataloader
from formnet.training.trainer import (
    FormNetTrainer,
    limit_threads,
    process_count,
    process_rank,
)


def distill(run: Distillation, *, resume: bool = True) -> Extractor:
    """Train, and write a model to `run.output` that `Extractor.from_pretrained` loads."""
    limit_threads(run.threads)
    teacher = Ensemble([Extractor.from_pretrained(source) for source in run.teachers])
    corpora = (document for spec in run.corpus for document in open_corpus(spec))
    documents = [document for document in islice(corpora, run.documents) if document.num_words]
    if not documents:
        raise SettingsError(f"{', '.join(run.corpus)}: no document has words. Check the path.")
    set_seed(run.seed)
    config = teacher.model.config
    labels = {"id2label": config.id2label, "label2id": config.label2id, "loss": "crf"}
    heads = {"task": {"heads": config.get_task().heads}}
    initialized = initialize(run.init, run.optimization, FormNetForTokenClassification, **labels, **heads)
    model, tokenizer = initialized.model, initialized.tokenizer
    extractor = Extractor(
        model, tokenizer, max_batch_tokens=run.optimization.max_batch_tokens, bf16=run.optimization.bf16
    )
    encoded = [
        replace(extractor.encoder(document), tags=probabilities)
        for document, probabilities in zip(documents, tag_probabilities(teacher, documents), strict=True)
    ]
    dataset = TaughtDataset(encoded, run.token_mask, mask_id(tokenizer), run.seed)
    rank, num_processes = process_rank(), process_count()
    loader = make_document_dataloader(run, dataset, extractor.encoder.padding_id)
    steps = -(-len(loader) // run.optimization.gradient_accumulation_steps)
    if rank == 0:
        origin = compute_origin(run.init, {("", ""): documents}, run.teachers)
        claim_run_directory(run, resume=resume, origin={**origin, "processes": num_processes})
        tokenizer.save(str(run.output / "tokenizer.json"))
    trainer = FormNetTrainer(
        run,
        initialized,
        loader,
        None,
        num_train_epochs=1,  # the sampler covers all epochs
        logging_steps=max(1, steps // 20),
    )
    trainer.run(resume=resume)
    if rank == 0:
        mark_done(run, model.num_parameters())
    return extractor


def tag_probabilities(teacher: Extractor, documents: Sequence[Document]) -> list[NDArray[np.float32]]:
    """Compute the probability of every tag at every word among all legal paths of each head: [W, T] per document."""
    return [
        np.concatenate(
            [
                forward_backward(part[None], np.ones((1, len(part)), np.bool_)).marginals()[0]
                for part in teacher.split_heads(scores).values()
            ],
            axis=-1,
            dtype=np.float32,
        )
        for scores in teacher.scores(documents)
    ]
