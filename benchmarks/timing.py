"""Timing of a function call."""

from collections.abc import Callable
from time import perf_counter


def time_call(function: Callable[[], object]) -> float:
    """Call a function once and return the elapsed seconds."""
    start = perf_counter()
    function()
    return perf_counter() - start
