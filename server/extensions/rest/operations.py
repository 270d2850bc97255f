"""Tools that are requests to an HTTP API, from `server.rest` in the configuration.

parts.py takes tools from `operations`. The owner's base URL, headers and query decide where a
request goes and as whom; arguments of the model are escaped into their place and cannot change
these. Redirects are not followed. Credentials are removed from responses that echo them, including
the caller's headers and cookies named in `forward` (forwarding.py).
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

from ...api.request_headers import RequestOver
from ...json_types import Json
from ...lib.http.client import Client, ClientError, Response, Timeouts
from ...lib.json_schema.field_types import FLAG, TEXT, object_of, one_of, text, text_like
from ...lib.json_schema.objects import object_schema
from ...lib.runtime.secret_filter import remove_texts
from ...lib.strict_json import JSONError, dumps, loads
from ...models.failure import error_said
from ...settings.schema import problems
from ...telemetry import redact, trace_context
from ...tools.base import Emit, Invocation, Tool, failure, hints_of
from ...tools.decorators import HINTS, ToolError
from ...tools.runner import Outcome
from . import forwarding
from .openapi import tools_in

TIMEOUT_S = 30.0
MAX_KB = 512
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
# content: the argument is the whole JSON body, `as` its type; form: the whole body, as a form
PLACES = ("path", "query", "header", "body", "content", "form")
STYLES = {"": "", "form": "", "comma": ",", "space": " ", "pipe": "|", "deep": ""}
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
    **dict.fromkeys(range(300, 400), "it redirects, which is not followed; correct base_url/path"),
    **dict.fromkeys(range(500, 600), "the service failed"),
}
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_PATH_NAME = re.compile(r"\{([^{}]+)\}")


@dataclass(frozen=True, kw_only=True)
class HttpTool(Tool):
    """One operation of an API.

    `api`: its entry of `server.rest`. `places`: argument → (place in the request, name there).
    `styles`: argument → how a list or object is written into the query. `fixed`: query pairs of the
    operation itself.
    """

    client: Client = field(compare=False)
    api: Json
    method: str
    path: str
    places: dict[str, tuple[str, str]]
    styles: dict[str, str]
    fixed: tuple[tuple[str, str], ...]

    remote = True

    def secrets(self) -> list[str]:
        """Return the owner's credentials in the headers and the query."""
        query, headers = self.api.get("query", {}), self.api.get("headers", {})
        return [*redact.keys_in(query), *redact.credentials(headers.items())]

    async def run(self, call: Invocation, emit: Emit) -> Outcome:
        """Make the request."""
        return await self.send(call.args, call.limits["wall_s"])

    async def send(self, args: dict[str, Any], wall_s: float) -> Outcome:
        """Make the request and return its Outcome. Errors are Outcomes too."""
        started = time.monotonic()
        seconds = min(self.api.get("timeout_s", TIMEOUT_S), wall_s)
        timeouts = Timeouts(connect=min(10.0, seconds), idle=seconds, total=seconds)
        try:
            brought = forwarding.headers_to_forward(self.api.get("forward", ()))
            url, headers, body = request(self, args, brought)
            response = await self.client.request(self.method, url, headers, body, timeouts=timeouts)
            async with response:
                data = await response.read(int(self.api.get("max_kb", MAX_KB) * 1024))
            secrets = [*forwarding.secrets(brought), *self.secrets()]
            outcome = Outcome("ok", answer(response, data, secrets))
        except (RequestOver, ToolError) as error:
            outcome = failure(str(error))
        except ClientError as error:
            outcome = failure(str(error), "timeout" if error.kind == "timeout" else "error")
        return replace(outcome, usage={"wall_ms": round((time.monotonic() - started) * 1000)})


def operations(
    client: Client, api: str, about: Json, document: Any = None
) -> Iterator[HttpTool | str]:
    """Yield the operations of `server.rest.<api>`, or an error text for each unusable one.

    They are written out in `tools`, or described by an OpenAPI `document`.
    """
    described: Iterable[dict[str, Any] | str] = ()
    if document is not None:
        cookies = forwarding.cookie_names(about.get("forward", ()))
        described = tools_in(document, about.get("operations", []), cookies, api)
    for each in (*about.get("tools", ()), *described):
        if isinstance(each, str):
            yield each
            continue
        try:
            yield operation(client, api, about, each)
        except ToolError as error:
            yield f"{each.get('name', 'a tool without a name')}: {error}"


