"""Route requests to handlers, check keys, and turn exceptions into JSON answers.

`http.listener` calls the router with an `Exchange`. The router finds the handler, checks the key
and calls the handler with a `RequestContext`; `ErrorBoundary` turns its exceptions into answers.
Every answer has the CORS headers of its request, so that an allowed page can read even a 401. Each
request writes one line to the access log.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote

from ..errors import Problem
from ..lib.http.cors import Origins
from ..lib.http.exchange import Exchange, Stream, problem_of
from ..lib.runtime.accounts import Accounts, crowded, person
from ..lib.runtime.offload import offload
from ..lib.strict_json import JSONError, dumps_in_pieces
from ..telemetry import log, trace_context
from . import request_headers
from .auth import ANYONE, Key, Keys

JSON = "application/json; charset=utf-8"
CLIENT_GONE = 499  # as nginx logs a client that disconnected first; used only in the log

# A wildcard would not cover `authorization` (Fetch standard, "CORS non-wildcard request-header
# name"). Traced pages add `baggage`, `traceparent` and `tracestate` to each request, which fails if
# one of them is not allowed.
ALLOW_HEADERS = (
    *("accept", "authorization", "content-encoding", "content-range", "content-type"),
    *("idempotency-key", "if-match", "if-none-match", "if-range", "range"),
    *("last-event-id", "yaa-api-key", "baggage", "traceparent", "tracestate"),
)

_PLAIN = {  # of every answer
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}

_access = log.get("access")
READS = ("GET", "HEAD", "OPTIONS")
_log = log.get("api")


class Answer(NamedTuple):
    """A whole answer as a handler gives it."""

    status: int
    body: bytes
    headers: dict[str, str]


class RequestContext:
    """One request with its key. Handlers answer through it."""

    def __init__(self, exchange: Exchange, headers: Mapping[str, str]) -> None:
        self.exchange = exchange
        self.request = exchange.request
        self.key: Key = ANYONE
        self.run = ""  # the id of the run that this request began
        self.began = time.time()
        self.outlives_key = False  # it is answered also if its key goes meanwhile
        self.at: Mapping[str, str] = {}  # values of the route's `{name}` parts, percent-decoded
        self.refusal: Callable[[Problem], Mapping[str, Any]] = Problem.body  # makes error bodies
        # Characters of JSON in the request's body; LARGE at least, if it has patterns.
        self.size = 0
        self.values = 0  # JSON values of the body, perhaps too many (strict_json.count_values)
        self.sent = 0  # bytes of the answer's body
        self._headers = dict(headers)
        self._collects, self._answer = False, Answer(204, b"", {})

    @property
    def status(self) -> int:
        """Return the status of the answer; 0 before it begins."""
        return self.exchange.status

    async def reply(
        self, status: int, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> None:
        """Send a whole answer, or give it to whoever collects it."""
        answer = Answer(status, body, dict(headers or {}))
        if self._collects:
            self._answer = answer
        else:
            await self.send(answer)

    async def send(self, answer: Answer) -> None:
        """Send a whole answer."""
        self.sent = len(answer.body)
        await self.exchange.respond(answer.status, self._headers | answer.headers, answer.body)

    async def collect(self, handler: Handler) -> Answer:
        """Return the answer of a handler, which is not sent."""
        self._collects = True
        try:
            await handler(self)
        finally:
            self._collects = False
        return self._answer

    async def json(
        self, value: Any, *, status: int = 200, headers: Mapping[str, str] | None = None
    ) -> None:
        """Send a value as a JSON answer."""
        kind = {"Content-Type": JSON}
        text = await offload(self.size, dumps_in_pieces, value)
        await self.reply(status, text.encode(), kind | dict(headers or {}))

    def stream(self, headers: Mapping[str, str], status: int = 200) -> Stream:
        """Begin an answer that is sent piece by piece."""
        return self.exchange.stream(status, self._headers | dict(headers))


Handler = Callable[[RequestContext], Awaitable[None]]


class Route(NamedTuple):
    """A handler and its settings.

    `open`: it needs no key. `refusal` makes the body of a Problem in the format of the route's
    protocol; it also applies to unknown paths with the same first segment.
    """

    handler: Handler
    open: bool = False
    refusal: Callable[[Problem], Mapping[str, Any]] = Problem.body


def owners_only(handler: Handler) -> Handler:
    """Return the handler, for owners' keys only. It raises Problem for others."""

    async def handle(call: RequestContext) -> None:
        """Check the key, then call the handler."""
        if not call.key.is_owner:
            raise Problem("forbidden", "Only the owner of this server can see and change this")
        call.outlives_key = True  # it may be what takes the key away
        await handler(call)

    return handle


