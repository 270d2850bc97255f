"""Shapes of Python types: the JSON Schema, and a function that builds a value from fitting JSON.

Used by `generate` and `records`, and through them by `convert`. The schema and the builder of a
type are made by one function, so that they agree. A builder gets (JSON value, its place), may rely
on the schema, and raises UnfitValue if the type itself rejects the value. A type that can't be
described exactly is refused when the tool is registered, with the reason and a remedy.
"""

from __future__ import annotations

import collections
import collections.abc
import enum
import re
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, get_args, get_origin

from .keywords import identity
from .report import Place, describe, json_type
from .to_json import FORMATS, NUMBER_TEXT, plain, scalar
from .validate import Validator

Build = Callable[[Any, Place], Any]

_LISTS: set[Any] = {list, collections.abc.Sequence, collections.abc.MutableSequence}
_LISTS |= {collections.abc.Iterable, collections.abc.Collection}
_SETS = {set, collections.abc.Set, collections.abc.MutableSet}
_DICTS = {dict, collections.abc.Mapping, collections.abc.MutableMapping}
_WRAPPERS = {typing.Required, typing.NotRequired, typing.Final, getattr(typing, "ReadOnly", None)}
_ALIAS = getattr(typing, "TypeAliasType", ())  # the statement `type X = ...` of Python 3.12
INTEGER_NAME = "^(0|-?[1-9][0-9]*)$"


class SignatureError(TypeError):
    """A function or type that can't be described to a model; the message has reason and remedy."""


class UnfitValue(ValueError):
    """A value that fits the schema, but not the Python type."""

    def __init__(self, at: Place, message: str) -> None:
        super().__init__(message)
        self.at = at
        self.message = message


@dataclass(frozen=True, slots=True)
class Shape:
    """The schema of a type and the builder of its values."""

    schema: dict[str, Any]
    build: Build


# Returns the shape of a class with members, None for other classes (see `records`).
Describe = Callable[[type, Any, "Shapes", str], Shape | None]


# pydantic's `Field(…)`, which many published tools have as a default. It is known by
# its name, since pydantic need not be there.
_BOUNDS = {
    "ge": "minimum",
    "gt": "exclusiveMinimum",
    "le": "maximum",
    "lt": "exclusiveMaximum",
    "multiple_of": "multipleOf",
    "pattern": "pattern",
}
_LENGTHS = {"string": "Length", "array": "Items", "object": "Properties"}


def is_field(value: Any) -> bool:
    """Return whether a value is what pydantic's `Field(…)` returns."""
    return type(value).__name__ == "FieldInfo" and _of_pydantic(type(value))


def is_model(cls: type) -> bool:
    """Return whether a class is a model of pydantic (version 2)."""
    return any(c.__name__ == "BaseModel" and _of_pydantic(c) for c in cls.__mro__[:-1]) and hasattr(
        cls, "model_fields"
    )


def _of_pydantic(cls: type) -> bool:
    return cls.__module__.partition(".")[0] == "pydantic"


