"""One server process on a world's home folder."""

from __future__ import annotations

import asyncio
import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any

from server.agent.loop import BaseAgent
from server.agent.run_records import RunRecords, StopSignals
from server.api.auth import Keys
from server.api.router import Route, Router
from server.api.sessions import Runs, Sessions
from server.app import App
from server.config import Config
from server.extensions import load_each, present, select
from server.extensions.parts import Host as Extensions
from server.lib.http.listener import BaseServer, ServerLimits
from server.tools.execution_claims import Claims, Locks
from server.tools.session_files import SessionFiles

from ...fakes import DEFAULTS, CountingToolbox, ScriptedModel
from .loop import Process

if TYPE_CHECKING:
    from .line import Line
    from .world import World


class SharedLocks(Locks):
    """The locks of one home, for servers that are one process of the real machine."""

    def __init__(self, held: dict[str, Process], process: Process) -> None:
        super().__init__(None)
        self._held, self._process = held, process

    def take(self, name: str) -> bool:
        """Take a lock and return True; return False if another server holds it."""
        if self.is_held(name):
            return False
        self._held[name] = self._process
        return True

    def free(self, name: str) -> None:
        """Release a lock of this server."""
        if self._held.get(name) is self._process:
            del self._held[name]

    def is_held(self, name: str) -> bool:
        """Return whether another server holds this lock."""
        owner = self._held.get(name)
        return owner is not None and owner is not self._process and not owner.dead


class Tools(CountingToolbox):
    """Tools that note in the world what ran. A call takes `world.took_s`."""

    def __init__(self, world: World, host: Host) -> None:
        super().__init__(world.tools, {})
        self._world, self._host = world, host

    async def execute(self, session: Any, call: Any, args: Any, *more: Any, **owner: Any) -> None:
        """Note the call, then take some time."""
        self._host.process.effect()
        self._world.note_call(self._host, call, args)
        await asyncio.sleep(self._world.took_s)
        await super().execute(session, call, args, *more, **owner)


class KeptConfig(Config):
    """A configuration that is not copied at each read, which takes 0.3 ms."""

    @property
    def session(self) -> Any:
        """Return the session's part."""
        return self._session


_apps: list[App] = []


def _app(home: Path) -> App:
    """Return one App for all worlds: making it takes 10 ms, most for tools that no world uses."""
    if not _apps:
        config = KeptConfig(DEFAULTS["server"], DEFAULTS["session"], home)
        _apps.append(App(config, {}))
        _apps[0].toolbox.workspaces = None  # type: ignore[assignment]
    return _apps[0]


class Host:
    """A server process: its listener takes lines, its tools are counted by the world."""

    def __init__(self, world: World, name: str) -> None:
        self.world, self.process = world, Process(name)
        self.lines: list[Line] = []
        self.process.on_death.append(self._close_lines)
        self.process.context.run(self._build)

    def _close_lines(self) -> None:
        for line in self.lines:
            line.server_died()

    def _build(self) -> None:
        world, shared = self.world, _app(self.world.home)
        self.app = app = copy.copy(shared)
        limits = app.config.server["limits"]
        ttl_s = limits["claim_ttl_s"]
        clock = {"clock": world.now}
        app.claims = Claims(world.home / "claims", ttl_s, limits["result_ttl_s"], **clock)
        app.records = RunRecords(world.home / "runs", ttl_s, **clock)
        app.signals = StopSignals(world.home / "stops", **clock)
        model = ScriptedModel(world.script)
        model.clock = world.now_ms
        toolbox: Any = Tools(world, self)
        app.agent = BaseAgent(
            *(app.config, model, toolbox, app.claims),  # type: ignore[arg-type]
            agents=app.agents,
            ceilings=app.ceilings,
            workspaces=SessionFiles(app.config.home),
            locks=SharedLocks(world.locks, self.process),
            clock=world.now_ms,
            ids=world.new_id,
            records=app.records,
            signals=app.signals,
            stopwatch=lambda: int(world.loop.now * 1000),
        )
        runs = Runs(app.agent, limits, app.ceilings)
        sessions = Sessions(runs, streams=True)
        # `App.routes` makes all addresses, which takes 2.5 ms; these are the ones that are asked.
        table = {
            ("POST", "/session"): Route(sessions.post),
            ("POST", "/session/stop"): Route(sessions.stop),
        }
        config = copy.copy(app.config)
        config.home = world.home
        host = Extensions(
            *(config, app.client, app.models, app.ceilings, {}, toolbox),
            *(app.agents, app.claims, app.agent.executions.locks, world.now_ms),
        )
        fronts = select({"agui", "openai"} & present().keys())
        for kind in load_each("parts", fronts).values():
            table |= kind(host).session_routes(runs)
        router = Router(table, sessions.post, Keys(world.keys, required=bool(world.keys)))
        self.listener = BaseServer(router, ServerLimits.of(limits))
        self.listener.loop = world.loop

    def clean(self) -> None:
        """Remove expired claims and records, as `App.clean` does."""
        self.process.context.run(self.app.claims.sweep)
        self.process.context.run(self.app.records.sweep)
