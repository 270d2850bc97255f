"""Classes with members: dataclass, TypedDict, NamedTuple and Enum.

Used by `generate` as the classes of `shapes`. Rule of the file: each class is described once, under
its name in `$defs`, before its members are looked at; so classes may contain themselves and each
other. Objects are closed: a property that the class doesn't have is a mistake of the model.
"""

from __future__ import annotations

import dataclasses
import enum
import sys
import typing
from collections.abc import Callable, Mapping
from typing import Any, get_args, get_origin

from . import docstrings
from .plain import plain
from .report import Place
from .scalars import Schema
from .shapes import (
    Build,
    Refused,
    Shape,
    Shapes,
    SignatureError,
    array_builder,
    constants,
    type_name,
)

# What Python itself writes into a class; nothing that helps a model.
_AUTOMATIC_DOCS = {"An enumeration.", "Enum where members are also (and must be) ints"}


class Records:
    """The classes that one function's types mention. `namespace` resolves names of local types."""

    def __init__(self, namespace: Mapping[str, Any]) -> None:
        self._namespace = dict(namespace)
        self._names: dict[str, str] = {}  # type name -> name in $defs
        self._builds: dict[str, Build] = {}

    def shape(self, hint: Any, shapes: Shapes, where: str) -> Shape | None:
        """A `$ref` to the description of this class; None if it is of no kind that is known."""
        cls = get_origin(hint) or hint
        describe = self._kind(cls)
        if describe is None:
            return None
        full = type_name(hint)
        if full not in self._names:
            name = self._names[full] = self._new_name(hint, cls)
            shapes.defs[name] = {}  # taken: members may refer to it already
            shape = describe(hint, shapes, f"{where}: {cls.__name__}")
            shapes.defs[name].update(_head(cls, full, shapes), **shape.schema)
            self._builds[name] = shape.build
        name = self._names[full]
        return Shape({"$ref": f"#/$defs/{name}"}, lambda value, at: self._builds[name](value, at))

    def _kind(self, cls: Any) -> Callable[[Any, Shapes, str], Shape] | None:
        if not isinstance(cls, type):
            return None
        if issubclass(cls, enum.Enum):
            return self._enum if list(cls) else None
        if dataclasses.is_dataclass(cls):
            return self._dataclass
        if typing.is_typeddict(cls):
            return self._typed_dict
        if issubclass(cls, tuple) and hasattr(cls, "_fields"):
            return self._named_tuple
        return None

    def _new_name(self, hint: Any, cls: type) -> str:
        """Short where that is clear: pointers to it appear all over the schema."""
        short = cls.__name__ if hint is cls else type_name(hint).rpartition(".")[2]
        name = "".join(char if char.isalnum() else "_" for char in short).strip("_")
        taken = set(self._names.values())
        return next(
            option
            for option in (name, *(f"{name}_{number}" for number in range(2, len(taken) + 3)))
            if option not in taken
        )

    def _enum(self, hint: Any, shapes: Shapes, where: str) -> Shape:
        return constants([(member, member.value) for member in hint], where)

    def _dataclass(self, hint: Any, shapes: Shapes, where: str) -> Shape:
        cls = get_origin(hint) or hint
        hints = self._hints(hint, where)
        properties: dict[str, Schema] = {}
        builds: dict[str, Build] = {}
        required = []
        for field in dataclasses.fields(cls):
            if not field.init:
                continue
            shape = shapes.of(hints[field.name], f"{where}.{field.name}")
            schema = dict(shape.schema)
            if field.default is not dataclasses.MISSING:
                add_default(schema, field.default)
            elif field.default_factory is dataclasses.MISSING:
                required.append(field.name)
            properties[field.name], builds[field.name] = schema, shape.build

        def build(value: dict[str, Any], at: Place) -> Any:
            members = {name: builds[name](item, (at, name)) for name, item in value.items()}
            return _constructed(cls, at, (), members)

        return Shape(_object(cls, properties, required), build)

    def _typed_dict(self, hint: Any, shapes: Shapes, where: str) -> Shape:
        cls = get_origin(hint) or hint
        hints = self._hints(hint, where)
        required = [name for name, kind in hints.items() if _is_required(cls, name, kind)]
        members = {name: shapes.of(kind, f"{where}.{name}") for name, kind in hints.items()}
        properties = {name: dict(shape.schema) for name, shape in members.items()}

        def build(value: dict[str, Any], at: Place) -> Any:
            return {name: members[name].build(item, (at, name)) for name, item in value.items()}

        return Shape(_object(cls, properties, required), build)

    def _named_tuple(self, hint: Any, shapes: Shapes, where: str) -> Shape:
        """An array, as in JSON everywhere; the names of its items are their descriptions."""
        cls = get_origin(hint) or hint
        hints = self._hints(hint, where)
        fields = [shapes.of(hints.get(name, Any), f"{where}.{name}") for name in cls._fields]
        items = [
            {"description": name, **shape.schema}
            for name, shape in zip(cls._fields, fields, strict=True)
        ]
        for item, name in zip(items, cls._fields, strict=True):
            if name in cls._field_defaults:
                add_default(item, cls._field_defaults[name])
        schema: Schema = {
            "type": "array",
            "minItems": len(fields) - len(cls._field_defaults),
            "maxItems": len(fields),
        }
        if items:
            schema["prefixItems"] = items
        listed = array_builder(lambda index: fields[index].build, list)
        return Shape(schema, lambda value, at: _constructed(cls, at, listed(value, at), {}))

    def _hints(self, hint: Any, where: str) -> dict[str, Any]:
        """The types of a class's members, names resolved and type variables replaced."""
        cls, args = get_origin(hint) or hint, get_args(hint)
        own = vars(sys.modules[cls.__module__]) if cls.__module__ in sys.modules else {}
        try:
            hints = typing.get_type_hints(
                cls, localns={**self._namespace, **own}, include_extras=True
            )
        except (NameError, AttributeError, SyntaxError, TypeError) as error:
            raise SignatureError(f"{where}: a type can't be resolved: {error}") from None
        given = dict(zip(getattr(cls, "__parameters__", ()), args, strict=False))
        return {name: _substituted(kind, given) for name, kind in hints.items()} if given else hints


