"""The result of a tool call: the envelope for clients, and the text for the model.

envelope  {status, result?, sources?, error?, logs, attachments, media?, duration_ms, usage,
           sandbox, keep?, process?, repairs?, modified_args?, modified_by?, hint?, tree?, changed?,
           changed_count?, changed_outside?, changed_outside_count?, left_out?, left_out_now?,
           unrecorded?, taken_back?}
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

from ..json_types import Event, Json, Patch, Session, ToolResult
from ..lib.runtime.offload import offload
from ..lib.sandbox.process import Outcome
from ..lib.strict_json import browser_safe, depth_exceeds, dumps
from ..session import media, old_pictures

MAX_TEXT = 20_000  # characters of one result that a model reads: about 5,000 tokens
MAX_RESULT = 200_000  # characters of one result in the session
MAX_LOGS = 200
MAX_ATTACHMENTS = 50
MAX_PATH = 4096
NAMED = 5  # changed files that the model is told of
MAX_NESTED = 64  # levels of arguments and results; in a session they are nested further

BY_HOOK = "hook"  # value of `args_by` in the call log if a hook changed the arguments

_MEDIA_TYPE = re.compile(r"[a-z0-9][a-z0-9.+-]{0,60}/[a-z0-9][a-z0-9.+-]{0,80}", re.IGNORECASE)


def envelope(
    outcome: Outcome,
    repairs: list[str],
    modified: Json | None,
    modified_by: str = "",
    shown: Sequence[Json] = (),
) -> ToolResult:
    """Return the result envelope for the session, as JSON that browsers read unchanged.

    `modified`: arguments that replaced the model's; None if unchanged. `modified_by`: BY_HOOK, or
    "" for a person. `shown`: files that the model sees, as media.check_items returns them.
    """
    fields: ToolResult = {"status": outcome.status}
    if outcome.status == "ok":
        fields["result"] = limit_result(outcome.result)
        if outcome.sources:
            fields["sources"] = outcome.sources
    else:
        fields["error"] = browser_safe(outcome.error)
    logs = [line[:2_000] for line in outcome.logs[:MAX_LOGS]]
    if len(outcome.logs) > MAX_LOGS:
        logs.append(f"… {len(outcome.logs) - MAX_LOGS} more lines")
    fields["logs"] = browser_safe(logs)
    fields["attachments"] = browser_safe(attachments(outcome.attachments))
    if shown:
        fields["media"] = browser_safe(list(shown))
    fields["duration_ms"] = outcome.usage.get("wall_ms", 0)
    fields["usage"] = outcome.usage
    fields["sandbox"] = {"tier": outcome.tier}
    if outcome.network:
        fields["sandbox"]["network"] = outcome.network
    if outcome.refused:
        fields["sandbox"]["refused"] = list(outcome.refused)
    if outcome.keep is not None:
        fields["keep"] = outcome.keep
    if outcome.process is not None:
        fields["process"] = outcome.process
    if repairs:
        fields["repairs"] = repairs
    if modified is not None:
        fields["modified_args"] = modified
        if modified_by == BY_HOOK:
            fields["modified_by"] = BY_HOOK
    return fields


async def shown_files(outcome: Outcome, session: Session) -> tuple[list[Json], list[str], Patch]:
    """Return the files that the model is shown, why others are not, and changes of the messages.

    The changes put words for the oldest pictures of the session, if these need their room.
    """
    if not outcome.media:
        return [], [], []
    messages = session["messages"]
    size = sum(len(str(item.get("data"))) for item in outcome.media)
    going = old_pictures.to_leave_out(messages, min(size, media.MAX_RESULT))
    room = media.room_left(messages) + old_pictures.size_of(going)
    shown, wrong = await offload(size, media.check_items, outcome.media, room)
    if not shown or not going:
        return shown, wrong, []
    left = await offload(old_pictures.size_of(going), old_pictures.in_words, going)
    return shown, wrong, old_pictures.changes(messages, going, left)


def text_for_model(found: ToolResult, instead: str = "") -> str:
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
    for item in found.get("media", ()):
        text += f"\n[{media.describe(item)}]"
    hint = f"\n{found['hint']}" if "hint" in found else ""
    if refused := found.get("sandbox", {}).get("refused"):
        hint = f"\n[the sandbox's network refused: {', '.join(refused)}]{hint}"
    process = found.get("process", {})
    if why := process.get("restarted"):
        hint = f"\n[{process['of']} was started anew, without what it had kept: {why}]{hint}"
    return shorten_text(text, MAX_TEXT) + hint


def with_files(event: Event, found: ToolResult) -> Event:
    """Return a TOOL_CALL_RESULT with what was recorded of the files after the call.

    The model is told which files changed, if the text of the result does not name them.
    """
    details = event["metadata"]["yaa"]
    text: str = event["content"]
    for title, key in (("changed", "changed"), ("changed by others meanwhile", "changed_outside")):
        files: Any = found.get(key) or ()
        if unnamed := [each for each in files if each["path"] not in text]:
            count: Any = found.get(f"{key}_count", 0)
            more = max(count - (len(files) - len(unnamed)), len(unnamed))
            text += f"\n[{title}: {_names(unnamed, more)}]"
    if left := found.get("left_out_now"):
        text += "\n[not recorded from now on, so going back leaves it as it is then:"
        text += f" {_names(left, len(left))}]"
    if taken := found.get("taken_back"):
        text += "\n[taken back, since programs on the owner's machine run or obey it; only a person"
        text += f" can change it: {_names([{'path': path} for path in taken], len(taken))}]"
    result = {**details.get("result", {}), **found}
    metadata = {**event["metadata"], "yaa": {**details, "result": result}}
    return {**event, "content": text, "metadata": metadata}


def _names(files: list[Json], count: int) -> str:
    """Return the first names of `count` files, and how many there are besides."""
    names = []
    for each in files[:NAMED]:
        path = each["path"] if each["path"].isprintable() else dumps(each["path"])
        about = each["change"] if each.get("change") == "deleted" else each.get("reason")
        names.append(f"{path} ({about})" if about else path)
    more = count - len(names)
    return f"{', '.join(names)} and {more} more" if more else ", ".join(names)


def as_text(value: Any) -> str:
    """Return strings unchanged, None as "done", other values as JSON."""
    if isinstance(value, str):
        return value
    return "done" if value is None else dumps(value)


def attachments(said: Iterable[Json]) -> list[Json]:
    """Return {path, name, media_type, bytes} of each file that a tool attached.

    `said`: the child's data, of any shape; unusable entries are left out.
    """
    listed = []
    for item in islice(said, MAX_ATTACHMENTS):
        path, name, kind, size = (item.get(k) for k in ("path", "name", "media_type", "bytes"))
        if not isinstance(path, str) or not 0 < len(path) <= MAX_PATH:
            continue
        usual = isinstance(kind, str) and _MEDIA_TYPE.fullmatch(kind)
        listed.append(
            {
                "path": path,
                "name": (name if isinstance(name, str) and name else path)[-255:],
                "media_type": kind if usual else "application/octet-stream",
                "bytes": size if type(size) is int and size >= 0 else 0,
            }
        )
    return listed


def limit_result(value: Any) -> Any:
    """Return a result cut to the size and depth that a session may hold."""
    if depth_exceeds(value, MAX_NESTED):
        return f"The result was nested deeper than {MAX_NESTED} levels and is left out."
    value = browser_safe(value)
    text = as_text(value)
    return value if len(text) <= MAX_RESULT else shorten_text(text, MAX_RESULT)


def shorten_text(text: str, most: int) -> str:
    """Return a text; of a longer one `most` characters, beginning and end, with a note in
    between."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n… {len(text) - 2 * half} characters left out …\n{text[-half:]}"
