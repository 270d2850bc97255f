"""Where references lead: the resources of a schema, their anchors and their dialects.

Where it sits: `compile` asks it for the target of each $ref. Rule of the file: a document is
walked once, only where schemas can stand (an "$id" inside an enum names nothing), and nothing is
ever fetched: what is not in the document or in the table of known documents does not exist.
JSON Schema 2020-12 sections 8 and 9; draft-07 section 8.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from .uri import join, unquote

DRAFT_2020 = "https://json-schema.org/draft/2020-12/schema"
DRAFT_7 = "http://json-schema.org/draft-07/schema"
MAX_SUBSCHEMAS = 20_000

# Where schemas stand in schemas: alone, in a list, in an object whose names are the author's.
IN_ONE = frozenset(
    "additionalProperties additionalItems items contains not if then else propertyNames"
    " unevaluatedItems unevaluatedProperties contentSchema".split()
)
IN_LIST = frozenset("allOf anyOf oneOf prefixItems items".split())
IN_MAP = frozenset(
    "properties patternProperties $defs definitions dependentSchemas dependencies".split()
)


class Unresolved(ValueError):
    """A reference leads nowhere; the message says which and why."""


@dataclass(slots=True)
class Resource:
    """A schema with an identity of its own: the root, or a subschema with `$id`."""

    uri: str
    root: Any
    dialect: str
    anchors: dict[str, Any] = field(default_factory=dict)
    dynamic: dict[str, Any] = field(default_factory=dict)  # those declared by $dynamicAnchor


class Library:
    """All resources reachable from a schema without asking anybody."""

    def __init__(self, schema: Any, documents: Mapping[str, Any]) -> None:
        self._documents = documents
        self._resources: dict[str, Resource] = {}
        self._homes: dict[int, Resource] = {}  # id() of each subschema -> where it belongs
        self._count = 0
        self.root = self._index(schema, "", DRAFT_2020)

    def home(self, schema: Any, default: Resource) -> Resource:
        return self._homes.get(id(schema), default)

    def resolve(self, reference: str, base: Resource) -> tuple[Any, Resource, str]:
        """(the schema meant, the resource it stands in, its anchor if it was named by one).

        Raises Unresolved.
        """
        address, _, fragment = reference.partition("#")
        resource = self._resource(address, base) if address else base
        fragment = unquote(fragment)
        if fragment == "" or fragment.startswith("/"):
            return *self._descend(resource, fragment, reference), ""
        if fragment not in resource.anchors:
            raise Unresolved(f"{reference[:200]!r} names an anchor that does not exist")
        target = resource.anchors[fragment]
        return target, self.home(target, resource), fragment

    def _resource(self, address: str, base: Resource) -> Resource:
        uri = join(base.uri, address)
        if uri not in self._resources:
            if uri not in self._documents:
                reason = "is not part of this schema, and schemas are not fetched"
                raise Unresolved(f"{address[:200]!r} {reason}")
            self._index(self._documents[uri], uri, base.dialect)
        return self._resources[uri]

    def _descend(self, resource: Resource, pointer: str, reference: str) -> tuple[Any, Resource]:
        """Follow a JSON pointer, noticing when it walks into another resource (section 9.2.1)."""
        node = resource.root
        for token in pointer.split("/")[1:]:
            node = member(node, token)
            resource = self.home(node, resource)
        if not isinstance(node, dict | bool):
            raise Unresolved(f"{reference[:200]!r} does not lead to a schema")
        return node, resource

    def _index(self, document: Any, uri: str, dialect: str) -> Resource:
        """Walk a document and note its resources and anchors. `dialect` is for one without."""
        root = Resource(uri, document, dialect)
        self._resources[uri] = root
        todo: list[tuple[Any, Resource, bool]] = [(document, root, True)]
        while todo:
            schema, resource, is_root = todo.pop()
            if not isinstance(schema, dict):
                continue
            self._count += 1
            if self._count > MAX_SUBSCHEMAS:
                raise Unresolved(f"more than {MAX_SUBSCHEMAS} subschemas")
            resource = self._enter(schema, resource, is_root)
            self._homes[id(schema)] = resource
            todo.extend((sub, resource, False) for sub in _subschemas(schema))
        return root

    def _enter(self, schema: dict[str, Any], resource: Resource, is_root: bool) -> Resource:
        """The resource that `schema` is in, a new one if it has an `$id`; note its anchors."""
        declared = schema.get("$schema")
        if is_root and isinstance(declared, str):
            resource.dialect = declared.removesuffix("#")
        old = resource.dialect == DRAFT_7
        name = schema.get("$id")
        if isinstance(name, str) and not (old and "$ref" in schema):  # draft-07 8.3: siblings
            address, _, fragment = name.partition("#")
            if address:
                uri = join(resource.uri, address)
                if is_root:
                    resource.uri = uri
                else:
                    dialect = declared if isinstance(declared, str) else resource.dialect
                    resource = Resource(uri, schema, dialect.removesuffix("#"))
                self._resources.setdefault(uri, resource)
            if fragment and old:
                resource.anchors[fragment] = schema
        for keyword in ("$anchor", "$dynamicAnchor"):
            anchor = schema.get(keyword)
            if isinstance(anchor, str) and resource.dialect != DRAFT_7:
                resource.anchors[anchor] = schema
                if keyword == "$dynamicAnchor":
                    resource.dynamic[anchor] = schema
        return resource


def member(node: Any, token: str) -> Any:
    """One step of a JSON pointer (RFC 6901); None if there is nothing."""
    name = token.replace("~1", "/").replace("~0", "~")
    if isinstance(node, dict):
        return node.get(name)
    if isinstance(node, list) and re.fullmatch("0|[1-9][0-9]{0,8}", name):
        return node[int(name)] if int(name) < len(node) else None
    return None


def _subschemas(schema: dict[str, Any]) -> Iterator[Any]:
    for keyword, operand in schema.items():
        if keyword in IN_ONE and isinstance(operand, dict):
            yield operand
        elif keyword in IN_LIST and isinstance(operand, list):
            yield from operand
        elif keyword in IN_MAP and isinstance(operand, dict):
            yield from operand.values()
