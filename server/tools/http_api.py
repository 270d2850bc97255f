"""Tools that are requests to an HTTP API, from `server.rest` in the configuration.

The catalog takes tools from `operations`. The owner's base URL, headers and query decide where a
request goes and as whom; arguments of the model are escaped into their place and cannot change
these. Redirects are not followed. Credentials are removed from responses that echo them, including
the caller's headers and cookies named in `forward` (settings/forwarding.py).
"""

from __future__ import annotations

import re
import time
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote, unquote, urlencode

from ..http.client import Client, ClientError, Response, Timeouts
from ..schema.compile import inline
from ..schema.field_types import FLAG, TEXT, object_of, one_of, text, text_like
from ..settings import forwarding
from ..settings.schema import problems
from ..strict_json import JSONError, dumps, loads
from ..telemetry import redact, tracing
from .base import Emit, Invocation, Tool, failure, hints_of
from .decorators import HINTS, ToolError
from .runner import Outcome

# -- openapi --------------------------------------------------------------------------------------
# Conversion of OpenAPI 3 documents to the tools of an API, one for each operation.
#
# The result has the form of `server.rest.<api>.tools`, which http_api.py reads. Operations that
# cannot be tools are reported and left out. Pure.

TABLES = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
DATA = ("default", "const", "enum", "examples", "required")
LEFT_OUT = ("nullable", "example", "discriminator", "xml", "externalDocs")  # useless to models
OPENAPI_METHODS = ("get", "post", "put", "patch", "delete")
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
            shared = _follow_references(document, written)
        except ValueError as error:
            yield f"{path}: {error}"
            continue
        for method in OPENAPI_METHODS:
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
        body = _follow_references(document, item["requestBody"])
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
        about = _follow_references(document, each)
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
    whole = _dict(_as_json_schema(found, sent=True))
    if description and "description" not in whole:
        whole["description"] = str(description)[:500]
    return whole


def _as_json_schema(schema: Any, *, sent: bool) -> Any:
    """Return an OpenAPI schema as JSON Schema.

    Translates `nullable` and boolean bounds, and drops `readOnly` properties. `sent`: this is a
    schema; else a table of schemas by name.
    """
    if isinstance(schema, list):
        return [_as_json_schema(item, sent=sent) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if not sent:  # keys of a table are names, not keywords
        return {name: _as_json_schema(inner, sent=True) for name, inner in schema.items()}
    found: dict[str, Any] = {}
    for key, value in schema.items():
        if key in DATA:
            found[key] = value
        elif key not in LEFT_OUT:
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
        for name, inner in _dict(schema.get("properties")).items()
        if _dict(inner).get("readOnly") is True
    }
    if only:
        found["properties"] = {n: s for n, s in found["properties"].items() if n not in only}
        found["required"] = [name for name in _list(schema.get("required")) if name not in only]


def _follow_references(document: dict[str, Any], about: Any) -> dict[str, Any]:
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


# -- http api -------------------------------------------------------------------------------------

TIMEOUT_S = 30.0
MAX_KB = 512
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
# content: the argument is the whole JSON body; form: the whole body, as a form
PLACES = ("path", "query", "header", "body", "content", "form")
STYLES = {"": "", "comma": ",", "space": " ", "pipe": "|", "deep": ""}
_PARAMETER = object_of(
    {"in": one_of(*PLACES), "style": one_of(*STYLES)}, words="a schema with `in`"
)
ENTRY = object_of(  # of `tools`
    {
        **dict.fromkeys(("name", "method"), TEXT),
        "description": text("a string or null", none=True),
        "path": text_like(r"/[\s\S]*", "a path that begins with /"),
        "parameters": object_of(each=_PARAMETER, none=True),
        **dict.fromkeys(HINTS, FLAG),
    },
    closed=True,
)
NOT_SCHEMA = ("in", "as", "style", "needed")
# Headers with credentials, origin or message framing are not for models to set.
NOT_FOR_MODELS = re.compile(
    r"host|connection|content-length|transfer-encoding|te|trailer|upgrade|expect|cookie|origin"
    r"|referer|forwarded|x-forwarded-.*|authorization|proxy-.*|.*(api[-_]?key|token|secret).*",
    re.IGNORECASE,
)
MEANINGS = {
    400: "the request was not understood",
    401: "the credentials, of the configuration or of the caller, are missing or wrong",
    403: "this is not allowed",
    404: "there is no such thing",
    405: "this cannot be done here",
    409: "it is in conflict with what is there",
    422: "the values do not fit",
    429: "too many requests; wait before the next",
}
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_PATH_NAME = re.compile(r"\{([^{}]+)\}")


