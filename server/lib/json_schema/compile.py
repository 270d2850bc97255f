"""Compile a schema to nodes: every decision that does not depend on a value is made here.

`validate` compiles a schema once and runs it often; `keywords` and `members` implement the
keywords. Errors in a schema are collected in `problems`, not raised, and a schema with problems is
not run. There are two kinds of edges between nodes. "same" edges (allOf, $ref) are followed at
once, so that a loop among them, which would never end, is detected. "inside" edges (properties,
items) are queued, so that recursion through members uses no stack.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from .regex import MAX_COST, Pattern, PatternError
from .report import Check, Mismatch, Node, Place, Run, Seen, describe, either, one_of, pointer_at

# -- references -----------------------------------------------------------------------------------
# The resources of a schema, their anchors and dialects, and the resolution of references.
#
# Used by `compile` to resolve each $ref, and by `inline` and `portable` for the places of
# subschemas. A document is walked once, only where subschemas can be: an "$id" inside an enum names
# nothing. Nothing is fetched: a reference to a URI that is neither in the document nor in the table
# of known documents is unresolved. JSON Schema 2020-12 sections 8 and 9; draft-07 section 8.

DRAFT_2020 = "https://json-schema.org/draft/2020-12/schema"
DRAFT_7 = "http://json-schema.org/draft-07/schema"
# Without the scheme, which is often http for https. What programs write of 2019-09 and draft-06
# means the same in the next draft.
_DIALECTS = {each.partition("://")[2]: each for each in (DRAFT_2020, DRAFT_7)}
_DIALECTS["json-schema.org/draft/2019-09/schema"] = DRAFT_2020
_DIALECTS["json-schema.org/draft-06/schema"] = DRAFT_7
# Their targets depend on the way that leads to them. Only metaschemas use them.
DYNAMIC = ("$dynamicRef", "$recursiveRef")
MAX_SUBSCHEMAS = 5_000

# Keywords whose operand is a subschema, a list of subschemas, an object of named subschemas.
IN_ONE = frozenset(
    "additionalProperties additionalItems items contains not if then else propertyNames"
    " unevaluatedItems unevaluatedProperties contentSchema".split()
)
IN_LIST = frozenset("allOf anyOf oneOf prefixItems items".split())
IN_MAP = frozenset(
    "properties patternProperties $defs definitions dependentSchemas dependencies".split()
)


class UnresolvedReference(ValueError):
    """A reference without a target, or a document that is too large; the message says why."""


@dataclass(slots=True)
class Resource:
    """A schema with an identity of its own: the root, or a subschema with `$id`."""

    uri: str
    root: Any
    dialect: str
    anchors: dict[str, Any] = field(default_factory=dict)


class ResourceIndex:
    """All resources of a schema and of the known documents that it refers to."""

    def __init__(self, schema: Any, documents: Mapping[str, Any]) -> None:
        self._documents = documents
        self._resources: dict[str, Resource] = {}
        self._homes: dict[int, Resource] = {}  # id() of each subschema -> its resource
        self.root = self._index(schema, "", DRAFT_2020)

    def home(self, schema: Any, default: Resource) -> Resource:
        """Return the resource that `schema` belongs to, `default` if it is not indexed."""
        return self._homes.get(id(schema), default)

    def resolve(self, reference: str, base: Resource) -> tuple[Any, Resource]:
        """Return (the target schema, its resource). Raises UnresolvedReference."""
        address, _, fragment = reference.partition("#")
        resource = self._resource(address, base) if address else base
        anchor = unquote(fragment)
        if anchor and not anchor.startswith("/"):
            if anchor not in resource.anchors:
                raise UnresolvedReference(
                    f"{reference[:200]!r} names an anchor that does not exist"
                )
            target = resource.anchors[anchor]
            return target, self.home(target, resource)
        target = resource.root
        for key in tokens(fragment):
            target = member(target, key)
            resource = self.home(
                target, resource
            )  # a pointer may enter another resource (section 9.2.1)
        if not isinstance(target, dict | bool):
            raise UnresolvedReference(f"{reference[:200]!r} does not lead to a schema")
        return target, resource

    def _resource(self, address: str, base: Resource) -> Resource:
        uri = join(base.uri, address)
        if uri not in self._resources:
            if uri not in self._documents:
                reason = "is not part of this schema, and schemas are not fetched"
                raise UnresolvedReference(f"{address[:200]!r} {reason}")
            self._index(self._documents[uri], uri, base.dialect)
        return self._resources[uri]

    def _index(self, document: Any, uri: str, dialect: str) -> Resource:
        """Index the resources and anchors of a document. `dialect` is the default."""
        root = self._resources[uri] = Resource(uri, document, dialect)
        todo: list[tuple[Any, Resource]] = [(document, root)]
        while todo:
            schema, resource = todo.pop()
            if isinstance(schema, dict):
                resource = self._homes[id(schema)] = self._enter(schema, resource)
                todo.extend((sub, resource) for sub in _subschemas(schema))
            if len(self._homes) > MAX_SUBSCHEMAS:
                raise UnresolvedReference(f"more than {MAX_SUBSCHEMAS} subschemas")
        return root

    def _enter(self, schema: dict[str, Any], resource: Resource) -> Resource:
        """Return the resource of `schema`, new if it has an `$id`, and register its anchors."""
        is_root = schema is resource.root
        declared = schema.get("$schema")
        dialect = _dialect(declared) if isinstance(declared, str) else resource.dialect
        if is_root:
            resource.dialect = dialect
        old = resource.dialect == DRAFT_7
        name = schema.get("$id")
        if isinstance(name, str) and not (old and "$ref" in schema):  # draft-07 8.3: siblings
            address, _, fragment = name.partition("#")
            if address:
                uri = join(resource.uri, address)
                if is_root:
                    resource.uri = uri
                else:
                    resource = Resource(uri, schema, dialect)
                self._resources.setdefault(uri, resource)
            if fragment and old:
                resource.anchors[fragment] = schema
        if resource.dialect != DRAFT_7:
            for keyword in ("$anchor", "$dynamicAnchor"):
                if isinstance(anchor := schema.get(keyword), str):
                    resource.anchors[anchor] = schema
        return resource


def _dialect(declared: str) -> str:
    uri = declared.removesuffix("#")
    return _DIALECTS.get(uri.partition("://")[2], uri)


_PARTS = re.compile(r"([^:/?#]+:)?(//[^/?#]*)?([^?#]*)(\?[^#]*)?")  # RFC 3986 appendix B


def join(base: str, address: str) -> str:
    """Return `address` resolved against the URI `base` (RFC 3986 section 5.2.2)."""
    scheme, authority, path, query = _PARTS.match(address).groups("")  # type: ignore[union-attr]
    of_base = _PARTS.match(base).groups("")  # type: ignore[union-attr]
    if not scheme:
        scheme = of_base[0]
        if not authority:
            authority = of_base[1]
            folder, slash, _ = of_base[2].rpartition("/")
            if not path:
                path, query = of_base[2], query or of_base[3]
            elif path[0] != "/":
                path = folder + ("/" if slash or authority else "") + path
    return scheme + authority + _without_dots(path) + query


def _without_dots(path: str) -> str:
    if "/" not in path:
        return path  # urn:example:a.b is opaque
    kept: list[str] = []
    segments = path.split("/")
    for segment in segments:
        if segment == "..":
            if len(kept) > 1 or (kept and kept[0]):
                kept.pop()
        elif segment != ".":
            kept.append(segment)
    return "/".join(kept + [""] * (segments[-1] in (".", "..")))


def unquote(text: str) -> str:
    """Percent-decode. Bytes that are not UTF-8 become U+FFFD."""
    return re.sub(
        "(?:%[0-9A-Fa-f]{2})+",
        lambda match: bytes.fromhex(match[0].replace("%", "")).decode("utf-8", "replace"),
        text,
    )


def tokens(fragment: str) -> list[str]:
    """Return the unescaped tokens of a JSON pointer (RFC 6901) in a URI fragment."""
    steps = unquote(fragment).split("/")[1:]
    return [step.replace("~1", "/").replace("~0", "~") for step in steps]


def member(node: Any, key: str) -> Any:
    """Return the member that one token of a JSON pointer names; None if there is none."""
    if isinstance(node, dict):
        return node.get(key)
    if isinstance(node, list) and re.fullmatch("0|[1-9][0-9]{0,8}", key):
        return node[int(key)] if int(key) < len(node) else None
    return None


def _subschemas(schema: dict[str, Any]) -> Iterator[Any]:
    for keyword, operand in schema.items():
        if keyword in IN_ONE and isinstance(operand, dict):
            yield operand
        elif keyword in IN_LIST and isinstance(operand, list):
            yield from operand
        elif keyword in IN_MAP and isinstance(operand, dict):
            yield from operand.values()


# -- compile --------------------------------------------------------------------------------------

MAX_NODES = 8_000
NODE_COST = 20  # µs of CPython, as patterns are measured
MAX_CHAIN = 100  # subschemas that apply to one and the same value
ANY_VALUE = "a value"

Format = Callable[[str], bool]
Shape = tuple[Callable[[Any], bool], str]  # (test of an operand, what is expected, in words)
Builder = Callable[["Site", Any], Check | None]
Keywords = Mapping[str, tuple[Shape, Builder | None]]  # in the order of the checks


@dataclass(slots=True)
class Site:
    """A schema to compile, and its place. Passed to the keyword functions."""

    compiler: Compiler
    schema: Any
    resource: Resource
    where: Place

    @property
    def draft7(self) -> bool:
        """Return whether the schema's dialect is draft-07."""
        return self.resource.dialect == DRAFT_7

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

    def follow(self, reference: str) -> Node | None:
        """Return the node that a `$ref` leads to; None if it is unresolved.

        An unresolved reference is added to `problems`. The referring node takes over the target's
        `expected` text if it has none of its own.
        """
        library, node = self.compiler.library, self.compiler.node(self)
        try:
            target, resource = library.resolve(reference, self.resource)
        except UnresolvedReference as error:
            self.add_problem("$ref", str(error))
            return None
        landing = replace(self, schema=target, resource=resource, where=self._landing(reference))
        same = self.compiler.same(landing)
        if len(self.schema) == 1 or node.expected == ANY_VALUE:
            node.expected = same.expected
        return same

    def _landing(self, reference: str) -> Place:
        """Return the place of the target if it is a pointer into the root, else the reference's."""
        if self.resource is not self.compiler.library.root or f"{reference}/"[:2] != "#/":
            return self.where, "$ref"
        where: Place = None
        for key in tokens(reference):
            where = (where, key)
        return where

    def add_problem(self, keyword: str, message: str) -> None:
        """Add a problem at `keyword` of this schema, or at the schema itself if `keyword` is ""."""
        at = (self.where, keyword) if keyword else self.where
        self.compiler.problems.append(Mismatch(pointer_at(at), keyword, message))


