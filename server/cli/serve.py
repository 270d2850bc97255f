"""The door of a serving process: open before there is an agent, until the server has to stop.

In the walk: between the command line and `app`. Opening a port takes a few milliseconds, importing
and wiring the agent a hundred times that. So the port comes first: `/health`, the page and its
files are answered at once, and other requests wait for the agent. The rule of the file: nothing
that an agent is made of is imported here; it comes through `later`, in `Serving._open`.
"""

from __future__ import annotations

import asyncio
import importlib
import resource
import signal
import socket
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import VERSION, later
from ..api.auth import Keys
from ..api.info import Health
from ..api.router import Route, Router
from ..api.static import Files
from ..config import Config, ConfigError, expanded, shipped
from ..http.cors import Origins
from ..http.exchange import Exchange
from ..http.listener import BaseServer, Limits
from ..http.parser import Request
from ..http.tls import Certificate, reason
from ..runtime.event_loop import run
from ..telemetry import log
from ..telemetry.metrics import Metrics
from .banner import describe
from .workers import Worker, hears_hangup

if TYPE_CHECKING:
    from ..app import App
    from ..sandbox.probe import Proof

SPARE_FILES = 256  # beside those of connections: tools that run, files that are sent, MCP servers

_log = log.get("app")


class Door(NamedTuple):
    """What one process serves, on bound sockets. `links`: what to tell a person to open, in lines;
    `page`: the address of the page, with the key; `proof`: of the sandbox, from the parent of
    several workers."""

    config: Config
    env: Mapping[str, str]
    keys: Keys
    sockets: list[socket.socket]
    links: list[str]
    page: str
    tls: Certificate | None
    metrics: Metrics
    opens: bool  # the page, in a browser
    proof: Proof | None = None

    def serve(self, worker: Worker | None) -> int:
        """Until SIGTERM, SIGINT or SIGHUP; the exit code. Raises what `App` and `App.open` raise.

        The first signal lets runs stop where their clients can go on elsewhere (`BaseAgent.stop`),
        and tools have `disconnect_grace_s` to end; a second one ends all at once. A worker gets
        SIGTERM only, and stops too when its parent has ended (cli/workers.py).
        """
        run(Serving(self, worker).run())
        return 0


class Serving:
    """One process behind the door. Of several workers the first one speaks for all."""

    def __init__(self, door: Door, worker: Worker | None) -> None:
        self._door = door
        self._lifeline = None if worker is None else worker.lifeline
        self._speaks = worker is None or (worker.number == 0 and worker.first)
        self._row = door.metrics.row(worker.number if worker else 0)
        self._server = door.config.server
        self._entrance = Entrance(self._server, door.keys, self._row.answered)
        self._app: App | None = None

    async def run(self) -> None:
        # asyncio would keep a weak reference to every generator, to close it when the loop ends.
        # Ours are closed where they are used, and a stream has six: that memory is saved here.
        sys.set_asyncgen_hooks(firstiter=None)
        began = time.monotonic()
        door, limits = self._door, self._server["limits"]
        listener = BaseServer(
            *(self._entrance, Limits.of(limits)),
            hosts=self._server["hosts"],
            origins=Origins.of(self._server),
            spared=("/health",),
            count=self._row.connections,
        )
        await listener.serve(door.sockets, door.tls.context if door.tls else None)
        watching = asyncio.create_task(door.tls.watch()) if door.tls else None
        stop, at_once = self._listen()
        self._greet()
        try:
            opened = await _first(self._open(), stop.wait())
            if opened:
                self._tell_ready(time.monotonic() - began)
                await stop.wait()
            if watching is not None:
                watching.cancel()
            _log.info("stopping")
            if self._app is not None:
                self._app.agent.stop()
            grace_s = limits["disconnect_grace_s"] if opened else 0  # who waits for the agent
            await _first(listener.close(grace_s), at_once.wait())
        finally:
            await listener.close()
            if self._app is not None:
                await self._app.close()

    async def _open(self) -> None:
        """The one place where a server gets its agent. In a thread, because requests are answered
        meanwhile; workers have it from their parent."""
        module = await asyncio.to_thread(later, "app")
        door = self._door
        app: App = module.App(door.config, door.env, metrics=self._row, proof=door.proof)
        self._app = app
        self._entrance.complete(module.routes(app, door.keys))
        await app.open()

    def _listen(self) -> tuple[asyncio.Event, asyncio.Event]:
        """The events that the first signal to stop sets, and the second. Not a cancelled task: a
        signal may come in the very turn of the loop in which that task ends."""
        first, second = asyncio.Event(), asyncio.Event()
        loop, lifeline = asyncio.get_running_loop(), self._lifeline

        def heard() -> None:
            if lifeline is not None:
                loop.remove_reader(lifeline)  # it stays readable
            (second if first.is_set() else first).set()

        loop.add_signal_handler(signal.SIGTERM, heard)
        if lifeline is not None:
            loop.add_reader(lifeline, heard)
            return first, second
        loop.add_signal_handler(signal.SIGINT, heard)
        if hears_hangup():  # and the shell may say it once more: that is no second wish
            loop.add_signal_handler(signal.SIGHUP, first.set)
        return first, second

    def _greet(self) -> None:
        """The page can be opened: what it asks for next waits."""
        if self._speaks:
            _tell(f"yaa {VERSION}", "", *self._door.links, "")
            if self._door.opens:  # apart: a browser may not return before it has the page
                show = (self._door.page,)
                threading.Thread(target=_show, args=show, name="browser", daemon=True).start()

    def _tell_ready(self, spent_s: float) -> None:
        if self._speaks and self._app is not None:
            _tell(*describe(self._app), f"  ready    after {spent_s:.1f} s")


