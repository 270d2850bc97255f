"""One serving process: open the port, load the agent, serve until a signal to stop.

Opening a port takes a few milliseconds, importing and creating the agent a hundred times that. So
the port is opened first: `/health`, the page and its files are answered at once, and other requests
wait for the agent. The agent's modules must not be imported here; `ServerProcess._open` imports
them through `later`.
"""

from __future__ import annotations

import asyncio
import gc
import importlib
import os
import resource
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import VERSION, later
from ..api.auth import Keys, keys_of
from ..api.info import HealthHandler
from ..api.router import Route, Router
from ..api.static import Files
from ..config import Config, ConfigError, expand_path, shipped_path
from ..extensions import ProcessParts
from ..lib.http.cors import Origins
from ..lib.http.exchange import Exchange
from ..lib.http.listener import BaseServer, Certificate, ServerLimits, reason
from ..lib.http.parser import RequestHead
from ..lib.runtime.accounts import Accounts
from ..lib.runtime.event_loop import cancel_all, run
from ..lib.runtime.memory import set_up_heap
from ..telemetry import log
from .live_config import Generation, LiveConfig, Source

if TYPE_CHECKING:
    from ..app import App
    from ..json_types import Json

# -- workers --------------------------------------------------------------------------------------
# Fork and supervise worker processes that serve the same sockets (`server.workers` above 1).
#
# The parent does not serve. It keeps the sockets open, so that no connection is refused while a
# worker is replaced, and forwards signals. A worker that ends is started again, after growing
# pauses if it ends soon after its start. Workers end when their parent ends for any reason. They
# share only the sockets, the counters and the home folder.

YOUNG_S = 10.0  # a worker that ends sooner counts as failed at start
FIRST_PAUSE_S = 0.5  # before such a worker is started again; doubled each time ...
LONGEST_PAUSE_S = 30.0  # ... up to this
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)
BAD_CONFIGURATION = 2  # a worker's exit code: starting it again would not help

_workers_log = log.get("workers")


def hears_hangup() -> bool:
    """Return whether SIGHUP should end the server: not if it was started by `nohup`."""
    return signal.getsignal(signal.SIGHUP) != signal.SIG_IGN


class Worker(NamedTuple):
    """The identity of a worker. `lifeline`: descriptor that is readable once the parent ended."""

    number: int
    first: bool  # this number was never started before
    lifeline: int


@dataclass
class _Place:
    """The state of one worker number in the parent; times in seconds of `time.monotonic`."""

    number: int
    pid: int = 0  # 0: not running
    began: float = 0.0
    pause: float = 0.0  # before the next start
    due: float = 0.0  # time of the next start

    def rest(self, now: float, why: str, *, young: bool) -> None:
        """Schedule the next start; `young`: with a longer pause than the last time."""
        self.pause = min(2 * self.pause or FIRST_PAUSE_S, LONGEST_PAUSE_S) if young else 0.0
        self.due = now + self.pause
        _workers_log.warning(
            "worker %d %s; it is started again in %g s", self.number, why, self.pause
        )


