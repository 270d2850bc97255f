"""Describe a Python function to a model: name, description and JSON Schema.

A tool is registered with `schema_of`; `convert` uses the same Signature to turn arguments into
Python values. Types are in `shapes` and `records`, docstrings in `docstrings`. A function that
can't be described exactly is an error at registration, not at the first call.
"""

from __future__ import annotations

import dataclasses
import enum
import inspect
import re
import sys
import types
import typing
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, get_args, get_origin

from .keywords import EXAMPLES
from .objects import object_schema
from .python_types import (
    Build,
    Shape,
    Shapes,
    SignatureError,
    UnfitValue,
    array_builder,
    constants,
    field_keywords,
    is_field,
    is_model,
)
from .report import Place
from .to_json import FORMATS, plain
from .validate import SchemaError, Validator

# -- docstrings -----------------------------------------------------------------------------------
# Parse docstrings into a description and the descriptions of parameters.
#
# Used by `generate` and `records`. Supported styles: Google (`Args:`), NumPy (underlined headings),
# Sphinx (`:param x:`), and Chinese text with full-width colons. One pass over the lines, which
# never raises; unrecognized text becomes description or is left out.

_PARAMETERS = {
    *("args", "arguments", "parameters", "params", "attributes", "keyword args"),
    *("keyword arguments", "other parameters", "参数", "入参", "形参", "参数说明", "属性"),
}
_OTHER = {
    *("returns", "return", "yields", "yield", "raises", "raise", "except", "exceptions", "warns"),
    *("返回", "返回值", "异常", "抛出"),
}
# These headings end a list of parameters; before one they are part of the description.
_PROSE = {
    *("example", "examples", "note", "notes", "warning", "warnings", "see also", "references"),
    *("todo", "示例", "例子", "注意", "备注", "说明"),
}
_HEADING = re.compile(r"(?P<name>\w[\w ]*?)\s*[:：]\s*$")
_UNDERLINE = re.compile(r"\s*-{3,}\s*$")
_FIELD = re.compile(r"[:@](?P<word>[a-z]+)(?P<about>[^:]*)[:：]\s*(?P<text>.*)")
_FIELD_PARAMETERS = {"param", "parameter", "arg", "argument", "key", "keyword", "ivar", "var"}
_FIELDS = _FIELD_PARAMETERS | {"type", "vartype", "return", "returns", "rtype"}
_FIELDS |= {"raise", "raises", "except", "exception", "yield", "yields", "meta", "cvar"}
_GOOGLE_ITEM = re.compile(
    r"(?:[-*•]\s+)?`?\*{0,2}(?P<name>\w+)`?\s*(?:[(（].*?[)）])?(?:\s*[:：]|\s+--?(?=\s))\s*(?P<text>.*)"
)
_DASHED = re.compile(r"\*{0,2}\w+\s+--\s")  # as in PEP 257, without indentation
_NUMPY_ITEM = re.compile(r"(?P<names>\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?$")


@dataclass(slots=True)
class Doc:
    """`description` is the text before the first section, None if there is none."""

    description: str | None = None
    parameters: dict[str, str] = dataclasses.field(default_factory=dict)


def parse(text: str | None) -> Doc:
    """Parse a docstring of any supported style; None gives an empty Doc."""
    reader = _Reader()
    lines = inspect.cleandoc(text or "").splitlines()
    for line, after in pairwise([*lines, ""]):
        reader.read(line, after)
    prose = "\n".join(reader.prose).strip()
    joined = {name: " ".join(words).strip() for name, words in reader.found.items()}
    return Doc(prose or None, {name: words for name, words in joined.items() if words})


