"""Read files in a child process with limits on time and memory, because parsers may crash, hang or exhaust memory.

Parent and child exchange JSON, not pickles, so that a compromised child cannot run code in the parent.
"""

import faulthandler
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from math import ceil
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

from PIL import Image, ImageDraw

from formnet.document import Document
from formnet.errors import DocumentError, FormNetError, LimitError, OcrError, ReaderError, ReadTimeoutError
from formnet.io.images import data_url
from formnet.io.limits import DEFAULT_LIMITS, ReadLimits
from formnet.io.ocr import OcrEngine, OcrResult, find_engine, is_custom_engine, resolve_engine_name
from formnet.io.page_image import load_page_image
from formnet.io.readers.jsonl import from_json

#: Files per process; processes are replaced because libraries leak memory.
MAX_FILES = 1000
#: Maximum bytes of a message. Documents within the read limits are smaller.
MAX_MESSAGE_BYTES = 2**30
#: Seconds that the child process may take to start, which do not count as reading.
START_TIMEOUT = 300.0
#: First message, when modules are imported and requested models are loaded.
_READY = {"ready": True}
#: Message when an OCR engine is loaded, and after each page that it has read.
_PROGRESS = {"progress": True}
#: Environment variables that the child does not need.
_SECRETS = ("FORMNET_API_KEYS", "RAY_AUTH_TOKEN")
#: Errors by the name under which the child reports them.
_ERRORS: dict[str, type[FormNetError]] = {error.__name__: error for error in (DocumentError, LimitError, OcrError)}


@dataclass(frozen=True)
class IsolationLimits:
    """Limits on reading one document."""

    timeout: float = 120.0  # seconds
    memory: int = 2 * 2**30  # bytes that the process may grow by; on Linux only
    per_page: bool = True  # whether the timeout starts again after each page that OCR has read


DEFAULT_ISOLATION = IsolationLimits()


class ReadResult(NamedTuple):
    """A document, and the images of its pages as data URLs if they were requested."""

    document: Document
    images: tuple[str | None, ...] = ()


