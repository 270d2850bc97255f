"""Convert OpenAPI 3 and Swagger 2.0 documents to tools, one for each operation.

The entries have the form of `server.rest.<api>.tools`, which operations.py reads. What cannot be
sent is reported. Pure.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Collection, Iterator
from typing import Any
from urllib.parse import unquote

from ...lib.json_schema.compile import inline
from ...lib.json_schema.validate import KEYWORDS
from ...lib.strict_json import as_list, as_object, dumps

TABLES = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
DATA = ("default", "const", "enum", "examples", "required")
# Keywords that are sent: those that arguments are checked by, and annotations. Keywords of vendors
# and of other dialects are refused by providers.
SENT = frozenset(KEYWORDS) - {"$schema", "$id", "$anchor", "$dynamicAnchor"} | {
    *("title", "description", "default", "examples", "deprecated"),
    *("contentEncoding", "contentMediaType"),
}
OPENAPI_METHODS = ("get", "post", "put", "patch", "delete")
MAX_OPERATIONS = 500
MAX_REFERENCES = 10
MAX_SCHEMA = 32_000  # characters of one parameter's schema, sent with every model call
MAX_NAME = 48  # of an operation
MAX_TOOL_NAME = 64  # of an API's name, "_" and the operation: what providers allow
MAX_DESCRIPTION = 1_024  # characters; some gateways refuse longer ones

# Keys of a Swagger parameter that are not of its schema.
NOT_SCHEMA = ("name", "in", "required", "collectionFormat", "allowEmptyValue", "description")
# OpenAPI 3 ignores header parameters of these names.
NOT_PARAMETERS = ("accept", "content-type", "authorization")

_JSON = re.compile(r"application/(.+\+)?json(;.*)?", re.IGNORECASE)
_FORM = re.compile(r"application/x-www-form-urlencoded(;.*)?", re.IGNORECASE)
_ANY = re.compile(r"(\*|application)/\*(;.*)?")


def tools_in(
    document: Any, wanted: list[str], cookies: Collection[str] = (), api: str = ""
) -> Iterator[dict[str, Any] | str]:
    """Yield each operation as `operations.operation` takes it, or a text about what is left out.

    `wanted`: names of operations; empty: all. `cookies`: names of cookies that come from the
    caller. `api`: the API's name, which is put in front of the operation's.
    """
    if not _is_supported(document):
        yield "this is neither an OpenAPI 3 nor a Swagger 2.0 document"
        return
    longest = min(MAX_NAME, max(MAX_TOOL_NAME - len(f"{api}_"), 9))
    names = set[str]()
    missing = dict.fromkeys(wanted)
    for operation in _operations(document):
        if isinstance(operation, str):
            yield operation
            continue
        path, method, item = operation
        name, identifier = _name(item, method, path, longest, names), str(item.get("operationId"))
        if wanted and name not in wanted and identifier not in wanted:
            continue
        missing.pop(name, None)
        missing.pop(identifier, None)
        names.add(name)
        if len(names) > MAX_OPERATIONS:
            yield f"only the first {MAX_OPERATIONS} operations are taken; choose by `operations`"
            return
        try:
            tool, unsent = _tool(document, name, path, method, item, cookies)
        except ValueError as error:
            yield f"{name}: {error}"
            continue
        if unsent:
            yield f"{name}: calls go without its body, which is {unsent}"
            unsent = f"\n\nCalls go without a body: {unsent} cannot be sent."
        yield {**tool, "description": _cut(tool["description"], len(unsent)) + unsent}
    for name in missing:
        yield f"there is no operation {name}"


def _is_supported(document: Any) -> bool:
    version = as_object(document).get("openapi")
    is_openapi = isinstance(version, str) and version.startswith("3.")
    return is_openapi or as_object(document).get("swagger") == "2.0"


def _operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]] | str]:
    """Yield (path, method, operation with the parameters of its path), or why one is left out."""
    for path, written in as_object(document.get("paths")).items():
        try:
            shared = _follow_references(document, written)
        except ValueError as error:
            yield f"{path}: {error}"
            continue
        for method in OPENAPI_METHODS:
            try:
                item = _follow_references(document, shared.get(method))
                if not isinstance(shared.get(method), dict):
                    continue
                both = [*as_list(shared.get("parameters")), *as_list(item.get("parameters"))]
                item = {**item, "parameters": both}
                yield path, method, item if "openapi" in document else _from_swagger(document, item)
            except ValueError as error:
                yield f"{method.upper()} {path}: {error}"


def _name(item: dict[str, Any], method: str, path: str, longest: int, taken: set[str]) -> str:
    """Return a legal tool name for an operation, from its id or its method and path.

    A name that is long or taken ends with a hash: Kubernetes has ids that differ in their last word
    only, and `/a/id` and `/a/{id}` have the same letters.
    """
    text = str(item.get("operationId") or f"{method}_{path}")
    name = re.sub(r"[^A-Za-z0-9-]+", "_", text).strip("_")
    if len(name) <= longest and name not in taken:
        return name
    return f"{name[: longest - 9]}_{zlib.crc32(text.encode('utf-8', 'replace')):08x}".lstrip("_")


def _cut(text: str, more: int) -> str:
    """Return a text within MAX_DESCRIPTION characters, of which `more` are used elsewhere."""
    limit = MAX_DESCRIPTION - more
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _tool(
    document: dict[str, Any],
    name: str,
    path: str,
    method: str,
    item: dict[str, Any],
    cookies: Collection[str],
) -> tuple[dict[str, Any], str]:
    """Return (an operation as an entry of `tools`, the types of its body if that cannot be sent).

    Raises ValueError for an operation that cannot be a tool.
    """
    unsent = ""
    parameters: dict[str, Any] = {}
    for (place, wire), about in _parameters(document, item).items():
        if place == "header" and wire.lower() in NOT_PARAMETERS:
            continue
        if place not in ("path", "query", "header"):
            if about.get("required") is True and not (place == "cookie" and wire in cookies):
                raise ValueError(f"it needs a parameter in {place}")
            continue
        described = about.get("schema", _content(about, _JSON)[0])
        schema = _schema(document, described, about.get("description"))
        parameters[_free(wire, parameters)] = {
            **schema,
            "in": place,
            "as": wire,
            "needed": about.get("required") is True,
            **({"style": style} if (style := _style(place, about)) else {}),
        }
    if "requestBody" in item:
        body = _follow_references(document, item["requestBody"])
        if (content := _body(body)) is not None:
            described, more = content
            parameters[_free("body", parameters)] = {
                **_schema(document, described, body.get("description")),
                "needed": body.get("required") is True,
                **more,
            }
        else:
            unsent = ", ".join(map(str, as_object(body.get("content"))))[:100]
    texts = (item.get("summary"), item.get("description"))
    described = "\n\n".join(dict.fromkeys(str(text).strip() for text in texts if text))
    entry = {"name": name, "description": described, "method": method.upper(), "path": path}
    return {**entry, "parameters": parameters}, unsent


def _parameters(
    document: dict[str, Any], item: dict[str, Any]
) -> dict[tuple[str, str], dict[str, Any]]:
    """Return {(place, name): parameter}; an operation's own replace those of its path."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for each in item["parameters"]:
        about = _follow_references(document, each)
        place, wire = about.get("in"), about.get("name")
        if isinstance(place, str) and isinstance(wire, str):
            found[place, wire] = about
    return found


