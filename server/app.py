"""The composition root: make all parts of a process and connect them.

`App` opens what the agent needs, with or without HTTP. `routes` is the table of addresses. No
decisions are made here. A server has opened its port before it imports this module (cli/serve.py).
"""

from __future__ import annotations

import asyncio
import gc
import re
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from . import VERSION
from .agent.hooks import Hooks
from .agent.loop import BaseAgent
from .agent.run_records import KEPT_S, RunRecords, StopSignals
from .api import idempotency
from .api.auth import Keys, own_limits, owners, people_of
from .api.files import Downloads
from .api.info import HealthHandler, InfoHandler, MonthlyUsageHandler
from .api.objects import Objects
from .api.person_runs import PersonRuns
from .api.router import Route, Router
from .api.sessions import Runs, Sessions
from .api.sign_in import SignInLinks
from .api.static import Files
from .api.workspaces import WorkspaceFiles
from .config import Config, ConfigError, make_home, shipped_path
from .errors import Problem
from .extensions import ALL, ProcessParts, incomplete, select, share
from .extensions.parts import CheckResult, Host, Live, Parts, make_agents, make_parts
from .json_types import Json, Session
from .lib.http.client import Client
from .lib.http.cors import Origins
from .lib.runtime.accounts import Accounts
from .lib.runtime.clock_jumps import ClockJumps
from .lib.runtime.event_loop import repeat
from .lib.runtime.memory import give_back
from .lib.sandbox.policy import TIERS
from .models.adapter import BaseAPI, adapters
from .models.model_list import ask_vendors
from .models.registry import Models
from .session.config_schema import config_schema, with_choices
from .session.limits import LimitCeilings
from .session.modes import catalog
from .session.schema import check
from .telemetry import redact
from .telemetry.log import RotatingFile, Rotation
from .telemetry.monthly_usage import MonthlyUsage
from .tools.execution_claims import Claims, Locks
from .tools.retention import StorageFigures, Workspaces, storage_figures
from .tools.runner import ToolRunner
from .tools.session_files import SessionFiles
from .tools.toolbox import Toolbox
from .workspace.host import Workspaces as RecordedFiles

SWEEP_EVERY_S, SWEEP_LEAST_S = 600.0, 5.0
Routes = Mapping[tuple[str, str], Route]  # by method and path
START_S = 20.0  # how long a request waits for the server to open


