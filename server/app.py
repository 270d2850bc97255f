"""The composition root: everything that is made once for a process, and how it is wired together.

Read this first to see which part gets what. `App` opens what the agent needs, with or without a
network in front of it; `routes` is the table of addresses; `serve` listens until it is told to
stop. The rule of the file: it makes and connects, and decides nothing.
"""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Any

from . import VERSION, log, masking
from .agent import BaseAgent
from .agents.registry import Agents
from .api.auth import Keys
from .api.files import Downloads
from .api.info import Info
from .api.metrics import Scrape
from .api.rates import Rates
from .api.router import Route, Router
from .api.session import Sessions
from .api.static import Files
from .config import Config, ConfigError, make_home, shipped
from .exporter import Exporter
from .hooks import Hooks
from .llm.discover import discover
from .llm.registry import Models
from .metrics import Metrics, Row
from .sandbox.policy import TIERS
from .session.modes import catalog
from .tools.claims import Claims
from .tools.locks import Locks
from .tools.toolbox import Toolbox
from .wire.client import Client
from .wire.listener import BaseServer, Limits
from .wire.tls import Certificate

_log = log.get("app")


class App:
    """What an agent runs on: `async with App(config, env) as app`, then `app.agent`.

    Raises ConfigError when the home folder cannot be used.
    """

    def __init__(self, config: Config, env: Mapping[str, str], metrics: Row | None = None) -> None:
        self.config = config
        self.metrics = metrics or Metrics().row(0)
        self._env = env

    async def open(self) -> None:
        config, server = self.config, self.config.server
        masking.register(config.secrets())
        masking.register(
            value
            for name, value in self._env.items()
            if masking.is_secret(name) and name not in ("PWD", "OLDPWD")
        )
        make_home(config.home)
        limits = server["limits"]
        self.client = Client(self._env)
        self.found = await discover(server, self.client, self._env)
        self.models = Models(server, self.client, self._env, self.found)
        logs = config.home / "logs"
        self.exporter = Exporter(server["tracing"], logs, self.client, VERSION)
        self.exporter.open()
        self.hooks = Hooks()
        self.hooks.load(config.home / "hooks")
        claims = Claims(config.home / "claims", limits["claim_ttl_s"], limits["result_ttl_s"])
        self.toolbox = Toolbox(config, self.client)
        await self.toolbox.open(_strongest(self._env))
        await self.toolbox.load_owner_tools()
        self.agents = Agents(config.home / "agents", config.session["agent"])
        for problem in self.agents.problems():
            _log.warning("%s", problem)
        self.locks = Locks(config.home / "claims.lock")
        self.agent = BaseAgent(
            *(config, self.models, self.toolbox, claims),
            agents=self.agents,
            locks=self.locks,
            metrics=self.metrics,
            sink=self.exporter,
            hooks=self.hooks,
        )

    async def close(self) -> None:
        """End what still runs, then close the connections it used."""
        await self.agent.close()
        self.locks.close()
        await self.toolbox.close()
        await self.exporter.close()
        await self.client.close()

    async def __aenter__(self) -> App:
        await self.open()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    @property
    def demo(self) -> bool:
        """Whether the default model is the built-in script and no AI."""
        return any(model.get("default") and model.get("demo") for model in self.models.catalog())

    def facts(self) -> dict[str, Callable[[], Any]]:
        """What `/info` tells beside the configuration; asked at every request."""
        return {
            "agents": self.agents.info,
            "agent_problems": self.agents.problems,
            "modes": catalog,
            "tools": self.toolbox.info,
            "models": self.models.catalog,
            "sandbox": self.toolbox.sandbox,
            "hooks": self.hooks.info,
            "tracing": self.exporter.info,
            "demo": lambda: self.demo,
        }


def routes(app: App, keys: Keys) -> Router:
    """Every address of the server."""
    server, session = app.config.server, app.config.session
    info = Info(VERSION, server["limits"], session, **app.facts())
    streams = session["config"]["yaa"]["stream"]
    sessions = Sessions(app.agent, server["limits"], streams=streams)
    downloads = Downloads(app.toolbox, server["limits"]["max_request_size"])
    files = Files(shipped("client"))
    table = {
        ("GET", "/"): Route(files.get, open=True),
        ("GET", "/health"): Route(info.health, open=True),
        ("GET", "/info"): Route(info.info),
        ("GET", "/metrics"): Route(Scrape(app.metrics.text).get),
        ("POST", "/session"): Route(sessions.post),
        ("POST", "/"): Route(sessions.post),
        ("POST", "/files"): Route(downloads.post),
    }
    rates = Rates(server["limits"]["rate_limit"])
    origins = server["cors_origins"]
    count = app.metrics.answered
    return Router(table, files.get, keys, origins=origins, rates=rates, count=count)


async def serve(
    app: App,
    keys: Keys,
    sockets: list[socket.socket],
    ready: Callable[[], None],
    *,
    tls: Certificate | None = None,
    lifeline: int | None = None,
) -> None:
    """Serve on bound sockets until SIGTERM or SIGINT; `ready` is called when requests are taken.

    The first signal lets runs stop where their clients can go on elsewhere (`BaseAgent.stop`), and
    tools have `disconnect_grace_s` to end; a second one ends all at once. A worker gets SIGTERM
    only, and stops too when its parent has ended (workers.py).
    """
    config = app.config.server
    limits = config["limits"]
    count = app.metrics.connections
    server = BaseServer(routes(app, keys), Limits.of(limits), hosts=config["hosts"], count=count)
    await server.serve(sockets, tls.context if tls else None)
    watching = asyncio.create_task(tls.watch()) if tls else None
    signals: asyncio.Queue[None] = asyncio.Queue()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, *([signal.SIGINT] if lifeline is None else [])):
        loop.add_signal_handler(number, signals.put_nowait, None)
    if lifeline is not None:
        loop.add_reader(lifeline, signals.put_nowait, None)
    ready()
    await signals.get()
    if lifeline is not None:
        loop.remove_reader(lifeline)
    if watching is not None:
        watching.cancel()
    _log.info("stopping")
    app.agent.stop()
    closing = asyncio.create_task(server.close(limits["disconnect_grace_s"]))
    again = asyncio.create_task(signals.get())
    await asyncio.wait((closing, again), return_when=asyncio.FIRST_COMPLETED)
    for task in (closing, again):
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
    await server.close()


def _strongest(env: Mapping[str, str]) -> str:
    """The tier to begin the proof with: `YAA_SANDBOX_FORCE` stands in for a poorer machine."""
    most = env.get("YAA_SANDBOX_FORCE") or TIERS[-1]
    if most not in TIERS:
        raise ConfigError(f"YAA_SANDBOX_FORCE is {most}, wanted one of {', '.join(TIERS)}")
    return most
