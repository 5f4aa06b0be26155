"""The schema of structured output: where in the tree each label belongs, and what type its values have."""

import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from formnet.document import DocumentType
from formnet.document.values.normalize import Kind, infer_kind
from formnet.errors import SettingsError
from formnet.extraction.pretrained import AUTO, find_models
from formnet.extraction.references import ReferenceList

#: File name in a model folder.
SCHEMA_NAME = "schema.json"
ValueType = Literal["text", "amount", "quantity", "date", "time", "code"]
_KINDS: dict[str, Kind] = {
    "amount": "amount", "quantity": "quantity", "date": "date", "time": "time", "code": "identifier"
}  # fmt: skip
_TYPES: dict[Kind | None, "ValueType"] = {"amount": "amount", "date": "date", "identifier": "code"}
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
    alone: bool = Field(
        True, description="Whether an anchor without other values is an element; a heading in a table is not."
    )
    constants: dict[str, str] = Field({}, description="Values next to this one, such as the method of a payment.")

    @field_validator("path")
    @classmethod
    def _check_path(cls, path: str) -> str:
        if not _PATH.fullmatch(path):
            raise ValueError(f"{path!r} is not a path such as merchant.name or line_items[].total")
        return path

    def has_same_place(self, other: "FieldSchema") -> bool:
        """Return whether values of both fields can be in one table."""
        return self.model_copy(update={"alone": other.alone}) == other

    @property
    def kind(self) -> Kind | None:
        """How values are normalized; None for text."""
        return _KINDS.get(self.type)

    @cached_property
    def segments(self) -> tuple[PathSegment, ...]:
        """The names in the path."""
        return tuple(PathSegment(part.removesuffix("[]"), part.endswith("[]")) for part in self.path.split("."))

    @property
    def is_single(self) -> bool:
        """Whether a document has at most one such value: neither the field nor a group around it is a list."""
        return not any(segment.is_list for segment in self.segments)

    @property
    def plain_path(self) -> str:
        """The path without `[]`."""
        return self.path.replace("[]", "")

    @cached_property
    def lists(self) -> tuple[str, ...]:
        """The paths of the lists that a value is in, outermost first: `a[].b[].c` is in `a` and `a.b`."""
        names = [segment.name for segment in self.segments]
        return tuple(
            ".".join(names[: depth + 1]) for depth, segment in enumerate(self.segments[:-1]) if segment.is_list
        )


class Factor(NamedTuple):
    """A value in an equation: `tax?` is 0 if it is missing, `sum(line_items.total)` adds all values at a path."""

    path: tuple[str, ...]
    is_sum: bool
    optional: bool


class Term(NamedTuple):
    """A product in an equation, added or subtracted."""

    sign: int
    factors: tuple[Factor, ...]


class Equation(NamedTuple):
    """Two sums that must be equal."""

    left: tuple[Term, ...]
    right: tuple[Term, ...]

    @classmethod
    def parse(cls, text: str) -> "Equation":
        """Parse an equation such as `subtotal - discount? + tax? = total`.

        >>> Equation.parse("quantity * price = total").right
        (Term(sign=1, factors=(Factor(path=('total',), is_sum=False, optional=False),)),)
        """
        sides = text.split("=")
        if len(sides) != 2:
            raise ValueError(f"{text!r} is not an equation with one equals sign")
        return cls(*map(_parse_sum, sides))


_FACTOR = re.compile(r"(?:(?P<sum>sum)\((?P<summed>[a-z0-9_.]+)\)|(?P<path>[a-z][a-z0-9_.]*))(?P<optional>\?)?")


def _parse_sum(text: str) -> tuple[Term, ...]:
    signed = re.findall(r"([+-]?)\s*([^+-]+)", text)
    if not signed:
        raise ValueError("an equation needs a value on each side")
    return tuple(
        Term(-1 if sign == "-" else 1, tuple(_parse_factor(factor.strip()) for factor in term.split("*")))
        for sign, term in signed
    )


def _parse_factor(text: str) -> Factor:
    match = _FACTOR.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a value such as total, tax? or sum(line_items.total)")
    path = tuple((match["summed"] or match["path"]).split("."))
    return Factor(path, match["sum"] is not None, bool(match["optional"]))


