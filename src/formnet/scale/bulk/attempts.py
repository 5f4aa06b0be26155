"""Count the attempts at each shard. Ray retries lost work indefinitely, without a limit per task."""

from collections import Counter
from typing import Any

import ray

#: Maximum attempts at a shard.
MAX_ATTEMPTS = 3


class Attempts:
    """Counter of attempts that have started and not ended; a worker that dies cannot report it."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, int]] = Counter()

    def begin(self, stage: str, number: int) -> int:
        """Count an attempt, and return its number."""
        self.counts[stage, number] += 1
        return self.counts[stage, number]

    def end(self, stage: str, number: int) -> None:
        """Forget a shard that is finished."""
        del self.counts[stage, number]


def start_counter() -> Any:
    """Start an actor that all workers share."""
    actor: Any = ray.remote(num_cpus=0)(Attempts)
    return actor.remote()


def begin(attempts: Any, stage: str, number: int) -> int:
    """Report the start of work on a shard, and return the number of the attempt."""
    count: int = ray.get(attempts.begin.remote(stage, number))
    return count


def end(attempts: Any, stage: str, number: int) -> None:
    """Report the end of work on a shard, whether it succeeded or not."""
    attempts.end.remote(stage, number)
