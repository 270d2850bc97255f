"""Compile a schema to nodes: every decision that does not depend on a value is made here.

`validate` compiles a schema once and runs it often; `keywords` and `members` implement the
keywords. Errors in a schema are collected in `problems`, not raised, and a schema with problems is
not run. There are two kinds of edges between nodes. "same" edges (allOf, $ref) are followed at
once, so that a loop among them, which would never end, is detected. "inside" edges (properties,
items) are queued, so that recursion through members uses no stack.

$dynamicRef is resolved here too. Its target depends on the dynamic scope, so nodes are keyed by
(schema, dynamic scope) and the reference is static at run time. The scope lists only resources with
dynamic anchors, each once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from .patterns import MAX_COST, Pattern, PatternError
from .references import DRAFT_7, DRAFT_2019, DRAFT_2020, Library, Resource, Unresolved, tokens
from .report import Check, Mismatch, Node, Place, Run, Seen, describe, either, one_of, pointer

MAX_NODES = 8_000  # the metaschema of 2020-12 has 7,000: its references are dynamic
NODE_COST = 20  # µs of CPython, as patterns are measured
MAX_CHAIN = 100  # subschemas that apply to one and the same value
ANY_VALUE = "a value"

Format = Callable[[str], bool]
Shape = tuple[Callable[[Any], bool], str]  # (test of an operand, what is expected, in words)
Builder = Callable[["Site", Any], Check | None]
Keywords = Mapping[str, tuple[Shape, Builder | None]]  # in the order of the checks


@dataclass(slots=True)
class Site:
    """A schema to compile, its place and its dynamic scope. Passed to the keyword functions."""

    compiler: Compiler
    schema: Any
    resource: Resource
    scope: tuple[str, ...]  # the dynamic scope: URIs of resources, outermost first
    where: Place

    @property
    def draft7(self) -> bool:
        """Return whether the schema's dialect is draft-07."""
        return self.resource.dialect == DRAFT_7

    @property
    def modern(self) -> bool:
        """Return whether the schema's dialect is 2020-12."""
        return self.resource.dialect == DRAFT_2020

    @property
    def formats(self) -> Mapping[str, Format]:
        """Return the predicates of the known formats, by name."""
        return self.compiler.formats

    def same(self, sub: Any, *keys: str | int) -> Node:
        """Return the node of a subschema that applies to the same value."""
        return self.compiler.same(self._below(sub, keys))

    def inside(self, sub: Any, *keys: str | int) -> Node:
        """Return the node of a subschema that applies to a member of the value."""
        return self.compiler.inside(self._below(sub, keys))

    def _below(self, sub: Any, keys: tuple[str | int, ...]) -> Site:
        where = self.where
        for key in keys:
            where = (where, key)
        return replace(self, schema=sub, where=where)

    def pattern(self, source: str) -> Pattern:
        """Return the compiled pattern.

        Raises PatternError, also when all patterns of the schema together cost too much.
        """
        return self.compiler.pattern(source)

    def follow(self, keyword: str) -> Node | None:
        """Return the node that a reference leads to; None if it is unresolved.

        An unresolved reference is added to `problems`. The referring node takes over the target's
        `expected` text if it has none of its own.
        """
        library, node = self.compiler.library, self.compiler.node(self)
        try:
            target, resource, anchor = library.resolve(self.schema[keyword], self.resource)
        except Unresolved as error:
            self.bad(keyword, str(error))
            return None
        if keyword == "$dynamicRef" and anchor in resource.dynamic:
            for uri in self.scope:  # the outermost resource with that anchor wins (8.2.3.2)
                _, outer, _ = library.resolve(uri + "#", resource)
                if anchor in outer.dynamic:
                    target, resource = outer.dynamic[anchor], outer
                    break
        landing = replace(self, schema=target, resource=resource, where=self._landing(keyword))
        same = self.compiler.same(landing)
        if len(self.schema) == 1 or node.expected == ANY_VALUE:
            node.expected = same.expected
        return same

    def _landing(self, keyword: str) -> Place:
        """Return the place of the target if it is a pointer into the root, else the reference's."""
        reference = self.schema[keyword]
        if self.resource is not self.compiler.library.root or f"{reference}/"[:2] != "#/":
            return self.where, keyword
        where: Place = None
        for key in tokens(reference):
            where = (where, key)
        return where

    def bad(self, keyword: str, message: str) -> None:
        """Add a problem at `keyword` of this schema, or at the schema itself if `keyword` is ""."""
        at = (self.where, keyword) if keyword else self.where
        self.compiler.problems.append(Mismatch(pointer(at), keyword, message))