class Check(BaseModel):
    """Arithmetic that a document must satisfy: at least one of several equations, once or for each list element."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    for_each: str | None = Field(None, description="Path of a list, such as line_items; paths are then relative to it.")
    any_of: tuple[str, ...] = Field(min_length=1, description="Equations of which one must hold.")

    @cached_property
    def equations(self) -> tuple[Equation, ...]:
        """The parsed equations."""
        return tuple(map(Equation.parse, self.any_of))

    @property
    def paths(self) -> set[str]:
        """The paths of the values in the equations."""
        prefix = () if self.for_each is None else (self.for_each,)
        terms = (term for equation in self.equations for side in equation for term in side)
        return {".".join((*prefix, *factor.path)) for term in terms for factor in term.factors}

    @field_validator("any_of")
    @classmethod
    def _check_equations(cls, any_of: tuple[str, ...]) -> tuple[str, ...]:
        for text in any_of:
            Equation.parse(text)
        return any_of


class Schema(BaseModel):
    """Fields by label; labels without a field do not appear in the tree."""

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)

    fields: tuple[FieldSchema, ...]
    checks: tuple[Check, ...] = ()
    #: Lists that values are matched with, by path; not part of the file.
    references: dict[str, ReferenceList] = Field({}, exclude=True, repr=False)
    #: The schemas of which this one is the union, by type of document; not part of the file.
    by_type: dict[str, "Schema"] = Field({}, exclude=True, repr=False)

    @model_validator(mode="after")
    def _check_paths(self) -> "Schema":
        roles: dict[str, str] = {}
        for field in self.fields:
            if field.anchor and not field.lists:
                raise ValueError(f"label {field.label!r}: an anchor starts an element of a list, so its path needs []")
            if field.anchor and "." in field.lists[0]:
                raise ValueError(f"label {field.label!r}: a list with an anchor must be at the top of the tree")
            path = ""
            for depth, segment in enumerate(field.segments, 1):
                path += f"{'.' if path else ''}{segment.name}"
                role = (
                    f"{'list of ' if segment.is_list else ''}{'values' if depth == len(field.segments) else 'groups'}"
                )
                if roles.setdefault(path, role) != role:
                    raise ValueError(
                        f"label {field.label!r}: {path} is of another kind for another label: {roles[path]}"
                    )
        if len(self.by_label) < len(self.fields):
            raise ValueError("a label has several fields")
        for check in self.checks:
            for path in check.paths:
                if not roles.get(path, "").endswith("values"):
                    raise ValueError(f"check {check.name!r}: no field has the path {path}")
        return self

    @cached_property
    def by_label(self) -> dict[str, FieldSchema]:
        """The field of each label."""
        return {field.label: field for field in self.fields}

    @cached_property
    def anchors(self) -> dict[str, str]:
        """The label that starts the elements of each list that has one."""
        return {field.lists[-1]: field.label for field in self.fields if field.anchor}

    @property
    def text_paths(self) -> list[str]:
        """The paths of fields with text, without `[]`."""
        return list(dict.fromkeys(field.plain_path for field in self.fields if field.type == "text"))

    @classmethod
    def union(cls, by_type: Mapping[str, "Schema"]) -> "Schema":
        """Return a schema with the fields of all types of documents; each label must mean the same in all of them."""
        fields: dict[str, FieldSchema] = {}
        for name, schema in by_type.items():
            for field in schema.fields:
                if not fields.setdefault(field.label, field).has_same_place(field):
                    raise SettingsError(f"the label {field.label!r} has another field in the schema of {name}.")
        try:
            return cls(fields=tuple(fields.values()), by_type=dict(by_type))
        except ValidationError as error:
            reason = error.errors(include_url=False)[0]["msg"]
            raise SettingsError(f"the schemas of {', '.join(by_type)} contradict each other: {reason}.") from error

    def for_type(self, document_type: DocumentType | None) -> "Schema":
        """Return the schema for documents of a type: in a union, its own, and that of the first type for others."""
        if not self.by_type:
            return self
        first = next(iter(self.by_type.values()))
        return first if document_type is None else self.by_type.get(document_type.name, first)

    def with_references(self, references: Iterable[ReferenceList]) -> "Schema":
        """Return this schema with lists that the values of its fields are matched with."""
        by_path: dict[str, ReferenceList] = {}
        for reference in references:
            if reference.path not in self.text_paths:
                raise SettingsError(reference.describe_unknown_path(self.text_paths))
            if reference.path in by_path:
                raise SettingsError(f"{reference.name}: a second list for {reference.path}. Merge the two.")
            by_path[reference.path] = reference
        by_type = {
            name: schema.with_references(by_path[path] for path in by_path if path in schema.text_paths)
            for name, schema in self.by_type.items()
        }
        return self.model_copy(update={"references": by_path, "by_type": by_type})

    @cached_property
    def path_order(self) -> dict[str, int]:
        """The position of each path in the schema, in which fields are reported; `[]` is left out."""
        order: dict[str, int] = {}
        for field in self.fields:
            names = [segment.name for segment in field.segments]
            for depth in range(len(names)):
                order.setdefault(".".join(names[: depth + 1]), len(order))
        return order

    @classmethod
    def flat(cls, labels: Iterable[str]) -> "Schema":
        """Return a schema without structure: every label is a list at the top, with values of the type it suggests.

        >>> [field.path for field in Schema.flat(["Invoice No.", "total"]).fields]
        ['invoice_no[]', 'total[]']
        """
        names = {label: re.sub(r"[^a-z0-9]+", "_", label.lower()).strip("_") for label in labels}
        return cls(
            fields=tuple(
                FieldSchema(
                    label=label,
                    path=f"{name if name[:1].isalpha() else f'field_{name}'}[]",
                    type=_TYPES.get(infer_kind(label), "text"),
                )
                for label, name in names.items()
            )
        )

    @classmethod
    def load(cls, folder: Path) -> "Schema | None":
        """Load the schema of a model folder, if it has one."""
        file = folder / SCHEMA_NAME
        return cls.read(file) if file.is_file() else None

    @classmethod
    def read(cls, file: Path) -> "Schema":
        """Read a schema from a JSON file."""
        try:
            return cls.model_validate_json(file.read_bytes())
        except OSError as error:
            raise SettingsError(f"{file}: cannot be read: {error.strerror}.") from error
        except ValidationError as error:
            problem = error.errors(include_url=False)[0]
            reason = ": ".join(filter(None, (".".join(map(str, problem["loc"])), problem["msg"])))
            raise SettingsError(f"{file}: invalid schema: {reason}.") from error

    def save(self, folder: Path) -> None:
        """Write the schema to a model folder."""
        text = self.model_dump_json(indent=1, exclude_defaults=True)
        (folder / SCHEMA_NAME).write_text(text + "\n", encoding="utf-8")


def load_schema(source: str) -> Schema | None:
    """Load the schema of a model, or of all models of "auto"; None if one has none."""
    schemas = {name: Schema.load(folder) for name, folder in find_models(source).items()}
    found = {name: schema for name, schema in schemas.items() if schema is not None}
    if len(found) < len(schemas):
        return None
    return Schema.union(found) if source == AUTO else found[source]
