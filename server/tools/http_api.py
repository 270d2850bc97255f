"""Tools that are requests to an HTTP API, from `server.rest` in the configuration.

The catalog takes tools from `operations`; dispatch.py makes a request with `call`. The owner's base
URL, headers and query decide where a request goes and as whom; arguments of the model are escaped
into their place and cannot change these. Redirects are not followed. Credentials are removed from
responses that echo them, including the caller's headers and cookies named in `forward`
(settings/forwarding.py).
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode

from ..http.client import Client, ClientError, Response, Timeouts
from ..settings import forwarding
from ..strict_json import JSONError, dumps, loads
from ..telemetry import redact, spans
from .openapi import tools_in
from .runner import Outcome
from .tool import HINTS, BaseTool, ToolError, hints_of

TIMEOUT_S = 30.0
MAX_KB = 512
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
KEYS = {"name", "description", "method", "path", "parameters", *HINTS}
# content: the argument is the whole JSON body; form: the whole body, as a form
PLACES = ("path", "query", "header", "body", "content", "form")
STYLES = {"": "", "comma": ",", "space": " ", "pipe": "|", "deep": ""}
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


@dataclass(frozen=True)
class Operation:
    """One request of an API.

    `places`: argument → (place in the request, name there). `styles`: argument → how a list or
    object is written into the query.
    """

    tool: BaseTool
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

    def secrets(self) -> list[str]:
        """Return the owner's credentials in the headers and the query."""
        return [*redact.keys_in(self.query), *redact.credentials(self.headers.items())]


def operations(api: str, about: dict[str, Any], document: Any = None) -> Iterator[Operation | str]:
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
            yield operation(api, about, each)
        except ToolError as error:
            yield f"server.rest.{api}: {each.get('name', 'a tool without a name')}: {error}"


def operation(api: str, about: dict[str, Any], each: dict[str, Any]) -> Operation:
    """Return the operation of one entry of `tools`. Raises ToolError.

    A parameter is a schema with `in` and `required`, or `needed` where `required` is a list.
    """
    if unknown := each.keys() - KEYS:
        raise ToolError(f"there is no setting {', '.join(sorted(unknown))}")
    method, path = str(each.get("method", "GET")).upper(), each.get("path")
    if method not in METHODS:
        raise ToolError(f"method is {method[:20]}, wanted one of {', '.join(METHODS)}")
    if not isinstance(path, str) or not path.startswith("/"):
        raise ToolError("path begins with /")
    if not re.fullmatch(r"https?://[^/?#@\s]+(/[^?#\s]*)?", about.get("base_url", "")):
        raise ToolError("base_url begins with https:// and has neither user, query nor fragment")
    properties, places, styles, required = {}, {}, {}, []
    for name, schema in (each.get("parameters") or {}).items():
        if not isinstance(schema, dict):
            raise ToolError(f"parameters.{name} is a schema with `in`")
        place = schema.get("in", "path" if f"{{{name}}}" in path else _usual(method))
        wire = str(schema.get("as", name))
        if place == "header" and _is_told(wire, about, schema):
            continue
        if place == "query" and wire in about.get("query", {}):
            continue
        check_place(name, place, wire)
        places[name] = (place, wire)
        if (style := schema.get("style", "")) not in STYLES:
            raise ToolError(f"parameters.{name}.style is none of {', '.join(filter(None, STYLES))}")
        styles[name] = style
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
    tool = BaseTool(
        f"{api}_{each.get('name', '')}",
        str(each.get("description") or ""),
        {**schema, "additionalProperties": False},
        kind="rest",
        origin=f"rest:{api}",
        hints=hints_of(hints),
    )
    return Operation(
        tool,
        method,
        about["base_url"].rstrip("/"),
        path,
        places,
        dict(about.get("headers", {})),
        about.get("timeout_s", TIMEOUT_S),
        about.get("max_kb", MAX_KB),
        styles,
        dict(about.get("query", {})),
        tuple(about.get("forward", ())),
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


def check_place(name: str, place: str, wire: str) -> None:
    """Raise ToolError for an unknown place, or a header that a model may not set."""
    if place not in PLACES:
        raise ToolError(f"parameters.{name}.in is {place}, wanted one of {', '.join(PLACES)}")
    if place == "header" and (not _TOKEN.fullmatch(wire) or NOT_FOR_MODELS.fullmatch(wire)):
        raise ToolError(f"a model may not write the header {wire}; put it into headers")


async def call(client: Client, op: Operation, args: dict[str, Any], wall_s: float) -> Outcome:
    """Make the request and return its Outcome. Errors are Outcomes too."""
    started = time.monotonic()
    seconds = min(op.timeout_s, wall_s)
    timeouts = Timeouts(connect=min(10.0, seconds), idle=seconds, total=seconds)
    try:
        brought = forwarding.forwarded(op.forward)
        url, headers, body = request(op, args, brought)
        response = await client.request(op.method, url, headers, body, timeouts=timeouts)
        async with response:
            data = await response.read(int(op.max_kb * 1024))
        secrets = [*forwarding.secrets(brought), *op.secrets()]
        status, said = "ok", answer(response, data, secrets)
    except forwarding.Over:
        status = "error"
        said = "it was not sent: the request that says who is asking is over; ask once more"
    except (ToolError, ClientError) as error:
        late = isinstance(error, ClientError) and error.kind == "timeout"
        status, said = "timeout" if late else "error", str(error)
    usage = {"wall_ms": round((time.monotonic() - started) * 1000)}
    if status == "ok":
        return Outcome("ok", said, usage=usage)
    return Outcome(status, error={"type": status, "message": said}, usage=usage)


def request(
    op: Operation, args: dict[str, Any], brought: Mapping[str, str] | None = None
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
            headers[wire.lower()] = joined(value)
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
    headers |= spans.outgoing()
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
    text = joined(value)
    if text in ("", ".", ".."):
        raise ToolError(f"{name} is {text!r}, which cannot be a part of a path")
    return quote(text, safe="")


def joined(value: Any) -> str:
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
    value = redact.cleared(value, secrets)  # before errors are cut, as parts are not recognised
    if not 200 <= response.status < 300:
        raise ToolError(f"{response.status}: {meaning(response.status)}{because(value)}")
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


def because(value: Any) -> str:
    """Return the error message of a response body, from the fields where APIs usually put it."""
    if isinstance(value, dict):
        for name in ("message", "error_description", "detail", "error", "msg", "title"):
            if found := value.get(name):
                return because(found) if isinstance(found, dict) else f": {plain(found)[:300]}"
        value = dumps(value)
    text = " ".join(plain(value).split())
    return f": {text[:100]}" if text else ""


def _usual(method: str) -> str:
    return "body" if method in ("POST", "PUT", "PATCH") else "query"