class Workers:
    """The parent of `count` workers.

    `sockets`: bound sockets, closed in the parent when it stops. `patience_s`: seconds until
    workers are killed after that.
    """

    def __init__(self, count: int, sockets: Sequence[socket.socket], patience_s: float) -> None:
        self._places = [_Place(number) for number in range(count)]
        self._sockets = sockets
        self._patience_s = patience_s
        self._ends = float("inf")  # when workers are killed; finite once it stops
        self._code = 0
        self._ear, self._mouth = socket.socketpair()  # signals, as bytes (signal.set_wakeup_fd)
        self._lifeline, self._life = os.pipe()

    def run(self, work: Callable[[Worker], int]) -> int:
        """Start the workers and return the exit code, in the parent and in each worker.

        A worker calls `work(worker)`, which returns its exit code.
        """
        for end in (self._ear, self._mouth):
            end.setblocking(False)
        signal.set_wakeup_fd(self._mouth.fileno(), warn_on_full_buffer=False)
        for number in SIGNALS:
            if number != signal.SIGHUP or hears_hangup():
                signal.signal(number, lambda *_: None)
        with self._ear, self._mouth:
            try:
                return self._watch(work)
            finally:
                signal.set_wakeup_fd(-1)  # before the sockets are closed

    def _watch(self, work: Callable[[Worker], int]) -> int:
        while True:
            now = time.monotonic()
            for place in self._places:
                if not place.pid and place.due <= now and not self._stopping:
                    worker = self._fork(place, now)
                    if worker is not None:
                        return work(worker)
            if self._stopping and not any(place.pid for place in self._places):
                return self._code
            if now >= self._ends:
                self._signal_workers(signal.SIGKILL)
                self._ends = now + self._patience_s
            for heard in self._wait_for_signals(now):
                self._handle_signal(heard)

    @property
    def _stopping(self) -> bool:
        return self._ends != float("inf")

    def _wait_for_signals(self, now: float) -> list[int]:
        """Wait until a signal arrives or something is due. Return the numbers of the signals."""
        idle = [] if self._stopping else [p.due for p in self._places if not p.pid]
        until = min([self._ends, *idle])
        timeout = None if until == float("inf") else max(0.0, until - now)
        if not select.select([self._ear], [], [], timeout)[0]:
            return []
        return list(self._ear.recv(4096))

    def _handle_signal(self, number: int) -> None:
        if number == signal.SIGCHLD:
            self._reap_workers()
        elif number != signal.SIGHUP or not self._stopping:  # a shell may repeat SIGHUP
            self._stop(0)  # the first signal lets workers drain, the second ends them at once

    def _stop(self, code: int) -> None:
        if not self._stopping:
            self._code = code
            for sock in self._sockets:
                sock.close()
            self._ends = time.monotonic() + self._patience_s
        self._signal_workers(signal.SIGTERM)

    def _signal_workers(self, number: int) -> None:
        for place in self._places:
            if place.pid:
                os.kill(place.pid, number)  # the pid is valid until waitpid

    def _reap_workers(self) -> None:
        for place in self._places:
            if not place.pid:
                continue
            pid, status = os.waitpid(place.pid, os.WNOHANG)
            if not pid:
                continue
            place.pid, now = 0, time.monotonic()
            code = os.waitstatus_to_exitcode(status)
            if self._stopping:
                continue
            if code == BAD_CONFIGURATION:  # the worker has printed the reason
                self._stop(code)
                continue
            how = f"by {signal.Signals(-code).name}" if code < 0 else f"with code {code}"
            place.rest(now, f"({pid}) ended {how}", young=now - place.began < YOUNG_S)

    def _fork(self, place: _Place, now: float) -> Worker | None:
        """Fork a worker. Return its identity in the child, None in the parent.

        Signals are blocked meanwhile: the child would report them to the parent.
        """
        first = not place.began
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        try:
            try:
                pid = os.fork()
            except OSError as error:  # for instance too many processes; the others keep serving
                place.rest(now, f"cannot be started ({error.strerror})", young=True)
                return None
            if pid:
                place.pid, place.began = pid, now
                return None
            signal.set_wakeup_fd(-1)
            for number in SIGNALS:
                signal.signal(number, signal.SIG_DFL)
            for number in (signal.SIGINT, signal.SIGHUP):  # the parent sends SIGTERM instead
                signal.signal(number, signal.SIG_IGN)
            self._ear.close()
            self._mouth.close()
            os.close(self._life)
            return Worker(place.number, first, self._lifeline)
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)


# -- serve ----------------------------------------------------------------------------------------

# -- banner ---------------------------------------------------------------------------------------
# The text that a server prints at start: models, tools, problems and sandbox.
#
# The links (links.py) are printed as soon as the page can be opened, this once the agent is loaded.

WIDTH = 78  # columns, including the comma after a name
# Descriptions of the sandbox's tiers.
TIERS = {
    "A": "tier A: a tool sees its session's folder and the system's programs, nothing else",
    "B": "tier B: a tool opens no file outside its session's folder and no connection",
    "C": "tier C: a tool is limited, but sees what this user sees",
    "none": "none: a tool may do whatever this user may",
}


