"""From a schema to nodes: every decision that does not depend on a value is taken here.

Where it sits: `validate` compiles a schema once and runs it often. Rule of the file: whatever is
wrong with a schema is collected in `problems`, never raised, and a schema with problems is not
run. Two kinds of edges: "same" ones (allOf, $ref) are followed at once, so that a loop among them,
which would never end, is noticed; "inside" ones (properties, items) wait in a queue, so that
recursion through members is fine and costs no stack.

$dynamicRef is resolved here too. Which resources a validation passes through on its way decides
where it leads, so that way (only resources with dynamic anchors, each once) is part of a node's
identity; at run time it's a plain reference.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .applicators import APPLICATORS, MODERN
from .keywords import ASSERTIONS, TYPES, Format, Here
from .node import Check, Mismatch, Node, Place, Run, Seen, pointer
from .refs import DRAFT_7, DRAFT_2020, Library, Resource, Unresolved
from .uri import unquote
from .wording import describe, either, one_of

MAX_NODES = 20_000
MAX_CHAIN = 100  # subschemas that apply to one and the same value

Scope = tuple[str, ...]  # the dynamic scope: URIs of resources, outermost first
Key = tuple[int, Scope]


def compile_nodes(
    schema: Any, formats: Mapping[str, Format], documents: Mapping[str, Any]
) -> tuple[Node, list[Mismatch]]:
    """(the root node, what is wrong with the schema). `schema` must not change afterwards."""
    try:
        library = Library(schema, documents)
    except Unresolved as error:
        return Node(), [Mismatch("", "$id", str(error))]
    compiler = _Compiler(library, formats)
    root = compiler.compile(schema)
    return root, compiler.problems


@dataclass(slots=True)
class _Job:
    """A schema to compile: what, where it stands, and how we came here."""

    schema: Any
    resource: Resource
    scope: Scope
    where: Place


class _Compiler:
    def __init__(self, library: Library, formats: Mapping[str, Format]) -> None:
        self.problems: list[Mismatch] = []
        self._library = library
        self._formats = formats
        self._nodes: dict[Key, Node] = {}
        self._queue: deque[tuple[Node, _Job]] = deque()
        self._active: list[Key] = []  # the chain of schemas applying to the value at hand

    def compile(self, schema: Any) -> Node:
        root = self._inside(_Job(schema, self._library.root, (), None))
        while self._queue:
            node, job = self._queue.popleft()
            if len(self._nodes) > MAX_NODES:
                self._bad(job.where, "", f"more than {MAX_NODES} subschemas")
                break
            self._fill(node, job)
        return root

    def _inside(self, job: _Job) -> Node:
        """The node for a schema that applies to a member: now known, filled later."""
        node, key = self._lookup(job)
        if key not in self._nodes:
            self._nodes[key] = node
            self._queue.append((node, job))
        return node

    def _same(self, job: _Job) -> Node:
        """The node for a schema that applies to the same value: filled at once."""
        node, key = self._lookup(job)
        if key in self._active:
            self._bad(job.where, "$ref", "refers to itself without looking into the value")
        elif len(self._active) >= MAX_CHAIN:
            self._bad(job.where, "", f"more than {MAX_CHAIN} subschemas for the same value")
        elif key not in self._nodes or not node.checks:
            self._nodes[key] = node
            self._fill(node, job)
        return node

    def _lookup(self, job: _Job) -> tuple[Node, Key]:
        """The node of this schema in this dynamic scope, new or not; enters its resource."""
        job.resource = resource = self._library.home(job.schema, job.resource)
        if resource.dynamic and resource.uri not in job.scope:
            job.scope = (*job.scope, resource.uri)
        key = (id(job.schema), job.scope)
        return self._nodes.get(key) or Node(), key

    def _fill(self, node: Node, job: _Job) -> None:
        if node.checks:
            return
        schema = job.schema
        if not isinstance(schema, dict):
            if not isinstance(schema, bool):
                message = f"expected a schema (an object, true or false), got {describe(schema)}"
                self._bad(job.where, "", message)
            node.checks = [] if schema else [_nothing]
            node.expected = "anything" if schema else "nothing"
            return
        if job.resource.dialect not in (DRAFT_2020, DRAFT_7):
            message = f"the dialect {job.resource.dialect[:200]!r} is not supported; "
            self._bad(job.where, "$schema", message + f"supported: {DRAFT_2020}, {DRAFT_7}#")
            return
        self._active.append((id(schema), job.scope))
        node.tracks = "unevaluatedProperties" in schema or "unevaluatedItems" in schema
        node.expected = _expectation(schema)
        node.checks = self._checks(schema, job, node)
        self._active.pop()

    def _checks(self, schema: dict[str, Any], job: _Job, node: Node) -> list[Check]:
        old = job.resource.dialect == DRAFT_7
        here = Here(
            schema=schema,
            draft7=old,
            formats=self._formats,
            same=lambda sub, *keys: self._same(self._below(job, sub, keys)),
            inside=lambda sub, *keys: self._inside(self._below(job, sub, keys)),
            follow=lambda keyword: self._follow(keyword, job, node),
            bad=lambda keyword, message: self._bad(job.where, keyword, message),
        )
        if not self._well_formed(schema, job.where, old):
            return []
        checks = []
        for keyword, build in KEYWORDS.items():
            if keyword not in schema or (old and keyword in MODERN):
                continue
            if old and "$ref" in schema and keyword != "$ref":
                continue  # draft-07 section 8.3: siblings of $ref are ignored
            check = build(here, schema[keyword])
            if check:
                checks.append(check)
        return checks or [_anything]

    def _below(self, job: _Job, sub: Any, keys: tuple[str | int, ...]) -> _Job:
        where = job.where
        for key in keys:
            where = (where, key)
        return _Job(sub, job.resource, job.scope, where)

    def _follow(self, keyword: str, job: _Job, node: Node) -> Node | None:
        """The node a reference leads to; also lends its words to the node that refers."""
        try:
            target, resource, anchor = self._library.resolve(job.schema[keyword], job.resource)
        except Unresolved as error:
            self._bad(job.where, keyword, str(error))
            return None
        if keyword == "$dynamicRef" and anchor in resource.dynamic:
            for uri in job.scope:  # the outermost resource with that dynamic anchor wins (8.2.3.2)
                _, outer, _ = self._library.resolve(uri + "#", resource)
                if anchor in outer.dynamic:
                    target, resource = outer.dynamic[anchor], outer
                    break
        same = self._same(_Job(target, resource, job.scope, self._landing(keyword, job)))
        if len(job.schema) == 1 or node.expected == ANY_VALUE:
            node.expected = same.expected
        return same

    def _landing(self, keyword: str, job: _Job) -> Place:
        """Where a reference leads, as far as it can be said by a pointer into the root."""
        where: Place = None
        reference = job.schema[keyword]
        if job.resource is not self._library.root or not f"{reference}/".startswith("#/"):
            return job.where, keyword
        for token in unquote(reference).split("/")[1:]:
            where = (where, token.replace("~1", "/").replace("~0", "~"))
        return where

    def _well_formed(self, schema: dict[str, Any], where: Place, old: bool) -> bool:
        """Whether each keyword's operand has the shape the keyword functions rely on."""
        good = True
        for keyword, (test, shape) in SHAPES.items():
            if keyword in schema and not test(schema[keyword]):
                if keyword == "items" and old and isinstance(schema[keyword], list):
                    continue
                self._bad(where, keyword, f"expected {shape}, got {describe(schema[keyword])}")
                good = False
        return good

    def _bad(self, where: Place, keyword: str, message: str) -> None:
        at = (where, keyword) if keyword else where
        self.problems.append(Mismatch(pointer(at), keyword, message))


