"""Turn a stored session into events, for clients that read events and not sessions.

Sent by `POST /session/events`. `fold` over an empty document makes the same session from them
again, with every key. Data without an AG-UI field is put under the message's `metadata.yaa`.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..json_types import Event, Json, Message, Reasoning, RunInfo, Session, ToolCall
from ..lib.strict_json import as_object
from . import content_blocks
from .events import (
    SNAPSHOT,
    encrypted_text,
    messages_snapshot,
    outcome,
    run_started,
    state_snapshot,
)
from .fold import LIFTED, digest
from .media import plain_text
from .schema import role_of

ERROR = "yaa.error"  # activityType of an error message, which only people read


def events(session: Session) -> list[Event]:
    """Return the events of a session of valid shape. `messages` may be missing."""
    session = {"messages": [], **session}
    if (found := content_blocks.convert_document(session)) is not None:
        session["messages"] = found[0]
    run: RunInfo = session.get("run") or {}
    run_id = known if isinstance(known := run.get("id"), str) else "snapshot"
    at = run.get("started_at")
    thread = session.get("id", "")
    started = run_started(thread, {**run, "id": run_id}, at if type(at) is int else 0)
    return [
        started,
        state_snapshot(session),
        messages(session),
        {
            "type": "RUN_FINISHED",
            "threadId": thread,
            "runId": run_id,
            "outcome": outcome(session),
            "metadata": {"yaa": {"digest": digest(session), "since": 0}},
        },
    ]


def messages(session: Session) -> Event:
    """Return MESSAGES_SNAPSHOT with all messages of the session."""
    taken = {message["id"] for message in session["messages"] if "id" in message}
    told = [
        each for item in enumerate(session["messages"]) for each in _agui_messages(*item, taken)
    ]
    return messages_snapshot(told)


def _agui_messages(index: int, message: Message, taken: set[str]) -> Iterator[Json]:
    """Yield a message in AG-UI's form, after a message of its own for its reasoning."""
    message_id = message.get("id") or _free_id(f"message-{index}", taken)
    reasoning = message.get("reasoning")
    if isinstance(reasoning, dict) and reasoning.get("text"):
        yield _reasoning_message(reasoning, message_id, taken)
    theirs = _agui_message(message, message_id)
    lifted = [
        name
        for name, place in LIFTED.items()
        if name in message and place in theirs and theirs[place] == message.get(name)
    ]
    rest = {key: value for key, value in message.items() if key not in lifted}
    metadata = {SNAPSHOT: lifted, **({"yaa": rest} if rest else {})}
    yield {**theirs, "metadata": metadata}


def _reasoning_message(reasoning: Reasoning, owner: str, taken: set[str]) -> Json:
    wanted = reasoning.get("id")
    thought_id = _free_id(wanted if isinstance(wanted, str) else f"{owner}-thought", taken)
    about = {"message_id": owner}
    if isinstance(reasoning.get("field"), str):
        about["field"] = reasoning["field"]
    text = reasoning["text"]
    return {"id": thought_id, "role": "reasoning", "content": text, "metadata": {"yaa": about}}


def _agui_message(message: Message, message_id: str) -> Json:
    content, role = message.get("content"), role_of(message)
    if role == "error":
        said = {"message": plain_text(content)}
        return {"id": message_id, "role": "activity", "activityType": ERROR, "content": said}
    found: Json = {"id": message_id, "role": role}
    if role == "user" and isinstance(content, list):
        found["content"] = [_part(part) for part in content]
    elif content is not None or role != "assistant":
        found["content"] = plain_text(content)
    if role == "tool":
        found["toolCallId"] = message["tool_call_id"]
    if role == "assistant" and (calls := message.get("tool_calls")):
        found["toolCalls"] = [_call(call) for call in calls]
    if role == "assistant" and (marks := opaque(message)):
        found["encryptedValue"] = encrypted_text(**marks)
    return found


def opaque(message: Message) -> Json:
    """Return the provider's opaque reasoning data and the model that issued it; {} if none.

    Never send it to another model.
    """
    reasoning, meta = message.get("reasoning"), message.get("meta")
    if not isinstance(reasoning, dict) or "details" not in reasoning:
        return {}
    known = {"meta": {"model": meta["model"]}} if isinstance(meta, dict) and "model" in meta else {}
    return {**known, "reasoning_details": reasoning["details"]}


def _call(call: ToolCall) -> Json:
    """Return a call in AG-UI's form, its opaque provider data where the stream has it too."""
    function = {key: call["function"].get(key) for key in ("name", "arguments")}
    found: Json = {"id": call["id"], "type": "function", "function": function}
    if rest := {key: value for key, value in call.items() if key not in found}:
        found["metadata"] = {"yaa": rest}
    if "extra" in call:
        found["encryptedValue"] = encrypted_text(extra=call["extra"])
    return found


def _part(part: Json) -> Json:
    """Return a part in AG-UI's form: text, or an image by URL or data.

    Parts of other kinds become a placeholder text.
    """
    if isinstance(part.get("text"), str):
        return {"type": "text", "text": part["text"]}
    url = as_object(part.get("image_url")).get("url")
    if not isinstance(url, str):
        return {"type": "text", "text": f"[{part['type'][:40]}]"}
    head, comma, data = url.partition(";base64,")
    if head.startswith("data:") and comma:
        return {"type": "image", "source": {"type": "data", "value": data, "mimeType": head[5:]}}
    return {"type": "image", "source": {"type": "url", "value": url}}


def _free_id(wanted: str, taken: set[str]) -> str:
    """Return an id that no other message has: clients distinguish messages by id."""
    name, number = wanted, 2
    while name in taken:
        name, number = f"{wanted}-{number}", number + 1
    taken.add(name)
    return name
