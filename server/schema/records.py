"""Shapes of classes with members: dataclass, TypedDict, NamedTuple and Enum.

`generate` passes `describe` to `shapes`. Schemas of objects are closed: an unknown property is a
mistake of the model.
"""

from __future__ import annotations

import dataclasses
import enum
import sys
import typing
from typing import Any, get_args, get_origin

from . import docstrings
from .plain import Schema, plain
from .report import Place
from .shapes import Build, Refused, Shape, Shapes, SignatureError, array_builder, constants

# Docstrings that Python generates; they do not help a model.
_AUTOMATIC_DOCS = {"An enumeration.", "Enum where members are also (and must be) ints"}


def describe(cls: type, hint: Any, shapes: Shapes, where: str) -> Shape | None:
    """Return the shape of a class with members; None for other classes."""
    if issubclass(cls, enum.Enum):
        shape = _enum(cls, hint, shapes, where) if list(cls) else None
    elif dataclasses.is_dataclass(cls):
        shape = _dataclass(cls, hint, shapes, where)
    elif typing.is_typeddict(cls):
        shape = _typed_dict(cls, hint, shapes, where)
    elif issubclass(cls, tuple) and hasattr(cls, "_fields"):
        shape = _named_tuple(cls, hint, shapes, where)
    else:
        return None
    text = cls.__dict__.get("__doc__") or ""
    automatic = text in _AUTOMATIC_DOCS or text.startswith(f"{cls.__name__}(")
    description = None if automatic else docstrings.parse(text).description
    if shape and description:
        return Shape({"description": description, **shape.schema}, shape.build)
    return shape


def _enum(cls: Any, hint: Any, shapes: Shapes, where: str) -> Shape:
    return constants([(member, member.value) for member in hint], where)


def _dataclass(cls: Any, hint: Any, shapes: Shapes, where: str) -> Shape:
    hints = _hints(cls, hint, shapes, where)
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
        """Build an instance. Raises Refused if the class rejects the members."""
        members = {name: builds[name](item, (at, name)) for name, item in value.items()}
        return _constructed(cls, at, (), members)

    return Shape(_object(cls, properties, required), build)


def _typed_dict(cls: Any, hint: Any, shapes: Shapes, where: str) -> Shape:
    hints = _hints(cls, hint, shapes, where)
    required = [name for name, kind in hints.items() if _is_required(cls, name, kind)]
    members = {name: shapes.of(kind, f"{where}.{name}") for name, kind in hints.items()}
    properties = {name: dict(shape.schema) for name, shape in members.items()}

    def build(value: dict[str, Any], at: Place) -> Any:
        """Build the members of a dict."""
        return {name: members[name].build(item, (at, name)) for name, item in value.items()}

    return Shape(_object(cls, properties, required), build)


def _named_tuple(cls: Any, hint: Any, shapes: Shapes, where: str) -> Shape:
    """Return the shape of an array whose items have the fields' names as descriptions."""
    hints = _hints(cls, hint, shapes, where)
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


def _hints(cls: Any, hint: Any, shapes: Shapes, where: str) -> dict[str, Any]:
    """Return the types of a class's members, names resolved and type variables replaced."""
    own = vars(sys.modules[cls.__module__]) if cls.__module__ in sys.modules else {}
    try:
        hints = typing.get_type_hints(cls, localns={**shapes.namespace, **own}, include_extras=True)
    except (NameError, AttributeError, SyntaxError, TypeError) as error:
        raise SignatureError(f"{where}: a type can't be resolved: {error}") from None
    given = dict(zip(getattr(cls, "__parameters__", ()), get_args(hint), strict=False))
    return {name: _substituted(kind, given) for name, kind in hints.items()} if given else hints


def add_default(schema: Schema, default: Any) -> None:
    """Set `default` in the schema; remove it if the default has no JSON form."""
    try:
        schema["default"] = plain(default)
    except (TypeError, ValueError):
        schema.pop("default", None)


def _object(cls: type, properties: dict[str, Schema], required: list[str]) -> Schema:
    documented = docstrings.parse(cls.__dict__.get("__doc__")).parameters
    for name, text in documented.items():
        if name in properties:
            properties[name].setdefault("description", text)
    return closed(properties, required)


def closed(properties: dict[str, Schema], required: list[str]) -> Schema:
    """Return the schema of an object that has these properties and no others."""
    schema: Schema = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    return {**schema, "additionalProperties": False}


def _constructed(cls: Any, at: Place, args: Any, members: dict[str, Any]) -> Any:
    try:
        return cls(*args, **members)
    except (ValueError, TypeError, ArithmeticError, AssertionError) as error:
        raise Refused(at, f"{cls.__name__} does not accept it: {str(error)[:200]}") from None


def _is_required(cls: Any, name: str, hint: Any) -> bool:
    """Return whether a member of a TypedDict is required (PEP 655).

    Its annotation decides, else the class that declared it. The annotation comes first, because
    `__required_keys__` ignores annotations that are strings.
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
