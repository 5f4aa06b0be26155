"""`formnet serve`: an HTTP service with a web page."""

import os
import signal
import threading
from pathlib import Path
from typing import Annotated

import typer

from formnet.cli.options import Ocr, References, parse_size


def serve(
    model: Annotated[
        list[str] | None,
        typer.Option(
            help="auto, shipped model, folder, or hf://owner/name; repeat for several. Default: auto, that is, "
            "receipts or invoices, chosen per document."
        ),
    ] = None,
    host: Annotated[
        str, typer.Option(help="Address to listen on; 0.0.0.0 for all interfaces, which requires API keys.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to listen on.")] = 8000,
    replicas: Annotated[int, typer.Option(min=1, help="Replicas of each model, and of the reader.")] = 1,
    warm_up: Annotated[
        bool, typer.Option(help="Compile the models first: twice as fast, but a later start (minutes the first time).")
    ] = True,
    ocr: Ocr = "auto",
    reference: References = None,
    api_key_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="File of API keys, one per line, in addition to FORMNET_API_KEYS."),
    ] = None,
    allow_anonymous: Annotated[
        bool, typer.Option("--allow-anonymous", help="Accept requests from other machines without a key.")
    ] = False,
    proxy: Annotated[
        bool, typer.Option(help="Limit headers and connections by HAProxy. Without it, use another reverse proxy.")
    ] = True,
    max_queue: Annotated[
        int, typer.Option(min=1, help="Maximum documents in each queue; further requests receive status 503.")
    ] = 64,
    max_bytes: Annotated[
        int, typer.Option(metavar="SIZE", parser=parse_size, help="Maximum size of a request.")
    ] = "20MiB",  # type: ignore[assignment] # the parser converts it
    max_pages: Annotated[int, typer.Option(min=1, help="Maximum pages per document.")] = 20,
    max_words: Annotated[int, typer.Option(min=1, help="Maximum words per document.")] = 20_000,
    max_tokens: Annotated[int, typer.Option(min=1, help="Maximum tokens per document.")] = 16_384,
    max_pixels: Annotated[int, typer.Option(min=1, help="Maximum pixels per image.")] = 50_000_000,
    max_memory: Annotated[
        int, typer.Option(metavar="SIZE", parser=parse_size, help="Maximum memory for reading a document.")
    ] = "2GiB",  # type: ignore[assignment] # the parser converts it
    timeout: Annotated[
        float,
        typer.Option(min=0.1, help="Maximum seconds to receive a request, to read a document, and to extract from it."),
    ] = 60,
) -> None:
    """Extract fields from documents over HTTP, until interrupted by Ctrl-C."""
    from formnet.errors import SettingsError

    try:
        from formnet.scale.service.app import run_service
    except ImportError as error:
        raise SettingsError(
            f"the service requires additional packages ({error}). Run pip install 'formnet[scale]'."
        ) from error
    from pydantic import ValidationError

    from formnet.scale.service.settings import ServiceSettings

    try:
        settings = ServiceSettings(
            models=model or ["auto"],
            replicas=replicas,
            warm_up=warm_up,
            ocr=ocr,
            references=tuple(reference or ()),
            api_key_file=api_key_file,
            allow_anonymous=allow_anonymous,
            max_queue=max_queue,
            max_bytes=max_bytes,
            max_pages=max_pages,
            max_words=max_words,
            max_tokens=max_tokens,
            max_pixels=max_pixels,
            max_memory=max_memory,
            timeout=timeout,
        )
    except ValidationError as error:
        first = error.errors()[0]
        option = "".join(f"{part}: ".replace("_", "-") for part in first["loc"][:1])
        raise SettingsError(f"{option}{first['msg'].removeprefix('Value error, ')}") from error
    stopped = threading.Event()
    with run_service(settings, host, port, proxy=proxy) as check:
        for number in (signal.SIGINT, signal.SIGTERM):  # replaces the handlers that Ray installed
            signal.signal(number, lambda *_: stopped.set())
        folder = Path(os.environ.get("RAY_TMPDIR", "/tmp")) / "ray/session_latest/logs/serve"  # noqa: S108 - Ray's
        address = f"http://{f'[{host}]' if ':' in host else host}:{port}/"
        typer.echo(f"FormNet is listening on {address} and logs to {folder}")
        while not stopped.wait(1):
            check()
        typer.echo("Shutting down after the current requests.")