def add_default(schema: Schema, default: Any) -> None:
    """Show a default if JSON can. One that it can't say is still a default."""
    try:
        schema["default"] = plain(default)
    except (TypeError, ValueError):
        schema.pop("default", None)


def _object(cls: type, properties: dict[str, Schema], required: list[str]) -> Schema:
    documented = docstrings.parse(cls.__dict__.get("__doc__")).parameters
    for name, text in documented.items():
        if name in properties:
            properties[name].setdefault("description", text)
    schema: Schema = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    return {**schema, "additionalProperties": False}


def _head(cls: type, full: str, shapes: Shapes) -> Schema:
    head: Schema = {} if shapes.titles == "none" else {"title": full}
    text = cls.__dict__.get("__doc__") or ""
    if text and text not in _AUTOMATIC_DOCS and not text.startswith(f"{cls.__name__}("):
        description = docstrings.parse(text).description
        if description:
            head["description"] = description
    return head


def _constructed(cls: Any, at: Place, args: Any, members: dict[str, Any]) -> Any:
    try:
        return cls(*args, **members)
    except (ValueError, TypeError, ArithmeticError, AssertionError) as error:
        raise Refused(at, f"{cls.__name__} does not accept it: {str(error)[:200]}") from None


def _is_required(cls: Any, name: str, hint: Any) -> bool:
    """What the annotation says, else what the class that declared it is (PEP 655).

    The annotation comes first: `__required_keys__` can't see it in annotations that are strings.
    """
    while get_origin(hint) is not None:
        if get_origin(hint) is typing.Required:
            return True
        if get_origin(hint) is typing.NotRequired:
            return False
        hint = get_args(hint)[0]
    return name in cls.__required_keys__


def _substituted(hint: Any, given: dict[Any, Any]) -> Any:
    if hint in given:
        return given[hint]
    parameters = getattr(hint, "__parameters__", ())
    return hint[tuple(given.get(item, item) for item in parameters)] if parameters else hint