@dataclass(frozen=True, kw_only=True)
class HttpTool(Tool):
    """One operation of an API.

    `places`: argument → (place in the request, name there). `styles`: argument → how a list or
    object is written into the query.
    """

    client: Client = field(compare=False)
    method: str
    base_url: str
    path: str
    places: dict[str, tuple[str, str]]
    headers: dict[str, str] = field(default_factory=dict)
    timeout_s: float = TIMEOUT_S
    max_kb: float = MAX_KB
    styles: dict[str, str] = field(default_factory=dict)
    query: dict[str, str] = field(default_factory=dict)
    forward: tuple[str, ...] = ()  # headers and cookies of the caller to send along

    remote = True

    def secrets(self) -> list[str]:
        """Return the owner's credentials in the headers and the query."""
        return [*redact.keys_in(self.query), *redact.credentials(self.headers.items())]

    async def run(self, call: Invocation, emit: Emit) -> Outcome:
        """Make the request."""
        return await self.send(call.args, call.limits["wall_s"])

    async def send(self, args: dict[str, Any], wall_s: float) -> Outcome:
        """Make the request and return its Outcome. Errors are Outcomes too."""
        started = time.monotonic()
        seconds = min(self.timeout_s, wall_s)
        timeouts = Timeouts(connect=min(10.0, seconds), idle=seconds, total=seconds)
        try:
            brought = forwarding.headers_to_forward(self.forward)
            url, headers, body = request(self, args, brought)
            response = await self.client.request(self.method, url, headers, body, timeouts=timeouts)
            async with response:
                data = await response.read(int(self.max_kb * 1024))
            secrets = [*forwarding.secrets(brought), *self.secrets()]
            outcome = Outcome("ok", answer(response, data, secrets))
        except forwarding.RequestOver:
            outcome = failure(
                "it was not sent: the request that says who is asking is over; ask once more"
            )
        except ToolError as error:
            outcome = failure(str(error))
        except ClientError as error:
            outcome = failure(str(error), "timeout" if error.kind == "timeout" else "error")
        return replace(outcome, usage={"wall_ms": round((time.monotonic() - started) * 1000)})


def operations(
    client: Client, api: str, about: dict[str, Any], document: Any = None
) -> Iterator[HttpTool | str]:
    """Yield the operations of `server.rest.<api>`, or an error text for each unusable one.

    They are written out in `tools`, or described by an OpenAPI `document`.
    """
    described: Iterable[dict[str, Any] | str] = ()
    if document is not None:
        described = tools_in(document, about.get("operations", []), _cookies(about))
    for each in (*about.get("tools", ()), *described):
        if isinstance(each, str):
            yield f"server.rest.{api}: {each}"
            continue
        try:
            yield operation(client, api, about, each)
        except ToolError as error:
            yield f"server.rest.{api}: {each.get('name', 'a tool without a name')}: {error}"