class App:
    """All that an agent needs: `async with App(config, env) as app`, then `app.agent`.

    Making one is fast, because the port is open already; `open` does the slow work. `proof` is the
    sandbox proof of the parent of several workers, or of `former`. `tools` and `models` are those
    of a program that embeds yaa. `former` is the App of an earlier configuration of this process
    (cli/live_config.py), whose runs and calls are known here too.
    `accounts`: what people hold of the process. `clock`: seconds since 1970. `locks`: those of the
    home folder's processes. `files`: those of sessions; None: recorded ones, and real folders.
    `live`: the process's configuration, which may change; None for one that stays.
    Raises ConfigError for an unusable home folder or configuration, ToolError and SchemaError for
    an unusable tool.
    """

    person_runs: PersonRuns | None = None  # of a server, once it has routes

    def __init__(
        self,
        config: Config,
        env: Mapping[str, str],
        process: ProcessParts | None = None,
        proof: Json | None = None,
        *,
        tools: Iterable[Any] = (),
        models: Mapping[str, BaseAPI] | None = None,
        former: App | None = None,
        accounts: Accounts | None = None,
        clock: Callable[[], float] = time.time,
        locks: Locks | None = None,
        files: SessionFiles | None = None,
        live: Live | None = None,
    ) -> None:
        self.config = config
        self.process = process or share(config.server["extensions"])(0)
        self._env, self.live = env, live
        self._proof = proof
        self._opened = asyncio.Event()
        self.is_first = former is None
        self.accounts: Accounts = former.accounts if former else accounts or Accounts()
        self._most = strongest(env)
        server = config.server
        _check_defaults(config.session)
        redact.register([*config.secrets(), *_secrets_of(env)])
        make_home(config.home)
        limits = server["limits"]
        self.client = Client(env)
        self.models = Models(server, self.client, env)
        tool_mode = config.session["config"]["yaa"]["tool_mode"]
        self.models.check_mode(tool_mode, "session.config.yaa.tool_mode")
        self.models.adopt(models or {}, preferred=True)
        self._adapter_problems: list[str] = []
        self.hooks = Hooks()
        ttl_s = limits["claim_ttl_s"]
        self.claims = Claims(config.home / "claims", ttl_s, limits["result_ttl_s"], clock=clock)
        trusted = owners(server["api_keys"], home_key=server["home_key"])
        self.ceilings = LimitCeilings.of_keys(limits, own_limits(server["api_keys"]))
        files = files or RecordedFiles.of(config, trusted)
        self.toolbox = Toolbox(config, self.client, self.ceilings, self.accounts, files)
        self.toolbox.add(tools)
        self.agents = make_agents(config)
        self.locks: Locks = former.locks if former else locks or Locks(config.home / "claims.lock")
        self.is_replaced = False
        self.records = RunRecords(config.home / "runs", ttl_s, clock=clock)
        self._background: list[asyncio.Task[None]] = []
        self._alive = 0  # blocks of memory that were in use after the last collection
        self.jumps: ClockJumps = former.jumps if former else ClockJumps(clock)
        self.usage = MonthlyUsage(config.home / "usage", clock=clock)
        self.signals = StopSignals(config.home / "stops", clock=clock)
        days, wall_s = server["keep_days"], limits["tool"]["wall_s"]
        self.workspaces = Workspaces(config.home / "workspaces", days, wall_s, clock=clock)
        self._clock = lambda: int(clock() * 1000)
        self.parts = self._make_parts()
        self.agent: BaseAgent = self._make_agent(former.agent if former else None)

    def _make_parts(self) -> dict[str, Parts]:
        """Make the parts of the extensions, and add what the toolbox has of them."""
        means = self.config, self.client, self.models, self.ceilings, self._env, self.toolbox
        host = Host(*means, self.agents, self.claims, self.locks, self._clock, live=self.live)
        parts = make_parts(host, self.process)
        for each in parts.values():
            self.toolbox.add(each.tools())
            self.toolbox.add_mounts(each.mounts)
            for source in each.tool_sources():
                self.toolbox.add_source(source)
        return parts

    def _make_agent(self, former: BaseAgent | None) -> BaseAgent:
        return BaseAgent(
            *(self.config, self.models, self.toolbox, self.claims),
            agents=self.agents,
            ceilings=self.ceilings,
            locks=self.locks,
            clock=self._clock,
            hooks=self.hooks,
            records=self.records,
            signals=self.signals,
            workspaces=self.toolbox.workspaces,
            usage=self.usage,
            former=former,
            parts=[each.run_part for each in self.parts.values()],
        )

    def take_over(self, keys: Keys) -> None:
        """Let the limits of this configuration apply, and end what runs with keys that are gone."""
        self.accounts.rules = keys.rules(self.config.server["limits"])
        gone = {each.run for each in self.accounts.requests if not keys.is_valid(each.key)} - {""}
        self.agent.end(lambda owner, run: run in gone or owner not in keys.people)
        self.accounts.end_revoked(keys.is_valid)

    async def open(self) -> None:
        """Prove the sandbox, load the owner's hooks, models and tools, and discover models."""
        self.hooks.load(self.config.home / "hooks")
        own, self._adapter_problems = adapters(self.config.home / "models", self.models.names())
        self.models.adopt(own)
        found, _ = await asyncio.gather(
            self.models.vendors.discover(self.config.server, self.client, self._env),
            self._open_tools(),
        )
        self.models.add(found)
        # As often as a result may expire.
        every_s = min(max(self.claims.result_ttl_s, SWEEP_LEAST_S), SWEEP_EVERY_S)
        sweep = repeat(every_s, "removing what has expired", partial(asyncio.to_thread, self.clean))
        work = (sweep, ask_vendors(self.models, self.client))
        self._background = [asyncio.create_task(each) for each in work]
        self._opened.set()
        if (runs := self.person_runs) is not None:
            for each in self.parts.values():
                await each.open(runs)

    def clean(self) -> int:
        """Remove what has expired; return the number of workspaces removed.

        Claims, results, records, stop requests and workspaces expire, unless the clock jumped.
        """
        # What refers to itself, such as each connection. A quiet server makes too few objects for
        # the collector to look at the oldest, and nobody waits for it now. On a busy one pauses for
        # large documents hide them from it. It stops everybody for 0.1 s, so there only once
        # memory has doubled.
        if not self.accounts.requests or sys.getallocatedblocks() > 2 * self._alive:
            gc.collect()
            self._alive = sys.getallocatedblocks()
        give_back()
        if not self.jumps.may_expire():
            return 0
        self.claims.sweep()
        self.records.sweep()
        self.signals.sweep()
        self.usage.write()
        self.toolbox.workspaces.clean()
        return self.workspaces.sweep()

    def storage_figures(self) -> list[StorageFigures]:
        """Return what the home folder keeps of sessions, and how much of it has expired."""
        limits = self.config.server["limits"]
        times = (limits["claim_ttl_s"], limits["result_ttl_s"], KEPT_S)
        return [self.workspaces.kept(), *storage_figures(self.config.home, *times)]

    async def _open_tools(self) -> None:
        await self.toolbox.open(self._most, self._proof)
        await self.toolbox.load_owner_tools()

    @property
    def is_open(self) -> bool:
        """Return whether `open` is done."""
        return self._opened.is_set()

    async def wait_until_open(self, patience_s: float = START_S) -> None:
        """Wait until `open` is done. Raises Problem after `patience_s`."""
        if self.is_open:
            return
        try:
            async with asyncio.timeout(patience_s):
                await self._opened.wait()
        except TimeoutError:
            text = "This server is still starting: its tools are being loaded. Ask again shortly."
            raise Problem("overloaded", text, headers={"Retry-After": "5"}) from None

    async def close(self) -> None:
        """End what still runs, then close the connections it used."""
        for each in self.parts.values():
            await each.close()
        for task in self._background:
            task.cancel()
        await self.agent.close()
        self.usage.write()
        if not self.is_replaced:  # else it would free the locks of all Apps of the process
            self.locks.close()
        await self.toolbox.close()
        await self.models.close()
        await self.client.close()

    async def __aenter__(self) -> App:
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def busy(self) -> bool:
        """Return whether a run, or a call that a source of tools holds, still needs this App."""
        return self.agent.busy or self.toolbox.busy

    def problems(self) -> dict[str, list[str]]:
        """Return what the owner has to fix, as {part: [text]}."""
        added = [problem for each in self.parts.values() for problem in each.problems().items()]
        return {
            **dict(added),
            "model": [*self._adapter_problems, *self._model_problems()],
            "tools": self.toolbox.problems,
            "agents": self.agent_problems(),
            "folders": self.toolbox.workspaces.problems(people_of(self.config.server["api_keys"])),
            "hooks": self.hooks.problems,
            "extensions": self._extension_problems(),
            "logs": self._file_problems(),
        }

    def checks(self) -> Iterable[CheckResult]:
        """Return what the extensions say of the installation beside the problems."""
        return [check for each in self.parts.values() for check in each.checks()]

    def _model_problems(self) -> list[str]:
        """Return why a session that names no model cannot run; [] if it can."""
        try:
            self.models.resolve(self.config.session["config"]["llm_api"]["provider"])
        except Problem as problem:
            return [f"session.config.llm_api.provider: {problem.detail}"]
        return []

    def _extension_problems(self) -> list[str]:
        """Return which extensions are there and cannot act; [] if `*` does not name them."""
        if ALL not in self.config.server["extensions"]:
            return []
        return [
            f"{name} does nothing: server/extensions lacks {', '.join(others)}, which it requires"
            for name, others in incomplete().items()
        ]

    def _file_problems(self) -> list[str]:
        """Return why the log cannot be written to its file."""
        if not (name := (about := self.config.server["log"])["file"]):
            return []
        why = RotatingFile(self.config.home / "logs" / name, Rotation.of(about)).failure()
        return [f"server.log.file: {why}"] if why else []

    def agent_problems(self, owner: str = "") -> list[str]:
        """Return the problems of agent files that this owner's key may see."""
        return self.agents.problems(self.toolbox.nameable(), owner)

    def facts(self, owner: str) -> dict[str, Any]:
        """Return what `/info` says to a key of this owner, except for the configuration."""
        added = [fact for each in self.parts.values() for fact in each.info(owner).items()]
        return {
            **dict(added),
            "limits": dict(self.ceilings.of(owner)),
            "agents": self.agents.info(owner),
            "agent_problems": self.agent_problems(owner),
            "modes": catalog(),
            "tools": self.toolbox.info(),
            "models": self.models.catalog(),
            "client_providers": self.models.of_sessions,
            "sandbox": self.toolbox.sandbox(),
            "permission_modes": self.toolbox.permissions.info(),
            "folders": self.toolbox.workspaces.folders(owner),
            "workspace": self.toolbox.workspaces.info(),
            "records": self.records.info(),
            "hooks": self.hooks.info(),
            "extensions": [*select(self.config.server["extensions"])],
        }


