"""How long a piece of work takes."""

from collections.abc import Callable
from time import perf_counter


def seconds_of(work: Callable[[], object]) -> float:
    """Do it once, and look at the clock."""
    start = perf_counter()
    work()
    return perf_counter() - start