def field_keywords(field: Any, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the description and bounds of a `Field(…)` as keywords beside those of `schema`."""
    found: dict[str, Any] = {"description": field.description} if field.description else {}
    for bound in field.metadata:
        for name, keyword in _BOUNDS.items():
            if (value := getattr(bound, name, None)) is not None:
                found[keyword] = plain(value)
        unit = _LENGTHS.get(str(schema.get("type")))
        for side in ("min", "max") if unit else ():
            if (value := getattr(bound, f"{side}_length", None)) is not None:
                found[f"{side}{unit}"] = value
    return found


class Shapes:
    """The shapes of one function's types. Classes with members are collected in `defs`.

    `namespace` resolves the names of types. `describe` returns the shapes of classes with members.
    `titled`: every schema has its type's full name in `title`, not only those of classes with
    members.
    """

    def __init__(
        self, namespace: dict[str, Any], describe: Describe, *, titled: bool = False
    ) -> None:
        self.namespace = namespace
        self.defs: dict[str, dict[str, Any]] = {}
        self._describe, self._titled = describe, titled
        # full name of a class -> (type, name in defs) of each class with that name
        self._known: dict[str, list[tuple[Any, str]]] = {}
        self._builds: dict[str, Build] = {}

    def of(self, hint: Any, where: str) -> Shape:
        """Return the shape of a type hint.

        Raises SignatureError, whose message begins with `where`.
        """
        shape = self._of(hint, where)
        if not self._titled or not shape.schema or "$ref" in shape.schema:
            return shape  # the entry in defs has a title
        title = {"title": type_name(hint)}
        named = isinstance(hint, typing.NewType) or (_ALIAS and isinstance(hint, _ALIAS))
        schema = {**shape.schema, **title} if named else {**title, **shape.schema}
        return Shape(schema, shape.build)

    def _of(self, hint: Any, where: str) -> Shape:
        if hint is Any or hint is object:
            return Shape({}, lambda value, at: value)
        if hint is None:
            hint = types.NoneType
        if known := scalar(hint):
            return Shape(known[0], _guard(known[1]))
        if isinstance(hint, typing.TypeVar):
            if hint.__constraints__:
                return self._union(hint.__constraints__, where)
            return self.of(Any if hint.__bound__ is None else hint.__bound__, where)
        if isinstance(hint, typing.NewType):
            return self.of(hint.__supertype__, where)
        if _ALIAS and isinstance(hint, _ALIAS):
            return self.of(hint.__value__, where)
        if isinstance(hint, str | typing.ForwardRef):
            raise SignatureError(f"{where}: the name {type_name(hint)} can't be resolved")
        return self._generic(hint, where)

    def _generic(self, hint: Any, where: str) -> Shape:
        origin, args = get_origin(hint) or hint, get_args(hint)
        if origin is typing.Annotated:
            return self._annotated(args[0], hint.__metadata__, where)
        if origin is typing.Literal:
            return constants([(value, value) for value in args], where)
        if origin is typing.Union or origin is types.UnionType:
            return self._union(args, where)
        if origin in _WRAPPERS:
            return self.of(args[0], where)
        if origin is tuple:
            return self._tuple(hint, args, where)
        if origin in _LISTS:
            return self._array(args, where, list)
        if origin in _SETS or origin is frozenset:
            shape = self._array(args, where, frozenset if origin is frozenset else set)
            return Shape({**shape.schema, "uniqueItems": True}, shape.build)
        if origin in _DICTS:
            return self._dict(args, where)
        if isinstance(origin, type) and (described := self._class(origin, hint, where)):
            return described
        raise SignatureError(f"{where}: {_why_not(hint, origin)}")

    def _class(self, cls: type, hint: Any, where: str) -> Shape | None:
        """Return a `$ref` into `defs`; None if `describe` returns None.

        The entry is added before the members are described, because they may refer to it.
        """
        full = type_name(hint)
        namesakes = self._known.setdefault(full, [])
        name = next((name for known, name in namesakes if known == hint), "")
        if not name:
            short = cls.__name__ if hint is cls else full.rpartition(".")[2]
            name = short = re.sub(r"\W+", "_", short).strip("_")
            for number in range(2, len(self.defs) + 2):
                name = f"{short}_{number}" if name in self.defs else name
            namesakes.append((hint, name))
            nth = f" ({len(namesakes)})" if len(namesakes) > 1 else ""
            self.defs[name] = {"title": full + nth}
            shape = self._describe(cls, hint, self, f"{where}: {cls.__name__}")
            if shape is None:
                del namesakes[-1], self.defs[name]
                return None
            self.defs[name].update(shape.schema)
            self._builds[name] = shape.build
        return Shape({"$ref": f"#/$defs/{name}"}, lambda value, at: self._builds[name](value, at))

    def _annotated(self, hint: Any, metadata: Iterable[Any], where: str) -> Shape:
        """Return the shape of `Annotated[int, "how many", {"minimum": 1}]`.

        Text is the description, a dict is merged into the schema; so is pydantic's `Field(…)`.
        """
        shape = self.of(hint, where)
        schema = dict(shape.schema)
        for extra in metadata:
            if is_field(extra):
                schema.update(field_keywords(extra, schema))
            elif isinstance(extra, str):
                schema["description"] = extra
            elif isinstance(extra, dict):
                schema.update(extra)
        return Shape(schema, shape.build)

    def _union(self, hints: tuple[Any, ...], where: str) -> Shape:
        """Return the shape of a union: the first alternative that fits builds the value.

        A float is first tried as "number", any other value first as the other types.
        """
        shapes = [self.of(hint, where) for hint in hints]
        validators: list[Validator] = []

        def build(value: Any, at: Place) -> Any:
            """Build the value by the first fitting alternative. Raises UnfitValue if none fits."""
            if not validators:  # not earlier: defs are complete only after all types are described
                validators.extend(self.validator(shape.schema) for shape in shapes)
            fits = [
                shape
                for shape, validator in zip(shapes, validators, strict=True)
                if not validator.errors(value)
            ]
            float_first = isinstance(value, float)
            fits.sort(key=lambda shape: (shape.schema.get("type") == "number") != float_first)
            refused = UnfitValue(at, "fits none of the alternatives")
            for shape in fits:
                try:
                    return shape.build(value, at)
                except UnfitValue as error:
                    refused = error
            raise refused

        return Shape({"anyOf": [shape.schema for shape in shapes]}, build)

    def validator(self, schema: dict[str, Any]) -> Validator:
        """Return a Validator of a schema that may refer to `defs`."""
        return Validator({**schema, "$defs": self.defs} if self.defs else schema, formats=FORMATS)

    def _array(self, args: tuple[Any, ...], where: str, kind: Callable[[Any], Any]) -> Shape:
        item = self.of(args[0] if args else Any, where)
        schema: dict[str, Any] = {"type": "array"}
        if item.schema:
            schema["items"] = item.schema
        return Shape(schema, array_builder(lambda index: item.build, kind))

    def _tuple(self, hint: Any, args: tuple[Any, ...], where: str) -> Shape:
        if hint is tuple or hint is typing.Tuple:  # noqa: UP006 - the bare alias is its own object
            return self._array((), where, tuple)
        if len(args) == 2 and args[1] is Ellipsis:
            return self._array(args[:1], where, tuple)
        items = [self.of(arg, where) for arg in args]
        schema: dict[str, Any] = {"type": "array", "minItems": len(items), "maxItems": len(items)}
        if items:
            schema["prefixItems"] = [item.schema for item in items]
        return Shape(schema, array_builder(lambda index: items[index].build, tuple))

    def _dict(self, args: tuple[Any, ...], where: str) -> Shape:
        schema: dict[str, Any] = {"type": "object"}
        if not args:
            return Shape(schema, lambda value, at: value)
        names, key = self._names(args[0], where)
        item = self.of(args[1], where)
        if names:
            schema["propertyNames"] = names
        if item.schema:
            schema["additionalProperties"] = item.schema

        def build(value: dict[str, Any], at: Place) -> dict[Any, Any]:
            """Build keys and values of a dict."""
            return {
                key(name, (at, name)): item.build(member, (at, name))
                for name, member in value.items()
            }

        return Shape(schema, build)

    def _names(self, hint: Any, where: str) -> tuple[dict[str, Any], Build]:
        """Return (the schema of a dict's keys as JSON text, the builder of a key)."""
        shape = self.of(hint, where)
        schema = shape.schema
        if "$ref" in schema:
            schema = self.defs[schema["$ref"].rpartition("/")[2]]
        schema = {key: operand for key, operand in schema.items() if key != "title"}
        options = [schema["const"]] if "const" in schema else schema.get("enum")
        if options is not None:
            by_name = {str(plain(option)): option for option in options}
            return {"enum": list(by_name)}, lambda name, at: shape.build(by_name[name], at)
        match schema.get("type"):
            case None if not schema:
                return {}, shape.build
            case "string":
                return {} if schema == {"type": "string"} else schema, shape.build
            case "integer":
                return {"pattern": INTEGER_NAME}, lambda name, at: shape.build(int(name), at)
            case "number":
                return {"pattern": NUMBER_TEXT}, lambda name, at: shape.build(float(name), at)
        raise SignatureError(
            f"{where}: {type_name(hint)} can't be a key, the names in a JSON object are text"
        )


def constants(pairs: list[tuple[Any, Any]], where: str) -> Shape:
    """Return the shape of a choice between pairs (Python value, value with the JSON form)."""
    values = []
    for member, value in pairs:
        try:
            values.append(plain(value))
        except (TypeError, ValueError) as error:
            raise SignatureError(f"{where}: the value of {member!r} is not JSON: {error}") from None
    members = {identity(value): member for value, (member, _) in zip(values, pairs, strict=True)}
    kinds = {json_type(value) for value in values}
    schema: dict[str, Any] = {"const": values[0]} if len(values) == 1 else {"enum": values}
    if len(kinds) == 1 and not isinstance(values[0], list | dict):
        schema = {"type": kinds.pop(), **schema}
    return Shape(schema, lambda value, at: members[identity(value)])


def array_builder(item: Callable[[int], Build], kind: Callable[[Any], Any]) -> Build:
    """Return a builder of arrays: `item` maps an index to its builder, `kind` takes the list."""

    def build(value: list[Any], at: Place) -> Any:
        """Build the items, then the collection."""
        built = [item(index)(member, (at, index)) for index, member in enumerate(value)]
        return _guard(kind)(built, at)  # the members of a set must be hashable

    return build


def _guard(build: Callable[[Any], Any]) -> Build:
    def build_value(value: Any, at: Place) -> Any:
        """Build the value. Raises UnfitValue for ValueError, ArithmeticError and TypeError."""
        try:
            return build(value)
        except (ValueError, ArithmeticError, TypeError) as error:
            reason = f"can't be used: {str(error)[:200]}, got {describe(value)}"
            raise UnfitValue(at, reason) from None

    return build_value


def type_name(hint: Any) -> str:
    """Return a type as written in code, classes qualified by module: `list[shop.Order]`."""
    if hint is None or hint is types.NoneType:
        return "None"
    if isinstance(hint, str):
        return repr(hint)
    if isinstance(hint, list):  # the parameters of a Callable
        return f"[{', '.join(map(type_name, hint))}]"
    if isinstance(hint, typing.ForwardRef):
        return repr(hint.__forward_arg__)
    origin, args = get_origin(hint), get_args(hint)
    if origin is typing.Annotated:
        return type_name(args[0])
    if origin is typing.Union or origin is types.UnionType:
        return " | ".join(map(type_name, args))
    if origin is not None and origin is not typing.Literal and args:
        inner = ", ".join("..." if arg is Ellipsis else type_name(arg) for arg in args)
        return f"{type_name(origin)}[{inner}]"
    if isinstance(hint, type):
        module = "" if hint.__module__ == "builtins" else f"{hint.__module__}."
        return module + hint.__qualname__
    return str(hint).replace("typing.", "")


def _why_not(hint: Any, origin: Any) -> str:
    name = type_name(hint)
    if origin is collections.abc.Callable or isinstance(origin, types.FunctionType):
        return f"{name} is a function, and a model can't send one"
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return f"{name} has no members"
    return (
        f"{name} can't be sent as JSON; use plain types, a dataclass, TypedDict, NamedTuple or"
        " Enum, or name the parameter in `inject` if the server provides it"
    )
