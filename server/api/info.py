"""The handlers of `GET /health`, `GET /info`, `GET /usage` and `GET /metrics`.

`/health` needs no key and shows only the status and the version. `/info` needs a key and lists what
a session on this server can use; it holds no secrets.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from ..json_types import Json
from ..lib.runtime.command import COMMAND
from .router import RequestContext

Facts = Callable[[str], dict[str, Any]]


class HealthHandler:
    """The handler of `GET /health`: 200 as soon as the server listens."""

    def __init__(self, version: str, is_open: Callable[[], bool]) -> None:
        self._version, self._is_open = version, is_open

    async def get(self, call: RequestContext) -> None:
        """Send `{status, version}`; `status` is "ok" or "starting"."""
        status = "ok" if self._is_open() else "starting"
        await call.json({"status": status, "version": self._version})


class InfoHandler:
    """The handler of `GET /info`.

    `facts` is called for every request with the owner of the key (auth.Key): agents and limits
    differ between keys, and models and tools may change while the server runs. `defaults` is the
    `session` section of the configuration, `config_schema` the JSON Schema of its `config`.
    """

    def __init__(
        self,
        version: str,
        defaults: Mapping[str, Any],
        config_schema: Mapping[str, Any],
        facts: Facts,
    ) -> None:
        self._fixed: dict[str, Any] = {"version": version, "command": COMMAND}
        self._fixed["defaults"] = dict(defaults)
        self._fixed["config_schema"] = config_schema
        self._facts = facts

    async def get(self, call: RequestContext) -> None:
        """Send version, defaults, configuration schema and the current facts."""
        own = {"owner": call.key.is_owner}
        await call.json(self._fixed | self._facts(call.key.owner) | own)


class MonthlyUsageHandler:
    """The handler of `GET /usage`. `months`: telemetry.monthly_usage.MonthlyUsage.months."""

    def __init__(self, months: Callable[[str | None], list[Json]]) -> None:
        self._months = months

    async def get(self, call: RequestContext) -> None:
        """Send what the person of the key has used in each month, to an owner what all have."""
        whose = None if call.key.is_owner else call.key.owner
        await call.json({"months": await asyncio.to_thread(self._months, whose)})
