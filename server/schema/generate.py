"""Describe a Python function to a model: name, description and JSON Schema.

A tool is registered with `schema_of`; `convert` uses the same Signature to turn arguments into
Python values. Types are in `shapes` and `records`, docstrings in `docstrings`. A function that
can't be described exactly is an error at registration, not at the first call.
"""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from . import docstrings
from .plain import FORMATS, Schema
from .records import add_default, closed, describe
from .shapes import Build, Shapes, SignatureError
from .validate import SchemaError, Validator

__all__ = ["Parameter", "Signature", "SignatureError", "response_schema", "schema_of"]

STATUSES = (
    *("ok", "error", "timeout", "limit", "denied", "skipped", "invalid_arguments", "not_found"),
    *("sandbox_unavailable", "policy_exceeded", "indeterminate"),
)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter that the model fills in; `inspect.Parameter.empty` stands for no default."""

    name: str
    default: Any
    build: Build

    @property
    def required(self) -> bool:
        """Return whether the parameter has no default."""
        return self.default is inspect.Parameter.empty


@dataclass(frozen=True, slots=True)
class Signature:
    """The description of a function for a model, and the data needed to call it.

    `parameters` refers to named types by `$ref` into `$defs`; `inline` makes a version without.
    `returns` is the schema of the result: None if nothing is returned, {} if the type is unknown.
    `injected` are the parameters that the server fills in; they are in no schema.
    """

    name: str
    description: str | None
    parameters: Schema
    returns: Schema | None
    arguments: tuple[Parameter, ...]
    injected: tuple[str, ...]
    order: tuple[str, ...]  # those called by position, injected ones included
    validator: Validator

    def bind(self, values: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Return (args, kwargs) of the call; `values` has all parameters by name."""
        args = [values[name] for name in self.order]
        return args, {name: value for name, value in values.items() if name not in self.order}


def schema_of(
    function: Callable[..., Any], *, inject: Collection[str | type] = (), titled: bool = False
) -> Signature:
    """Describe a function.

    `inject`: names of parameters, or their classes, that the server provides. `titled`: every
    property and item has its type's full name as title, as objects always do. Raises SignatureError
    with function, parameter, reason and remedy.
    """
    name = getattr(function, "__name__", type(function).__name__)
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError) as error:
        raise SignatureError(f"{name}: {error}") from None
    namespace = _namespace(function)
    shapes = Shapes(namespace, describe, titled=titled)
    doc = docstrings.parse(inspect.getdoc(function))
    properties: dict[str, Schema] = {}
    arguments, injected, order = [], [], []
    for parameter in parameters:
        where = f"{name}({parameter.name})"
        _refuse_variadic(parameter, name)
        if parameter.kind is parameter.POSITIONAL_ONLY:
            order.append(parameter.name)
        named = parameter.name in inject  # its type may be one that isn't imported
        hint = None if named else _resolved(parameter.annotation, namespace, where)
        if named or _is_injected(hint, inject):
            injected.append(parameter.name)
            continue
        shape = shapes.of(hint, where)
        schema = dict(shape.schema)
        if parameter.name in doc.parameters:
            schema.setdefault("description", doc.parameters[parameter.name])
        if parameter.default is not parameter.empty:
            add_default(schema, parameter.default)
        properties[parameter.name] = schema
        arguments.append(Parameter(parameter.name, parameter.default, shape.build))
    required = [argument.name for argument in arguments if argument.required]
    schema = closed(properties, required) | ({"$defs": shapes.defs} if shapes.defs else {})
    return Signature(
        name=name,
        description=doc.description,
        parameters=schema,
        returns=_returned(function, namespace, titled=titled),
        arguments=tuple(arguments),
        injected=tuple(injected),
        order=tuple(order),
        validator=_checked(schema, name),
    )


def response_schema(returns: Schema | None) -> Schema:
    """Return the schema of the envelope of a result (tools/result.py).

    `returns` is the schema of the result; None leaves out `result`.
    """
    text: Schema = {"type": "string"}
    attachment = {
        "type": "object",
        "properties": {
            **dict.fromkeys(("path", "name", "media_type"), text),
            "bytes": {"type": "integer"},
        },
        "required": ["path", "name", "media_type", "bytes"],
    }
    error = {
        "type": "object",
        "properties": {"type": text, "message": text, "details": {}},
        "required": ["type", "message"],
    }
    properties: dict[str, Schema] = {"status": {"type": "string", "enum": list(STATUSES)}}
    envelope: Schema = {"type": "object", "properties": properties, "required": ["status"]}
    if returns is not None:
        properties["result"] = {key: sub for key, sub in returns.items() if key != "$defs"}
        if "$defs" in returns:  # $refs start at the root, which is the envelope
            envelope["$defs"] = returns["$defs"]
    properties["logs"] = {"type": "array", "items": text}
    properties["attachments"] = {"type": "array", "items": attachment}
    properties["error"] = error
    properties |= {
        name: {"type": "object"} for name in ("usage", "sandbox", "modified_args", "process")
    }
    properties |= {name: {"type": "integer"} for name in ("duration_ms", "keep")}
    properties["repairs"] = properties["logs"]
    properties |= dict.fromkeys(("hint", "feedback"), text)
    return envelope


def _namespace(function: Callable[..., Any]) -> dict[str, Any]:
    inner: Any = inspect.unwrap(function)
    return dict(getattr(getattr(inner, "__func__", inner), "__globals__", {}))


def _refuse_variadic(parameter: inspect.Parameter, name: str) -> None:
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        stars, use = ("*", "list") if parameter.kind is parameter.VAR_POSITIONAL else ("**", "dict")
        raise SignatureError(
            f"{name}({stars}{parameter.name}): a model has to know each parameter by name;"
            f" use one parameter that is a {use}"
        )


def _resolved(annotation: Any, namespace: dict[str, Any], where: str) -> Any:
    """Return the type of an annotation. Raises SignatureError.

    Annotations are resolved one at a time: an injected one may name a class that isn't imported.
    """
    if annotation is inspect.Parameter.empty:
        return Any
    holder = types.SimpleNamespace(__annotations__={"it": annotation})
    try:
        return typing.get_type_hints(holder, globalns=namespace, include_extras=True)["it"]
    except (NameError, AttributeError, SyntaxError, TypeError) as error:
        raise SignatureError(f"{where}: the type can't be resolved: {error}") from None


def _is_injected(hint: Any, inject: Collection[str | type]) -> bool:
    wanted = tuple(kind for kind in inject if isinstance(kind, type))
    options = typing.get_args(hint) or (hint,)
    return any(isinstance(option, type) and issubclass(option, wanted) for option in options)


def _returned(
    function: Callable[..., Any], namespace: dict[str, Any], *, titled: bool
) -> Schema | None:
    """Return the schema of the result, {} if it can't be described: it is only informative."""
    annotation = inspect.signature(function).return_annotation
    shapes = Shapes(namespace, describe, titled=titled)
    try:
        hint = _resolved(annotation, namespace, "return")
        if hint is types.NoneType:
            return None
        schema = shapes.of(hint, "return").schema
    except SignatureError:
        return {}
    return {**schema, "$defs": shapes.defs} if shapes.defs else schema


def _checked(schema: Schema, name: str) -> Validator:
    try:
        return Validator(schema, formats=FORMATS)
    except SchemaError as error:  # only by constraints in Annotated
        raise SignatureError(f"{name}: {error}") from None