def operation(client: Client, api: str, about: dict[str, Any], each: dict[str, Any]) -> HttpTool:
    """Return the operation of one entry of `tools`. Raises ToolError.

    A parameter is a schema with `in` and `required`, or `needed` where `required` is a list.
    """
    for line in problems({"path": "", **each}, ENTRY):
        raise ToolError(line)
    method, path = each.get("method", "GET").upper(), each["path"]
    if method not in METHODS:
        raise ToolError(f"method is {method[:20]}, wanted one of {', '.join(METHODS)}")
    if not re.fullmatch(r"https?://[^/?#@\s]+(/[^?#\s]*)?", about.get("base_url", "")):
        raise ToolError("base_url begins with https:// and has neither user, query nor fragment")
    properties, places, styles, required = {}, {}, {}, []
    for name, schema in (each.get("parameters") or {}).items():
        place = schema.get("in", "path" if f"{{{name}}}" in path else _usual(method))
        wire = str(schema.get("as", name))
        if place == "header" and _is_told(wire, about, schema):
            continue
        if place == "query" and wire in about.get("query", {}):
            continue
        if place == "header" and (not _TOKEN.fullmatch(wire) or NOT_FOR_MODELS.fullmatch(wire)):
            raise ToolError(f"a model may not write the header {wire}; put it into headers")
        places[name] = (place, wire)
        styles[name] = schema.get("style", "")
        own = {k: v for k, v in schema.items() if k not in NOT_SCHEMA}
        properties[name] = {k: v for k, v in own.items() if (k, type(v)) != ("required", bool)}
        if True in (schema.get("required"), schema.get("needed")) or place == "path":
            required.append(name)
    missing = set(_PATH_NAME.findall(path)) - {w for p, w in places.values() if p == "path"}
    if missing:
        raise ToolError(f"the path needs {', '.join(sorted(missing))}, which no parameter is")
    schema = {"type": "object", "properties": properties, "required": required}
    safe = method in ("GET", "HEAD")  # RFC 9110 section 9.2.1; the entry may override it
    hints = {"read_only": safe, "idempotent": method in ("PUT", "DELETE"), **each}
    return HttpTool(
        f"{api}_{each.get('name', '')}",
        str(each.get("description") or ""),
        {**schema, "additionalProperties": False},
        origin=f"rest:{api}",
        hints=hints_of(hints),
        client=client,
        method=method,
        base_url=about["base_url"].rstrip("/"),
        path=path,
        places=places,
        headers=dict(about.get("headers", {})),
        timeout_s=about.get("timeout_s", TIMEOUT_S),
        max_kb=about.get("max_kb", MAX_KB),
        styles=styles,
        query=dict(about.get("query", {})),
        forward=tuple(about.get("forward", ())),
    )


def _cookies(about: dict[str, Any]) -> list[str]:
    """Return the names of the cookies that come from the caller."""
    named = filter(forwarding.is_cookie, about.get("forward", ()))
    return [name[len(forwarding.COOKIE) :] for name in named]


def _is_told(wire: str, about: dict[str, Any], schema: dict[str, Any]) -> bool:
    """Return whether a header needs no argument.

    The owner sets it, the caller sends it, or it is optional and not for models.
    """
    told = (*about.get("headers", {}), *about.get("forward", ()))
    ours = wire.lower() in (name.lower() for name in told)
    return ours or (schema.get("needed") is False and bool(NOT_FOR_MODELS.fullmatch(wire)))


def request(
    op: HttpTool, args: dict[str, Any], brought: Mapping[str, str] | None = None
) -> tuple[str, dict[str, str], bytes]:
    """Return (URL, headers, body) of a call.

    `brought`: headers of the caller to send along. Raises ToolError for a value without a safe
    form.
    """
    path, query, headers = op.path, list[tuple[str, str]](), {"accept": "application/json, text/*"}
    fields: dict[str, Any] = {}
    content: Any = None
    form: list[tuple[str, str]] | None = None
    for name, (place, wire) in op.places.items():
        if (value := args.get(name)) is None:
            continue
        if place == "path":
            path = path.replace(f"{{{wire}}}", segment(name, value))
        elif place == "query":
            query += in_query(wire, value, op.styles.get(name, ""))
        elif place == "header":
            headers[wire.lower()] = value_text(value)
        elif place == "body":
            fields[wire] = value
        elif place == "form":
            form = in_form(name, value, op.styles.get(name, ""))
        else:
            content = value
    if unfilled := _PATH_NAME.findall(path):
        raise ToolError(f"the path needs {unfilled[0]}")
    query += op.query.items()
    body = b""
    if form is not None:
        headers["content-type"] = "application/x-www-form-urlencoded"
        body = urlencode(form).encode()
    elif fields or content is not None:
        headers["content-type"] = "application/json"
        body = dumps(fields if content is None else content).encode()
    headers |= tracing.trace_headers()
    # The caller's and the owner's headers come last, so that no argument can replace them.
    headers |= brought or {}
    headers |= {name.lower(): value for name, value in op.headers.items()}
    return op.base_url + path + (f"?{urlencode(query)}" if query else ""), headers, body


