"""`formnet serve`: a service over HTTP, and a page to try it on."""

import os
import signal
import threading
from pathlib import Path
from typing import Annotated

import typer

from formnet.cli.options import Ocr, size


def serve(
    model: Annotated[
        list[str] | None,
        typer.Option(help="A shipped model's name, a folder, or a Hub repository; give it again for several."),
    ] = None,
    host: Annotated[str, typer.Option(help="Where to listen; 0.0.0.0 is everywhere: give keys.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535)] = 8000,
    replicas: Annotated[int, typer.Option(min=1, help="Copies of each network, and of the reader.")] = 1,
    warm_up: Annotated[bool, typer.Option(help="Compile networks first: twice as fast, half a minute later.")] = True,
    ocr: Ocr = "auto",
    api_key_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Keys, one a line; FORMNET_API_KEYS has more.")
    ] = None,
    max_queue: Annotated[int, typer.Option(min=1, help="Documents that may wait; others are told to come back.")] = 64,
    max_bytes: Annotated[int, typer.Option(metavar="SIZE", parser=size, help="Of a request.")] = "20MiB",  # type: ignore[assignment] # the parser makes it a number
    max_pages: Annotated[int, typer.Option(min=1, help="Of a document.")] = 20,
    max_words: Annotated[int, typer.Option(min=1, help="Of a document.")] = 20_000,
    max_pixels: Annotated[int, typer.Option(min=1, help="Of a picture.")] = 50_000_000,
    max_memory: Annotated[int, typer.Option(metavar="SIZE", parser=size, help="For reading a document.")] = "2GiB",  # type: ignore[assignment]
    seconds: Annotated[float, typer.Option(min=0.1, help="To send a request, and to read a document.")] = 60,
) -> None:
    """Give the fields of documents over HTTP; Ctrl-C ends it."""
    from formnet.errors import SettingsError

    try:
        from formnet.scale.service.app import running
    except ImportError as error:
        raise SettingsError(f"serving needs more packages ({error}); run pip install 'formnet[scale]'.") from error
    from pydantic import ValidationError

    from formnet.scale.service.settings import Settings

    try:
        settings = Settings(
            models=model or ["receipts"],
            replicas=replicas,
            warm_up=warm_up,
            ocr=ocr,
            api_key_file=api_key_file,
            max_queue=max_queue,
            max_bytes=max_bytes,
            max_pages=max_pages,
            max_words=max_words,
            max_pixels=max_pixels,
            max_memory=max_memory,
            seconds=seconds,
        )
    except ValidationError as error:
        fault = error.errors()[0]
        place = "".join(f"{part}: ".replace("_", "-") for part in fault["loc"][:1])
        raise SettingsError(f"{place}{fault['msg'].removeprefix('Value error, ')}") from error
    ended = threading.Event()
    with running(settings, host, port):
        for number in (signal.SIGINT, signal.SIGTERM):  # Ray has its own until now
            signal.signal(number, lambda *_: ended.set())
        folder = Path(os.environ.get("RAY_TMPDIR", "/tmp")) / "ray/session_latest/logs/serve"  # noqa: S108 - Ray's
        typer.echo(f"FormNet answers at http://{f'[{host}]' if ':' in host else host}:{port}/ and logs to {folder}")
        ended.wait()
        typer.echo("Ending; what is under way is finished first.")
