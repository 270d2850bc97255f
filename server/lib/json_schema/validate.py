"""Validate JSON values against JSON Schema 2020-12 and draft-07, reporting every mismatch.

Used for tool arguments, answers to interrupts and structured output. The table KEYWORDS lists the
supported keywords; `compile` turns a schema into nodes and `report` runs them. Schemas may be
untrusted: nothing is fetched, evaluation always ends, and limits count work instead of time, so
that results are repeatable.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from ..strict_json import depth_exceeds, dumps
from . import keywords
from .compile import Compiler, Format, Keywords, Shape, UnresolvedReference
from .keywords import FORMATS, TYPES, bound, is_number, size
from .regex import MAX_COST
from .report import MAX_STEPS, Mismatch, Run

__all__ = [
    "Mismatch",
    "SchemaError",
    "Schemas",
    "Validator",
    "check_schema",
    "cached_validator",
    "validate",
]

MAX_SCHEMA_DEPTH = 100
MAX_SCHEMA_TEXT = 256_000  # characters of JSON; the largest known tool schema has 60,000
MAX_SCHEMAS_COST = 500_000  # of all schemas of a request, in units of about 1 µs
MAX_SCHEMAS_STEPS = 100_000  # of validating all values against them
MAX_REMEMBERED = 1_000_000  # characters of schemas and units of cost: about 12 MB
MIN_WEIGHT = 2_000  # in the same unit, for each schema
NO_FORMATS: Mapping[str, Format] = MappingProxyType({})
NO_DOCUMENTS: Mapping[str, Any] = MappingProxyType({})


class SchemaError(ValueError):
    """A schema that can't be used.

    `errors` lists the reasons, with pointers into the schema; `cost` is the compile cost spent so
    far, in units of about 1 µs.
    """

    def __init__(self, errors: list[Mismatch], cost: int = 0) -> None:
        super().__init__("the schema can't be used: " + "; ".join(map(str, errors[:5])))
        self.errors = errors
        self.cost = cost


class Validator:
    """A compiled schema. Compile once, run often; safe to share.

    `documents` maps URIs to other schemas that a $ref may name; `max_cost` bounds the cost of
    compiling the patterns. Raises SchemaError.
    """

    def __init__(
        self,
        schema: Any,
        *,
        formats: Mapping[str, Format] = FORMATS,
        documents: Mapping[str, Any] = NO_DOCUMENTS,
        max_cost: int = MAX_COST,
    ) -> None:
        text = _text(schema)
        self.schema = json.loads(text)  # our own copy: nodes are found by identity
        try:
            compiled = Compiler(self.schema, KEYWORDS, formats, documents, max_cost)
        except UnresolvedReference as error:
            raise SchemaError([Mismatch("", "$id", str(error))]) from None
        if compiled.problems:
            raise SchemaError(compiled.problems, compiled.cost)
        self.root = compiled.root
        self.patterns_cost = compiled.patterns_cost
        self.cost = compiled.cost  # of compiling it, in units of about 1 µs
        self.weight = MIN_WEIGHT + len(text) + self.cost

    def errors(
        self, value: Any, *, steps: int = MAX_STEPS, run: Run | None = None
    ) -> list[Mismatch]:
        """Return the mismatches of `value`, mostly in document order; [] if it fits.

        Values that are checked with one `run` share its budget of steps.
        """
        return [finding.mismatch() for finding in self.root.findings(value, run or Run(steps))]


class Schemas:
    """The schemas of one request, which share one budget for compiling and one for validation."""

    def __init__(
        self, max_cost: int = MAX_SCHEMAS_COST, max_steps: int = MAX_SCHEMAS_STEPS
    ) -> None:
        self._max_cost = max_cost
        self._cost = 0
        self._run = Run(max_steps)

    def validator(self, schema: Any) -> Validator:
        """Return the compiled schema. Raises SchemaError, also when the budget is used up."""
        if self._cost <= self._max_cost:
            try:
                found = cached_validator(schema)
            except SchemaError as error:
                self._cost += error.cost
                raise
            self._cost += found.cost
        if self._cost > self._max_cost:
            allowed, seen = self._max_cost, self._cost
            reason = f"all schemas together may cost {allowed} to compile, these cost {seen}"
            raise SchemaError([Mismatch("", "", reason)])
        return found

    def errors(self, value: Any, schema: Any) -> list[Mismatch]:
        """Return the mismatches between `value` and `schema`; [] if it fits. Raises SchemaError."""
        return self.validator(schema).errors(value, run=self._run)


def validate(value: Any, schema: Any, *, formats: bool = True) -> list[Mismatch]:
    """Return the mismatches between `value` and `schema`; [] if it fits. Raises SchemaError.

    `value` consists of JSON types: dict, list, str, int, float, bool, None. The compiled schema is
    cached by its text, so repeated calls are cheap; a `Validator` also saves the cache lookup.
    """
    return cached_validator(schema, formats).errors(value)


def check_schema(schema: Any, max_cost: int = MAX_COST) -> list[Mismatch]:
    """Return the reasons why this schema is unusable, with pointers into it; [] if it can be used.

    Unusable are: dialects other than 2020-12 and draft-07 (as which 2019-09 and draft-06 are read),
    dynamic and recursive references, references that leave the schema or have no target, reference
    loops, keywords with operands of the wrong shape, patterns that are not ECMA-262, that could
    take exponential time or that together cost more than `max_cost`, and sizes beyond the limits
    of this package.
    """
    try:
        cached_validator(schema, max_cost=max_cost)
    except SchemaError as error:
        return error.errors
    return []


def cached_validator(schema: Any, formats: bool = True, max_cost: int = MAX_COST) -> Validator:
    """Return the cached Validator of this schema, compiling it if needed. Raises SchemaError."""
    key = _text(schema), formats
    found = _remembered.pop(key, None)
    if found is None or found.patterns_cost > max_cost:
        found = Validator(schema, formats=FORMATS if formats else NO_FORMATS, max_cost=max_cost)
        kept = list(_remembered.items())
        room = MAX_REMEMBERED - found.weight - sum(each.weight for _, each in kept)
        for old, dropped in kept:
            if room >= 0:
                break
            _remembered.pop(old, None)
            room += dropped.weight
    _remembered[key] = found  # moves it to the end: most recently used
    return found


# Cache of compiled schemas, least recently used first. Clients supply the schemas, so the total
# weight is bounded. Safe with threads: a concurrent change costs at most a second compilation.
_remembered: dict[tuple[str, bool], Validator] = {}


def _text(schema: Any) -> str:
    """Return the schema as JSON. Raises SchemaError if it is not JSON, too deep or too long."""
    text, reason = "", f"nested deeper than {MAX_SCHEMA_DEPTH} levels"
    if not depth_exceeds(schema, MAX_SCHEMA_DEPTH):
        try:
            text, reason = dumps(schema), f"longer than {MAX_SCHEMA_TEXT} characters"
        except (TypeError, ValueError) as error:
            reason = f"not JSON: {error}"
    if not 0 < len(text) <= MAX_SCHEMA_TEXT:
        raise SchemaError([Mismatch("", "", reason)])
    return text


# ------------------------------------------------- the shapes of operands, checked when compiling


def _is_schema(value: Any) -> bool:
    return isinstance(value, dict | bool)


def _is_size(value: Any) -> bool:
    return is_number(value) and value >= 0 and value == int(value)


def _is_type(value: Any) -> bool:
    names = value if isinstance(value, list) else [value]
    return bool(names) and all(isinstance(name, str) and name in TYPES for name in names)


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _is_names(value: Any) -> bool:
    return _is_list(value) and all(isinstance(name, str) for name in value)


def _is_map(value: Any) -> bool:
    return isinstance(value, dict)


ANY: Shape = (lambda value: True, "anything")
BOOLEAN: Shape = (lambda value: isinstance(value, bool), "true or false")
TEXT: Shape = (lambda value: isinstance(value, str), "text")
NUMBER: Shape = (is_number, "a number")
POSITIVE: Shape = (lambda value: is_number(value) and value > 0, "a number above 0")
SIZE: Shape = (_is_size, "a whole number from 0")
TYPE: Shape = (_is_type, "one of " + ", ".join(TYPES) + ", or a list of them")
LIST: Shape = (_is_list, "a list of values")
NAMES: Shape = (_is_names, "a list of names")
NAMES_MAP: Shape = (
    lambda value: _is_map(value) and all(map(_is_names, value.values())),
    "an object of lists of names",
)
SCHEMA: Shape = (_is_schema, "a schema")
SCHEMAS: Shape = (
    lambda value: _is_list(value) and bool(value) and all(map(_is_schema, value)),
    "a list of schemas",
)
SCHEMA_MAP: Shape = (
    lambda value: _is_map(value) and all(map(_is_schema, value.values())),
    "an object of schemas",
)
ITEMS: Shape = (lambda value: _is_schema(value) or _is_list(value), "a schema")
DEPENDENCIES: Shape = (
    lambda value: (
        _is_map(value) and all(_is_names(sub) or _is_schema(sub) for sub in value.values())
    ),
    "an object of lists of names or schemas",
)

# In the order of the checks: the unevaluated* keywords come last, because they need the keys that
# all others have evaluated. None: read by another keyword, or by `references`.
KEYWORDS: Keywords = {
    "$schema": (TEXT, None),
    "$id": (TEXT, None),
    "$anchor": (TEXT, None),
    "$dynamicAnchor": (TEXT, None),
    "type": (TYPE, keywords.type_),
    "enum": (LIST, keywords.enum),
    "const": (ANY, keywords.const),
    "minimum": (NUMBER, bound("minimum", "at least", operator.ge)),
    "maximum": (NUMBER, bound("maximum", "at most", operator.le)),
    "exclusiveMinimum": (NUMBER, bound("exclusiveMinimum", "more than", operator.gt)),
    "exclusiveMaximum": (NUMBER, bound("exclusiveMaximum", "less than", operator.lt)),
    "multipleOf": (POSITIVE, keywords.multiple_of),
    "minLength": (SIZE, size("minLength", str, "character")),
    "maxLength": (SIZE, size("maxLength", str, "character")),
    "pattern": (TEXT, keywords.pattern),
    "format": (TEXT, keywords.format_),
    "minItems": (SIZE, size("minItems", list, "item")),
    "maxItems": (SIZE, size("maxItems", list, "item")),
    "uniqueItems": (BOOLEAN, keywords.unique_items),
    "minProperties": (SIZE, size("minProperties", dict, "property")),
    "maxProperties": (SIZE, size("maxProperties", dict, "property")),
    "$ref": (TEXT, keywords.reference),
    "allOf": (SCHEMAS, keywords.all_of),
    "anyOf": (SCHEMAS, keywords.any_of),
    "oneOf": (SCHEMAS, keywords.one_of_),
    "not": (SCHEMA, keywords.not_),
    "if": (SCHEMA, keywords.if_),
    "then": (SCHEMA, None),
    "else": (SCHEMA, None),
    "dependentSchemas": (SCHEMA_MAP, keywords.dependencies("dependentSchemas")),
    "dependencies": (DEPENDENCIES, keywords.dependencies("dependencies")),
    "properties": (SCHEMA_MAP, keywords.properties),
    "patternProperties": (SCHEMA_MAP, keywords.pattern_properties),
    "additionalProperties": (SCHEMA, keywords.additional_properties),
    "propertyNames": (SCHEMA, keywords.property_names),
    "required": (NAMES, keywords.required),
    "dependentRequired": (NAMES_MAP, keywords.dependencies("dependentRequired")),
    "prefixItems": (SCHEMAS, keywords.prefix_items),
    "items": (ITEMS, keywords.items),
    "additionalItems": (SCHEMA, keywords.additional_items),
    "contains": (SCHEMA, keywords.contains),
    "minContains": (SIZE, None),
    "maxContains": (SIZE, None),
    "unevaluatedItems": (SCHEMA, keywords.unevaluated("unevaluatedItems", list, "item")),
    "unevaluatedProperties": (
        SCHEMA,
        keywords.unevaluated("unevaluatedProperties", dict, "property"),
    ),
}
