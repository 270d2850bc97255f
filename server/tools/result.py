"""The result of a tool call: the envelope for clients, and the text for the model.

envelope  {status, result?, error?, logs, attachments, duration_ms, usage, sandbox, keep?,
           process?, repairs?, modified_args?, modified_by?, hint?}
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice
from typing import Any

from ..sandbox.parent import Outcome
from ..strict_json import browser_safe, depth_exceeds, dumps

MAX_TEXT = 20_000  # characters of one result that a model reads: about 5,000 tokens
MAX_RESULT = 200_000  # characters of one result in the session
MAX_LOGS = 200
MAX_ATTACHMENTS = 50
MAX_PATH = 4096
MAX_NESTED = 64  # levels of arguments and results; in a session they are nested further

BY_HOOK = "hook"  # value of `args_by` in the call log if a hook changed the arguments

_MEDIA_TYPE = re.compile(r"[a-z0-9][a-z0-9.+-]{0,60}/[a-z0-9][a-z0-9.+-]{0,80}", re.IGNORECASE)


def envelope(
    outcome: Outcome, repairs: list[str], modified: dict[str, Any] | None, modified_by: str = ""
) -> dict[str, Any]:
    """Return the result envelope for the session, as JSON that browsers read unchanged.

    `modified`: arguments that replaced the model's; None if unchanged. `modified_by`: BY_HOOK, or
    "" for a person.
    """
    found: dict[str, Any] = {"status": outcome.status}
    if outcome.status == "ok":
        found["result"] = limited(outcome.result)
    else:
        found["error"] = browser_safe(outcome.error)
    logs = [line[:2_000] for line in outcome.logs[:MAX_LOGS]]
    if len(outcome.logs) > MAX_LOGS:
        logs.append(f"… {len(outcome.logs) - MAX_LOGS} more lines")
    found["logs"] = browser_safe(logs)
    found["attachments"] = browser_safe(attachments(outcome.attachments))
    found["duration_ms"] = outcome.usage.get("wall_ms", 0)
    found["usage"] = outcome.usage
    found["sandbox"] = {"tier": outcome.tier}
    if outcome.network:
        found["sandbox"]["network"] = outcome.network
    if outcome.refused:
        found["sandbox"]["refused"] = list(outcome.refused)
    if outcome.keep is not None:
        found["keep"] = outcome.keep
    if outcome.process is not None:
        found["process"] = outcome.process
    if repairs:
        found["repairs"] = repairs
    if modified is not None:
        found["modified_args"] = modified
        if modified_by == BY_HOOK:
            found["modified_by"] = BY_HOOK
    return found


def text_for_model(found: dict[str, Any], instead: str = "") -> str:
    """Return the text that the model reads: the result or the error, with notes.

    `instead`: text to use in place of a successful result.
    """
    if found["status"] == "ok":
        text = browser_safe(instead) or as_text(found["result"])
    else:
        error = found["error"]
        kind = error.get("type", "error")
        text = (
            f"Error: {error.get('message', '')}"
            if kind in ("error", found["status"])
            else (f"Error: {kind}: {error.get('message', '')}")
        )
    if "modified_args" in found:
        who = "A rule of this server" if found.get("modified_by") == BY_HOOK else "The user"
        text = f"{who} changed the arguments to {dumps(found['modified_args'])}.\n{text}"
    for attached in found["attachments"]:
        text += f"\n[attached: {attached.get('name', '')}]"
    hint = f"\n{found['hint']}" if "hint" in found else ""
    if refused := found.get("sandbox", {}).get("refused"):
        hint = f"\n[the sandbox's network refused: {', '.join(refused)}]{hint}"
    process = found.get("process", {})
    if why := process.get("restarted"):
        hint = f"\n[{process['of']} was started anew, without what it had kept: {why}]{hint}"
    return shortened(text, MAX_TEXT) + hint


def as_text(value: Any) -> str:
    """Return strings unchanged, None as "done", other values as JSON."""
    if isinstance(value, str):
        return value
    return "done" if value is None else dumps(value)


def attachments(said: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return {path, name, media_type, bytes} of each file that a tool attached.

    `said`: the child's data, of any shape; unusable entries are left out.
    """
    found = []
    for item in islice(said, MAX_ATTACHMENTS):
        path, name, kind, size = (item.get(k) for k in ("path", "name", "media_type", "bytes"))
        if not isinstance(path, str) or not 0 < len(path) <= MAX_PATH:
            continue
        usual = isinstance(kind, str) and _MEDIA_TYPE.fullmatch(kind)
        found.append(
            {
                "path": path,
                "name": (name if isinstance(name, str) and name else path)[-255:],
                "media_type": kind if usual else "application/octet-stream",
                "bytes": size if type(size) is int and size >= 0 else 0,
            }
        )
    return found


def limited(value: Any) -> Any:
    """Return a result cut to the size and depth that a session may hold."""
    if depth_exceeds(value, MAX_NESTED):
        return f"The result was nested deeper than {MAX_NESTED} levels and is left out."
    value = browser_safe(value)
    text = as_text(value)
    return value if len(text) <= MAX_RESULT else shortened(text, MAX_RESULT)


def shortened(text: str, most: int) -> str:
    """Return a text; of a longer one `most` characters, beginning and end, with a note in
    between."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n… {len(text) - 2 * half} characters left out …\n{text[-half:]}"