class _Reader:
    def __init__(self) -> None:
        self.prose: list[str] = []
        self.found: dict[str, list[str]] = {}
        self.section = "prose"  # or google, numpy, field, other
        self.indent: int | None = None  # of the items in a Google section
        self.current: list[list[str]] = []  # the texts that a continuation line belongs to

    def read(self, line: str, after: str) -> None:
        """Read one line; `after` is the next one, which may underline it."""
        if _UNDERLINE.match(line):
            return
        if self.read_heading(line, after) or self.sphinx_field(line):
            return
        match self.section:
            case "prose":
                self.prose.append(line)
            case "google":
                self.google(line)
            case "numpy":
                self.numpy(line)
            case "field":
                self.append_line(line)

    def read_heading(self, line: str, after: str) -> bool:
        """Begin a section if `line` is a heading; return whether it is."""
        underlined = bool(_UNDERLINE.match(after)) and not line.startswith(" ")
        match = _HEADING.match(line)
        if not underlined and (match is None or line.startswith(" ")):
            return False
        name = (line if underlined or not match else match["name"]).strip(" :：").lower()
        if name in _PARAMETERS:
            self.section, self.indent = "numpy" if underlined else "google", None
        elif name in _OTHER or (name in _PROSE and self.section != "prose"):
            self.section = "other"
        else:
            return False
        self.current = []
        return True

    def sphinx_field(self, line: str) -> bool:
        """Begin a Sphinx field if `line` has one; return whether it has."""
        match = _FIELD.match(line)
        if not match or match["word"] not in _FIELDS:
            return False
        self.section, self.current = "field", []
        names = match["about"].split()
        if match["word"] in _FIELD_PARAMETERS and names:
            self.begin([names[-1].lstrip("*")], match["text"])
        return True

    def google(self, line: str) -> None:
        """Read a line of a Google section."""
        width = len(line) - len(line.lstrip())
        if not line.strip():
            return
        match = _GOOGLE_ITEM.match(line.strip())
        if width == 0 and not _DASHED.match(line) and (self.indent or not match):
            self.section = "other"  # prose after the list; some write items without indentation
            return
        self.indent = width if self.indent is None else self.indent
        if match and width <= self.indent:
            self.begin([match["name"]], match["text"])
        else:
            self.append_line(line)

    def numpy(self, line: str) -> None:
        """Read a line of a NumPy section."""
        if not line.strip() or line.startswith(" "):
            self.append_line(line)
        elif match := _NUMPY_ITEM.match(line):
            self.begin([name.strip(" *") for name in match["names"].split(",")], "")

    def begin(self, names: list[str], text: str) -> None:
        """Begin the descriptions of the parameters `names`."""
        self.current = [self.found.setdefault(name, []) for name in names]
        self.append_line(text)

    def append_line(self, line: str) -> None:
        """Append a line to the current descriptions."""
        for words in self.current:
            if line.strip():
                words.append(line.strip())


# -- records --------------------------------------------------------------------------------------
# Shapes of classes with members: dataclass, TypedDict, NamedTuple, Enum and models of pydantic.
#
# `generate` passes `describe` to `shapes`. Schemas of objects are closed: an unknown property is a
# mistake of the model.

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
    elif is_model(cls):
        shape = _model(cls, shapes, where)
    else:
        return None
    text = cls.__dict__.get("__doc__") or ""
    automatic = text in _AUTOMATIC_DOCS or text.startswith(f"{cls.__name__}(")
    description = None if automatic else parse(text).description
    if shape and description:
        return Shape({"description": description, **shape.schema}, shape.build)
    return shape


def _enum(cls: Any, hint: Any, shapes: Shapes, where: str) -> Shape:
    return constants([(member, member.value) for member in hint], where)


def _dataclass(cls: Any, hint: Any, shapes: Shapes, where: str) -> Shape:
    hints = _hints(cls, hint, shapes, where)
    properties: dict[str, dict[str, Any]] = {}
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
        """Build an instance. Raises UnfitValue if the class rejects the members."""
        members = {name: builds[name](item, (at, name)) for name, item in value.items()}
        return _construct(cls, at, (), members)

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
    schema: dict[str, Any] = {
        "type": "array",
        "minItems": len(fields) - len(cls._field_defaults),
        "maxItems": len(fields),
    }
    if items:
        schema["prefixItems"] = items
    listed = array_builder(lambda index: fields[index].build, list)
    return Shape(schema, lambda value, at: _construct(cls, at, listed(value, at), {}))


