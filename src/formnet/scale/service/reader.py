"""Files become documents in a process of their own: one that hangs or crashes it costs itself and a restart."""

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
from formnet.errors import DocumentError, FormNetError, LimitError, OcrError
from formnet.io import images
from formnet.io import pdfium as pdfs
from formnet.io.ocr import OcrEngine, find_engine
from formnet.io.page_image import scan_of
from formnet.io.readers import kind_of, read_one
from formnet.scale.isolation import limited_memory
from formnet.scale.service.errors import ApiError, api_error, unexpected
from formnet.scale.service.settings import Settings

#: Characters of a word, at most on average: a network's work grows with them, and each may be a piece of its own.
CHARACTERS = 8


@dataclass(frozen=True)
class Upload:
    """A file as it was sent; its name is a text like any other, never a path."""

    name: str
    content: bytes


@dataclass(frozen=True)
class Reading:
    """A document as it was read, and pictures of its pages if they were asked for."""

    document: Document
    pictures: tuple[str | None, ...] = ()


class Reader:
    """Hands one file at a time to its process, and looks at the clock."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.folder = TemporaryDirectory(prefix="formnet-")
        here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)  # for the folder
        options: dict[str, Any] = {"num_cpus": 0, "max_restarts": -1, "scheduling_strategy": here}
        self.process: Any = ray.remote(ReadingProcess).options(**options).remote(settings)

    async def read(self, upload: Upload, pictures: bool) -> Reading | ApiError:
        """Read a file within its time."""
        suffix = ".jsonl" if upload.name.lower().endswith(".jsonl") else ""  # all that is told by a name
        path = Path(self.folder.name) / f"{uuid4().hex}{suffix}"  # a write that nobody waits for any more may come late
        try:
            await asyncio.to_thread(path.write_bytes, upload.content)
            await self.process.ready.options(max_task_retries=-1).remote()  # it may have been stopped before
            return await self._read_in_time(path, upload.name, pictures)
        finally:
            path.unlink(missing_ok=True)

    async def _read_in_time(self, path: Path, name: str, pictures: bool) -> Reading | ApiError:
        answer = asyncio.ensure_future(self.process.read.remote(path, name, pictures))
        try:
            async with asyncio.timeout(self.settings.seconds):
                reading: Reading | ApiError = await asyncio.shield(answer)
                return reading
        except TimeoutError:
            ray.kill(self.process, no_restart=False)
            limit = f"the limit is {self.settings.seconds:g} seconds"
            return ApiError(422, "too_slow", f"{name}: takes too long to read; {limit}. Split it, or send fewer pages.")
        except asyncio.CancelledError:  # nobody waits any more; the process is let finish, for it costs more to restart
            with suppress(Exception, asyncio.CancelledError):
                async with asyncio.timeout(self.settings.seconds):
                    await asyncio.shield(answer)
            if not answer.done():
                ray.kill(self.process, no_restart=False)
            raise
        except (RayActorError, OutOfMemoryError):
            return ApiError(
                422, "bad_document", f"{name}: crashed what was to read it. It may be broken; save it anew."
            )


class ReadingProcess:
    """Reads files for one `Reader`; nothing else happens in this process."""

    def __init__(self, settings: Settings) -> None:
        # The package's limits, here made the service's.
        images.MOST_BYTES, images.MOST_PIXELS = settings.max_bytes, settings.max_pixels
        images.MOST_PAGES = pdfs.MOST_PAGES = settings.max_pages  # type: ignore[attr-defined]
        self.settings = settings
        self.ocr: str | OcrEngine = settings.ocr
        with suppress(OcrError):  # told to whoever sends a picture
            self.ocr = find_engine(settings.ocr)
            self.ocr.read(Image.new("RGB", (64, 64), "white"))  # its networks are loaded now, on nobody's time

    def ready(self) -> None:
        """Answer as soon as files can be read."""

    def read(self, path: Path, name: str, pictures: bool) -> Reading | ApiError:
        """Read a file; what is wrong with it is told by the name that its sender gave it."""
        try:
            with limited_memory(self.settings.max_memory):
                return self._read(path, name, pictures)
        except FormNetError as error:
            return api_error(error, str(error).replace(str(path), name))
        except MemoryError:
            most = f"{self.settings.max_memory >> 20:,} MiB"
            return ApiError(413, "too_large", f"{name}: takes more than {most} of memory to read; send it smaller.")
        except Exception as error:
            return unexpected(error)

    def _read(self, path: Path, name: str, pictures: bool) -> Reading:
        images.refuse_large(path)
        if kind_of(path) == "parquet":
            raise DocumentError(f"{path}: is Parquet, which is for archives; send its documents as JSON.")
        document = replace(read_one(path, self.ocr), id=name)
        # A document of our own JSON may name pictures, but none of this machine's.
        pages = tuple(page if page.image == path else replace(page, image=None) for page in document.pages)
        refuse_long(replace(document, pages=pages), self.settings)
        drawn = tuple(images.data_url(scan_of(page)) if page.image else None for page in pages) if pictures else ()
        bare = tuple(replace(page, image=None) for page in pages)
        return Reading(replace(document, pages=bare), drawn)


def refuse_long(document: Document, settings: Settings) -> None:
    """Refuse a document of more pages or words than a network is given at once."""
    for count, most, what in (
        (len(document.pages), settings.max_pages, "pages"),
        (document.num_words, settings.max_words, "words"),
        (sum(map(len, document.texts)), CHARACTERS * settings.max_words, "characters"),
    ):
        if count > most:
            raise LimitError(f"{document.id}: has {count:,} {what}; the limit is {most:,}. Split it.")
