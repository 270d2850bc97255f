"""From a request to its handler, and from whatever went wrong to one JSON answer.

In the walk: the listener hands over an `Exchange`. Here its handler is found, its key checked, and
the handler called with a `Call`; everything a handler raises is translated once, in `Border`. The
rule of the file: no answer leaves without the CORS headers of its request, so that a page that may
ask can read even a 401; and each request leaves one line in the access log.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from types import TracebackType
from typing import Any, NamedTuple, Protocol
from urllib.parse import unquote

from ..errors import Problem
from ..http.cors import Origins
from ..http.delivery import arrived
from ..http.exchange import Exchange, Stream, problem_of
from ..settings import forwarding
from ..strict_json import JSONError, dumps
from ..telemetry import log, spans
from .auth import ANYONE, Key, Keys
from .rate_limit import Rates

CLIENT_GONE = 499  # nginx's number for "the client hung up first"; only ever in the log

# RFC 9110 needs no CORS; browsers do. A wildcard would not cover `authorization` (Fetch standard,
# "CORS non-wildcard request-header name"), and the x-stainless ones are sent by OpenAI's SDKs. A
# page that is traced sends W3C's three by itself, and could not ask at all if one were missing.
ALLOW_HEADERS = ", ".join(
    (
        *("accept", "authorization", "content-encoding", "content-type", "idempotency-key"),
        *("last-event-id", "openai-beta", "openai-organization", "openai-project", "yaa-api-key"),
        *("baggage", "traceparent", "tracestate"),
        *(
            f"x-stainless-{name}"
            for name in (
                *("arch", "async", "custom-poll-interval", "helper-method", "lang", "os"),
                *("package-version", "poll-helper", "raw-response", "read-timeout"),
                *("retry-count", "runtime", "runtime-version", "timeout"),
            )
        ),
    )
)

_PLAIN = {  # of every answer
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}

_access = log.get("access")
_log = log.get("api")


class Record(Protocol):
    """What this host keeps of a run (agent/run_records.py)."""

    def forget(self) -> None: ...


class Call:
    """One request on its way through the api: who asks, and the only way to answer."""

    def __init__(self, exchange: Exchange, headers: Mapping[str, str]) -> None:
        self.exchange = exchange
        self.request = exchange.request
        self.key: Key = ANYONE
        self.run = ""  # the id of the run that this request began
        self.at: Mapping[str, str] = {}  # what the route's pattern names, percent-decoded
        self.refusal: Callable[[Problem], dict[str, Any]] = Problem.body  # the body of a Problem
        self.size = 0  # characters of JSON that the request's body had
        self.sent = 0  # bytes of body
        self.record: Record | None = None  # kept of the run until the client has the answer
        self._headers = dict(headers)

    @property
    def status(self) -> int:
        """Of the answer; 0 until it has begun."""
        return self.exchange.status

    async def reply(
        self, status: int, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> None:
        self.sent = len(body)
        await self.exchange.respond(status, self._headers | dict(headers or {}), body)

    async def json(
        self, value: Any, *, status: int = 200, headers: Mapping[str, str] | None = None
    ) -> None:
        kind = {"Content-Type": "application/json; charset=utf-8"}
        await self.reply(status, dumps(value).encode(), kind | dict(headers or {}))

    def stream(self, headers: Mapping[str, str], status: int = 200) -> Stream:
        return self.exchange.stream(status, self._headers | dict(headers))


Handler = Callable[[Call], Awaitable[None]]


class Route(NamedTuple):
    """A handler; `open` means that it needs no key. `refusal` makes the body of a Problem, for all
    of its front: clients of other systems look for its members under other names."""

    handler: Handler
    open: bool = False
    refusal: Callable[[Problem], dict[str, Any]] = Problem.body


class Router:
    """`await router(exchange)` serves one request. `routes` maps (method, path) to a Route, a part
    of the path like `{agent}` standing for any one segment; `files` gets every GET for which there
    is none."""

    def __init__(
        self,
        routes: Mapping[tuple[str, str], Route],
        files: Handler,
        keys: Keys,
        *,
        origins: Origins | None = None,
        rates: Rates | None = None,
        count: Callable[[int], None] = lambda status: None,
        opened: Callable[[], Awaitable[None]] | None = None,
        forward: Collection[str] = (),
    ) -> None:
        self._routes: dict[str, dict[str, Route]] = {}
        for (method, path), route in routes.items():
            self._routes.setdefault(path, {})[method] = route
        self._patterns = [path.split("/") for path in self._routes if "{" in path]
        # By an address's first part: who asks beside a front's routes reads its words all the same.
        self._refusals = {
            _front(path): route.refusal
            for (_, path), route in routes.items()
            if route.refusal is not Problem.body
        }
        self._files = Route(files, open=True)
        self._keys = keys
        self._origins = origins or Origins()
        self._rates = rates or Rates("")
        self._count = count  # called with the status of every answer
        self._forward = frozenset(forward)  # what tools may tell of a caller (caller.py)
        named = (name.lower() for name in sorted(self._forward) if not forwarding.is_cookie(name))
        self._allow_headers = ", ".join(dict.fromkeys((*ALLOW_HEADERS.split(", "), *named)))
        self._opened = opened  # waits until all is there that a route with a key may need

    async def __call__(self, exchange: Exchange) -> None:
        began, clock = time.time(), time.perf_counter()
        spans.current.set(spans.begin(exchange.request.headers.get("traceparent", "")))
        forwarding.current.set(None)
        call = Call(exchange, _PLAIN | self._origins.headers(exchange.request.headers))
        try:
            async with Border(call):
                await self._serve(call)
                if call.record is not None and await arrived(exchange):
                    call.record.forget()
        finally:
            if held := forwarding.current.get():
                held.forget()
            _write_access(call, began, time.perf_counter() - clock)
            self._count(call.status or CLIENT_GONE)

    async def _serve(self, call: Call) -> None:
        request = call.request
        if request.method == "OPTIONS":
            await self._options(call)
            return
        call.refusal = self._refusals.get(_front(request.path), Problem.body)
        route = self._find(call)
        if not route.open:
            self._origins.check(request.headers)
            call.key = self._keys.check(request.headers)
            self._rates.take(call.key)
            if self._forward:
                held = forwarding.Caller(request.headers, self._forward, self._keys.is_key)
                forwarding.current.set(held)
            if self._opened is not None:
                await self._opened()
        await route.handler(call)

    def _find(self, call: Call) -> Route:
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
            raise nothing(path)
        return self._files

    def _at(self, path: str) -> tuple[dict[str, Route], dict[str, str]]:
        """The routes of a path by method, none if there are none; and what its pattern names."""
        if path in self._routes and "{" not in path:
            return self._routes[path], {}
        parts = path.split("/")
        for pattern in self._patterns:
            if named := _matched(pattern, parts):
                return self._routes["/".join(pattern)], named
        return {}, {}

    async def _options(self, call: Call) -> None:
        """A preflight never carries a key, and asks before the real request may be sent."""
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


def nothing(path: str) -> Problem:
    """The refusal of an address that is none: most often its base is wrong, so it says which."""
    return Problem("not_found", f"There is nothing at {path[:200]}")


class Border:
    """Where everything a handler raises becomes an answer. A fault of ours is logged whole under
    the exchange's id, which is all that the client is told of it."""

    def __init__(self, call: Call) -> None:
        self._call = call

    async def __aenter__(self) -> None:
        return None

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        call = self._call
        if not isinstance(error, Exception) or isinstance(error, ConnectionError) or call.status:
            return False  # nobody is there any more, or an answer has begun and can only end
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


def _front(path: str) -> str:
    """The first part of an address, by which fronts are told apart."""
    return path.lstrip("/").partition("/")[0]


def _methods(here: Iterable[str]) -> list[str]:
    methods = set(here)
    return sorted(methods | {"HEAD"} if "GET" in methods else methods)


def _matched(pattern: list[str], parts: list[str]) -> dict[str, str]:
    """The value of each `{name}` of a pattern; empty when the path does not match it."""
    if len(pattern) != len(parts):
        return {}
    named = {}
    for wanted, part in zip(pattern, parts, strict=True):
        if wanted.startswith("{") and part:
            named[wanted[1:-1]] = unquote(part)
        elif wanted != part:
            return {}
    return named


def _write_access(call: Call, began: float, took: float) -> None:
    """Who asked for what, and the answer's status. The query is left out, since it may hold
    anything. Containers and balancers ask for `/health` every few seconds: if all is well, only at
    `debug`."""
    well = call.request.path == "/health" and call.status == 200
    level = logging.DEBUG if well else logging.INFO
    if not _access.isEnabledFor(level):
        return
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(began))
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