def _model(cls: Any, shapes: Shapes, where: str) -> Shape:
    """Return the shape of a pydantic model, which validates and builds its values itself."""
    properties: dict[str, dict[str, Any]] = {}
    required = []
    for own, field in cls.model_fields.items():
        alias = field.validation_alias or field.alias
        name = alias if isinstance(alias, str) else own
        schema = _field_schema(field, shapes, f"{where}.{own}")
        schema |= field_keywords(field, schema)
        if field.is_required():
            required.append(name)
        else:
            add_default(schema, _default_of_field(field))
        properties[name] = schema

    def build(value: Any, at: Place) -> Any:
        """Build an instance. Raises UnfitValue for what the model refuses."""
        try:
            return cls.model_validate(value)
        except ValueError as error:
            raise UnfitValue(at, f"{cls.__name__} does not accept it: {_reasons(error)}") from None

    return Shape(_object(cls, properties, required), build)


def _field_schema(field: Any, shapes: Shapes, where: str) -> dict[str, Any]:
    """Return the schema of a field's type; pydantic's own one of types such as `HttpUrl`."""
    try:
        return dict(shapes.of(field.annotation, where).schema)
    except SignatureError:
        adapter = sys.modules["pydantic"].TypeAdapter
        try:
            schema: dict[str, Any] = adapter(field.annotation).json_schema()
        except (RuntimeError, TypeError):
            schema = {"$defs": {}}
        if "$defs" in schema:
            raise
        return schema


def _reasons(error: Any) -> str:
    """Return the reasons of a ValidationError, each with its place."""
    found = (f"{'.'.join(map(str, e['loc']))}: {e['msg']}".lstrip(": ") for e in error.errors())
    return "; ".join(found)[:200]


def _hints(cls: Any, hint: Any, shapes: Shapes, where: str) -> dict[str, Any]:
    """Return the types of a class's members, names resolved and type variables replaced."""
    own = vars(sys.modules[cls.__module__]) if cls.__module__ in sys.modules else {}
    try:
        hints = typing.get_type_hints(cls, localns={**shapes.namespace, **own}, include_extras=True)
    except (NameError, AttributeError, SyntaxError, TypeError) as error:
        raise SignatureError(f"{where}: a type can't be resolved: {error}") from None
    given = dict(zip(getattr(cls, "__parameters__", ()), get_args(hint), strict=False))
    return {name: _substitute(kind, given) for name, kind in hints.items()} if given else hints


def _default_of_field(field: Any) -> Any:
    """Return the default in pydantic's `Field(…)`; `inspect.Parameter.empty` if it has none."""
    if field.is_required():
        return inspect.Parameter.empty
    return field.get_default(call_default_factory=True)


def add_default(schema: dict[str, Any], default: Any) -> None:
    """Set `default` in the schema; remove it if the default has no JSON form."""
    try:
        schema["default"] = plain(default)
    except (TypeError, ValueError):
        schema.pop("default", None)


def _object(
    cls: type, properties: dict[str, dict[str, Any]], required: list[str]
) -> dict[str, Any]:
    documented = parse(cls.__dict__.get("__doc__")).parameters
    for name, text in documented.items():
        if name in properties:
            properties[name].setdefault("description", text)
    return object_schema(properties, required, closed=True)


def _construct(cls: Any, at: Place, args: Any, members: dict[str, Any]) -> Any:
    try:
        return cls(*args, **members)
    except (ValueError, TypeError, ArithmeticError, AssertionError) as error:
        raise UnfitValue(at, f"{cls.__name__} does not accept it: {str(error)[:200]}") from None


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


def _substitute(hint: Any, given: dict[Any, Any]) -> Any:
    if hint in given:
        return given[hint]
    parameters = getattr(hint, "__parameters__", ())
    return hint[tuple(given.get(item, item) for item in parameters)] if parameters else hint


