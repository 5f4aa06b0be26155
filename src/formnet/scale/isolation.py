"""Run tasks that may crash, hang or exhaust memory in processes of their own."""

from collections.abc import Iterator
from typing import Any, TypeVar

import pyarrow as pa
import ray
from ray.exceptions import OutOfMemoryError, RayError, WorkerCrashedError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from formnet.errors import FormNetError
from formnet.io.isolation import limit_memory

Item = TypeVar("Item")


class IsolationError(FormNetError):
    """An isolated task timed out or its process died; the message is a predicate such as `crashed its process.`"""


def run_isolated(task: Any, *arguments: Any, timeout: float) -> Any:
    """Run a Ray task in another process on this machine and return its result; raise `IsolationError` if it fails.

    The caller already holds the cores that the task uses, so the task starts immediately, and so does its timeout.
    """
    this_node = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    result = task.options(num_cpus=0, max_retries=0, scheduling_strategy=this_node).remote(*arguments)
    ready, _ = ray.wait([result], timeout=timeout)
    if not ready:
        ray.cancel(result, force=True)
        raise IsolationError(f"took longer than {timeout:g} s.")
    try:
        return ray.get(result)
    except OutOfMemoryError as error:
        raise IsolationError("took more memory than the machine has.") from error
    except WorkerCrashedError as error:
        raise IsolationError("crashed its process.") from error
    except RayError as error:
        raise IsolationError(f"was lost: {str(error).strip().splitlines()[-1]}") from error


def iter_within_memory(items: Iterator[Item], size: int) -> Iterator[Item]:
    """Iterate with a memory limit of `size` bytes per item, because a few bytes may decompress to any number."""
    pa.set_memory_pool(pa.system_memory_pool())  # the default pool reserves gigabytes, which would count as used
    while True:
        with limit_memory(size):
            try:
                item = next(items)
            except StopIteration:
                return
        yield item