def _anything(value: Any, at: Place, run: Run, seen: Seen) -> None:
    """A schema without assertions is filled too; so that "no checks yet" means "not filled"."""


def _nothing(value: Any, at: Place, run: Run, seen: Seen) -> None:
    run.fail(at, "false", "expected nothing here", value)


ANY_VALUE = "a value"


def _expectation(schema: dict[str, Any]) -> str:
    """What a schema asks for, in a few words, for messages about alternatives."""
    if "const" in schema:
        return one_of([schema["const"]])
    if isinstance(schema.get("enum"), list):
        return one_of(schema["enum"])
    kind = schema.get("type")
    words = kind if isinstance(kind, str) else ANY_VALUE
    if isinstance(kind, list):
        words = either([str(name) for name in kind])
    if isinstance(schema.get("format"), str):
        words += f" ({schema['format']})"
    title = schema.get("title")
    return f"{words} ({title})" if isinstance(title, str) and kind == "object" else words


Shape = tuple[Callable[[Any], bool], str]


def _is_schema(value: Any) -> bool:
    return isinstance(value, dict | bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_size(value: Any) -> bool:
    return _is_number(value) and value >= 0 and value == int(value)


def _is_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def _is_type(value: Any) -> bool:
    names = value if isinstance(value, list) else [value]
    return bool(names) and all(isinstance(name, str) and name in TYPES for name in names)


def _is_schemas(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_schema, value))


def _is_schema_map(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_is_schema, value.values()))


SCHEMA: Shape = (_is_schema, "a schema")
NUMBER: Shape = (_is_number, "a number")
SIZE: Shape = (_is_size, "a whole number from 0")
NAMES: Shape = (_is_names, "a list of names")
SCHEMAS: Shape = (_is_schemas, "a list of schemas")
SCHEMA_MAP: Shape = (_is_schema_map, "an object of schemas")
TEXT: Shape = (lambda value: isinstance(value, str), "text")

SHAPES: dict[str, Shape] = {
    **dict.fromkeys(("$schema", "$id", "$anchor", "$ref", "$dynamicAnchor", "$dynamicRef"), TEXT),
    "type": (_is_type, "one of " + ", ".join(TYPES) + ", or a list of them"),
    "enum": (lambda value: isinstance(value, list), "a list of values"),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), NUMBER),
    "multipleOf": (lambda value: _is_number(value) and value > 0, "a number above 0"),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems"), SIZE),
    **dict.fromkeys(("minProperties", "maxProperties", "minContains", "maxContains"), SIZE),
    "pattern": TEXT,
    "format": TEXT,
    "uniqueItems": (lambda value: isinstance(value, bool), "true or false"),
    **dict.fromkeys(("allOf", "anyOf", "oneOf", "prefixItems"), SCHEMAS),
    **dict.fromkeys(("not", "if", "then", "else", "contains", "propertyNames"), SCHEMA),
    **dict.fromkeys(("additionalProperties", "additionalItems", "items"), SCHEMA),
    **dict.fromkeys(("unevaluatedItems", "unevaluatedProperties"), SCHEMA),
    **dict.fromkeys(("properties", "patternProperties", "dependentSchemas"), SCHEMA_MAP),
    "required": NAMES,
    "dependentRequired": (
        lambda value: isinstance(value, dict) and all(map(_is_names, value.values())),
        "an object of lists of names",
    ),
    "dependencies": (
        lambda value: (
            isinstance(value, dict)
            and all(_is_names(item) or _is_schema(item) for item in value.values())
        ),
        "an object of lists of names or schemas",
    ),
}

# What is in place comes first and the unevaluated* keywords last: see APPLICATORS.
KEYWORDS: dict[str, Callable[[Here, Any], Check | None]] = {**ASSERTIONS, **APPLICATORS}