# -- generate -------------------------------------------------------------------------------------

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
    def is_required(self) -> bool:
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
    parameters: dict[str, Any]
    returns: dict[str, Any] | None
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
    doc = parse(inspect.getdoc(function))
    properties: dict[str, dict[str, Any]] = {}
    arguments, injected, order = [], [], []
    for parameter in parameters:
        where = f"{name}({parameter.name})"
        _refuse_variadic(parameter, name)
        if parameter.kind is parameter.POSITIONAL_ONLY:
            order.append(parameter.name)
        named = parameter.name in inject  # its type may be one that isn't imported
        hint = None if named else _resolve_type(parameter.annotation, namespace, where)
        if named or _is_injected(hint, inject):
            injected.append(parameter.name)
            continue
        shape = shapes.of(hint, where)
        schema, default = dict(shape.schema), parameter.default
        if is_field(default):
            schema |= field_keywords(default, schema)
            default = _default_of_field(default)
        if parameter.name in doc.parameters:
            schema.setdefault("description", doc.parameters[parameter.name])
        if default is not parameter.empty:
            add_default(schema, default)
        properties[parameter.name] = schema
        arguments.append(Parameter(parameter.name, default, shape.build))
    required = [argument.name for argument in arguments if argument.is_required]
    schema = object_schema(properties, required, closed=True)
    schema |= {"$defs": shapes.defs} if shapes.defs else {}
    return Signature(
        name=name,
        description=doc.description,
        parameters=schema,
        returns=_result_schema(function, namespace, titled=titled),
        arguments=tuple(arguments),
        injected=tuple(injected),
        order=tuple(order),
        validator=_check_schema(schema, name),
    )


def response_schema(returns: dict[str, Any] | None) -> dict[str, Any]:
    """Return the schema of the envelope of a result (tools/result.py).

    `returns` is the schema of the result; None leaves out `result`.
    """
    text: dict[str, Any] = {"type": "string"}
    number = {"type": "integer"}
    names = ("path", "name", "media_type")
    attachment = object_schema({**dict.fromkeys(names, text), "bytes": number}, None)
    texts = dict.fromkeys(("media_type", "data", "name", "path"), text)
    sizes = dict.fromkeys(("bytes", "width", "height"), number)
    shown = object_schema(texts | sizes, ("media_type", "data", "name", "bytes"))
    error = object_schema({"type": text, "message": text, "details": {}}, ("type", "message"))
    properties: dict[str, dict[str, Any]] = {"status": {"type": "string", "enum": list(STATUSES)}}
    envelope: dict[str, Any] = {"type": "object", "properties": properties, "required": ["status"]}
    if returns is not None:
        properties["result"] = {key: sub for key, sub in returns.items() if key != "$defs"}
        if "$defs" in returns:  # $refs start at the root, which is the envelope
            envelope["$defs"] = returns["$defs"]
    properties["logs"] = {"type": "array", "items": text}
    properties["attachments"] = {"type": "array", "items": attachment}
    properties["media"] = {"type": "array", "items": shown}
    properties["error"] = error
    properties |= {
        name: {"type": "object"} for name in ("usage", "sandbox", "modified_args", "process")
    }
    properties |= {name: {"type": "integer"} for name in ("duration_ms", "keep")}
    properties["repairs"] = properties["logs"]
    properties |= dict.fromkeys(("hint", "feedback"), text)
    properties["sources"] = {"type": "object", "additionalProperties": text}
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


def _resolve_type(annotation: Any, namespace: dict[str, Any], where: str) -> Any:
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


def _result_schema(
    function: Callable[..., Any], namespace: dict[str, Any], *, titled: bool
) -> dict[str, Any] | None:
    """Return the schema of the result, {} if it can't be described: it is only informative."""
    annotation = inspect.signature(function).return_annotation
    shapes = Shapes(namespace, describe, titled=titled)
    try:
        hint = _resolve_type(annotation, namespace, "return")
        if hint is types.NoneType:
            return None
        schema = shapes.of(hint, "return").schema
    except SignatureError:
        return {}
    return {**schema, "$defs": shapes.defs} if shapes.defs else schema