def _secrets_of(env: Mapping[str, str]) -> list[str]:
    """Return the values of environment variables with secret names."""
    names = (name for name in env if redact.is_secret(name) and name not in ("PWD", "OLDPWD"))
    return [env[name] for name in names]


def _check_defaults(session: Session) -> None:
    """Raise ConfigError if the session defaults are not valid in a session.

    They are filled into sessions, which are checked when clients send them back.
    """
    if wrong := check(session):
        places = ((each["pointer"].replace("/", "."), each["detail"]) for each in wrong)
        raise ConfigError(*(f"session{place}: {detail}" for place, detail in places))


def routes(app: App, keys: Keys) -> Router:
    """Return the router with every address of the server."""
    server, session = app.config.server, app.config.session
    form = with_choices(config_schema(), app.models.choices)
    info = InfoHandler(VERSION, session, form, app.facts)
    streams = session["config"]["yaa"]["stream"]
    runs = Runs(app.agent, server["limits"], app.ceilings, app.accounts)
    sessions = Sessions(runs, streams=streams)
    app.person_runs = PersonRuns(app.agent, runs, keys, app.accounts)
    downloads = Downloads(app.toolbox.workspaces, app.ceilings)
    files = Files(shipped_path("client"), offline=server["offline_page"])
    repeatable = idempotency.of_process.wrap
    kernel = {
        ("GET", "/"): Route(files.get, open=True),
        ("GET", "/health"): Route(HealthHandler(VERSION, lambda: app.is_open).get, open=True),
        ("GET", "/info"): Route(info.get),
        ("GET", "/usage"): Route(MonthlyUsageHandler(app.usage.months).get),
        ("POST", "/session"): Route(sessions.post),
        ("POST", "/session/events"): Route(sessions.events),
        ("POST", "/session/stop"): Route(sessions.stop),
        ("POST", "/"): Route(sessions.post),
        ("POST", "/files"): Route(downloads.post),
        **repeatable(WorkspaceFiles(app.toolbox.workspaces, app.ceilings).routes()),
        **repeatable(Objects(app.toolbox.workspaces, app.ceilings).routes()),
        **repeatable(SignInLinks(app.config.home, keys).routes()),
    }
    parts_of = [(f"the extension {name}", each) for name, each in app.parts.items()]
    tables: list[tuple[str, Routes]] = [("the server itself", kernel)]
    tables += [(whose, each.routes()) for whose, each in parts_of]
    tables += [(whose, each.session_routes(runs)) for whose, each in parts_of]
    if app.live is not None:
        tables += [(whose, repeatable(each.settings_routes(runs))) for whose, each in parts_of]
    origins = Origins.of(server)
    if app.is_first:
        app.take_over(keys)
    headers = {name for each in app.parts.values() for name in each.request_headers()}
    return Router(
        *(join_routes(tables), files.get, keys),
        origins=origins,
        accounts=app.accounts,
        count=app.process.count_response,
        opened=app.wait_until_open,
        allow_headers=headers,
    )


