"""Parse untrusted XML, and numbers in its attributes."""

import math
from pathlib import Path
from typing import TYPE_CHECKING

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import ParseError, fromstring

from formnet.errors import DocumentError

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element


def parse_xml(raw: bytes, path: Path) -> "Element":
    """Parse XML and return the root element; raise `DocumentError` if it has a DOCTYPE or entities."""
    try:
        root: Element = fromstring(raw, forbid_dtd=True)
    except DefusedXmlException as error:
        raise DocumentError(
            f"{path}: declares a DOCTYPE or entities, which could reference other files. Remove the DOCTYPE."
        ) from error
    except (ParseError, LookupError, ValueError) as error:  # LookupError and ValueError: unsupported encodings
        raise DocumentError(f"{path}: is not well-formed XML: {error}.") from error
    return root


def local_name(element: "Element") -> str:
    """Return the name of an element without its namespace, which differs between versions of a format."""
    return element.tag.rpartition("}")[2]


def get_number(element: "Element", attribute: str, where: str) -> float:
    """Return the number in an attribute; raise `DocumentError` if it is missing."""
    number = find_number(element, attribute, where)
    if number is None:
        raise DocumentError(f"{where}: <{local_name(element)}> has no {attribute}.")
    return number


def find_number(element: "Element", attribute: str, where: str) -> float | None:
    """Return the number in an attribute, or None if it is missing."""
    text = element.get(attribute)
    return None if text is None else to_number(text, f"{where}: {attribute}")


def to_number(text: str, where: str) -> float:
    """Parse a finite number."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise DocumentError(f"{where} must be a number, not {text[:40]!r}.")
    return number
