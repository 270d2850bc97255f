"""The environment variables of an agent gateway, read as settings of this server. Pure.

`config` lays them under the YAA_* ones. Such a variable never prevents the start, because other
systems set some of them too: Kubernetes sets SERVER_PORT=tcp://10.0.0.7:80 in every container if a
service is called `server`.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from typing import Any

from .. import all_of

AGENTS_DIR = "server.agents_dir"  # of another extension, which may not be there
SETTINGS = {
    "SERVER_PORT": ("server.port",),
    "AGENT_EXTERNAL_DIR": (AGENTS_DIR,),
    "MEMORY_CHAT_K": ("session.config.context.window_runs",),
    "AGENT_LLM_INTERACTION_LOG_ENABLED": ("server.log.model_calls", "server.log.model_deltas"),
}
MEANS_NOTHING = {
    "MEMORY_CHAT_DIR": "this server keeps no chats; their clients do",
    "AGENT_REFRESH_INTERVAL_MS": "the files of agents are looked at before every run",
    "AGENT_LLM_INTERACTION_LOG_MASK_SENSITIVE": "secrets are always masked",
    "AGENT_BASH_WORKING_DIRECTORY": "every session has a folder of its own",
    "AGENT_BASH_ALLOWED_PATHS": "tools see the session's folder, and the system's to read",
}
FAMILIES = ("MEMORY_CHAT_", "AGENT_LLM_", "AGENT_REFRESH_", "AGENT_BASH_")
_COUNT = re.compile(r"[0-9]{1,9}", re.ASCII)
_TRUTH = {"true": True, "1": True, "false": False, "0": False}


def read(
    env: Mapping[str, str], declared: Container[str] | None = None
) -> tuple[dict[str, Any], list[str]]:
    """Return (settings by dotted key, lines for the owner).

    `declared`: keys of extensions; None: of those that are there.

    There is one line for each variable that was read, was invalid or has no effect. No line
    contains a value.
    """
    declared = all_of("config_keys") if declared is None else declared
    found: dict[str, Any] = {}
    said: list[str] = []
    for name in sorted(env):
        keys = SETTINGS.get(name, ())
        if AGENTS_DIR in keys and AGENTS_DIR not in declared:
            said.append(f"{name} changes nothing here: the extension agents is not there")
        elif keys:
            value = _value(name, env[name])
            if value is None:
                said.append(f"{name} is not read: its value is none for {keys[0]}")
                continue
            found |= dict.fromkeys(keys, value)
            said.append(f"{name} is read as {' and '.join(keys)}")
        elif why := MEANS_NOTHING.get(name):
            said.append(f"{name} changes nothing here: {why}")
        elif name.startswith(FAMILIES):
            said.append(f"{name[:80]} changes nothing here")
    return found, said


def _value(name: str, text: str) -> Any:
    """Return the value that a variable spells, None if it is invalid."""
    text = text.strip()
    match name:
        case "SERVER_PORT":
            port = int(text) if _COUNT.fullmatch(text) else -1
            return port if 0 <= port < 65536 else None
        case "MEMORY_CHAT_K":
            return (int(text) or None) if _COUNT.fullmatch(text) else None
        case "AGENT_EXTERNAL_DIR":
            plain = text.isprintable() and text.encode("utf-8", "replace").decode() == text
            return text if text and plain else None
    return _TRUTH.get(text.lower())
