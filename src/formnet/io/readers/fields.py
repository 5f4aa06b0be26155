"""Typed access to the values of untrusted JSON."""

import math
from typing import Any, TypeVar

from formnet.errors import DocumentError

ValueType = TypeVar("ValueType")

_TYPE_NAMES = {
    list: "a list",
    dict: "an object",
    str: "a string",
    int: "an integer",
    float: "a number",
    bool: "a boolean",
}


def find(data: Any, key: str, value_type: type[ValueType], where: str) -> ValueType | None:
    """Return the value under a key, or None if it is missing or null."""
    value = _get_value(data, key, where)
    if value is None:
        return None
    if not isinstance(value, value_type) or isinstance(value, bool):
        raise DocumentError(f"{where}: {key!r} must be {_TYPE_NAMES[value_type]}, not {type_name(value)}.")
    return value


def get(data: Any, key: str, value_type: type[ValueType], where: str) -> ValueType:
    """Return the value under a key; raise `DocumentError` if it is missing or null."""
    value = find(data, key, value_type, where)
    if value is None:
        raise DocumentError(f"{where}: {key!r} is missing.")
    return value


def find_number(data: Any, key: str, where: str) -> float | None:
    """Return the number under a key, or None if it is missing or null."""
    value = _get_value(data, key, where)
    return None if value is None else to_number(value, f"{where}: {key!r}")


def get_number(data: Any, key: str, where: str) -> float:
    """Return the number under a key; raise `DocumentError` if it is missing or null."""
    return to_number(_get_value(data, key, where), f"{where}: {key!r}")


def to_number(value: object, where: str) -> float:
    """Convert a JSON number to a float; raise `DocumentError` for other types, booleans included, and overflow."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise DocumentError(f"{where} must be a number, not {type_name(value)}.")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise DocumentError(f"{where} is too large.")
    return number


def type_name(value: object) -> str:
    """Return the JSON type of a value, with its article."""
    return "null" if value is None else _TYPE_NAMES.get(type(value), type(value).__name__)


def _get_value(data: Any, key: str, where: str) -> object:
    if not isinstance(data, dict):
        raise DocumentError(f"{where}: expected an object with {key!r}, not {type_name(data)}.")
    return data.get(key)
