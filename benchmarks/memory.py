"""Peak memory of a function call."""

import ctypes
import gc
import sys
import threading
from collections.abc import Callable
from pathlib import Path


def peak_megabytes(function: Callable[[], object]) -> float:
    """Call a function and return the peak increase of this process's resident memory, in MiB."""
    gc.collect()
    if sys.platform == "linux":
        ctypes.CDLL("libc.so.6").malloc_trim(0)  # reusing memory that was freed earlier would hide the increase
    start = _resident()
    peak = start
    done = threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.wait(0.0005):
            peak = max(peak, _resident())

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        function()
    finally:
        done.set()
        watcher.join()
    return max(peak, _resident()) - start


def _resident() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * 4096 / 2**20
