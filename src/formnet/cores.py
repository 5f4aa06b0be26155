"""The cores that there are to use."""

import os


def own_cores() -> int:
    """Count the cores that this process may use, which may be fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
