"""Processes forked from a server that has already imported the training modules, which takes several seconds.

Their output goes to a log file.
"""

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable
from multiprocessing import forkserver
from multiprocessing.context import ForkServerProcess
from pathlib import Path

import pytest

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(
    ["formnet.cli", "formnet.training.finetune", "formnet.training.pretrain", "torch.utils.tensorboard"]
)


def start_process(log: Path, target: Callable[..., None], *arguments: str) -> ForkServerProcess:
    """Start a process that calls a function."""
    _start_server()
    process = _CONTEXT.Process(target=_call, args=(log, target, *arguments))
    process.start()
    return process


def launch_processes(count: int, log: Path, target: Callable[..., None], *arguments: str) -> None:
    """Call a function in several processes with torchrun's launcher; raise if one of them fails."""
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    config = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=count,
        rdzv_backend="c10d",
        rdzv_endpoint="localhost:0",
        start_method="forkserver",
        max_restarts=0,
    )
    # The launcher replaces these handlers and does not restore them.
    signals = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)
    handlers = {number: signal.getsignal(number) for number in signals}
    _start_server()
    try:
        elastic_launch(config, _call)(log, target, *arguments)
    except ChildFailedError as error:
        raise AssertionError(log.read_text()) from error
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def run_command(*arguments: str) -> None:
    """Run `formnet` with arguments."""
    from formnet.cli import main

    sys.argv = ["formnet", *arguments]
    main()


def _start_server() -> None:
    with pytest.MonkeyPatch.context() as patch:
        # OpenMP threads that wait actively slow each other down if there are more of them than cores.
        patch.setenv("OMP_WAIT_POLICY", "PASSIVE")
        forkserver.ensure_running()


def _call(log: Path, target: Callable[..., None], *arguments: str) -> None:
    with log.open("a") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    target(*arguments)
