"""`GET /health` for machines, `GET /info` for the client: what this server is and has.

The rule of the file: `/health` is open and says nothing worth knowing; `/info` needs a key and
tells no secret, only what a session on this server can name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .router import Call

Facts = Callable[[str], dict[str, Any]]


class Health:
    """200 as soon as it listens: what needs more than that waits until there is more."""

    def __init__(self, version: str, is_open: Callable[[], bool]) -> None:
        self._version, self._is_open = version, is_open

    async def get(self, call: Call) -> None:
        status = "ok" if self._is_open() else "starting"
        await call.json({"status": status, "version": self._version})


class Info:
    """`facts` is asked at every request, with the owner of the key (auth.Key): agents and
    limits are not the same for all keys, and models and tools may change while the server runs.
    `defaults` is the session half of the configuration, and `config_schema` the JSON Schema of its
    `config`."""

    def __init__(
        self,
        version: str,
        defaults: Mapping[str, Any],
        config_schema: Mapping[str, Any],
        facts: Facts,
    ) -> None:
        self._fixed: dict[str, Any] = {"version": version}
        self._fixed["defaults"] = dict(defaults)
        self._fixed["config_schema"] = config_schema
        self._facts = facts

    async def get(self, call: Call) -> None:
        await call.json(self._fixed | self._facts(call.key.owner))
