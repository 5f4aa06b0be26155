"""`formnet mcp`: tools for agents over the Model Context Protocol."""

from pathlib import Path
from typing import Annotated

import typer

from formnet.cli.options import MinScore, ModelOption, Ocr, ReadMemory, ReadTimeout
from formnet.cli.results import configure_runtime
from formnet.errors import SettingsError


def mcp(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder whose documents may be read.")],
    model: ModelOption = "auto",
    ocr: Ocr = "auto",
    min_score: MinScore = 0.8,
    timeout: ReadTimeout = 120,
    memory_per_document: ReadMemory = "2GiB",  # type: ignore[assignment] # the parser converts it
) -> None:
    """Serve tools to agents over the Model Context Protocol, on standard input and output."""
    configure_runtime()
    from formnet.io.isolation import IsolationLimits
    from formnet.scale.agents import DocumentFolder, make_server

    documents = DocumentFolder(folder, model, ocr, min_score, IsolationLimits(timeout, memory_per_document))
    try:
        server = make_server(documents)
    except ImportError as error:
        raise SettingsError("this command needs another package. Run pip install 'formnet[mcp]'.") from error
    try:
        server.run("stdio")
    finally:
        documents.close()