def describe(app: App) -> list[str]:
    """Return lines about models, tools, hooks, problems, sandbox and home folder."""
    lines = [f"  found    {line}" for line in app.models.found.lines]
    for model in app.models.catalog():
        mark = ", the default" if model.get("default") else ""
        if model["origin"] != "built in":
            lines.append(f"  model    {model['name']}: {model['model']}{mark}")
    for each in app.checks():
        if each.mark == "ok":
            lines += [f"  {each.name:<8} {each.text}", *_row("", each.step.split(), " ")]
    usable = [tool["name"] for tool in app.toolbox.info() if "unavailable" not in tool]
    lines += _row("tools", usable)
    lines += _row("hooks", [each["name"] for each in app.hooks.info()["loaded"]])
    for problems in app.problems().values():
        lines += [f"  problem  {problem}" for problem in problems]
    sandbox = app.toolbox.sandbox()
    lines.append(f"  sandbox  {TIERS[sandbox['tier']]}")
    lines += [f"           open: {gap}" for gap in sandbox["missing"]]
    lines += [f"           not {tier}: {why}" for tier, why in sandbox["tried"].items()]
    if sandbox["withheld"]:
        lines.append(f"           so withheld, for {sandbox['require']} is required:")
        lines += _row("", sandbox["withheld"])
    lines.append(f"  home     {app.config.home}")
    if (workers := app.config.server["workers"]) > 1:
        lines.append(f"  workers  {workers} processes")
    return lines


def _row(label: str, names: list[str], between: str = ", ") -> list[str]:
    """Return lines of names after a label, at most WIDTH columns wide; none without names."""
    lines = [f"  {label:<9}"]
    for name in names:
        if len(lines[-1]) + len(name) > WIDTH:
            lines.append(" " * 11)
        lines[-1] += f"{name}{between}"
    lines[-1] = lines[-1].removesuffix(between)
    return [line.rstrip() for line in lines] if names else []


# -- serve ----------------------------------------------------------------------------------------

COLLECTOR = (10_000, 20, 20)  # thresholds of its three generations
# A thread that works on a large document may keep the interpreter so long from the event loop, for
# each of the ten times or so that a turn of somebody else needs it. 5 ms by default.
SWITCH_S = 0.0005
SPARE_FILES = 256  # beside connections: running tools, files being sent, other programs

_log = log.get("app")


class BoundServer(NamedTuple):
    """The bound sockets of a process and everything needed to serve on them.

    `source`: of `config`. `links`: lines with the links to open. `page`: link that is opened in a
    browser, "" for none. `process`: makes what extensions have in the process of a number.
    `proof`: of the sandbox, made by the parent of several workers.
    """

    config: Config
    env: Mapping[str, str]
    source: Source
    keys: Keys
    sockets: list[socket.socket]
    links: list[str]
    page: str
    tls: Certificate | None
    process: Callable[[int], ProcessParts]
    proof: Json | None = None

    def serve(self, worker: Worker | None) -> int:
        """Serve until SIGTERM, SIGINT or SIGHUP and return the exit code.

        The first signal stops runs at a point from which another server can continue them
        (`BaseAgent.stop`), and gives tools `disconnect_grace_s` to end. A second signal ends
        everything at once. A worker handles only SIGTERM, and also stops when its parent has ended
        (`Workers`). Raises the exceptions of `App` and `App.open`.
        """
        # Runs that begin together make many objects that stay; by default each thousand of them
        # makes the collector look at all again, a tenth of the CPU time until the first token.
        gc.set_threshold(*COLLECTOR)
        sys.setswitchinterval(SWITCH_S)
        set_up_heap()
        run(ServerProcess(self, worker).run())
        return 0