class IsolatedReader:
    """A child process that reads one file at a time. It is started again after a crash or a timeout.

    Documents are returned without annotations, which extraction replaces.
    """

    def __init__(
        self,
        ocr: str = "auto",
        limits: ReadLimits = DEFAULT_LIMITS,
        isolation: IsolationLimits = DEFAULT_ISOLATION,
        *,
        preload_ocr: bool = False,
    ) -> None:
        self.ocr, self.limits, self.isolation, self.preload_ocr = ocr, limits, isolation, preload_ocr
        self._child = self._start()

    def read_each(self, path: str | Path) -> Iterator[Document | DocumentError]:
        """Iterate over the documents in a file like `formnet.io.readers.read_each`."""
        for message in self._request(path):
            yield _to_error(message) if "error" in message else _to_result(message).document

    def read_one(self, path: str | Path, *, images: bool = False) -> ReadResult:
        """Read a file that holds exactly one document, optionally with images of the pages in that file."""
        (message,) = self._request(path, single=True, images=images)
        return _to_result(message)

    def _request(self, path: str | Path, *, single: bool = False, images: bool = False) -> Iterator[dict[str, Any]]:
        """Yield the messages about a file: documents and errors of records; raise the error that ends it."""
        if self._child.files >= MAX_FILES or self._child.process.poll() is not None:
            self._restart()
        is_idle = False
        try:
            request = {"path": str(path), "single": single, "images": images}
            self._send_request(json.dumps(request).encode(), path)
            while True:
                message = self._receive(path)
                is_idle = not message or message.get("ends_file", False)
                if not message:
                    return
                if is_idle:
                    raise _to_error(message)
                yield message
        except (OSError, EOFError, ValueError) as error:
            raise DocumentError(f"{path}: crashed the process that read it. The file may be corrupt.") from error
        finally:
            if not is_idle:  # it crashed or hangs, or the caller does not want the remaining documents
                self._restart()

    def close(self) -> None:
        """End the process."""
        self._child.connection.close()
        self._child.process.kill()
        self._child.process.wait()

    def __enter__(self) -> "IsolatedReader":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _send_request(self, request: bytes, path: str | Path) -> None:
        """Wait until the process is ready, and send a request; start it once more if it ended while starting."""
        for attempt in range(2):
            with suppress(OSError, EOFError):
                if self._child.files > 0 or (
                    self._child.connection.poll(START_TIMEOUT) and self._receive_any() == _READY
                ):
                    self._child.connection.send_bytes(request)
                    self._child = self._child._replace(files=self._child.files + 1)
                    return
            if attempt == 0:
                self._restart()
        raise ReaderError(f"{path}: not read, because the process that reads files did not start. Try again.")

    def _receive_any(self) -> dict[str, Any]:
        message: dict[str, Any] = json.loads(self._child.connection.recv_bytes(MAX_MESSAGE_BYTES))
        return message

    def _receive(self, path: str | Path) -> dict[str, Any]:
        """Wait for the next message; it is empty at the end of the file."""
        deadline = monotonic() + self.isolation.timeout
        while self._child.connection.poll(max(deadline - monotonic(), 0)):
            message = self._receive_any()
            if message != _PROGRESS:
                return message
            if self.isolation.per_page:
                deadline = monotonic() + self.isolation.timeout
        limit = f"{self.isolation.timeout:g} seconds (the limit)"
        raise ReadTimeoutError(f"{path}: reading took longer than {limit}. Split the document or reduce its size.")

    def _start(self) -> "_Child":
        connection, child_connection = Pipe()
        with child_connection:
            process = subprocess.Popen(  # noqa: S603
                # -P: modules are not imported from the working directory, unless this process imports them from there.
                [sys.executable, "-P", "-m", __name__, str(child_connection.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,  # for what libraries print
                env={
                    **{name: value for name, value in os.environ.items() if name not in _SECRETS},
                    "ARROW_DEFAULT_MEMORY_POOL": "system",  # the default pool reserves gigabytes
                    "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
                },
                **_inherit(child_connection),
            )
        settings = {
            "ocr": self.ocr,
            "preload_ocr": self.preload_ocr,
            "limits": asdict(self.limits),
            "isolation": asdict(self.isolation),
        }
        connection.send_bytes(json.dumps(settings).encode())
        return _Child(process, connection, 0)

    def _restart(self) -> None:
        self.close()
        self._child = self._start()


class _Child(NamedTuple):
    process: subprocess.Popen[bytes]
    connection: Connection
    files: int


def _inherit(connection: Connection) -> dict[str, Any]:
    """Return the options of `Popen` that pass a connection to the child."""
    if sys.platform == "win32":
        os.set_handle_inheritable(connection.fileno(), True)
        return {"startupinfo": subprocess.STARTUPINFO(lpAttributeList={"handle_list": [connection.fileno()]})}
    return {"pass_fds": [connection.fileno()]}


def _open_inherited(number: int) -> Connection:
    """Open the connection that the parent has passed, in the child process."""
    if sys.platform == "win32":
        from multiprocessing.connection import PipeConnection

        return PipeConnection(number)
    return Connection(number)


#: The child has checked the numbers of pages and words.
_NO_LIMITS = ReadLimits(max_pages=sys.maxsize, max_words=sys.maxsize)


def _to_result(message: dict[str, Any]) -> ReadResult:
    document = from_json(message["document"], Path(message["base"]), limits=_NO_LIMITS)
    return ReadResult(document, tuple(message["images"]))


def _to_error(message: dict[str, Any]) -> Any:
    """Return the error in a message: a `DocumentError` unless it ends the file."""
    return _ERRORS.get(message["error"], DocumentError)(message["message"])


@contextmanager
def limit_memory(size: int) -> Iterator[None]:
    """Limit the growth of this process to `size` bytes on Linux; do nothing on other platforms."""
    set_memory_limit(size)
    try:
        yield
    finally:
        set_memory_limit(None)


def set_memory_limit(size: int | None) -> None:
    """Set the limit of `limit_memory`, or remove it."""
    if sys.platform != "linux":
        return
    import resource

    _, hard_limit = resource.getrlimit(resource.RLIMIT_AS)
    limit = hard_limit
    if size is not None:
        # Libraries map gigabytes that they do not use, so the limit is relative to what is already mapped.
        mapped = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
        limit = mapped + size if hard_limit == resource.RLIM_INFINITY else min(mapped + size, hard_limit)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard_limit))


