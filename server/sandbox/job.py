"""One tool call as values: the job, its outcome, and the messages of the process that runs it.

Messages of a process are untrusted input; an invalid one can fail only its own call.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from .network_policy import NetworkPolicy
from .packages import Package

MAX_ERROR = 4_000  # characters of a process's error text


@dataclass(frozen=True)
class Job:
    """One call.

    `where` and `args` as in tools/tool.BaseTool, `limits` as in server.limits.tool, `reach`: the
    network of the call. It runs in the folder of the session `session_id` of `owner`
    (api.auth.Key). With None as `session_id`, for calls of the server itself, it gets an empty
    folder that is removed afterwards.
    """

    where: tuple[str, str, str]
    args: dict[str, Any]
    session_id: str | None
    limits: dict[str, float]
    state: dict[str, Any] = field(default_factory=dict)
    reach: NetworkPolicy | None = None  # None: the server's own
    owner: str = ""
    package: Package | None = None  # of the code, unless it is a file or part of the server
    stateful: str = ""  # the toolkit with one process for each session; "": one for each call
    before: dict[str, Any] | None = None  # the last known state of that process

    def request(self) -> dict[str, Any]:
        """Return the part of the request that every kind of process gets."""
        return {
            "where": self.where,
            "args": self.args,
            "limits": self.limits,
            "state": self.state,
            "paths": self.package.paths if self.package else None,
            "stateful": bool(self.stateful),
        }


@dataclass(frozen=True)
class Outcome:
    """How a call ended.

    `status`: ok, error, timeout, limit, sandbox_unavailable, or broken if the child died. `text`:
    shown to the model in place of the result. `refused`: the hosts that the sandbox's network
    refused. `process`: state of a stateful toolkit's process, see tools/stateful.py.
    """

    status: str
    result: Any = None
    error: dict[str, Any] = field(default_factory=dict)
    attachments: tuple[dict[str, Any], ...] = ()
    keep: int | None = None
    logs: tuple[str, ...] = ()
    usage: dict[str, Any] = field(default_factory=dict)
    tier: str = "none"
    text: str = ""
    network: str = ""
    refused: tuple[str, ...] = ()
    process: dict[str, Any] | None = None


def parse_message(line: bytes | bytearray) -> dict[str, Any]:
    """Parse a message of a process; {} if it is invalid, since the tool may have written it itself.

    Of an error only the texts are kept, cut to MAX_ERROR. `keep` is dropped if it is not a count.
    """
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(message, dict) or not isinstance(message.get("log", ""), str):
        return {}
    error, attachments = message.get("error", {}), message.get("attachments", [])
    if not isinstance(error, dict) or not isinstance(attachments, list):
        return {}
    texts = {name: error[name] for name in ("type", "message", "limit") if name in error}
    if not all(isinstance(text, str) for text in texts.values()):
        return {}
    if not all(isinstance(item, dict) for item in attachments):
        return {}
    if "error" in message:
        message["error"] = {name: text[:MAX_ERROR] for name, text in texts.items()}
    keep = message.get("keep")
    if type(keep) is not int or not 0 <= keep < 2**53:
        message.pop("keep", None)
    return message


def limit_error(breach: dict[str, Any], printed: str = "") -> tuple[str, None, dict[str, Any]]:
    """Return (status, None, error) of a call that was stopped at a limit.

    The error names the limit, what it allows, what was observed, and the end of the output
    `printed`.
    """
    name, allowed, observed = breach["limit"], breach["allowed"], breach["observed"]
    text = f"stopped at the limit {name}: allowed {allowed:g}, observed {observed}"
    status = "timeout" if name == "wall_s" else "limit"
    if printed:
        text += f"\nIts output ended with:\n{printed}"
    return status, None, {"type": status, "message": text, "details": breach}