class ServerProcess:
    """The life of one serving process. Of several workers only the first prints to the terminal."""

    def __init__(self, door: BoundServer, worker: Worker | None) -> None:
        self._door = door
        self._lifeline = None if worker is None else worker.lifeline
        self._speaks = worker is None or (worker.number == 0 and worker.first)
        self._process = door.process(worker.number if worker else 0)
        self._server = door.config.server
        self._entrance = StartupGate(self._server, door.keys, self._process.count_response)
        self._app: App | None = None  # that of the start
        self._accounts = Accounts()
        self._live = LiveConfig(door.source, door.config, self._make, self._entrance.complete)

    async def run(self) -> None:
        """Serve until a signal to stop, then close everything."""
        # asyncio keeps a weak reference to every async generator, to close it when the loop ends.
        # Ours are closed where they are used; a stream has six, so this saves memory.
        sys.set_asyncgen_hooks(firstiter=None)
        began = time.monotonic()
        door, limits = self._door, limits_that_fit(self._server["limits"])
        listener = BaseServer(
            *(self._entrance, ServerLimits.of(limits)),
            hosts=self._server["hosts"],
            origins=Origins.of(self._server),
            spared=("/health",),
            accounts=self._accounts,
            count=self._process.add_connections,
        )
        await listener.serve(door.sockets, door.tls.context if door.tls else None)
        watching = [asyncio.create_task(door.tls.watch())] if door.tls else []
        stop, at_once = self._listen()
        self._greet()
        try:
            opened = await _first(self._open(), stop.wait())
            if opened:
                self._tell_ready(time.monotonic() - began)
                watching.append(asyncio.create_task(self._live.watch()))
                await stop.wait()
            await cancel_all(watching)
            _log.info("stopping")
            self._live.stop()
            grace_s = limits["disconnect_grace_s"] if opened else 0  # then requests only wait
            await _first(listener.close(grace_s), at_once.wait())
        finally:
            await listener.close()
            await self._live.close()

    async def _open(self) -> None:
        """Import and open the agent, then serve all routes.

        The import runs in a thread, since requests are answered meanwhile. Workers inherit the
        imported modules from their parent.
        """
        await asyncio.to_thread(later, "app")
        self._app = await self._live.open()

    def _make(self, config: Config, former: Generation | None, live: LiveConfig) -> Generation:
        """Return what serves with a configuration; see LiveConfig."""
        module, door = later("app"), self._door
        keys, proof = door.keys, door.proof
        if former is not None:
            keys, _ = keys_of(config.server, config.home)
            if former.app.config.server["sandbox"] == config.server["sandbox"]:
                proof = former.app.toolbox.proof
        known = former.app if former else None
        app = module.App(
            *(config, door.env, self._process, proof),
            former=known,
            accounts=self._accounts,
            live=live,
        )
        return Generation(app, module.routes(app, keys))

    def _listen(self) -> tuple[asyncio.Event, asyncio.Event]:
        """Return the events that the first and the second signal to stop set.

        Events instead of cancellation: a signal may come in the same turn of the loop in which the
        task ends.
        """
        first, second = asyncio.Event(), asyncio.Event()
        loop, lifeline = asyncio.get_running_loop(), self._lifeline

        def on_signal() -> None:
            """Set the first event, or the second if the first is set."""
            if lifeline is not None:
                loop.remove_reader(lifeline)  # it stays readable
            (second if first.is_set() else first).set()

        loop.add_signal_handler(signal.SIGTERM, on_signal)
        if lifeline is not None:
            loop.add_reader(lifeline, on_signal)
            return first, second
        loop.add_signal_handler(signal.SIGINT, on_signal)
        if hears_hangup():  # the shell may repeat SIGHUP, so it never sets the second event
            loop.add_signal_handler(signal.SIGHUP, first.set)
        return first, second

    def _greet(self) -> None:
        """Print the links, and open the page in a browser if requested."""
        if self._speaks:
            _tell(f"yaa {VERSION}", "", *self._door.links, "")
            if self._door.page:  # in a thread: some browsers return only after the page has loaded
                show = (self._door.page,)
                threading.Thread(target=_show, args=show, name="browser", daemon=True).start()

    def _tell_ready(self, spent_s: float) -> None:
        if self._speaks and self._app is not None:
            _tell(*describe(self._app), f"  ready    after {spent_s:.1f} s")