def _serve(connection: Connection) -> None:
    """Read files as they are requested, in the child process."""
    import formnet.io.readers  # noqa: F401 - before the first file, whose time is limited

    for number in (signal.SIGINT, signal.SIGTERM):  # sent to the process group; the parent decides when this one ends
        signal.signal(number, signal.SIG_IGN)
    settings = json.loads(connection.recv_bytes())
    limits, isolation = ReadLimits(**settings["limits"]), IsolationLimits(**settings["isolation"])
    engine = _LazyEngine(settings["ocr"], isolation, connection)
    if settings["preload_ocr"]:
        engine.preload()
    with suppress(EOFError, ConnectionError):  # the parent is gone or has closed the connection
        connection.send_bytes(json.dumps(_READY).encode())
        while True:
            request = json.loads(connection.recv_bytes())
            for message in _read(request, engine, limits, isolation):
                connection.send_bytes(json.dumps(message).encode())


def _read(
    request: dict[str, Any], engine: "_LazyEngine", limits: ReadLimits, isolation: IsolationLimits
) -> Iterator[dict[str, Any]]:
    from formnet.io.readers import read_each, read_one

    path = Path(request["path"])
    try:
        documents: Iterator[Document | DocumentError] = (
            (read_one(path, engine, limits) for _ in range(1)) if request["single"] else read_each(path, engine, limits)
        )
        while True:
            _start_timer(isolation)
            try:
                with limit_memory(isolation.memory):
                    document = next(documents, None)
                    message = _to_message(document, path, limits, images=request["images"])
            finally:
                _stop_timer()
            yield message
            if document is None:
                return
    except FormNetError as error:
        yield _error_message(error)
    except OSError as error:
        yield _error_message(DocumentError(f"{path}: {error.strerror or error}."))
    except MemoryError:
        limit = f"{isolation.memory >> 20:,} MiB of memory (the limit)"
        problem = f"{path}: reading took more than {limit}. Split the document or reduce its size."
        yield _error_message(LimitError(problem))


def _to_message(
    document: Document | DocumentError | None, path: Path, limits: ReadLimits, *, images: bool
) -> dict[str, Any]:
    if document is None:
        return {}
    if isinstance(document, DocumentError):
        return _error_message(document, ends_file=False)
    urls: list[str | None] = []
    if images:
        # Documents may refer to other files, which only those who can read them should see.
        pages = document.turn_back().pages  # output has the coordinates of the original images
        urls = [data_url(load_page_image(page, limits)) if page.image == path else None for page in pages]
    bare = replace(document, entities=(), links=(), fields={})
    return {"document": bare.to_json(), "base": str(path.parent), "images": urls}


def _start_timer(isolation: IsolationLimits) -> None:
    """End this process if it takes too long and the parent, which would kill it earlier, is gone."""
    if hasattr(signal, "alarm"):
        signal.alarm(ceil(isolation.timeout) + 5)
    else:
        faulthandler.dump_traceback_later(ceil(isolation.timeout) + 5, exit=True)


def _stop_timer() -> None:
    if hasattr(signal, "alarm"):
        signal.alarm(0)
    else:
        faulthandler.cancel_dump_traceback_later()


def _error_message(error: FormNetError, *, ends_file: bool = True) -> dict[str, Any]:
    return {"error": type(error).__name__, "message": str(error), "ends_file": ends_file}


class _LazyEngine:
    """An OCR engine that is loaded without a limit on the memory of its model, for the first image or before."""

    def __init__(self, name: str, isolation: IsolationLimits, connection: Connection) -> None:
        self.engine_name, self.isolation, self.connection = name, isolation, connection
        self.engine: OcrEngine | None = None

    @property
    def name(self) -> str:
        """Name and version of the engine."""
        return self._load().name

    def read(self, image: Image.Image) -> OcrResult:
        """Recognize the words of an image, and report progress."""
        engine = self._load()
        self._report_progress()
        result = engine.read(image)
        self._report_progress()
        return result

    def preload(self) -> None:
        """Load the engine and its models now; if that fails, reading an image raises the error."""
        with suppress(Exception):
            self._load()
        set_memory_limit(None)

    def _report_progress(self) -> None:
        self.connection.send_bytes(json.dumps(_PROGRESS).encode())
        _start_timer(self.isolation)

    def _load(self) -> OcrEngine:
        if self.engine is None:
            set_memory_limit(None)
            try:
                self.engine = find_engine(self.engine_name)
                if not is_custom_engine(resolve_engine_name(self.engine_name)):
                    image = Image.new("RGB", (320, 96), "white")
                    ImageDraw.Draw(image).text((16, 24), "TOTAL 9.00", fill="black", font_size=40)
                    self.engine.read(image)  # loads the models, which would otherwise count toward the first image
            finally:
                set_memory_limit(self.isolation.memory)
        return self.engine


if __name__ == "__main__":
    _serve(_open_inherited(int(sys.argv[1])))