def _style(place: str, about: dict[str, Any]) -> str:
    """Return how a list or object is written into a query; "" for values that are JSON."""
    style = about.get("style", "form")
    if place != "query" or "content" in about:
        return ""
    if style == "deepObject":
        return "deep"
    if about.get("explode", style == "form") is True:
        return "form"
    return {"spaceDelimited": "space", "pipeDelimited": "pipe"}.get(style, "comma")


def _body(body: dict[str, Any]) -> tuple[Any, dict[str, str]] | None:
    """Return (schema, how operations.py sends it) of a body; None for an optional unsupported one.

    Raises ValueError for a required body that is neither JSON nor a form.
    """
    for kinds, place in ((_JSON, "content"), (_FORM, "form"), (_ANY, "content")):
        schema, about, kind = _content(body, kinds)
        if about is None:
            continue
        if place == "content":
            return schema, {"in": place, "as": kind if kinds is _JSON else ""}
        written = list(map(as_object, as_object(about.get("encoding")).values()))
        deep = any(each.get("style") == "deepObject" for each in written)
        flat = any(each.get("explode") is False for each in written)
        return schema, {"in": place, "style": "deep" if deep else "comma" if flat else ""}
    if body.get("required") is True:
        raise ValueError("its body is neither JSON nor a form")
    return None


def _content(body: dict[str, Any], kinds: re.Pattern[str]) -> tuple[Any, Any, str]:
    """Return (schema, media type object, type) of the first content of these kinds.

    ({}, None, "") if there is none.
    """
    for kind, about in as_object(body.get("content")).items():
        if kinds.fullmatch(kind):
            return as_object(about).get("schema", {}), as_object(about), kind
    return {}, None, ""


def _schema(document: dict[str, Any], schema: Any, description: Any) -> dict[str, Any]:
    """Return a schema without references, inlined level by level up to MAX_SCHEMA characters.

    Deeper types are replaced by a description.
    """
    places = ("components", "definitions")
    root = {"properties": {"it": schema}, **{key: document.get(key, {}) for key in places}}
    found, depth = None, 1
    while (more := inline(root, depth)["properties"]["it"]) != found:
        if found is not None and len(dumps(more)) > MAX_SCHEMA:
            break
        found, depth = more, depth + 1
    whole = as_object(_as_json_schema(found, sent=True))
    if description and "description" not in whole:
        whole["description"] = str(description)[:500]
    return whole