def operation(client: Client, api: str, about: Json, each: Json) -> HttpTool:
    """Return the operation of one entry of `tools`. Raises ToolError.

    A parameter is a schema with `in` and `required`, or `needed` where `required` is a list.
    """
    for line in problems({"path": "", **each}, ENTRY):
        raise ToolError(line)
    method = each.get("method", "GET").upper()
    path, fixed = _split(each["path"])
    if method not in METHODS:
        raise ToolError(f"method is {method[:20]}, wanted one of {', '.join(METHODS)}")
    if not re.fullmatch(r"https?://[^/?#@\s]+(/[^?#\s]*)?", about.get("base_url", "")):
        raise ToolError("base_url begins with https:// and has neither user, query nor fragment")
    usual = "body" if method in ("POST", "PUT", "PATCH") else "query"
    properties, places, styles, required = {}, {}, {}, []
    for name, schema in (each.get("parameters") or {}).items():
        place = schema.get("in", "path" if f"{{{name}}}" in path else usual)
        wire = str(schema.get("as", name))
        if place == "header" and _is_told(wire, about, schema):
            continue
        if place == "query" and (wire in about.get("query", {}) or wire in dict(fixed)):
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
    safe = method in ("GET", "HEAD")  # RFC 9110 section 9.2.1; the entry may override it
    hints = {"read_only": safe, "idempotent": method in ("PUT", "DELETE"), **each}
    return HttpTool(
        f"{api}_{each.get('name', '')}",
        str(each.get("description") or ""),
        object_schema(properties, required, closed=True),
        origin=f"rest:{api}",
        hints=hints_of(hints),
        client=client,
        api=about,
        method=method,
        path=path,
        places=places,
        styles=styles,
        fixed=tuple(pair for pair in fixed if pair[0] not in about.get("query", {})),
    )


def _split(path: str) -> tuple[str, list[tuple[str, str]]]:
    """Return (the path, its query pairs). A fragment only tells operations of one path apart.

    Raises ToolError for arguments within the query, which would be sent as they are written.
    """
    path, _, query = path.partition("#")[0].partition("?")
    if _PATH_NAME.search(query):
        raise ToolError(f"the query ?{query[:100]} has arguments; write them as parameters")
    return path, parse_qsl(query, keep_blank_values=True)


def _is_told(wire: str, about: Json, schema: dict[str, Any]) -> bool:
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
    path, query, headers, kind = op.path, list(op.fixed), {"accept": "application/json, text/*"}, ""
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
            content, kind = value, wire
    if unfilled := _PATH_NAME.findall(path):
        raise ToolError(f"the path needs {unfilled[0]}")
    query += op.api.get("query", {}).items()
    body = b""
    if form is not None:
        headers["content-type"] = "application/x-www-form-urlencoded"
        body = urlencode(form).encode()
    elif fields or content is not None:
        headers["content-type"] = kind if "/" in kind else "application/json"
        body = dumps(fields if content is None else content).encode()
    headers |= trace_context.trace_headers()
    # The caller's and the owner's headers come last, so that no argument can replace them.
    headers |= brought or {}
    headers |= {name.lower(): value for name, value in op.api.get("headers", {}).items()}
    url = op.api["base_url"].rstrip("/") + path
    return url + (f"?{urlencode(query)}" if query else ""), headers, body


def in_query(wire: str, value: Any, style: str) -> list[tuple[str, str]]:
    """Return the query pairs of one argument.

    A list repeats the name, or is joined by `style`. An object is JSON, or with `form` a pair for
    each of its keys.
    """
    if style == "deep" and isinstance(value, dict):
        return [pair for k, v in value.items() for pair in in_query(f"{wire}[{k}]", v, "deep")]
    if style == "deep" and isinstance(value, list):
        many = enumerate(value)
        return [pair for i, v in many for pair in in_query(f"{wire}[{i}]", v, "deep")]
    if style == "form" and isinstance(value, dict):
        return [pair for k, v in value.items() for pair in in_query(k, v, "")]
    if isinstance(value, dict) and STYLES[style]:
        value = [part for pair in value.items() for part in pair]
    if isinstance(value, list):
        if not STYLES[style]:
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
    value = remove_texts(value, secrets)  # before errors are cut, as parts are not recognised
    if not 200 <= response.status < 300:
        meaning = MEANINGS.get(response.status, "it was refused")
        raise ToolError(f"{response.status}: {meaning}{error_said(value)}")
    if not data:
        return {"status": response.status}
    if kind and not kind.startswith("text/") and not re.search(r"json|xml|javascript", kind):
        raise ToolError(f"the answer is {kind[:100]} ({len(data)} bytes), which is no text")
    return value
