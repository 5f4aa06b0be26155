"""What JSON from strangers holds under its keys, of the type it should be, or a refusal that says where."""

import math
from typing import Any, TypeVar

from formnet.errors import DocumentError

Kind = TypeVar("Kind")

_CALLED = {list: "a list", dict: "an object", str: "a string", int: "a whole number", float: "a number", bool: "a bool"}


def find(data: Any, key: str, kind: type[Kind], where: str) -> Kind | None:
    """Give what stands under a key, or nothing where it is missing or null."""
    value = _value(data, key, where)
    if value is None:
        return None
    if not isinstance(value, kind) or isinstance(value, bool):
        raise DocumentError(f"{where}: {key!r} should be {_CALLED[kind]}, not {called(value)}.")
    return value


def get(data: Any, key: str, kind: type[Kind], where: str) -> Kind:
    """Give what stands under a key that must be there."""
    value = find(data, key, kind, where)
    if value is None:
        raise DocumentError(f"{where}: {key!r} is missing.")
    return value


def find_number(data: Any, key: str, where: str) -> float | None:
    """Give the number under a key, or nothing where it is missing or null."""
    value = _value(data, key, where)
    return None if value is None else to_number(value, f"{where}: {key!r}")


def get_number(data: Any, key: str, where: str) -> float:
    """Give the number under a key that must be there."""
    return to_number(_value(data, key, where), f"{where}: {key!r}")


def to_number(value: object, where: str) -> float:
    """Give a number as a float; true and false, and numbers too large for one, are none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise DocumentError(f"{where} should be a number, not {called(value)}.")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise DocumentError(f"{where} is too large a number.")
    return number


def called(value: object) -> str:
    """Name what a value is, in JSON's terms."""
    return "nothing" if value is None else _CALLED.get(type(value), type(value).__name__)


def _value(data: Any, key: str, where: str) -> object:
    if not isinstance(data, dict):
        raise DocumentError(f"{where}: an object with {key!r} should be here, not {called(data)}.")
    return data.get(key)
