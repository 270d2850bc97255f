"""What an extension may use of a server, where a test makes no App."""

from __future__ import annotations

from typing import Any

from server.config import Config
from server.extensions.parts import Host
from server.lib.http.client import Client


def host_of(config: Config, **more: Any) -> Host:
    """A host with this configuration, a client, no variables, and `more`; else it has nothing."""
    given: dict[str, Any] = {"config": config, "client": Client(), "env": {}, **more}
    return Host(**{**dict.fromkeys(Host._fields), **given})