class Compiler:
    """One compilation: `root` is the root node, `problems` lists the errors in the schema.

    `schema` must not change afterwards, because nodes are keyed by its identity. Raises Unresolved
    when the schema's `$id`s can't be indexed.
    """

    def __init__(
        self,
        schema: Any,
        keywords: Keywords,
        formats: Mapping[str, Format],
        documents: Mapping[str, Any],
        max_cost: int = MAX_COST,
    ) -> None:
        self.max_cost = max_cost  # of patterns
        self.library = Library(schema, documents)
        self.keywords = keywords
        self.formats = formats
        self.problems: list[Mismatch] = []
        self._nodes: dict[tuple[int, tuple[str, ...]], Node] = {}
        self._queue: deque[Site] = deque()
        self._chain: list[Node] = []  # nodes being filled that apply to the same value
        self._patterns: dict[str, Pattern] = {}
        self.patterns_cost = 0
        self.root = self.inside(Site(self, schema, self.library.root, (), None))
        while self._queue:
            site = self._queue.popleft()
            if len(self._nodes) > MAX_NODES:
                site.bad("", f"more than {MAX_NODES} subschemas")
                break
            self._fill(site)

    @property
    def cost(self) -> int:
        """Return the cost of this compilation so far, in units of about 1 µs."""
        return NODE_COST * len(self._nodes) + self.patterns_cost

    def pattern(self, source: str) -> Pattern:
        """Return the compiled pattern, each source compiled once. Raises PatternError."""
        if source not in self._patterns:
            if self.patterns_cost <= self.max_cost:
                try:
                    self._patterns[source] = Pattern(source, self.max_cost)
                except PatternError as error:
                    self.patterns_cost += error.cost
                    raise
                self.patterns_cost += self._patterns[source].cost
            if self.patterns_cost > self.max_cost:
                raise PatternError(
                    f"not supported: the patterns of this schema may cost {self.max_cost} to "
                    f"compile, these cost {self.patterns_cost}"
                )
        return self._patterns[source]

    def node(self, site: Site) -> Node:
        """Return the node of this schema in this dynamic scope, created empty if it is new."""
        return self._nodes.setdefault((id(site.schema), site.scope), Node())

    def inside(self, site: Site) -> Node:
        """Return the node of this site and queue it to be filled."""
        self._enter(site)
        if (id(site.schema), site.scope) not in self._nodes:
            self._queue.append(site)
        return self.node(site)

    def same(self, site: Site) -> Node:
        """Return the node of this site, filled at once.

        Loops and chains longer than MAX_CHAIN are added to `problems`.
        """
        self._enter(site)
        node = self.node(site)
        if node in self._chain:
            site.bad("$ref", "refers to itself without looking into the value")
        elif len(self._chain) >= MAX_CHAIN:
            site.bad("", f"more than {MAX_CHAIN} subschemas for the same value")
        else:
            self._fill(site)
        return node

    def _enter(self, site: Site) -> None:
        site.resource = resource = self.library.home(site.schema, site.resource)
        if resource.dynamic and resource.uri not in site.scope:
            site.scope = (*site.scope, resource.uri)

    def _fill(self, site: Site) -> None:
        node, schema = self.node(site), site.schema
        if node.checks:
            return
        if not isinstance(schema, dict):
            if not isinstance(schema, bool):
                found = describe(schema)
                site.bad("", f"expected a schema (an object, true or false), got {found}")
            node.checks = [_anything if schema else _nothing]
            node.expected = "anything" if schema else "nothing"
        elif site.resource.dialect not in ABSENT:
            message = f"the dialect {site.resource.dialect[:200]!r} is not supported; "
            site.bad("$schema", message + f"supported: {DRAFT_2020}, {DRAFT_2019}, {DRAFT_7}#")
        elif site.resource.dialect == DRAFT_2019 and "$recursiveRef" in schema:
            site.bad("$recursiveRef", "this keyword of 2019-09 is not supported")
        elif self._well_formed(site):
            self._chain.append(node)
            node.tracks = not schema.keys().isdisjoint(
                ("unevaluatedProperties", "unevaluatedItems")
            )
            node.expected = _expectation(schema)
            node.checks = self._checks(site) or [_anything]
            self._chain.pop()

    def _well_formed(self, site: Site) -> bool:
        """Return whether each operand has the shape that the keyword functions rely on."""
        before = len(self.problems)
        for keyword, ((fits, shape), _) in self.keywords.items():
            if keyword in site.schema and not fits(site.schema[keyword]):
                site.bad(keyword, f"expected {shape}, got {describe(site.schema[keyword])}")
        return len(self.problems) == before

    def _checks(self, site: Site) -> list[Check]:
        checks = []
        alone = site.draft7 and "$ref" in site.schema  # draft-07 section 8.3: siblings are ignored
        for keyword, (_, build) in self.keywords.items():
            if build and keyword in site.schema and (keyword == "$ref" or not alone):
                if keyword not in ABSENT[site.resource.dialect]:
                    checks.append(build(site, site.schema[keyword]))
        return [check for check in checks if check]


# By dialect: the keywords of 2020-12 that it does not have.
ABSENT = {
    DRAFT_2020: frozenset[str](),
    DRAFT_2019: frozenset({"$dynamicRef", "prefixItems"}),
    DRAFT_7: frozenset(
        "$dynamicRef dependentSchemas dependentRequired prefixItems"
        " unevaluatedItems unevaluatedProperties".split()
    ),
}


def _anything(value: Any, at: Place, run: Run, seen: Seen) -> None:
    """Accept any value. Fills nodes without assertions: an empty list means "not filled yet"."""


def _nothing(value: Any, at: Place, run: Run, seen: Seen) -> None:
    run.fail(at, "false", "expected nothing here", value)


def _expectation(schema: dict[str, Any]) -> str:
    """Return the values that a schema accepts, in a few words, for messages about alternatives."""
    if "const" in schema:
        return one_of([schema["const"]])
    if "enum" in schema:
        return one_of(schema["enum"])
    kind = schema.get("type", ANY_VALUE)
    words = kind if isinstance(kind, str) else either(kind)
    if "format" in schema:
        words += f" ({schema['format']})"
    title = schema.get("title")
    return f"{words} ({title})" if isinstance(title, str) and kind == "object" else words