def _as_json_schema(schema: Any, *, sent: bool) -> Any:
    """Return an OpenAPI schema as JSON Schema.

    Translates `nullable` and boolean bounds, and drops `readOnly` properties. `sent`: this is a
    schema; else a table of schemas by name. Raises ValueError for a reference that is not inlined.
    """
    if isinstance(schema, list):
        return [_as_json_schema(item, sent=sent) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if not sent:  # keys of a table are names, not keywords
        return {name: _as_json_schema(inner, sent=True) for name, inner in schema.items()}
    found: dict[str, Any] = {}
    if "$ref" in schema:
        raise ValueError(_lost(schema["$ref"]))
    for key, value in schema.items():
        if key in DATA:
            found[key] = value
        elif key in SENT:
            found[key] = _as_json_schema(value, sent=key not in TABLES)
    _without_answers(schema, found)
    if schema.get("nullable") is True:
        if isinstance(kind := schema.get("type"), str):
            found["type"] = [kind, "null"]
            if isinstance(values := found.get("enum"), list) and None not in values:
                found["enum"] = [*values, None]
        elif found:
            found = {"anyOf": [found, {"type": "null"}]}
    for flag, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(schema.get(flag), bool):
            del found[flag]
            if schema[flag] and bound in found:
                found[flag] = found.pop(bound)
    return found


def _without_answers(schema: dict[str, Any], found: dict[str, Any]) -> None:
    """Remove `readOnly` properties, which occur in responses only."""
    only = {
        name
        for name, inner in as_object(schema.get("properties")).items()
        if as_object(inner).get("readOnly") is True
    }
    if only:
        found["properties"] = {n: s for n, s in found["properties"].items() if n not in only}
        found["required"] = [name for name in as_list(schema.get("required")) if name not in only]


def _follow_references(document: dict[str, Any], about: Any) -> dict[str, Any]:
    """Return a path, parameter or body with references followed.

    Raises ValueError for references that lead nowhere or in a circle.
    """
    for _ in range(MAX_REFERENCES):
        reference = as_object(about).get("$ref")
        if reference is None:
            return as_object(about)
        about = document if str(reference).startswith("#/") else None
        for part in str(reference).removeprefix("#/").split("/"):
            about = as_object(about).get(unquote(part).replace("~1", "/").replace("~0", "~"))
        if not isinstance(about, dict):
            raise ValueError(_lost(reference))
    raise ValueError("its references lead in a circle")


def _lost(reference: Any) -> str:
    """Return why a reference cannot be followed, and what to do."""
    where = str(reference)[:100]
    if where.startswith("#"):
        return f"{where} leads nowhere"
    return f"{where} is in another file; put the document together in one file first"


# Swagger 2.0


def _from_swagger(document: dict[str, Any], item: dict[str, Any]) -> dict[str, Any]:
    """Return an operation of a Swagger 2.0 document in the form of OpenAPI 3.

    Raises ValueError for references that lead nowhere.
    """
    kinds = [*map(str, as_list(item.get("consumes", document.get("consumes"))))]
    parameters: list[dict[str, Any]] = []
    fields: list[dict[str, Any]] = []
    body: dict[str, Any] = {}
    for each in as_list(item.get("parameters")):
        about = _follow_references(document, each)
        if about.get("in") == "body":
            content = {kind: {"schema": about.get("schema", {})} for kind in kinds or ["*/*"]}
            body = {"requestBody": {**about, "content": content}}
        elif about.get("in") == "formData":
            fields.append(about)
        else:
            schema = {key: value for key, value in about.items() if key not in NOT_SCHEMA}
            parameters.append({**about, "schema": schema, **_collection(about)})
    if fields:
        body = {"requestBody": _form(fields, kinds)}
    return {**item, "parameters": parameters, **body}


def _form(fields: list[dict[str, Any]], kinds: list[str]) -> dict[str, Any]:
    """Return the parameters in `formData` as a request body. A file makes it multipart."""
    schemas = {
        str(about.get("name")): {k: v for k, v in about.items() if k not in NOT_SCHEMA[:-1]}
        for about in fields
    }
    required = [name for name, about in zip(schemas, fields, strict=False) if about.get("required")]
    multipart = "multipart/form-data"
    only = multipart in kinds and not any(map(_FORM.fullmatch, kinds))
    if only or any(about.get("type") == "file" for about in fields):
        kind = multipart
    else:
        kind = "application/x-www-form-urlencoded"
    lists = [about for about in fields if about.get("type") == "array"]
    encoding = {str(about.get("name")): _collection(about) for about in lists}
    schema = {"type": "object", "properties": schemas, "required": required}
    return {"required": bool(required), "content": {kind: {"schema": schema, "encoding": encoding}}}


def _collection(about: dict[str, Any]) -> dict[str, Any]:
    """Return `collectionFormat` as `style` and `explode`; tabs count as commas."""
    format = about.get("collectionFormat", "csv")
    style = {"ssv": "spaceDelimited", "pipes": "pipeDelimited"}.get(format, "form")
    return {"style": style, "explode": format == "multi" or about.get("type") != "array"}


def _free(wire: str, taken: dict[str, Any]) -> str:
    name = re.sub(r"[^A-Za-z0-9_-]+", "_", wire)[:64] or "value"
    while name in taken:
        name += "_"
    return name
