"""The resources of a schema, their anchors and dialects, and the resolution of references.

Used by `compile` to resolve each $ref, and by `inline` and `portable` for the places of subschemas.
A document is walked once, only where subschemas can be: an "$id" inside an enum names nothing.
Nothing is fetched: a reference to a URI that is neither in the document nor in the table of known
documents is unresolved. JSON Schema 2020-12 and 2019-09 sections 8 and 9; draft-07 section 8.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

DRAFT_2020 = "https://json-schema.org/draft/2020-12/schema"
DRAFT_2019 = "https://json-schema.org/draft/2019-09/schema"
DRAFT_7 = "http://json-schema.org/draft-07/schema"
# Without the scheme, which is often http for https. Draft-06 keywords mean the same in draft-07.
_DIALECTS = {each.partition("://")[2]: each for each in (DRAFT_2020, DRAFT_2019, DRAFT_7)}
_DIALECTS["json-schema.org/draft-06/schema"] = DRAFT_7
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


class Unresolved(ValueError):
    """A reference without a target, or a document that is too large; the message says why."""


@dataclass(slots=True)
class Resource:
    """A schema with an identity of its own: the root, or a subschema with `$id`."""

    uri: str
    root: Any
    dialect: str
    anchors: dict[str, Any] = field(default_factory=dict)
    dynamic: dict[str, Any] = field(default_factory=dict)  # those declared by $dynamicAnchor


class Library:
    """All resources of a schema and of the known documents that it refers to."""

    def __init__(self, schema: Any, documents: Mapping[str, Any]) -> None:
        self._documents = documents
        self._resources: dict[str, Resource] = {}
        self._homes: dict[int, Resource] = {}  # id() of each subschema -> its resource
        self.root = self._index(schema, "", DRAFT_2020)

    def home(self, schema: Any, default: Resource) -> Resource:
        """Return the resource that `schema` belongs to, `default` if it is not indexed."""
        return self._homes.get(id(schema), default)

    def resolve(self, reference: str, base: Resource) -> tuple[Any, Resource, str]:
        """Return (the target schema, its resource, its anchor or "" if it was named by a pointer).

        Raises Unresolved.
        """
        address, _, fragment = reference.partition("#")
        resource = self._resource(address, base) if address else base
        anchor = unquote(fragment)
        if anchor and not anchor.startswith("/"):
            if anchor not in resource.anchors:
                raise Unresolved(f"{reference[:200]!r} names an anchor that does not exist")
            target = resource.anchors[anchor]
            return target, self.home(target, resource), anchor
        target = resource.root
        for key in tokens(fragment):
            target = member(target, key)
            resource = self.home(
                target, resource
            )  # a pointer may enter another resource (section 9.2.1)
        if not isinstance(target, dict | bool):
            raise Unresolved(f"{reference[:200]!r} does not lead to a schema")
        return target, resource, ""

    def _resource(self, address: str, base: Resource) -> Resource:
        uri = join(base.uri, address)
        if uri not in self._resources:
            if uri not in self._documents:
                reason = "is not part of this schema, and schemas are not fetched"
                raise Unresolved(f"{address[:200]!r} {reason}")
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
                raise Unresolved(f"more than {MAX_SUBSCHEMAS} subschemas")
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
                    if keyword == "$dynamicAnchor":
                        resource.dynamic[anchor] = schema
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
