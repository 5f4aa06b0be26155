"""How much memory a piece of work takes at its highest, over what was there before."""

import ctypes
import gc
import sys
import threading
from collections.abc import Callable
from pathlib import Path


def peak_megabytes(work: Callable[[], object]) -> float:
    """Run it and watch the process grow: megabytes of resident memory at the peak beyond the start."""
    gc.collect()
    if sys.platform == "linux":
        ctypes.CDLL("libc.so.6").malloc_trim(0)  # give back what earlier work left, or growth would hide in it
    start = _resident()
    highest = start
    done = threading.Event()

    def watch() -> None:
        nonlocal highest
        while not done.wait(0.0005):
            highest = max(highest, _resident())

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        work()
    finally:
        done.set()
        watcher.join()
    return max(highest, _resident()) - start


def _resident() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * 4096 / 2**20
