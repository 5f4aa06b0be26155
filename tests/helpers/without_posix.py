"""A system without POSIX: what formnet must not import or call there is missing."""

import builtins
import os
import signal
import sys
from types import ModuleType
from typing import Any

MODULES = ("fcntl", "grp", "pty", "pwd", "resource", "syslog", "termios", "tty")
FUNCTIONS = {
    "signal": ("alarm", "setitimer", "SIGALRM", "SIGHUP", "SIGUSR1", "SIGKILL", "pthread_sigmask"),
    "os": (
        "nice",
        "fork",
        "getuid",
        "geteuid",
        "getpgid",
        "killpg",
        "setsid",
        "mkfifo",
        "fchmod",
        "uname",
        "getloadavg",
    ),
}
import_module = builtins.__import__


def import_unless_posix(name: str, globals: Any = None, *arguments: Any, **options: Any) -> Any:  # noqa: A002
    """Import a module; one that only POSIX has is not found by formnet, while other packages decide by platform."""
    if name in MODULES and _is_formnet(globals):
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    return import_module(name, globals, *arguments, **options)


class WithoutFunctions(ModuleType):
    """A module without the functions that only POSIX has, as formnet sees it."""

    def __init__(self, module: ModuleType) -> None:
        super().__init__(module.__name__)
        self.__dict__["_module"] = module

    def __getattr__(self, name: str) -> Any:
        caller = sys._getframe(1).f_globals
        if (self.__name__, name) == ("sys", "platform") and _is_formnet(caller):
            return "other"
        if name in FUNCTIONS.get(self.__name__, ()) and _is_formnet(caller):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return getattr(self._module, name)


def _is_formnet(names: dict[str, Any] | None) -> bool:
    module = (names or {}).get("__spec__")
    return module is not None and module.name.startswith("formnet")


def install() -> None:
    """Hide modules and functions from formnet in this process."""
    builtins.__import__ = import_unless_posix
    for module in (os, signal, sys):
        sys.modules[module.__name__] = WithoutFunctions(module)
