"""Conversion of OpenAPI 3 documents to the tools of an API, one for each operation.

The result has the form of `server.rest.<api>.tools`, which http_api.py reads. Operations that
cannot be tools are reported and left out. Pure.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Collection, Iterator
from typing import Any
from urllib.parse import unquote

from ..schema.inline import inline
from ..strict_json import dumps

TABLES = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
DATA = ("default", "const", "enum", "examples", "required")
LEFT_OUT = ("nullable", "example", "discriminator", "xml", "externalDocs")  # useless to models
METHODS = ("get", "post", "put", "patch", "delete")
MAX_OPERATIONS = 500
MAX_REFERENCES = 10
MAX_SCHEMA = 32_000  # characters of one parameter's schema, sent with every model call
MAX_NAME = 48  # leaves room for the API's name, within the 64 that providers allow

# OpenAPI 3 ignores header parameters of these names.
NOT_PARAMETERS = ("accept", "content-type", "authorization")

_JSON = re.compile(r"application/(.+\+)?json(;.*)?", re.IGNORECASE)
_FORM = re.compile(r"application/x-www-form-urlencoded(;.*)?", re.IGNORECASE)


def tools_in(
    document: Any, wanted: list[str], cookies: Collection[str] = ()
) -> Iterator[dict[str, Any] | str]:
    """Yield each operation as `http_api.operation` takes it, or the reason why it is left out.

    `wanted`: names of operations; empty: all. `cookies`: names of cookies that come from the
    caller.
    """
    version = document.get("openapi") if isinstance(document, dict) else None
    if not isinstance(version, str) or not version.startswith("3."):
        yield "this is no OpenAPI 3 document"
        return
    count, found = 0, set[str]()
    for operation in _operations(document):
        if isinstance(operation, str):
            yield operation
            continue
        path, method, item = operation
        name = _name(item, method, path)
        called = {name, str(item.get("operationId"))}
        if wanted and called.isdisjoint(wanted):
            continue
        count, found = count + 1, found | called
        if count > MAX_OPERATIONS:
            yield f"only the first {MAX_OPERATIONS} operations are taken; choose by `operations`"
            return
        try:
            yield _tool(document, name, path, method, item, cookies)
        except ValueError as error:
            yield f"{name}: {error}"
    for name in wanted:
        if name not in found:
            yield f"there is no operation {name}"


def _operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]] | str]:
    for path, written in _dict(document.get("paths")).items():
        try:
            shared = _resolved(document, written)
        except ValueError as error:
            yield f"{path}: {error}"
            continue
        for method in METHODS:
            if isinstance(item := shared.get(method), dict):
                both = [*_list(shared.get("parameters")), *_list(item.get("parameters"))]
                yield path, method, {**item, "parameters": both}


def _name(item: dict[str, Any], method: str, path: str) -> str:
    """Return a legal tool name for an operation, from its id or its method and path.

    A long name ends with a hash: Kubernetes has ids that differ in their last word only.
    """
    text = str(item.get("operationId") or f"{method}_{path}")
    name = re.sub(r"[^A-Za-z0-9-]+", "_", text).strip("_")
    if len(name) <= MAX_NAME:
        return name
    return f"{name[: MAX_NAME - 9]}_{zlib.crc32(text.encode('utf-8', 'replace')):08x}"


def _tool(
    document: dict[str, Any],
    name: str,
    path: str,
    method: str,
    item: dict[str, Any],
    cookies: Collection[str],
) -> dict[str, Any]:
    """Return an operation as an entry of `tools`.

    Raises ValueError for an operation that cannot be a tool.
    """
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
        body = _resolved(document, item["requestBody"])
        if (found := _body(body)) is not None:
            described, more = found
            parameters[_free("body", parameters)] = {
                **_schema(document, described, body.get("description")),
                "needed": body.get("required") is True,
                **more,
            }
    texts = (item.get("summary"), item.get("description"))
    described = "\n\n".join(dict.fromkeys(str(text).strip() for text in texts if text))
    made = {"name": name, "description": described[:2000], "method": method.upper()}
    return {**made, "path": path, "parameters": parameters}


def _parameters(
    document: dict[str, Any], item: dict[str, Any]
) -> dict[tuple[str, str], dict[str, Any]]:
    """Return {(place, name): parameter}; an operation's own replace those of its path."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for each in item["parameters"]:
        about = _resolved(document, each)
        place, wire = about.get("in"), about.get("name")
        if isinstance(place, str) and isinstance(wire, str):
            found[place, wire] = about
    return found