class Router:
    """The router of one server. `await router(exchange)` serves one request.

    `routes` maps (method, path) to a Route; a path segment like `{agent}` matches any one segment.
    `files` handles every GET and HEAD without a route. `count` is called with the status of each
    answer. `accounts`: what people hold of the process. `opened` waits until the server is ready
    for routes that need a key. `allow_headers`: more that pages of other origins may send.
    """

    def __init__(
        self,
        routes: Mapping[tuple[str, str], Route],
        files: Handler,
        keys: Keys,
        *,
        origins: Origins | None = None,
        accounts: Accounts | None = None,
        count: Callable[[int], None] = lambda status: None,
        opened: Callable[[], Awaitable[None]] | None = None,
        allow_headers: Iterable[str] = (),
    ) -> None:
        self._routes: dict[str, dict[str, Route]] = {}
        for (method, path), route in routes.items():
            self._routes.setdefault(path, {})[method] = route
        self._patterns = [path.split("/") for path in self._routes if "{" in path]
        # By the first path segment, so that unknown paths of a protocol use its error format too.
        self._refusals = {
            _first_segment(path): route.refusal
            for (_, path), route in routes.items()
            if route.refusal is not Problem.body
        }
        self._files = Route(files, open=True)
        self.keys = keys
        self._origins = origins or Origins()
        self._accounts = accounts or Accounts(keys.rules({}))
        self._count = count
        self._allow_headers = ", ".join(sorted({*ALLOW_HEADERS, *map(str.lower, allow_headers)}))
        self._opened = opened
        self.requests = 0  # that are being served now

    async def __call__(self, exchange: Exchange) -> None:
        clock = time.perf_counter()
        traceparent = exchange.request.headers.get("traceparent", "")
        trace_context.current.set(trace_context.begin(traceparent))
        request_headers.current.set(None)
        call = RequestContext(exchange, _PLAIN | self._origins.headers(exchange.request.headers))
        self.requests += 1
        try:
            async with ErrorBoundary(call):
                await self._serve(call)
        finally:
            self.requests -= 1
            self._accounts.end(call)
            if held := request_headers.current.get():
                held.forget()
            _write_access(call, time.perf_counter() - clock)
            self._count(call.status or CLIENT_GONE)

    async def _serve(self, call: RequestContext) -> None:
        request = call.request
        if request.method == "OPTIONS":
            await self._options(call)
            return
        call.refusal = self._refusals.get(_first_segment(request.path), Problem.body)
        route = self._find(call)
        if not route.open:
            self._origins.check(request.headers)
            call.key = self.keys.check(request.headers)
            call.exchange.charge(call.key.owner)
            person.set(call.key.owner)
            crowded.set(self._accounts.others)
            self._accounts.begin(call)
            await self._accounts.arrive(call.key.owner)
            held = request_headers.RequestHeaders(request.headers, self.keys.is_key)
            request_headers.current.set(held)
            if self._opened is not None:
                await self._opened()
        await route.handler(call)

    def _find(self, call: RequestContext) -> Route:
        method, path = call.request.method, call.request.path
        method = "GET" if method == "HEAD" else method
        here, call.at = self._at(path)
        if method in here:
            return here[method]
        if here:
            others = _methods(here)
            raise Problem(
                "method_not_allowed",
                f"Here one can {', '.join(others)}",
                headers={"Allow": ", ".join((*others, "OPTIONS"))},
            )
        if method != "GET":
            raise unknown_path(path)
        return self._files

    def _at(self, path: str) -> tuple[dict[str, Route], dict[str, str]]:
        """Return the routes of a path by method, and the values of its `{name}` segments.

        Some clients write a slash behind each path, which other servers ignore.
        """
        if path in self._routes and "{" not in path:
            return self._routes[path], {}
        parts = path.split("/")
        for pattern in self._patterns:
            if named := _match_path(pattern, parts):
                return self._routes["/".join(pattern)], named
        if path.endswith("/") and not path.endswith("//"):
            return self._at(path.removesuffix("/"))
        return {}, {}

    async def _options(self, call: RequestContext) -> None:
        """Answer OPTIONS without a key: a CORS preflight never carries one."""
        methods = _methods(self._at(call.request.path)[0]) or ["GET", "HEAD"]
        allowed = ", ".join((*methods, "OPTIONS"))
        headers = {"Allow": allowed}
        if "Access-Control-Allow-Origin" in self._origins.headers(call.request.headers):
            headers |= {
                "Access-Control-Allow-Methods": allowed,
                "Access-Control-Allow-Headers": self._allow_headers,
                "Access-Control-Max-Age": "3600",
            }
        await call.reply(204, headers=headers)