def _check_schema(schema: dict[str, Any], name: str) -> Validator:
    try:
        return Validator(schema, formats=FORMATS)
    except SchemaError as error:  # only by constraints in Annotated
        raise SignatureError(f"{name}: {error}") from None


# -- example --------------------------------------------------------------------------------------
# Make an example value that fits a schema, for models and people.
#
# Used where a schema is shown (tools/base.py). The same schema gives the same example, and an
# example that does not fit is not returned.

MAX_DEPTH = 8
MAX_VALUES = 500
NOTHING: Any = object()

# Sample texts by a word in the property's name; the first match counts.
NAMES = {
    "path": "notes/today.txt",
    "file": "notes/today.txt",
    "url": "https://example.org/page",
    "email": "ada@example.org",
    "date": "2026-03-01",
    "time": "12:00",
    "zone": "Europe/Paris",
    "city": "Paris",
    "country": "France",
    "language": "en",
    "id": "42",
    "name": "Ada",
    "query": "words to look for",
}


def example(schema: dict[str, Any]) -> Any:
    """Return a short value that fits the schema; NOTHING if none was found.

    `schema` must have its references written out (`inline`).
    """
    try:
        validator = Validator(schema)  # from here on every keyword has an operand of its kind
    except SchemaError:
        return NOTHING
    value = _value(schema, "", 0, iter(range(MAX_VALUES)))
    return NOTHING if validator.errors(value) else value


def _value(schema: Any, name: str, depth: int, left: Iterator[int]) -> Any:
    """Return a value for `schema`, which may not fit.

    `name` is its property's name. `left` yields once per value that may still be made, because
    nested arrays grow exponentially.
    """
    if not isinstance(schema, dict) or depth > MAX_DEPTH or next(left, None) is None:
        return None
    for keyword in ("examples", "enum"):
        if isinstance(schema.get(keyword), list) and schema[keyword]:
            return schema[keyword][0]
    for keyword in ("const", "default"):
        if schema.get(keyword) is not None:
            return schema[keyword]
    for keyword in ("anyOf", "oneOf", "allOf"):
        if isinstance(schema.get(keyword), list) and schema[keyword]:
            return _value(schema[keyword][0], name, depth + 1, left)
    kind = schema.get("type", "object" if "properties" in schema else "string")
    match kind[0] if isinstance(kind, list) and kind else kind:
        case "object":
            return _example_object(schema, depth, left)
        case "array":
            items = max(1, int(schema.get("minItems", 1)))
            item = schema.get("items", {})
            return [_value(item, name, depth + 1, left) for _ in range(min(items, 20))]
        case "integer" | "number":
            return _number(schema)
        case "boolean":
            return True
        case "string":
            return _text(schema, name)
    return None


def _example_object(schema: dict[str, Any], depth: int, left: Iterator[int]) -> dict[str, Any]:
    """Return an object with the required properties; with all if none is required."""
    fields = schema.get("properties", {})
    names = schema.get("required") or list(fields)
    return {name: _value(fields.get(name, {}), name, depth + 1, left) for name in names}


def _number(schema: dict[str, Any]) -> float:
    step = schema.get("multipleOf", 1)
    least = schema.get("minimum", schema.get("exclusiveMinimum", 0))
    most = schema.get("maximum", schema.get("exclusiveMaximum"))
    value: float = max(1, least) if most is None or most > 1 else min(most, 0)
    if value == schema.get("exclusiveMinimum"):
        value += step
    try:
        return value if value % step == 0 else (value // step + 1) * step
    except OverflowError:  # an integer of hundreds of digits and a fractional step
        return value


def _text(schema: dict[str, Any], name: str) -> str:
    text = EXAMPLES.get(schema.get("format", "")) or next(
        (sample for word, sample in NAMES.items() if word in name.lower()), "text"
    )
    least, most = int(schema.get("minLength", 0)), int(schema.get("maxLength", len(text)))
    return text.ljust(min(least, 1000), "x")[: max(most, least)]