class Entrance:
    """The handler of every request: `await entrance(exchange)`."""

    def __init__(self, server: Mapping[str, Any], keys: Keys, count: Callable[[int], None]) -> None:
        self._files = Files(shipped("client"))
        health = Route(Health(VERSION, lambda: False).get, open=True)
        self._router = Router(
            *({("GET", "/health"): health}, self._files.get, keys),
            origins=Origins.of(server),
            count=count,
        )
        self._whole = asyncio.Event()

    def __call__(self, exchange: Exchange) -> Awaitable[None]:
        if self._whole.is_set() or self._needs_no_agent(exchange.request):
            return self._router(exchange)
        return self._when_whole(exchange)

    async def _when_whole(self, exchange: Exchange) -> None:
        await self._whole.wait()
        await self._router(exchange)

    def complete(self, router: Router) -> None:
        """From now on there are all routes."""
        self._router = router
        self._whole.set()

    def _needs_no_agent(self, request: Request) -> bool:
        known = request.path == "/health" or self._files.has(request.path)
        return known and request.method in ("GET", "HEAD")


async def _first(this: Coroutine[Any, Any, None], other: Coroutine[Any, Any, object]) -> bool:
    """Wait for one of them and cancel the rest; whether `this` came to its end."""
    tasks = [asyncio.create_task(each) for each in (this, other)]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    if tasks[0].cancelled():
        return False
    tasks[0].result()
    return True


def _tell(*lines: str) -> None:
    """What is said at start."""
    with suppress(OSError):  # a full disk, or nobody who reads it
        print("\n".join(lines), flush=True)


def _show(link: str) -> None:
    """The page, in a browser. Imported here: few ask for it, and it takes its time."""
    importlib.import_module("webbrowser").open(link)


def certificate(tls: Mapping[str, str]) -> Certificate | None:
    """What `server.tls` names. Raises ConfigError."""
    if not tls["cert"]:
        return None
    key = expanded(tls["key"], "server.tls.key") if tls["key"] else None
    try:
        return Certificate(expanded(tls["cert"], "server.tls.cert"), key)
    except OSError as error:
        files = " and ".join(filter(None, (tls["cert"], tls["key"])))
        raise ConfigError(f"server.tls: {files}: {reason(error)}") from None


def files_wanted(limits: Mapping[str, Any]) -> int:
    """Descriptors of a process: a streaming run holds its client's and its provider's."""
    return 2 * int(limits["max_connections"]) + SPARE_FILES


def allow_files(limits: Mapping[str, Any]) -> None:
    """Raise the soft limit of open files to what is wanted, as far as the hard one lets us: most
    systems start programs with 1,024, for the sake of those that still use select(2)."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = files_wanted(limits)
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):  # some systems have a limit of their own below it
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
