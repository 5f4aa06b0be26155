"""Convert uploaded files to documents in a separate process, which is restarted if a file crashes or blocks it."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

import ray
from PIL import Image
from ray.exceptions import OutOfMemoryError, RayActorError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from formnet.document import Document
from formnet.errors import FormNetError, LimitError, OcrError
from formnet.io.images import data_url
from formnet.io.ocr import OcrEngine, find_engine
from formnet.io.page_image import load_page_image
from formnet.io.readers import read_one
from formnet.scale.isolation import limit_memory
from formnet.scale.service.errors import ApiError, internal_error, to_api_error
from formnet.scale.service.settings import ServiceSettings

#: Maximum mean characters per word. The cost of scoring grows with characters, as each may become a token.
MAX_CHARACTERS_PER_WORD = 8


@dataclass(frozen=True)
class Upload:
    """An uploaded file; its name is only displayed, never used as a path."""

    name: str
    content: bytes


@dataclass(frozen=True)
class ReadResult:
    """A document, and the images of its pages as data URLs if they were requested."""

    document: Document
    images: tuple[str | None, ...] = ()


class Reader:
    """Replica that passes one file at a time to its process, with a timeout."""

    def __init__(self, settings: ServiceSettings) -> None:
        self.settings = settings
        self.folder = TemporaryDirectory(prefix="formnet-")
        # The process must run on this node, because it reads from this folder.
        this_node = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
        options: dict[str, Any] = {"num_cpus": 0, "max_restarts": -1, "scheduling_strategy": this_node}
        self.process: Any = ray.remote(ReaderProcess).options(**options).remote(settings)

    async def read(self, upload: Upload, images: bool) -> ReadResult | ApiError:
        """Read a file."""
        # File types are detected from content, except that of JSONL.
        suffix = ".jsonl" if upload.name.lower().endswith(".jsonl") else ""
        # A unique path, because the write of a canceled request may still complete.
        path = Path(self.folder.name) / f"{uuid4().hex}{suffix}"
        try:
            await asyncio.to_thread(path.write_bytes, upload.content)
            await self.process.ready.options(max_task_retries=-1).remote()  # waits while the process restarts
            return await self._read_with_timeout(path, upload.name, images)
        finally:
            path.unlink(missing_ok=True)

    async def _read_with_timeout(self, path: Path, name: str, images: bool) -> ReadResult | ApiError:
        timeout = self.settings.timeout
        reading = asyncio.ensure_future(self.process.read.remote(path, name, images))
        try:
            async with asyncio.timeout(timeout):
                result: ReadResult | ApiError = await asyncio.shield(reading)
                return result
        except TimeoutError:
            ray.kill(self.process, no_restart=False)
            problem = f"{name}: reading took longer than {timeout:g} seconds (the limit)."
            return ApiError(422, "processing_timeout", f"{problem} Split the document or send fewer pages.")
        except asyncio.CancelledError:
            # The client is gone, but waiting for the process is cheaper than restarting it.
            with suppress(Exception, asyncio.CancelledError):
                async with asyncio.timeout(timeout):
                    await asyncio.shield(reading)
            if not reading.done():
                ray.kill(self.process, no_restart=False)
            raise
        except (RayActorError, OutOfMemoryError):
            problem = f"{name}: crashed the reader process. The file may be corrupt; save it again and retry."
            return ApiError(422, "invalid_document", problem)


class ReaderProcess:
    """Actor in which the files of one `Reader` are parsed."""

    def __init__(self, settings: ServiceSettings) -> None:
        self.settings = settings
        self.limits = settings.read_limits
        self.ocr: str | OcrEngine = settings.ocr
        with suppress(OcrError):  # raised again for each image
            self.ocr = find_engine(settings.ocr)
            self.ocr.read(Image.new("RGB", (64, 64), "white"))  # loads the engine's models before the first request

    def ready(self) -> None:
        """Return as soon as the process accepts files."""

    def read(self, path: Path, name: str, images: bool) -> ReadResult | ApiError:
        """Read a file; errors refer to it by the name that the client gave it."""
        try:
            with limit_memory(self.settings.max_memory):
                return self._read(path, name, images)
        except FormNetError as error:
            return to_api_error(error, str(error).replace(str(path), name))
        except MemoryError:
            limit = f"{self.settings.max_memory >> 20:,} MiB"
            problem = f"{name}: reading took more than {limit} of memory (the limit). Send a smaller file."
            return ApiError(413, "too_large", problem)
        except Exception as error:
            return internal_error(error)

    def _read(self, path: Path, name: str, images: bool) -> ReadResult:
        document = replace(read_one(path, self.ocr, self.limits), id=name)
        # FormNet JSON may refer to image files, but those would be files of this machine.
        pages = tuple(page if page.image == path else replace(page, image=None) for page in document.pages)
        check_document_size(replace(document, pages=pages), self.settings)
        urls: tuple[str | None, ...] = ()
        if images:
            urls = tuple(data_url(load_page_image(page, self.limits)) if page.image else None for page in pages)
        return ReadResult(replace(document, pages=tuple(replace(page, image=None) for page in pages)), urls)


def check_document_size(document: Document, settings: ServiceSettings) -> None:
    """Raise `LimitError` if a document has too many pages, words or characters."""
    for count, limit, unit in (
        (len(document.pages), settings.max_pages, "pages"),
        (document.num_words, settings.max_words, "words"),
        (sum(map(len, document.texts)), MAX_CHARACTERS_PER_WORD * settings.max_words, "characters"),
    ):
        if count > limit:
            raise LimitError(f"{document.id}: {count:,} {unit} (limit {limit:,}). Split the document.")
