"""Upload a document to the web page of a running service in Chromium, and save an animation of it.

python tests/helpers/screenshot.py http://127.0.0.1:8000/ examples/receipt.jpg docs/images/page.gif
"""

import asyncio
import base64
import io
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from PIL import Image
from websockets import ClientConnection, connect

PORT, WIDTH, HEIGHT = 9333, 1280, 1440
#: Table rows that are selected one after the other in the animation, and its width in pixels.
SELECTED, ANIMATION_WIDTH = (0, 2, 5, 9, 11), 760


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

    async def screenshot(self) -> bytes:
        """Return a picture of the page as PNG."""
        return base64.b64decode((await self.call("Page.captureScreenshot"))["data"])

    async def wait_until(self, condition: str) -> None:
        """Wait up to two minutes until a JavaScript expression is true."""
        for _ in range(600):
            if (await self.call("Runtime.evaluate", expression=condition))["result"].get("value"):
                return
            await asyncio.sleep(0.2)
        raise TimeoutError(condition)


async def capture(url: str, document: Path, target: Path) -> None:
    """Open the page, upload the document, select some of its fields, and save an animation."""
    with urlopen(f"http://127.0.0.1:{PORT}/json/list") as response:
        page = next(entry for entry in json.load(response) if entry["type"] == "page")
    async with connect(page["webSocketDebuggerUrl"], max_size=None) as socket:
        browser = Browser(socket)
        size = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
        await browser.call("Emulation.setDeviceMetricsOverride", **size)
        await browser.call("Emulation.setFocusEmulationEnabled", enabled=True)
        await browser.call("Page.navigate", url=url)
        await browser.wait_until("document.querySelector('#model')?.options.length > 0")
        frames = [(await browser.screenshot(), 1500)]
        root = (await browser.call("DOM.getDocument"))["root"]["nodeId"]
        file_input = (await browser.call("DOM.querySelector", nodeId=root, selector="#file"))["nodeId"]
        await browser.call("DOM.setFileInputFiles", nodeId=file_input, files=[str(document.resolve())])
        await browser.wait_until("!document.querySelector('#result').hidden")
        await asyncio.sleep(1)
        frames.append((await browser.screenshot(), 2500))
        for number in SELECTED:
            await browser.call(
                "Runtime.evaluate", expression=f"document.querySelectorAll('tr[tabindex]')[{number}]?.focus()"
            )
            frames.append((await browser.screenshot(), 1200))
    save_animation(frames, target)


def save_animation(frames: list[tuple[bytes, int]], target: Path) -> None:
    """Write PNG frames, each with its time in milliseconds, as a GIF with one palette."""
    images = [Image.open(io.BytesIO(data)).convert("RGB") for data, _ in frames]
    size = ANIMATION_WIDTH, HEIGHT * ANIMATION_WIDTH // WIDTH
    images = [image.resize(size, Image.Resampling.LANCZOS) for image in images]
    palette = images[-1].quantize(192)
    first, *others = (image.quantize(palette=palette, dither=Image.Dither.NONE) for image in images)
    first.save(
        target, save_all=True, append_images=others, duration=[time for _, time in frames], loop=0, optimize=True
    )


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
