"""The contract of extensions, second page: what an extension does beside the agent.

Its `Parts` are made with the agent, once for each configuration (a changed one makes new ones), if
`server.extensions` names the extension. A method that is not overridden adds nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from ..agent.run_parts import RunPart
from ..api.person_runs import PersonRuns
from ..api.router import Route
from ..api.sessions import Runs
from ..config import Config
from ..json_types import Json, Session
from ..lib.http.client import Client
from ..lib.sandbox.policy import Mount
from ..lib.sandbox.process import Job
from ..models.registry import Models
from ..session.agents import Agents
from ..session.limits import LimitCeilings
from ..tools.execution_claims import Claims, Locks
from ..tools.tool_source import ToolSource
from ..tools.toolbox import Toolbox
from . import ProcessParts, load_each, select
from .declaration import ProcessPart


class Live(Protocol):
    """The configuration of a process that serves, and how a changed file comes into use.

    path  the owner's file
    """

    path: Path

    @property
    def config(self) -> Config:
        """Return the configuration in force."""
        ...

    def check(self, document: dict[str, Any]) -> Config:
        """Return the configuration that the file would make with this content."""
        ...

    def facts(self) -> Json:
        """Return what is in force: {problems, sandbox, models, found, found_lines, reload}.

        found  name -> entry, which may have a key
        """
        ...

    def renew(self) -> Awaitable[object]:
        """Use the file as it is now. What is awaited ends when it is used, or was refused."""
        ...


class Host(NamedTuple):
    """What of the kernel an extension may use.

    clock     the time in Unix milliseconds
    process   its own, see `Extension.process`
    live      None in a program that embeds yaa: there the configuration stays
    """

    config: Config
    client: Client
    models: Models
    ceilings: LimitCeilings
    env: Mapping[str, str]
    toolbox: Toolbox
    agents: Agents
    claims: Claims
    locks: Locks
    clock: Callable[[], int]
    process: ProcessPart | None = None
    live: Live | None = None


OK, OFF, NOTE, MISSING = "ok", "off", "note", "missing"


class CheckResult(NamedTuple):
    """The result of one check of the installation.

    mark  OFF: nothing is wrong, but more could be set up, or this machine cannot do more. NOTE: it
          works, and a step makes it better. MISSING: something does not work
    step  the next step for the user
    """

    mark: str
    name: str
    text: str
    step: str = ""


class Parts:
    """What an extension has open beside the agent."""

    def __init__(self, host: Host) -> None:
        self.host = host

    def routes(self) -> Mapping[tuple[str, str], Route]:
        """Return its routes, by (method, path)."""
        return {}

    def session_routes(self, runs: Runs) -> Mapping[tuple[str, str], Route]:
        """Return routes that begin runs, as sessions in another form do, or end those of others."""
        return {}

    def settings_routes(self, runs: Runs) -> Mapping[tuple[str, str], Route]:
        """Return routes that are not there in a program that embeds yaa (`Host.live`).

        They may be repeated with one idempotency key.
        """
        return {}

    def request_headers(self) -> Iterable[str]:
        """Return names of request headers, beside the usual, for pages of other origins (CORS)."""
        return ()

    def tools(self) -> Iterable[Any]:
        """Return its tools: functions, BaseTools (tools/program_tools.py) or Tools.

        They run in this process, without a sandbox.
        """
        return ()

    def mounts(self, job: Job) -> Iterable[Mount]:
        """Return what a call of a session finds beside its folders. Raises OSError."""
        return ()

    def tool_sources(self) -> Iterable[ToolSource]:
        """Return what offers tools that come and go. They are loaded when the agent opens."""
        return ()

    def info(self, owner: str) -> Mapping[str, Any]:
        """Return members of `/info`, as a key of this owner sees them."""
        return {}

    def problems(self) -> Mapping[str, list[str]]:
        """Return what the owner has to fix: part -> one line each."""
        return {}

    def checks(self) -> Iterable[CheckResult]:
        """Return what `doctor` says beside the problems. The start says what is OK, too."""
        return ()

    async def open(self, runs: PersonRuns) -> None:
        """Begin what goes on without requests, as a server opens. `runs`: for people."""

    def stop(self) -> None:
        """Begin nothing any more, and end what waits: the server stops."""

    async def close(self) -> None:
        """End what `open` has begun, unless the parts of a newer configuration have it."""

    def run_part(self, session: Session, about: Mapping[str, str]) -> RunPart | None:
        """Return what takes part in a run of this session, None for nothing.

        `about`: {run, model, key_name, owner}, and the {preset, url} of a provider.
        """
        return None


def make_parts(host: Host, process: ProcessParts) -> dict[str, Parts]:
    """Return the parts of the extensions that the configuration names, in order."""
    kinds = load_each("parts", select(host.config.server["extensions"]))
    return {
        name: kind(host._replace(process=process.by_name.get(name))) for name, kind in kinds.items()
    }


def make_agents(config: Config) -> Agents:
    """Return the agents of the first extension that has some, else the one of the configuration."""
    for make in load_each("agents", select(config.server["extensions"])).values():
        found: Agents = make(config)
        return found
    return Agents(config.session["agent"], config.session["config"]["limits"])
