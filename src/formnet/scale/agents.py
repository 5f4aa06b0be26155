"""A Model Context Protocol server: agents extract documents of one folder, and look at the pictures of fields."""

import io
import re
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any

from PIL import Image

from formnet.errors import DocumentError, FormNetError
from formnet.extraction.fields import FieldOutput, plain_values
from formnet.extraction.output import DocumentOutput, to_output
from formnet.io.isolation import IsolatedReader, IsolationLimits
from formnet.io.readers import find_files

#: Files that are listed at most.
MAX_FILES = 500
#: Documents whose output is kept.
MAX_CACHED = 8
#: Space around a field in its picture, in heights of its text.
_MARGIN = 2.0
_STEP = re.compile(r"([a-z][a-z0-9_]*)((?:\[\d+\])*)")

INSTRUCTIONS = """Extracts fields and line items from receipts, invoices and forms, which must be in one folder.
Call list_documents, then extract_document. Values under "review" are uncertain or fail an arithmetic check: look at
them with show_field before you rely on them. Scores are calibrated probabilities."""


@dataclass(frozen=True)
class Extraction:
    """The output of a document, and the images of its pages as data URLs; None for a page without an image."""

    output: DocumentOutput
    images: tuple[str | None, ...]


@dataclass
class DocumentFolder:
    """The documents of a folder, extracted on request; the model is loaded by the first request."""

    folder: Path
    model: str
    ocr: str = "auto"
    min_score: float = 0.0
    limits: IsolationLimits = field(default_factory=IsolationLimits)

    def __post_init__(self) -> None:
        if not self.folder.is_dir():
            raise DocumentError(f"{self.folder}: is not a folder. Create it first.")
        self.folder = self.folder.resolve()
        self._lock = Lock()
        self._cache: dict[tuple[Path, int, int], Extraction] = {}

    @cached_property
    def _extractor(self) -> Any:
        from formnet.extraction.auto import load_extractor

        return load_extractor(self.model, min_score=self.min_score)

    @cached_property
    def _reader(self) -> IsolatedReader:
        return IsolatedReader(self.ocr, isolation=self.limits)

    def list_files(self) -> list[str]:
        """Return the readable files below the folder, as paths relative to it."""
        files = (file for file in find_files(self.folder) if file.resolve().is_relative_to(self.folder))
        return [file.relative_to(self.folder).as_posix() for file in files][:MAX_FILES]

    def find(self, path: str) -> Path:
        """Return the file at a path relative to the folder; raise `DocumentError` for paths that lead out of it."""
        try:
            file = (self.folder / path).resolve()
            is_inside = file.is_relative_to(self.folder)
        except (OSError, ValueError, RuntimeError):
            is_inside = False
        if not is_inside:
            raise DocumentError(f"{path!r} is outside of the folder of this server. Use a path of list_documents.")
        if not file.is_file():
            raise DocumentError(f"{path!r} not found. Use a path of list_documents.")
        return file

    def extract(self, path: str) -> Extraction:
        """Extract a document, or return its output from before if the file has not changed."""
        file = self.find(path)
        status = file.stat()
        key = file, status.st_size, status.st_mtime_ns
        with self._lock:
            if key not in self._cache:
                document, images = self._reader.read_one(file, images=True)  # only images in this file
                (annotated,) = self._extractor.annotate([document])
                output = to_output(annotated, self._extractor.schema).model_copy(update={"document": path})
                while len(self._cache) >= MAX_CACHED:
                    del self._cache[next(iter(self._cache))]
                self._cache[key] = Extraction(output, images)
            return self._cache[key]

    def close(self) -> None:
        """End the process that reads files."""
        if "_reader" in self.__dict__:
            self._reader.close()