def unknown_path(path: str) -> Problem:
    """Return a Problem that names the unknown path: most often the client's base URL is wrong."""
    return Problem("not_found", f"There is nothing at {path[:200]}")


class ErrorBoundary:
    """A context manager that turns exceptions of a handler into JSON answers.

    An unexpected exception is logged with its traceback; the client gets only the request id.
    """

    def __init__(self, call: RequestContext) -> None:
        self._call = call

    async def __aenter__(self) -> None:
        return None

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        call = self._call
        if not isinstance(error, Exception) or isinstance(error, ConnectionError) or call.status:
            return False  # the client is gone, or an answer has begun
        is_json = isinstance(error, JSONError)
        problem = problem_of(
            Problem("bad_json", str(error)) if is_json else error, call.exchange.id
        )
        if problem.code == "internal":
            _log.error("request %s broke", call.exchange.id, exc_info=error)
        headers = {"x-should-retry": "false"} if call.run else {}
        await call.json(
            call.refusal(problem), status=problem.status, headers=headers | problem.headers
        )
        return True


def _first_segment(path: str) -> str:
    """Return the first path segment, which identifies a protocol."""
    return path.lstrip("/").partition("/")[0]


def _methods(here: Iterable[str]) -> list[str]:
    methods = set(here)
    return sorted(methods | {"HEAD"} if "GET" in methods else methods)


def _match_path(pattern: list[str], parts: list[str]) -> dict[str, str]:
    """Return the value of each `{name}` of a pattern; {} if the path does not match."""
    if len(pattern) != len(parts):
        return {}
    named = {}
    for wanted, part in zip(pattern, parts, strict=True):
        if wanted.startswith("{") and part:
            named[wanted[1:-1]] = unquote(part)
        elif wanted != part:
            return {}
    return named


def _write_access(call: RequestContext, took: float) -> None:
    """Write one line to the access log, without the query, which may hold secrets.

    What was only read, and answered, is logged at `debug`: a page that is loaded asks for many
    things, and a load balancer every few seconds. `took`: seconds.
    """
    well = call.request.method in READS and 200 <= call.status < 400
    level = logging.DEBUG if well else logging.INFO
    if not _access.isEnabledFor(level):
        return
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(call.began))
    _access.log(
        level,
        {
            "began": stamp,
            "ip": call.exchange.peer,
            "key_name": call.key.name,
            "run": call.run,
            "method": call.request.method,
            "path": call.request.path[:200],
            "status": call.status or CLIENT_GONE,
            "ms": round(took * 1000, 1),
            "bytes": call.sent,
        },
    )
