"""An OpenAPI 3 document as the tools of an API: every operation one tool.

Where it sits: beside rest.py, which makes the requests. The document is turned into what an owner
could have written under `server.rest.<api>.tools`, so there is one way from there on. What cannot
be a tool is said and left out. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ..schema.inline import inline

METHODS = ("get", "post", "put", "patch", "delete")
MAX_OPERATIONS = 500

_JSON = re.compile(r"application/(.+\+)?json(;.*)?", re.IGNORECASE)


def tools_in(document: Any, wanted: list[str]) -> Iterator[dict[str, Any] | str]:
    """Each operation as rest.operation takes it, or why it is left out. `wanted`: names of
    operations; all, where it is empty."""
    version = document.get("openapi") if isinstance(document, dict) else None
    if not isinstance(version, str) or not version.startswith("3."):
        yield "this is no OpenAPI 3 document"
        return
    found: set[str] = set()
    for path, method, item in _operations(document):
        name = _name(item, method, path)
        if wanted and name not in wanted:
            continue
        found.add(name)
        if len(found) > MAX_OPERATIONS:
            yield f"only the first {MAX_OPERATIONS} operations are taken; choose by `operations`"
            return
        try:
            yield _tool(document, name, path, method, item)
        except ValueError as error:
            yield f"{name}: {error}"
    for name in wanted:
        if name not in found:
            yield f"there is no operation {name}"


def _operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, shared in _dict(document.get("paths")).items():
        for method in METHODS:
            if isinstance(item := _dict(shared).get(method), dict):
                own = [*_list(_dict(shared).get("parameters")), *_list(item.get("parameters"))]
                yield path, method, {**item, "parameters": own}


def _name(item: dict[str, Any], method: str, path: str) -> str:
    """The operation's id, or its method and path, as a tool may be called."""
    text = item.get("operationId") or f"{method}_{path}"
    return re.sub(r"[^A-Za-z0-9-]+", "_", str(text)).strip("_")[:48]


def _tool(
    document: dict[str, Any], name: str, path: str, method: str, item: dict[str, Any]
) -> dict[str, Any]:
    """Raises ValueError for what has no place in a tool."""
    parameters: dict[str, Any] = {}
    for each in item["parameters"]:
        about = _resolved(document, each)
        wire, place = about.get("name"), about.get("in")
        if not isinstance(wire, str) or place not in ("path", "query", "header"):
            if about.get("required") is True:
                raise ValueError(f"it needs a parameter in {place}")
            continue
        schema = _schema(document, about.get("schema", {}), about.get("description"))
        parameters[_free(wire, parameters)] = {
            **schema,
            "in": place,
            "as": wire,
            "required": about.get("required") is True,
        }
    if "requestBody" in item:
        body = _resolved(document, item["requestBody"])
        parameters[_free("body", parameters)] = {
            **_schema(document, _json_schema(body), body.get("description")),
            "in": "content",
            "required": body.get("required") is True,
        }
    texts = (item.get("summary"), item.get("description"))
    described = "\n\n".join(dict.fromkeys(str(text).strip() for text in texts if text))
    made = {"name": name, "description": described[:2000], "method": method.upper()}
    return {**made, "path": path, "parameters": parameters}


def _json_schema(body: dict[str, Any]) -> Any:
    for kind, about in _dict(body.get("content")).items():
        if _JSON.fullmatch(kind):
            return _dict(about).get("schema", {})
    if body.get("required") is True:
        raise ValueError("its body is not JSON")
    return {}


def _schema(document: dict[str, Any], schema: Any, description: Any) -> dict[str, Any]:
    """A schema on its own, with everything it refers to written out."""
    root = {"properties": {"it": schema}, "components": document.get("components", {})}
    whole = _dict(_modern(inline(root)["properties"]["it"]))
    if description and "description" not in whole:
        whole["description"] = str(description)[:500]
    return whole


def _modern(schema: Any) -> Any:
    """What OpenAPI 3.0 says otherwise than JSON Schema: nullable, and bounds that are flags."""
    if isinstance(schema, list):
        return [_modern(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: _modern(value) for key, value in schema.items() if key != "nullable"}
    if schema.get("nullable") is True and isinstance(kind := schema.get("type"), str):
        found["type"] = [kind, "null"]
    for flag, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(schema.get(flag), bool):
            del found[flag]
            if schema[flag] and bound in found:
                found[flag] = found.pop(bound)
    return found


def _resolved(document: dict[str, Any], about: Any) -> dict[str, Any]:
    """A parameter or body, through one reference. Raises ValueError where it leads nowhere."""
    reference = _dict(about).get("$ref")
    if reference is None:
        return _dict(about)
    found: Any = document
    for part in str(reference).removeprefix("#/").split("/"):
        found = _dict(found).get(part.replace("~1", "/").replace("~0", "~"))
    if not isinstance(found, dict):
        raise ValueError(f"{reference} leads nowhere")
    return found


def _free(wire: str, taken: dict[str, Any]) -> str:
    name = re.sub(r"[^A-Za-z0-9_-]+", "_", wire)[:64] or "value"
    while name in taken:
        name += "_"
    return name


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