class StartupGate:
    """The handler of every request: `await entrance(exchange)`.

    Until `complete` is called, it answers `/health` and the page's files, and holds other requests.
    """

    def __init__(self, server: Mapping[str, Any], keys: Keys, count: Callable[[int], None]) -> None:
        self._files = Files(shipped_path("client"), offline=server["offline_page"])
        health = Route(HealthHandler(VERSION, lambda: False).get, open=True)
        self._router = Router(
            *({("GET", "/health"): health}, self._files.get, keys),
            origins=Origins.of(server),
            count=count,
        )
        self._whole = asyncio.Event()

    def __call__(self, exchange: Exchange) -> Awaitable[None]:
        if self._whole.is_set() or self._needs_no_agent(exchange.request):
            return self._router(exchange)
        return self._wait_for_router(exchange)

    async def _wait_for_router(self, exchange: Exchange) -> None:
        await self._whole.wait()
        await self._router(exchange)

    def complete(self, router: Router) -> None:
        """Replace the router by one with all routes, and continue the waiting requests."""
        self._router = router
        self._whole.set()

    def _needs_no_agent(self, request: RequestHead) -> bool:
        known = request.path == "/health" or self._files.has(request.path)
        return known and request.method in ("GET", "HEAD")


async def _first(this: Coroutine[Any, Any, None], other: Coroutine[Any, Any, object]) -> bool:
    """Wait for the first to end and cancel the other. Return whether `this` ended by itself."""
    tasks = [asyncio.create_task(each) for each in (this, other)]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    await cancel_all(tasks)
    if tasks[0].cancelled():
        return False
    tasks[0].result()
    return True


def _tell(*lines: str) -> None:
    """Print lines at start."""
    with suppress(OSError):  # a full disk or a closed pipe must not stop the server
        print("\n".join(lines), flush=True)


def is_desk(env: Mapping[str, str]) -> bool:
    """Return whether a person sits here: at a terminal with a display, not by SSH and not in CI."""
    if any(env.get(name) for name in ("SSH_CONNECTION", "SSH_TTY", "CI")):
        return False
    shown = sys.platform == "darwin" or env.get("DISPLAY") or env.get("WAYLAND_DISPLAY")
    return bool(shown) and sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()


def _show(link: str) -> None:
    """Open the page in a browser. `webbrowser` is slow to import and rarely needed."""
    importlib.import_module("webbrowser").open(link)


def certificate(config: Config) -> Certificate | None:
    """Load the certificate of `server.tls`; None if there is none. Raises ConfigError."""
    tls, home = config.server["tls"], config.home
    if not tls["cert"]:
        return None
    key = expand_path(tls["key"], "server.tls.key", home) if tls["key"] else None
    try:
        return Certificate(expand_path(tls["cert"], "server.tls.cert", home), key)
    except OSError as error:
        files = " and ".join(filter(None, (tls["cert"], tls["key"])))
        raise ConfigError(f"server.tls: {files}: {reason(error)}") from None


def files_wanted(limits: Mapping[str, Any]) -> int:
    """Return the number of file descriptors that a process may need.

    A streaming run uses two: its client's connection and its provider's.
    """
    return 2 * int(limits["max_connections"]) + SPARE_FILES


def connections_that_fit(limits: Mapping[str, Any], files: int) -> int:
    """Return `max_connections`, or fewer if only `files` files may be open at once.

    Tools and the rest of the server need descriptors, too: without any it could not even refuse.
    """
    spare = min(SPARE_FILES, files // 2)
    return min(int(limits["max_connections"]), max(1, (files - spare) // 2))


def limits_that_fit(limits: Mapping[str, Any]) -> dict[str, Any]:
    """Return the limits with no more connections than this process may have open."""
    files, wanted = resource.getrlimit(resource.RLIMIT_NOFILE)[0], limits["max_connections"]
    if files == resource.RLIM_INFINITY or files >= files_wanted(limits):
        return dict(limits)
    most = connections_that_fit(limits, files)
    if most < wanted:
        text = "at most %d files may be open, so max_connections is %d instead of %d"
        _log.warning(text, files, most, wanted)
    return {**limits, "max_connections": most}


def allow_files(limits: Mapping[str, Any]) -> None:
    """Raise the soft limit of open files to `files_wanted`, at most to the hard limit.

    Most systems start programs with 1,024, for those that use select(2).
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = files_wanted(limits)
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):  # some systems have a lower limit of their own
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
