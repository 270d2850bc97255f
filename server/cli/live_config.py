"""Use a changed configuration without a restart.

A configuration never changes. When its file does, an `App` and a router are made of the new one.
They take the requests that begin from then on; requests that began go on with theirs, and an App
that nothing needs any more is closed. Runs and calls of all of them are known to each. A file that
cannot be used changes nothing. What is needed to listen stays as it was at the start.

Each worker process looks at the file for itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..api.router import Router
from ..config import Config, ConfigError
from ..json_types import Json
from ..lib.runtime.event_loop import cancel_all, repeat
from ..lib.runtime.file_stamps import stamp_of
from ..telemetry import log

if TYPE_CHECKING:
    from ..app import App

LOOK_S = 1.0  # between two looks at the file
REST_S = 0.2  # between two looks whether a replaced App is still needed
# What the process listens with, and what its terminal and its log were opened with.
AT_START = (
    *("auth_required", "cors_origins", "extensions", "host", "hosts", "log", "port", "tls"),
    "workers",
)
LIMITS_AT_START = (
    *("body_grace_s", "body_min_rate", "head_timeout_s", "idle_timeout_s"),
    *("max_connections", "max_connections_per_address", "max_memory", "max_request_size"),
    *("write_timeout_s",),
)

_log = log.get("config")


@dataclass(frozen=True)
class Generation:
    """An App and the router of its requests."""

    app: App
    router: Router


class Source(NamedTuple):
    """Where the configuration comes from.

    path     the owner's file
    read     (content) -> the configuration with that content, None for the file's; ConfigError
    stamp    of the file, from before the configuration was read at the start
    """

    path: Path
    read: Callable[[dict[str, Any] | None], Config]
    stamp: tuple[int, ...]


Make = Callable[[Config, "Generation | None", "LiveConfig"], Generation]


class LiveConfig:
    """The configuration of a process that serves.

    `make` makes what serves with a configuration, after what served before; `take` is called with
    each router that takes over.
    """

    def __init__(
        self, source: Source, config: Config, make: Make, take: Callable[[Router], None]
    ) -> None:
        self.path, self._read, self._stamp = source
        self.config, self._make, self._take = config, make, take
        self._generation: Generation | None = None
        self._replaced: list[Generation] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._lock = asyncio.Lock()
        self._state: Json = {"state": "ready", "detail": [], "later": []}

    async def open(self) -> App:
        """Serve with the first configuration; return its App. Raises the exceptions of `make`."""
        async with self._lock:
            generation = self._generation = self._make(self.config, None, self)
            self._take(generation.router)
            await generation.app.open()
            generation.app.toolbox.release_workers()
        return generation.app

    async def watch(self) -> None:
        """Use each change of the file, until this is cancelled."""
        await repeat(LOOK_S, "looking at the configuration", self.renew)

    async def renew(self) -> None:
        """Use the file as it is now, if it was changed."""
        async with self._lock:
            stamp = await asyncio.to_thread(stamp_of, self.path)
            if stamp != self._stamp:
                self._stamp = stamp
                await self._use()

    async def _use(self) -> None:
        try:
            given = await asyncio.to_thread(self._read, None)
        except ConfigError as error:
            self._refuse(error)
            return
        config, later = config_in_force(self.config, given)
        self._state = {"state": "ready", "detail": [], "later": later}
        if (config.server, config.session) == (self.config.server, self.config.session):
            return
        self._state["state"] = "loading"
        _log.info("the configuration was changed")
        beginning = asyncio.create_task(self._begin(config))
        try:
            await asyncio.wait((beginning,))
        finally:
            beginning.cancel()
        if failure := beginning.exception():
            self._refuse(failure)
            return
        self._state["state"] = "ready"
        _log.info("the changed configuration is used")

    async def _begin(self, config: Config) -> None:
        """Serve with another configuration. Raises the exceptions of `make`."""
        former = self._generation
        generation = self._make(config, former, self)
        try:
            await generation.app.open()
        except BaseException:
            generation.app.is_replaced = True  # the locks are the former's
            await generation.app.close()
            raise
        generation.app.toolbox.release_workers()
        self._generation, self.config = generation, config
        self._take(generation.router)
        generation.app.take_over(generation.router.keys)
        if former is not None:
            former.app.is_replaced = True
            self._replaced.append(former)
            task = asyncio.create_task(self._retire(former))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _refuse(self, error: BaseException) -> None:
        problems = ["it cannot be loaded; the log of the server says why"]
        if isinstance(error, ConfigError):
            problems = [line.replace(f"{self.path}: ", "") for line in error.problems]
        else:
            _log.error("the changed configuration cannot be loaded", exc_info=error)
        self._state = {"state": "failed", "detail": problems, "later": []}
        for line in problems:
            _log.error("the changed configuration is not used: %s", line)

    async def _retire(self, generation: Generation) -> None:
        """Close an App once nothing needs it."""
        while generation.router.requests or generation.app.busy:
            await asyncio.sleep(REST_S)
        self._replaced.remove(generation)
        await generation.app.close()
        _log.info("an earlier configuration is needed no more")

    # -- for extensions (Live of extensions/parts.py) ---------------------------------------------

    def check(self, document: dict[str, Any]) -> Config:
        """Return the configuration that the file would make with this content."""
        return self._read(document)

    def facts(self) -> Json:
        """Return {problems, sandbox, models, found, found_lines, reload} of the App in force."""
        assert self._generation is not None  # a request has come through its router
        app = self._generation.app
        return {
            "problems": {part: lines for part, lines in app.problems().items() if lines},
            "sandbox": app.toolbox.sandbox(),
            "models": app.models.catalog(),
            "found": app.models.found.providers,
            "found_lines": app.models.found.lines,
            "vendors": app.models.vendors.info(),
            "reload": dict(self._state),
        }

    # -- the end ----------------------------------------------------------------------------------

    def stop(self) -> None:
        """Stop all runs at a point from which another server can continue them."""
        for generation in self._all():
            for part in generation.app.parts.values():
                part.stop()
            generation.app.agent.stop()

    async def close(self) -> None:
        """Close every App."""
        await cancel_all(self._tasks)
        for generation in self._all():
            await generation.app.close()

    def _all(self) -> list[Generation]:
        return [*self._replaced, *([self._generation] if self._generation else [])]


def config_in_force(first: Config, given: Config) -> tuple[Config, list[str]]:
    """Return a configuration that can be used at once, and the keys that wait for the next start.

    Those have the values of `first`.
    """
    old, new = first.server, given.server
    later = [f"server.{key}" for key in AT_START if old[key] != new[key]]
    limits = [key for key in LIMITS_AT_START if old["limits"][key] != new["limits"][key]]
    later += [f"server.limits.{key}" for key in limits]
    new |= {key: old[key] for key in AT_START}
    new["limits"] |= {key: old["limits"][key] for key in LIMITS_AT_START}
    parts: Mapping[str, Any] = new
    return (
        Config(parts, given.session, given.home, given.sources, given.remarks, given.fixed),
        later,
    )
