"""Drop a document on a running service's page in Chromium, and keep what a person sees.

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

PORT, WIDTH, HEIGHT = 9333, 1280, 1000


class Browser:
    """One page of a Chromium, told what to do over its debugging port."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket, self.number = socket, 0

    async def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the DevTools protocol; wait for its answer and skip what else is told."""
        self.number += 1
        await self.socket.send(json.dumps({"id": self.number, "method": method, "params": parameters}))
        while (told := json.loads(await self.socket.recv())).get("id") != self.number:
            pass
        if "error" in told:
            raise RuntimeError(told["error"]["message"])
        result: dict[str, Any] = told["result"]
        return result

    async def until(self, condition: str) -> None:
        """Wait until something is true on the page, two minutes at most."""
        for _ in range(600):
            if (await self.ask("Runtime.evaluate", expression=condition))["result"].get("value"):
                return
            await asyncio.sleep(0.2)
        raise TimeoutError(condition)


async def shoot(url: str, document: Path, target: Path) -> None:
    """Open the page, give it the document, wait for its fields, take the picture."""
    with urlopen(f"http://127.0.0.1:{PORT}/json/list") as told:
        page = next(one for one in json.load(told) if one["type"] == "page")
    async with connect(page["webSocketDebuggerUrl"], max_size=None) as socket:
        browser = Browser(socket)
        size = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
        await browser.ask("Emulation.setDeviceMetricsOverride", **size)
        await browser.ask("Page.navigate", url=url)
        await browser.until("document.querySelector('#model')?.options.length > 0")
        root = (await browser.ask("DOM.getDocument"))["root"]["nodeId"]
        chosen = (await browser.ask("DOM.querySelector", nodeId=root, selector="#file"))["nodeId"]
        await browser.ask("DOM.setFileInputFiles", nodeId=chosen, files=[str(document.resolve())])
        await browser.until("!document.querySelector('#result').hidden")
        await asyncio.sleep(1)
        picture = await browser.ask("Page.captureScreenshot", format="jpeg", quality=85)
    target.write_bytes(base64.b64decode(picture["data"]))


async def main(url: str, document: Path, target: Path) -> None:
    with tempfile.TemporaryDirectory() as profile:
        words = ["--headless=new", "--no-sandbox", f"--remote-debugging-port={PORT}", f"--user-data-dir={profile}"]
        chromium = subprocess.Popen(["chromium", *words, "about:blank"], stderr=subprocess.DEVNULL)
        try:
            for _ in range(50):
                await asyncio.sleep(0.2)
                try:
                    await shoot(url, document, target)
                    return
                except OSError:
                    continue  # it is not up yet
            raise TimeoutError("Chromium did not start.")
        finally:
            chromium.terminate()
            chromium.wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])))
