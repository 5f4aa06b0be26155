"""XML from strangers → elements, and the numbers that their attributes hold."""

import math
from pathlib import Path
from typing import TYPE_CHECKING

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import ParseError, fromstring

from formnet.errors import DocumentError

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element


def parse_xml(raw: bytes, path: Path) -> "Element":
    """Give the root of a file's elements; a document type is refused, since nothing good hides in it."""
    try:
        root: Element = fromstring(raw, forbid_dtd=True)
    except DefusedXmlException as error:
        raise DocumentError(
            f"{path}: declares a document type or entities, which could reach other files; remove the DOCTYPE."
        ) from error
    except (ParseError, LookupError, ValueError) as error:  # the last two are of encodings
        raise DocumentError(f"{path}: is not well-formed XML: {error}.") from error
    return root


def name_of(element: "Element") -> str:
    """Give an element's name without its namespace, which changes with every version of a format."""
    return element.tag.rpartition("}")[2]


def get_number(element: "Element", attribute: str, where: str) -> float:
    """Give the number that an attribute holds."""
    number = find_number(element, attribute, where)
    if number is None:
        raise DocumentError(f"{where}: <{name_of(element)}> has no {attribute}.")
    return number


def find_number(element: "Element", attribute: str, where: str) -> float | None:
    """Give the number that an attribute holds, or nothing if it is not there."""
    text = element.get(attribute)
    return None if text is None else to_number(text, f"{where}: {attribute}")


def to_number(text: str, where: str) -> float:
    """Give the number that is written."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise DocumentError(f"{where} should be a number, not {text[:40]!r}.")
    return number