class Compiler:
    """One compilation: `root` is the root node, `problems` lists the errors in the schema.

    `schema` must not change afterwards, because nodes are keyed by its identity. Raises
    UnresolvedReference when the schema's `$id`s can't be indexed.
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
        self.library = ResourceIndex(schema, documents)
        self.keywords = keywords
        self.formats = formats
        self.problems: list[Mismatch] = []
        self._nodes: dict[int, Node] = {}
        self._queue: deque[Site] = deque()
        self._chain: list[Node] = []  # nodes being filled that apply to the same value
        self._patterns: dict[str, Pattern] = {}
        self.patterns_cost = 0
        self.root = self.inside(Site(self, schema, self.library.root, None))
        while self._queue:
            site = self._queue.popleft()
            if len(self._nodes) > MAX_NODES:
                site.add_problem("", f"more than {MAX_NODES} subschemas")
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
        """Return the node of this schema, created empty if it is new."""
        return self._nodes.setdefault(id(site.schema), Node())

    def inside(self, site: Site) -> Node:
        """Return the node of this site and queue it to be filled."""
        site.resource = self.library.home(site.schema, site.resource)
        if id(site.schema) not in self._nodes:
            self._queue.append(site)
        return self.node(site)

    def same(self, site: Site) -> Node:
        """Return the node of this site, filled at once.

        Loops and chains longer than MAX_CHAIN are added to `problems`.
        """
        site.resource = self.library.home(site.schema, site.resource)
        node = self.node(site)
        if node in self._chain:
            site.add_problem("$ref", "refers to itself without looking into the value")
        elif len(self._chain) >= MAX_CHAIN:
            site.add_problem("", f"more than {MAX_CHAIN} subschemas for the same value")
        else:
            self._fill(site)
        return node

    def _fill(self, site: Site) -> None:
        node, schema = self.node(site), site.schema
        if node.checks:
            return
        if not isinstance(schema, dict):
            if not isinstance(schema, bool):
                got = describe(schema)
                site.add_problem("", f"expected a schema (an object, true or false), got {got}")
            node.checks = [_anything if schema else _nothing]
            node.expected = "anything" if schema else "nothing"
        elif site.resource.dialect not in ABSENT:
            message = f"the dialect {site.resource.dialect[:200]!r} is not supported; "
            site.add_problem("$schema", message + f"supported: {DRAFT_2020}, {DRAFT_7}#")
        elif not site.draft7 and (keyword := next(filter(schema.__contains__, DYNAMIC), "")):
            site.add_problem(keyword, "this keyword is not supported")
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
                site.add_problem(keyword, f"expected {shape}, got {describe(site.schema[keyword])}")
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
    DRAFT_7: frozenset(
        "dependentSchemas dependentRequired prefixItems"
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


# -- inline ---------------------------------------------------------------------------------------
# Write out the references of a schema, for providers that refuse `$ref` and `$defs` (Gemini).
#
# Used by `portable`, `models`, `session` and `tools`; arguments are still validated against the
# original schema. One pass from the outside in. Where a type contains itself, or beyond MAX_INLINED
# or MAX_LEVELS, a description refers to the type by its title.

MAX_INLINED = 2_000  # types that contain each other twice are 2**n when written out
MAX_LEVELS = 60  # of nested schemas; a reference and its target are two
SIMPLE = ("string", "integer", "number", "boolean")  # types without subschemas
_TABLES = ("$defs", "definitions")  # only targets of references


def inline(schema: dict[str, Any], depth: int = MAX_INLINED) -> dict[str, Any]:
    """Return the schema with its local references written out; others stay.

    `depth` limits how many references are written out inside each other; types in SIMPLE are
    exempt.
    """
    result: dict[str, Any] = _Inliner(schema, depth).schema(schema, ())
    return result


class _Inliner:
    def __init__(self, root: dict[str, Any], depth: int) -> None:
        self.root, self.depth = root, depth
        self.count = self.level = 0

    def schema(self, node: Any, trail: tuple[str, ...]) -> Any:
        """Return `node` written out; `trail` lists the references that enclose it."""
        self.level += 1
        written = self.write_out(node, trail)
        self.level -= 1
        return written

    def write_out(self, node: Any, trail: tuple[str, ...]) -> Any:
        """Return `node` written out, without counting a level."""
        if isinstance(node, list):
            return [self.schema(item, trail) for item in node]
        if not isinstance(node, dict):
            return node
        reference = node.get("$ref")
        if isinstance(reference, str) and f"{reference}/".startswith("#/"):
            return self.reference(node, reference, trail)
        written = {}
        for keyword, operand in node.items():
            if node is self.root and keyword in _TABLES:
                continue
            if keyword in IN_MAP and isinstance(operand, dict):
                written[keyword] = {name: self.schema(sub, trail) for name, sub in operand.items()}
            elif keyword in IN_ONE or keyword in IN_LIST:
                written[keyword] = self.schema(operand, trail)
            else:
                written[keyword] = operand
        return written

    def reference(self, node: dict[str, Any], reference: str, trail: tuple[str, ...]) -> Any:
        """Return the target of a reference, with the siblings of `$ref` laid over it."""
        beside = {"$ref", *_TABLES} if node is self.root else {"$ref"}
        siblings = {keyword: sub for keyword, sub in node.items() if keyword not in beside}
        target: Any = self.root
        for token in tokens(reference):
            target = member(target, token)
        if target is True:
            return self.schema(siblings, trail)
        if not isinstance(target, dict):
            return node
        self.count += 1
        deep = len(trail) >= self.depth and target.get("type") not in SIMPLE
        deep = deep or self.level > MAX_LEVELS or self.count > MAX_INLINED
        if reference not in trail and not deep:
            inner = self.schema(target, (*trail, reference))
            return {**inner, **self.schema(siblings, trail)}
        title = target.get("title") or reference.rpartition("/")[2].strip("#") or "the whole"
        kind = {"type": target["type"]} if "type" in target else {}
        return {**kind, "title": title, "description": f"same shape as {title}", **siblings}
