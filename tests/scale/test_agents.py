"""The Model Context Protocol server, driven by the official client over standard input and output."""

import asyncio
import io
import json
import shutil
import sys
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from formnet.errors import DocumentError
from formnet.extraction.fields import FieldOutput
from formnet.scale.agents import DocumentFolder, draw_field

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    inside = tmp_path / "documents"
    inside.mkdir()
    shutil.copy(EXAMPLES / "receipt.jpg", inside)
    (tmp_path / "secret.jpg").write_bytes(b"secret")
    (inside / "link.jpg").symlink_to(tmp_path / "secret.jpg")
    return inside


@pytest.mark.parametrize(
    "path", ["../secret.jpg", "/etc/passwd", "link.jpg", "a/../../secret.jpg", "\0", "receipt.jpg/../../secret.jpg"]
)
def test_find_path_outside_of_folder_raises(folder: Path, path: str) -> None:
    documents = DocumentFolder(folder, "receipts")
    with pytest.raises(DocumentError, match="is outside of the folder of this server"):
        documents.find(path)
    assert documents.list_files() == ["receipt.jpg"]


def test_find_missing_file_raises(folder: Path) -> None:
    with pytest.raises(DocumentError, match=r"'none\.jpg' not found"):
        DocumentFolder(folder, "receipts").find("none.jpg")


@pytest.mark.slow
@pytest.mark.ocr
def test_mcp_official_client_extracts_and_looks_at_a_field(folder: Path) -> None:
    pytest.importorskip("mcp")
    asyncio.run(use_server(folder))


async def use_server(folder: Path) -> None:
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    command = StdioServerParameters(command=sys.executable, args=["-m", "formnet.cli", "mcp", str(folder)])
    async with stdio_client(command) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        assert {tool.name for tool in (await session.list_tools()).tools} == {
            "list_documents",
            "extract_document",
            "show_field",
        }
        result: Any = await session.call_tool("extract_document", {"path": "receipt.jpg"})
        assert not result.is_error, result
        data = json.loads(result.content[0].text)
        assert data["fields"]["total"] == 37.9
        assert len(data["fields"]["line_items"]) == 5
        result = await session.call_tool("show_field", {"path": "receipt.jpg", "field": "line_items[0].total"})
        text, picture = result.content
        assert "'7.00'" in text.text
        with Image.open(io.BytesIO(b64decode(picture.data))) as image:
            assert image.width > image.height > 20
        for path in ("../secret.jpg", "link.jpg", "/etc/passwd"):
            result = await session.call_tool("extract_document", {"path": path})
            assert result.is_error
            assert "is outside of the folder" in result.content[0].text
        result = await session.call_tool("show_field", {"path": "receipt.jpg", "field": "none"})
        assert result.is_error
        assert "no field 'none'" in result.content[0].text


@pytest.mark.slow
def test_show_field_picture_of_another_file_is_refused(folder: Path) -> None:
    secret = folder.parent / "secret.png"
    Image.new("RGB", (60, 80)).save(secret)
    page = {"width": 60, "height": 80, "words": ["TOTAL", "9.00"], "boxes": [[0, 0, 30, 9], [31, 0, 60, 9]]}
    document = {"id": "x", "pages": [{**page, "image": str(secret)}]}
    (folder / "x.jsonl").write_text(json.dumps(document))
    documents = DocumentFolder(folder, "receipts")
    try:
        extraction = documents.extract("x.jsonl")
        assert extraction.images == (None,)
        field = FieldOutput(value=9.0, text="9.00", page=1, boxes=[(0, 0, 60, 80)], words=[1])
        with pytest.raises(DocumentError, match="has no picture of page 1"):
            draw_field(extraction, field)
    finally:
        documents.close()
