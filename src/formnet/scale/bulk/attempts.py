"""How often each piece of work in hand was begun: Ray begins what was lost again, and again, and never asks why."""

from collections import Counter
from typing import Any

import ray

#: What was begun more often than this is given up.
MOST_ATTEMPTS = 3


class Attempts:
    """Counts work that is begun and not ended; a worker that dies cannot say so itself."""

    def __init__(self) -> None:
        self.begun: Counter[tuple[str, int]] = Counter()

    def begin(self, stage: str, number: int) -> int:
        """Count an attempt, and say which it is."""
        self.begun[stage, number] += 1
        return self.begun[stage, number]

    def end(self, stage: str, number: int) -> None:
        """Forget work that came to an end."""
        del self.begun[stage, number]


def count_attempts() -> Any:
    """Start an actor that all workers tell of what they begin."""
    actor: Any = ray.remote(num_cpus=0)(Attempts)
    return actor.remote()


def begin(attempts: Any, stage: str, number: int) -> int:
    """Say that work begins; give the number of the attempt."""
    count: int = ray.get(attempts.begin.remote(stage, number))
    return count


def end(attempts: Any, stage: str, number: int) -> None:
    """Say that work came to an end, good or bad."""
    attempts.end.remote(stage, number)