def join_routes(tables: Iterable[tuple[str, Routes]]) -> dict[tuple[str, str], Route]:
    """Return the routes of all tables, each (whose it is, its routes).

    Raises ConfigError for an address that two have.
    """
    joined: dict[tuple[str, str], Route] = {}
    owners_of: dict[tuple[str, str], str] = {}
    for whose, table in tables:
        for (method, path), route in table.items():
            address = method, re.sub(r"{\w+}", "{}", path)
            if other := owners_of.get(address):
                raise ConfigError(f"{whose} has the route {method} {path}, and so has {other}")
            owners_of[address] = whose
            joined[method, path] = route
    return joined


async def prove_sandbox(config: Config, env: Mapping[str, str]) -> Json:
    """Return the sandbox that works here, proven once for all workers."""
    runner = ToolRunner(config.home)
    await runner.open(config.server["sandbox"], strongest(env))
    runner.close()
    return runner.sandbox


def strongest(env: Mapping[str, str]) -> str:
    """Return the sandbox tier to try first: `YAA_SANDBOX_FORCE`, else the strongest.

    The variable simulates a host with fewer features. Raises ConfigError for an unknown tier.
    """
    tier = env.get("YAA_SANDBOX_FORCE") or TIERS[-1]
    if tier not in TIERS:
        raise ConfigError(f"YAA_SANDBOX_FORCE is {tier}, wanted one of {', '.join(TIERS)}")
    return tier
