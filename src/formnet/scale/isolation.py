"""Work that may crash, hang or eat memory, done in a process of its own, so that it costs nobody else anything."""

import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import ray
from ray.exceptions import OutOfMemoryError, RayError, WorkerCrashedError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from formnet.errors import FormNetError

Item = TypeVar("Item")


class LostError(FormNetError):
    """A process did not come back with an answer; the message says why."""


def alone(task: Any, *arguments: Any, seconds: float) -> Any:
    """Run a Ray task on this machine and give its answer; if it takes too long or dies, say so.

    The one who asks holds the cores that the task works on, so it starts at once and its time counts from here.
    """
    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    answer = task.options(num_cpus=0, max_retries=0, scheduling_strategy=here).remote(*arguments)
    ready, _ = ray.wait([answer], timeout=seconds)
    if not ready:
        ray.cancel(answer, force=True)
        raise LostError(f"took longer than {seconds:g} s.")
    try:
        return ray.get(answer)
    except OutOfMemoryError as error:
        raise LostError("took more memory than the machine has.") from error
    except WorkerCrashedError as error:
        raise LostError("crashed its process.") from error
    except RayError as error:
        raise LostError(f"was lost: {str(error).strip().splitlines()[-1]}") from error


def count_arrow() -> None:
    """Let Arrow take memory as others do: its usual pool sets gigabytes aside, and would seem to have taken them."""
    pa.set_memory_pool(pa.system_memory_pool())


@contextmanager
def limited_memory(size: int) -> Iterator[None]:
    """Let this process grow by so many bytes; where the system cannot say, it may grow as it likes."""
    if sys.platform != "linux":
        yield
        return
    before = resource.getrlimit(resource.RLIMIT_AS)
    # What Ray maps into every process is many gigabytes, and none of the document's.
    mapped = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    limit = mapped + size
    if before[1] != resource.RLIM_INFINITY:
        limit = min(limit, before[1])
    resource.setrlimit(resource.RLIMIT_AS, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def within_memory(items: Iterator[Item], size: int) -> Iterator[Item]:
    """Give items, for each of which this process may grow by so many bytes; a few bytes may unpack to any number."""
    count_arrow()
    while True:
        with limited_memory(size):
            try:
                item = next(items)
            except StopIteration:
                return
        yield item
