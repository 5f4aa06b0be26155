"""`FormNetProcessor`: words and boxes, or images read by OCR, to the inputs of the model, as in transformers.

Code written for `LayoutLMv3Processor` needs three changes: documents are not truncated, labels belong to words instead
of tokens, and batches are padded by `FormNetProcessor.collate` instead of a tokenizer.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from tokenizers import Tokenizer
from transformers import BatchFeature

import formnet.modeling  # noqa: F401 - registers the models with transformers
from formnet.document import Document
from formnet.document.builder import DocumentBuilder
from formnet.encoding import EncodedDocument, Encoder, collate, load_tokenizer
from formnet.errors import DocumentError
from formnet.extraction.pretrained import find_model
from formnet.io.ocr import find_engine

#: Units of boxes without an image: shares of the page in thousandths, as in LayoutLM.
BOX_UNITS = 1000.0


class FormNetProcessor:
    """Prepares documents for the model: words with boxes between 0 and 1000, or images that an OCR engine reads.

    Words are encoded in the given order, also for a model with `join_cells`.

    >>> processor = FormNetProcessor.from_pretrained("receipts")
    >>> inputs = processor(words=["Total", "9.00"], boxes=[[100, 100, 200, 120], [300, 100, 400, 120]])
    >>> inputs["first_token"].shape
    torch.Size([1, 2])
    """

    def __init__(self, tokenizer: Tokenizer, *, apply_ocr: bool = False, ocr: str = "auto") -> None:
        """Create a processor; with `apply_ocr`, words and boxes are read from images by the engine `ocr`."""
        self.tokenizer, self.apply_ocr, self.ocr = tokenizer, apply_ocr, ocr
        self._encoder = Encoder(tokenizer)

    @classmethod
    def from_pretrained(cls, source: str | Path, **options: Any) -> "FormNetProcessor":
        """Load the tokenizer of a shipped model, a model folder, or hf://owner/name."""
        return cls(load_tokenizer(find_model(source)), **options)

    def save_pretrained(self, folder: str | Path) -> None:
        """Write the tokenizer to a model folder."""
        Path(folder).mkdir(parents=True, exist_ok=True)
        self.tokenizer.save(str(Path(folder) / "tokenizer.json"))

    def __call__(
        self,
        images: Image.Image | Sequence[Image.Image] | None = None,
        words: Sequence[str] | Sequence[Sequence[str]] | None = None,
        boxes: Any = None,
        word_labels: Any = None,
    ) -> BatchFeature:
        """Encode one document or several as a padded batch of tensors.

        Args:
            images: Images of the pages: read if `apply_ocr` is set, else used for the shape of the page.
            words: Words of a document, or of each document.
            boxes: Boxes of the words, x0, y0, x1, y1 between 0 and 1000, as in LayoutLM.
            word_labels: Label ID of each word; −100 for words without a label.
        """
        parts: list[Any] = [images, words, boxes, word_labels]
        if isinstance(images, Image.Image) or (words and isinstance(words[0], str)):  # one document
            parts = [None if part is None else [part] for part in parts]
        count = len(next((part for part in parts[:2] if part is not None), ()))
        columns = [[None] * count if part is None else list(part) for part in parts]
        if len({len(column) for column in columns}) > 1:
            raise DocumentError("images, words, boxes and word_labels must have the same number of documents.")
        return self.collate([self.encode(*row) for row in zip(*columns, strict=True)])

    def encode(
        self,
        image: Image.Image | None = None,
        words: Sequence[str] | None = None,
        boxes: Any = None,
        word_labels: Sequence[int] | None = None,
    ) -> dict[str, Any]:
        """Encode one document as arrays without padding, as an example for `Trainer`."""
        document = self.to_document(image, words, boxes)
        encoded = self._encoder(document)
        features = {
            "input_ids": encoded.token_ids,
            "word_ids": encoded.word_ids,
            "token_boxes": encoded.token_boxes,
            "first_token": encoded.first_token,
            "node_features": encoded.node_features,
            "neighbors": encoded.neighbors,
            "edge_features": encoded.edge_features,
        }
        if word_labels is not None:
            if len(word_labels) != document.num_words:
                raise DocumentError(f"{document.num_words} words but {len(word_labels)} labels.")
            features["labels"] = np.asarray(word_labels, np.int64)
        return features

    def to_document(self, image: Image.Image | None, words: Sequence[str] | None, boxes: Any) -> Document:
        """Return the words as a document, in the pixels of the image if there is one."""
        width, height = (BOX_UNITS, BOX_UNITS) if image is None else image.size
        if words is None:
            if image is None or not self.apply_ocr:
                raise DocumentError("words are missing. Pass words and boxes, or an image with apply_ocr=True.")
            result = find_engine(self.ocr).read(image)
            width, height = image.size if result.rotation % 180 == 0 else image.size[::-1]
            words, scaled = result.texts, np.asarray(result.boxes, np.float64).reshape(-1, 4)
        else:
            if boxes is None or len(boxes) != len(words):
                raise DocumentError(f"{len(words)} words but {0 if boxes is None else len(boxes)} boxes.")
            scaled = np.asarray(boxes, np.float64).reshape(-1, 4) * (np.array([width, height] * 2) / BOX_UNITS)
        if any(not word.strip() for word in words):
            raise DocumentError("a word is blank. Remove it with its box and label.")
        builder = DocumentBuilder("document")
        builder.add_page(list(words), scaled, float(width), float(height))
        return builder.build()

    def collate(self, features: Sequence[Mapping[str, Any]]) -> BatchFeature:
        """Pad encoded documents to a batch of tensors; a data collator for `Trainer`."""
        documents = [
            EncodedDocument(
                "",
                np.asarray(part["input_ids"], np.int64),
                np.asarray(part["word_ids"], np.int64),
                np.asarray(part["token_boxes"], np.float32).reshape(-1, 4),
                np.asarray(part["first_token"], np.int64),
                np.asarray(part["node_features"], np.float32),
                np.asarray(part["neighbors"], np.int64),
                np.asarray(part["edge_features"], np.float32),
                None if part.get("labels") is None else np.asarray(part["labels"], np.int64),
            )
            for part in features
        ]
        batch = collate(documents, self._encoder.padding_id)
        del batch["ids"]
        return BatchFeature(batch)
