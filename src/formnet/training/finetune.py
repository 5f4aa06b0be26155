"""Fine-tuning: tags for the words of labeled documents (Section 4.2 of the paper)."""

import json
import sys
from collections.abc import Mapping, Sequence
from functools import partial

import torch
from transformers import set_seed

from formnet.document import Document
from formnet.encoding import Encoder
from formnet.errors import SettingsError
from formnet.evaluation.calibration import fit_temperature
from formnet.evaluation.counts import sum_counts
from formnet.evaluation.evaluate import judge, report
from formnet.evaluation.fields import field_counts
from formnet.extraction.extractor import Extractor, labels_of
from formnet.modeling import FormNetForTokenClassification
from formnet.training.augmentation.blocks import letterheads_of
from formnet.training.config import FineTuning
from formnet.training.data import Labeled, load_labeled
from formnet.training.initialization import InitializedModel, load_start
from formnet.training.run_directory import DONE, HELD_OUT, claim_run_directory, origin_of
from formnet.training.sampling import Documents, Mixture, Plan, put_together
from formnet.training.trainer import EvalFn, FormNetTrainer, batches_of, limit_threads, this_process


def finetune(run: FineTuning, *, resume: bool = True) -> Extractor:
    """Train, and leave in `run.output` what `Extractor.from_pretrained` loads."""
    limit_threads(run.threads)
    parts = load_labeled(run)
    set_seed(run.seed)
    once = [name for name, part in parts.items() if part.once]
    if run.temperatures and len(run.temperatures) != len(parts):
        raise SettingsError(f"temperatures: there are {len(parts)} heads ({', '.join(parts)}), one for each is needed.")
    if run.temperatures and any(part.held_out for part in parts.values()):
        raise SettingsError("temperatures: they are fitted on documents held out; leave them out, or hold out none.")
    schemes = {name: part.scheme for name, part in parts.items()}
    labels = labels_of(schemes, once, everywhere=run.occurrences == "all")
    begun = load_start(run.start, FormNetForTokenClassification, **labels)
    model, tokenizer = begun.model, begun.tokenizer
    encoders = [Encoder(tokenizer, part.scheme) for part in parts.values()]
    extractor = Extractor(
        model, tokenizer, max_batch_tokens=run.optimization.max_batch_tokens, bf16=run.optimization.bf16
    )
    training = [part.training for part in parts.values()]
    documents = Documents(training, encoders, run.augmentation, run.seed, *_mixtures(run, parts))
    rank, world = this_process()
    lengths = [len(document) for document in documents.encoded]
    plan = Plan(lengths, run.optimization, run.epochs, run.seed, rank, world)
    steps = -(-len(plan) // run.optimization.accumulate)
    together = partial(put_together, padding_id=encoders[0].padding_id)
    held_out = [part.held_out for part in parts.values()]
    if rank == 0:
        origin = {**origin_of(run.start, parts), "processes": world}
        claim_run_directory(run, resume=resume, origin=origin)
        _tell(parts, begun)
        tokenizer.save(str(run.output / "tokenizer.json"))
    trainer = FormNetTrainer(
        run,
        begun,
        batches_of(documents, batch_sampler=plan, collate_fn=together),
        _look(extractor, held_out) if any(held_out) else None,
        num_train_epochs=1,  # the plan holds all of them
        eval_steps=max(1, round(steps * run.look_every / run.epochs)),
        logging_steps=max(1, round(steps / run.epochs)),
    )
    trainer.run(resume=resume)
    if rank == 0 and run.temperatures:
        model.config.temperatures = list(run.temperatures)
        extractor.save_pretrained(run.output)
    if rank == 0 and any(held_out):
        calibrate(extractor, held_out)
        extractor.save_pretrained(run.output)
        figures = {
            head: report(*judge(extractor, part, head)) for head, part in zip(extractor.heads, held_out, strict=True)
        }
        summary = {
            "heads": figures,
            "temperatures": model.config.temperatures,
            "parameters": model.num_parameters(),
        }
        (run.output / HELD_OUT).write_text(json.dumps(summary, indent=2), encoding="utf-8")
    if rank == 0:
        written = {"seed": run.seed, "parameters": model.num_parameters()}
        (run.output / DONE).write_text(json.dumps(written), encoding="utf-8")
    return extractor


def _tell(parts: Mapping[str, Labeled], begun: InitializedModel[FormNetForTokenClassification]) -> None:
    """Say what is learned: a label too few in one file makes another head, and nobody would see it from scores."""
    for name, part in parts.items():
        counts = f"{len(part.training):,} documents, {len(part.held_out):,} held out"
        print(f"{name}: {counts}; {', '.join(part.scheme.entity_types)}", file=sys.stderr)
    if begun.new:
        weights = sum(1 for _ in begun.model.parameters())
        print(f"{len(begun.new):,} of {weights:,} tensors of weights start anew", file=sys.stderr)


def _mixtures(run: FineTuning, parts: Mapping[str, Labeled]) -> tuple[dict[int, Mixture], dict[int, Mixture]]:
    """Find what may stand around the documents of those heads that want it: by their head, and by the letterheads'."""
    numbers = {name: number for number, name in enumerate(parts)}
    for name in (*run.letterheads, *run.letterheads.values()):
        if name not in parts:
            raise SettingsError(f"letterheads: there is no head {name!r}; there are {', '.join(parts)}.")
    around, between = {}, {}
    for head, source in run.letterheads.items():
        documents = [document for document in parts[head].training if all(page.texts for page in document.pages)]
        mixture = Mixture(documents, letterheads_of(parts[source].training), run.alike)
        if not (documents and mixture.letterheads):
            raise SettingsError(f"letterheads: none is to be found in {source}, or no document for them in {head}.")
        for label, theirs in run.alike.items():
            if label not in parts[source].scheme.entity_types or theirs not in parts[head].scheme.entity_types:
                raise SettingsError(f"alike: either {source} has no {label!r}, or {head} no {theirs!r}.")
        if numbers[source] in between and run.augmentation.body:
            told = f"{source} is named twice; with augmentation.body it can be put around one head's documents"
            raise SettingsError(f"letterheads: {told}.")
        around[numbers[head]] = between[numbers[source]] = mixture
    return around, between


def _look(extractor: Extractor, held_out: Sequence[Sequence[Document]]) -> EvalFn:
    """Score as users would: values where they were keyed in, whole entities where those were marked."""

    parts = [(head, part) for head, part in zip(extractor.heads, held_out, strict=True) if part]

    def look(_: torch.nn.Module) -> dict[str, float]:
        counts = []
        for head, part in parts:
            judged, scheme = judge(extractor, part, head)
            if any(document.fields for document in part):
                found = [one.found for one in judged]
                counts += field_counts(part, found, scheme.entity_types).by_document
            else:
                counts += [one.counts for one in judged]
        score = sum_counts(counts).micro.score
        return {"precision": score.precision, "recall": score.recall, "f1": score.f1}

    return look


def calibrate(extractor: Extractor, held_out: Sequence[Sequence[Document]]) -> None:
    """Fit each head's temperature on its held-out documents."""
    extractor.model.config.temperatures = [
        fit_temperature(
            [extractor.split_heads(scores)[head] for scores in extractor.scores(documents)],
            documents,
            scheme,
            once=extractor.once(head),
            everywhere=extractor.model.config.everywhere,
        )
        for (head, scheme), documents in zip(extractor.heads.items(), held_out, strict=True)
    ]
