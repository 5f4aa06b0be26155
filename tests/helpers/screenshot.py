"""Upload a document to the web page of a running service in Chromium, and save a screenshot.

python tests/helpers/screenshot.py http://127.0.0.1:8000/ examples/receipt.jpg docs/images/page.jpg
"""

import asyncio
import base64
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from websockets import ClientConnection, connect

PORT, WIDTH, HEIGHT = 9333, 1280, 1440


class Browser:
    """One page of Chromium, controlled through its debugging port."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket, self.number = socket, 0

    async def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the DevTools protocol and return its result, ignoring events."""
        self.number += 1
        await self.socket.send(json.dumps({"id": self.number, "method": method, "params": parameters}))
        while (message := json.loads(await self.socket.recv())).get("id") != self.number:
            pass
        if "error" in message:
            raise RuntimeError(message["error"]["message"])
        result: dict[str, Any] = message["result"]
        return result

    async def wait_until(self, condition: str) -> None:
        """Wait up to two minutes until a JavaScript expression is true."""
        for _ in range(600):
            if (await self.call("Runtime.evaluate", expression=condition))["result"].get("value"):
                return
            await asyncio.sleep(0.2)
        raise TimeoutError(condition)


async def capture(url: str, document: Path, target: Path) -> None:
    """Open the page, upload the document, wait for its fields, and save a screenshot."""
    with urlopen(f"http://127.0.0.1:{PORT}/json/list") as response:
        page = next(entry for entry in json.load(response) if entry["type"] == "page")
    async with connect(page["webSocketDebuggerUrl"], max_size=None) as socket:
        browser = Browser(socket)
        size = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
        await browser.call("Emulation.setDeviceMetricsOverride", **size)
        await browser.call("Page.navigate", url=url)
        await browser.wait_until("document.querySelector('#model')?.options.length > 0")
        root = (await browser.call("DOM.getDocument"))["root"]["nodeId"]
        file_input = (await browser.call("DOM.querySelector", nodeId=root, selector="#file"))["nodeId"]
        await browser.call("DOM.setFileInputFiles", nodeId=file_input, files=[str(document.resolve())])
        await browser.wait_until("!document.querySelector('#result').hidden")
        await asyncio.sleep(1)
        screenshot = await browser.call("Page.captureScreenshot", format="jpeg", quality=85)
    target.write_bytes(base64.b64decode(screenshot["data"]))


async def main(url: str, document: Path, target: Path) -> None:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options = ["--headless=new", "--no-sandbox", f"--remote-debugging-port={PORT}", f"--user-data-dir={profile}"]
        chromium = subprocess.Popen(["chromium", *options, "about:blank"], stderr=subprocess.DEVNULL)
        try:
            for _ in range(50):
                await asyncio.sleep(0.2)
                try:
                    await capture(url, document, target)
                    return
                except OSError:
                    continue  # not started yet
            raise TimeoutError("Chromium did not start.")
        finally:
            chromium.terminate()
            chromium.wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])))