def summarize(output: DocumentOutput) -> dict[str, Any]:
    """Return the values of a document, the paths of those to review, and its failed checks."""
    facts = {"document": output.document, "type": output.type, "currency": output.currency}
    summary = {**facts, "fields": plain_values(output.fields)}
    failed = [check.describe() for check in output.checks if check.status == "failed"]
    return {**summary, "review": list(_paths_to_review(output.fields)), "failed_checks": failed}


def _paths_to_review(part: Any, path: str = "") -> Any:
    if isinstance(part, FieldOutput):
        if part.review:
            yield path
    elif isinstance(part, list):
        for number, item in enumerate(part):
            yield from _paths_to_review(item, f"{path}[{number}]")
    elif isinstance(part, Mapping):
        for name, item in part.items():
            yield from _paths_to_review(item, f"{path}.{name}" if path else name)


def find_field(output: DocumentOutput, path: str) -> FieldOutput:
    """Return the field at a path such as `total` or `line_items[0].total`."""
    part: Any = output.fields
    for step in path.split("."):
        match = _STEP.fullmatch(step)
        try:
            part = part[match[1]] if match else None
            for number in re.findall(r"\d+", match[2]) if match else ():
                part = part[int(number)]
        except (LookupError, TypeError):
            part = None
    if not isinstance(part, FieldOutput):
        raise DocumentError(f"{output.document}: no field {path!r}. Use a path such as total or line_items[0].total.")
    return part


def draw_field(extraction: Extraction, found: FieldOutput) -> Image.Image:
    """Return the part of the page image around a field."""
    page, url = extraction.output.pages[found.page - 1], extraction.images[found.page - 1]
    if url is None:
        raise DocumentError(f"{extraction.output.document}: has no picture of page {found.page}.")
    image = Image.open(io.BytesIO(b64decode(url.partition(",")[2])))
    scale_x, scale_y = image.width / page.width, image.height / page.height
    x0, y0 = (min(box[side] for box in found.boxes) for side in (0, 1))
    x1, y1 = (max(box[side] for box in found.boxes) for side in (2, 3))
    margin = _MARGIN * min(box[3] - box[1] for box in found.boxes)
    area = ((x0 - margin) * scale_x, (y0 - margin) * scale_y, (x1 + margin) * scale_x, (y1 + margin) * scale_y)
    left, top = max(round(area[0]), 0), max(round(area[1]), 0)
    return image.crop((left, top, min(round(area[2]), image.width), min(round(area[3]), image.height)))


def make_server(documents: DocumentFolder) -> Any:
    """Return the server with its tools; errors of documents are reported to the agent."""
    from mcp.server.mcpserver import Image as McpImage
    from mcp.server.mcpserver import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError

    server = MCPServer("formnet", instructions=INSTRUCTIONS)

    @server.tool()
    def list_documents() -> list[str]:
        """List the documents that can be extracted, as paths relative to the folder of this server."""
        return documents.list_files()

    @server.tool()
    def extract_document(path: str) -> dict[str, Any]:
        """Extract the fields and line items of a document, with the fields to review and failed arithmetic checks."""
        try:
            return summarize(documents.extract(path).output)
        except FormNetError as error:
            raise ToolError(_message(error, documents)) from error

    @server.tool(structured_output=False)
    def show_field(path: str, field: str) -> list[Any]:
        """Show the printed text, confidence and picture of a field, such as total or line_items[0].total."""
        try:
            extraction = documents.extract(path)
            found = find_field(extraction.output, field)
            picture = io.BytesIO()
            draw_field(extraction, found).convert("RGB").save(picture, "PNG")
        except FormNetError as error:
            raise ToolError(_message(error, documents)) from error
        text = f"{field}: {found.text!r}, value {found.value!r}, confidence {found.score}, page {found.page}"
        return [text, McpImage(data=picture.getvalue(), format="png")]

    return server


def _message(error: FormNetError, documents: DocumentFolder) -> str:
    """Return a message without the path of the folder, which is not the agent's business."""
    return str(error).replace(f"{documents.folder}/", "")
