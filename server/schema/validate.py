"""JSON Schema validation, draft 2020-12 and draft-07: everything that is wrong with a value.

Start here. `compile_schema` → `compile` (nodes) → `node` (the run). Used for tool arguments, for
answers to interrupts, for structured output and for the session document itself. Rule of the file:
a schema may come from a stranger, so nothing is fetched, nothing loops, and every limit is counted
rather than timed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from ..jsontext import depth_exceeds, dumps
from .compile import compile_nodes
from .formats import FORMATS
from .keywords import Format
from .node import MAX_STEPS, Mismatch, Run

__all__ = ["Mismatch", "SchemaError", "Validator", "check_schema", "compile_schema", "validate"]

MAX_SCHEMA_DEPTH = 100
MAX_SCHEMA_TEXT = 1_000_000  # characters of JSON; the largest known tool schema has 60,000
NO_FORMATS: Mapping[str, Format] = MappingProxyType({})
NO_DOCUMENTS: Mapping[str, Any] = MappingProxyType({})


class SchemaError(ValueError):
    """A schema that can't be used. `errors` lists why, with pointers into the schema."""

    def __init__(self, errors: list[Mismatch]) -> None:
        super().__init__("the schema can't be used: " + "; ".join(map(str, errors[:5])))
        self.errors = errors


class Validator:
    """A compiled schema. Compile once, run often; safe to share.

    `documents` is the table of other schemas that a $ref may name by URI. Raises SchemaError.
    """

    def __init__(
        self,
        schema: Any,
        *,
        formats: Mapping[str, Format] = FORMATS,
        documents: Mapping[str, Any] = NO_DOCUMENTS,
    ) -> None:
        text = _text(schema)
        self.schema = json.loads(text)  # our own copy: nodes are found by identity
        self.root, problems = compile_nodes(self.schema, formats, documents)
        if problems:
            raise SchemaError(problems)

    def errors(self, value: Any, *, steps: int = MAX_STEPS) -> list[Mismatch]:
        """Every problem of `value`, in document order as far as keywords allow; [] if it fits."""
        return [finding.mismatch() for finding in self.root.findings(value, Run(steps))]


def validate(value: Any, schema: Any, *, formats: bool = True) -> list[Mismatch]:
    """Every problem that `value` has with `schema`; [] if it fits. Raises SchemaError.

    `value` is what JSON can say: dict, list, str, int, float, bool, None. The compiled schema is
    remembered by its text, so calling this again is cheap; `Validator` saves even that.
    """
    return _remembered(_text(schema), formats).errors(value)


def check_schema(schema: Any) -> list[Mismatch]:
    """What makes this schema unusable, with pointers into it; [] if it can be used.

    Refused are: dialects other than 2020-12 and draft-07, references that lead out of the schema
    or nowhere, references that loop, keywords with operands of the wrong shape, patterns that are
    not ECMA-262, and sizes beyond the limits of this package.
    """
    try:
        Validator(schema)
    except SchemaError as error:
        return error.errors
    return []


def compile_schema(schema: Any, *, formats: bool = True) -> Validator:
    """The remembered Validator of this schema. Raises SchemaError."""
    return _remembered(_text(schema), formats)


@lru_cache(maxsize=256)
def _remembered(text: str, formats: bool) -> Validator:
    return Validator(json.loads(text), formats=FORMATS if formats else NO_FORMATS)


def _text(schema: Any) -> str:
    """The schema as JSON, which is also the proof that it is JSON. Raises SchemaError."""
    if depth_exceeds(schema, MAX_SCHEMA_DEPTH):
        raise _unusable(f"nested deeper than {MAX_SCHEMA_DEPTH} levels")
    try:
        text = dumps(schema)
    except (TypeError, ValueError) as error:
        raise _unusable(f"not JSON: {error}") from None
    if len(text) > MAX_SCHEMA_TEXT:
        raise _unusable(f"longer than {MAX_SCHEMA_TEXT} characters")
    return text


def _unusable(reason: str) -> SchemaError:
    return SchemaError([Mismatch("", "", reason)])
