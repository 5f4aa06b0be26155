"""Fine-tune with transformers' Trainer: `python examples/finetune_with_transformers.py funsd:data/funsd@train`.

Written as one would write it for LayoutLMv3. `formnet train` does the same and more: other losses, augmentation,
calibration and resuming.
"""

import argparse
from itertools import islice
from pathlib import Path

import torch
from torch.utils.data import Dataset
from transformers import AutoModelForTokenClassification, Trainer, TrainingArguments

from formnet import FormNetProcessor, open_corpus
from formnet.document import Document
from formnet.extraction.pretrained import find_model


class Forms(Dataset[dict[str, object]]):
    """Encoded documents with a BIO label per word."""

    def __init__(self, documents: list[Document], processor: FormNetProcessor, label2id: dict[str, int]) -> None:
        self.examples = []
        for document in documents:
            page = document.pages[0]
            labels = ["O"] * document.num_words
            for entity in document.entities:
                for position, word in enumerate(entity.words):
                    labels[word] = f"{'I' if position else 'B'}-{entity.label}"
            ids = [label2id[label] for label in labels]
            boxes = 1000 * page.boxes / max(page.width, page.height)  # keeps the shape of the page
            self.examples.append(processor.encode(words=page.texts, boxes=boxes, word_labels=ids))

    def __len__(self) -> int:
        return len(self.examples)

    def __getitem__(self, index: int) -> dict[str, object]:
        return self.examples[index]


def main(corpus: str, output: Path, documents: int, epochs: int, checkpoint: str) -> float:
    """Train on the first documents of a corpus; return the share of words of entities that are then labeled right."""
    forms = [document for document in islice(open_corpus(corpus), documents) if len(document.pages) == 1]
    types = sorted({entity.label for form in forms for entity in form.entities})
    labels = ["O", *(f"{prefix}-{name}" for name in types for prefix in "BI")]
    label2id = {label: number for number, label in enumerate(labels)}

    processor = FormNetProcessor.from_pretrained(checkpoint)
    model = AutoModelForTokenClassification.from_pretrained(
        find_model(checkpoint),
        id2label=dict(enumerate(labels)),
        label2id=label2id,
        task=None,  # without the task of the checkpoint
        loss="token",
        ignore_mismatched_sizes=True,  # the classifier is new
    )
    dataset = Forms(forms, processor, label2id)
    arguments = TrainingArguments(
        output_dir=str(output),
        num_train_epochs=epochs,
        per_device_train_batch_size=2,
        learning_rate=3e-4,
        warmup_steps=10,
        remove_unused_columns=False,  # inputs are arguments of inner modules
        save_strategy="no",
        report_to="none",
        logging_steps=20,
        use_cpu=not torch.cuda.is_available(),
    )
    Trainer(model=model, args=arguments, train_dataset=dataset, data_collator=processor.collate).train()
    model.save_pretrained(output)
    processor.save_pretrained(output)

    model.eval()
    right = total = 0
    for example in dataset.examples:
        batch = processor.collate([example])
        with torch.no_grad():
            predicted = model(**batch).logits.argmax(-1)
        is_entity = batch["labels"] > 0
        right += int((predicted == batch["labels"])[is_entity].sum())
        total += int(is_entity.sum())
    return right / max(total, 1)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus")
    parser.add_argument("--output", type=Path, default=Path("runs/transformers"))
    parser.add_argument("--documents", type=int, default=10)
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--checkpoint", default="base")
    options = parser.parse_args()
    accuracy = main(options.corpus, options.output, options.documents, options.epochs, options.checkpoint)
    print(f"{accuracy:.1%} of the words of entities in the training forms are labeled right")