def in_query(wire: str, value: Any, style: str) -> list[tuple[str, str]]:
    """Return the query pairs of one argument. A list repeats the name, or is joined by `style`."""
    if style == "deep" and isinstance(value, dict):
        return [pair for k, v in value.items() for pair in in_query(f"{wire}[{k}]", v, "deep")]
    if style == "deep" and isinstance(value, list):
        many = enumerate(value)
        return [pair for i, v in many for pair in in_query(f"{wire}[{i}]", v, "deep")]
    if isinstance(value, list):
        if not style:
            return [(wire, plain(item)) for item in value]
        value = STYLES[style].join(map(plain, value))
    return [(wire, plain(value))]


def in_form(name: str, value: Any, style: str) -> list[tuple[str, str]]:
    """Return the form fields of an object, without null values.

    Raises ToolError for other values.
    """
    if not isinstance(value, dict):
        raise ToolError(f"{name} is no object, and a form has named fields")
    return [
        pair
        for key, item in value.items()
        if item is not None
        for pair in in_query(key, item, style)
    ]


def segment(name: str, value: Any) -> str:
    """Return a value as one escaped path segment. Raises ToolError for "", "." and ".."."""
    text = value_text(value)
    if text in ("", ".", ".."):
        raise ToolError(f"{name} is {text!r}, which cannot be a part of a path")
    return quote(text, safe="")


def value_text(value: Any) -> str:
    """Return a value as text; the items of a list are joined by commas (OpenAPI style `simple`)."""
    return ",".join(map(plain, value)) if isinstance(value, list) else plain(value)


def plain(value: Any) -> str:
    """Return text unchanged, other values as JSON."""
    return value if isinstance(value, str) else dumps(value)


def answer(response: Response, data: bytes, secrets: Iterable[str] = ()) -> Any:
    """Return the response body as JSON or text, without `secrets`.

    Raises ToolError for statuses other than 2xx, and for bodies that are not text.
    """
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    text = data.decode("utf-8", "replace")
    try:
        value = loads(data) if "json" in kind or not kind else text
    except JSONError:
        value = text
    value = redact.remove_texts(
        value, secrets
    )  # before errors are cut, as parts are not recognised
    if not 200 <= response.status < 300:
        raise ToolError(f"{response.status}: {meaning(response.status)}{error_message(value)}")
    if not data:
        return {"status": response.status}
    if kind and not kind.startswith("text/") and not re.search(r"json|xml|javascript", kind):
        raise ToolError(f"the answer is {kind[:100]} ({len(data)} bytes), which is no text")
    return value


def meaning(status: int) -> str:
    """Return the explanation of an error status for the model."""
    if 300 <= status < 400:
        return "it redirects, which is not followed; correct base_url or path"
    return MEANINGS.get(status, "the service failed" if status >= 500 else "it was refused")


def error_message(value: Any) -> str:
    """Return the error message of a response body, from the fields where APIs usually put it."""
    if isinstance(value, list) and value and isinstance(value[0], dict):
        value = value[0]
    if isinstance(value, dict):
        for name in ("message", "error_description", "detail", "error", "msg", "title"):
            if found := value.get(name):
                inner = isinstance(found, dict | list)
                return error_message(found) if inner else f": {plain(found)[:300]}"
        value = dumps(value)
    text = " ".join(plain(value).split())
    return f": {text[:100]}" if text else ""


def _usual(method: str) -> str:
    return "body" if method in ("POST", "PUT", "PATCH") else "query"