def _style(place: str, about: dict[str, Any]) -> str:
    """Return how http_api.py writes a list or object into a query; "" if it repeats the name."""
    style, explode = about.get("style", "form"), about.get("explode")
    if place != "query" or "content" in about:
        return ""
    if style == "deepObject":
        return "deep"
    joined = {"form": "comma", "spaceDelimited": "space", "pipeDelimited": "pipe"}.get(style, "")
    return joined if explode is False or (style != "form" and explode is not True) else ""


def _body(body: dict[str, Any]) -> tuple[Any, dict[str, str]] | None:
    """Return (schema, how http_api.py sends it) of a body; None for an optional unsupported one.

    Raises ValueError for a required body that is neither JSON nor a form.
    """
    schema, about = _content(body, _JSON)
    if about is not None:
        return schema, {"in": "content"}
    schema, about = _content(body, _FORM)
    if about is not None:
        styles = {_dict(each).get("style") for each in _dict(about.get("encoding")).values()}
        return schema, {"in": "form"} | ({"style": "deep"} if "deepObject" in styles else {})
    if body.get("required") is True:
        raise ValueError("its body is neither JSON nor a form")
    return None


def _content(body: dict[str, Any], kinds: re.Pattern[str]) -> tuple[Any, dict[str, Any] | None]:
    """Return (schema, media type object) of the first content of these kinds, or ({}, None)."""
    for kind, about in _dict(body.get("content")).items():
        if kinds.fullmatch(kind):
            return _dict(about).get("schema", {}), _dict(about)
    return {}, None


def _schema(document: dict[str, Any], schema: Any, description: Any) -> dict[str, Any]:
    """Return a schema without references, inlined level by level up to MAX_SCHEMA characters.

    Deeper types are replaced by a description.
    """
    root = {"properties": {"it": schema}, "components": document.get("components", {})}
    found, depth = None, 1
    while (more := inline(root, depth)["properties"]["it"]) != found:
        if found is not None and len(dumps(more)) > MAX_SCHEMA:
            break
        found, depth = more, depth + 1
    whole = _dict(_modern(found, sent=True))
    if description and "description" not in whole:
        whole["description"] = str(description)[:500]
    return whole


def _modern(schema: Any, *, sent: bool) -> Any:
    """Return an OpenAPI schema as JSON Schema.

    Translates `nullable` and boolean bounds, and drops `readOnly` properties. `sent`: this is a
    schema; else a table of schemas by name.
    """
    if isinstance(schema, list):
        return [_modern(item, sent=sent) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if not sent:  # keys of a table are names, not keywords
        return {name: _modern(inner, sent=True) for name, inner in schema.items()}
    found: dict[str, Any] = {}
    for key, value in schema.items():
        if key in DATA:
            found[key] = value
        elif key not in LEFT_OUT:
            found[key] = _modern(value, sent=key not in TABLES)
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
        for name, inner in _dict(schema.get("properties")).items()
        if _dict(inner).get("readOnly") is True
    }
    if only:
        found["properties"] = {n: s for n, s in found["properties"].items() if n not in only}
        found["required"] = [name for name in _list(schema.get("required")) if name not in only]


def _resolved(document: dict[str, Any], about: Any) -> dict[str, Any]:
    """Return a path, parameter or body with references followed.

    Raises ValueError for references that lead nowhere or in a circle.
    """
    for _ in range(MAX_REFERENCES):
        reference = _dict(about).get("$ref")
        if reference is None:
            return _dict(about)
        about = document if str(reference).startswith("#/") else None
        for part in str(reference).removeprefix("#/").split("/"):
            about = _dict(about).get(unquote(part).replace("~1", "/").replace("~0", "~"))
        if not isinstance(about, dict):
            raise ValueError(f"{str(reference)[:100]} leads nowhere")
    raise ValueError("its references lead in a circle")


def _free(wire: str, taken: dict[str, Any]) -> str:
    name = re.sub(r"[^A-Za-z0-9_-]+", "_", wire)[:64] or "value"
    while name in taken:
        name += "_"
    return name


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
