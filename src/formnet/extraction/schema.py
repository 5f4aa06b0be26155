"""The schema of structured output: where in the tree each label belongs, and what type its values have."""

import re
from collections.abc import Iterable
from functools import cached_property
from typing import Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, field_validator

ValueType = Literal["text", "amount", "quantity", "date", "time", "code"]
_PATH = re.compile(r"[a-z][a-z0-9_]*(\[\])?(\.[a-z][a-z0-9_]*(\[\])?)*")


class PathSegment(NamedTuple):
    """A name in a path; `line_items[]` is a list."""

    name: str
    is_list: bool


class FieldSchema(BaseModel):
    """Where the values of a label belong: `line_items[].total` is the total of each line item."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    label: str
    path: str
    type: ValueType = "text"
    anchor: bool = Field(False, description="Whether each value starts an element of its list, as the name of an item.")
    constants: dict[str, str] = Field({}, description="Values next to this one, such as the method of a payment.")

    @field_validator("path")
    @classmethod
    def _check_path(cls, path: str) -> str:
        if not _PATH.fullmatch(path):
            raise ValueError(f"{path!r} is not a path such as merchant.name or line_items[].total")
        return path

    @cached_property
    def segments(self) -> tuple[PathSegment, ...]:
        """The names in the path."""
        return tuple(PathSegment(part.removesuffix("[]"), part.endswith("[]")) for part in self.path.split("."))

    @cached_property
    def lists(self) -> tuple[str, ...]:
        """The paths of the lists that a value is in, outermost first: `a[].b[].c` is in `a` and `a.b`."""
        names = [segment.name for segment in self.segments]
        return tuple(
            ".".join(names[: depth + 1]) for depth, segment in enumerate(self.segments[:-1]) if segment.is_list
        )


class Schema(BaseModel):
    """Fields by label; labels without a field do not appear in the tree."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    fields: tuple[FieldSchema, ...]

    @cached_property
    def by_label(self) -> dict[str, FieldSchema]:
        """The field of each label."""
        return {field.label: field for field in self.fields}

    @cached_property
    def anchors(self) -> dict[str, str]:
        """The label that starts the elements of each list that has one."""
        return {field.lists[-1]: field.label for field in self.fields if field.anchor}

    @classmethod
    def flat(cls, labels: Iterable[str]) -> "Schema":
        """Return a schema without structure: every label is a list of texts at the top.

        >>> [field.path for field in Schema.flat(["Invoice No.", "total"]).fields]
        ['invoice_no[]', 'total[]']
        """
        names = {label: re.sub(r"[^a-z0-9]+", "_", label.lower()).strip("_") for label in labels}
        return cls(
            fields=tuple(
                FieldSchema(label=label, path=f"{name if name[:1].isalpha() else f'field_{name}'}[]")
                for label, name in names.items()
            )
        )
