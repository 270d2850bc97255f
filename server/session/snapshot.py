"""A stored session as the events that rebuild it, for clients that read events and not sessions.

In the walk: `POST /session/events` sends them. An AG-UI client shows what they say; our own fold of
them, over an empty document, is the session again, to the last key. The rule of the file: nothing
is made up: what AG-UI has no place for rides in the message's `metadata.yaa`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from . import content_blocks
from .events import SNAPSHOT, Event, messages_snapshot, outcome, run_started, sealed, state_snapshot
from .fold import LIFTED, digest
from .schema import role_of

Message = dict[str, Any]

ERROR = "yaa.error"  # activityType of a message that is for people only


def events(session: dict[str, Any]) -> list[Event]:
    """The events of a session whose shape has been checked. One without messages gets an empty
    list of them."""
    session = {"messages": [], **session}
    if (found := content_blocks.settled(session)) is not None:
        session["messages"] = found[0]
    run = session.get("run") or {}
    run_id = run.get("id") if isinstance(run.get("id"), str) else "snapshot"
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
            "outcome": outcome(session, session.get("finish_reason") or ""),
            "metadata": {"yaa": {"digest": digest(session)}},
        },
    ]


def messages(session: dict[str, Any]) -> Event:
    """The messages of a session, whole."""
    taken = {message["id"] for message in session["messages"] if "id" in message}
    told = [each for item in enumerate(session["messages"]) for each in _told(*item, taken)]
    return messages_snapshot(told)


def _told(index: int, message: Message, taken: set[str]) -> Iterator[Message]:
    """A message as AG-UI has it, what was thought in front of it."""
    message_id = message.get("id") or _free(f"message-{index}", taken)
    reasoning = message.get("reasoning")
    if isinstance(reasoning, dict) and reasoning.get("text"):
        yield _thought(reasoning, message_id, taken)
    theirs = _in_their_words(message, message_id)
    lifted = [
        name
        for name, place in LIFTED.items()
        if name in message and place in theirs and theirs[place] == message[name]
    ]
    rest = {key: value for key, value in message.items() if key not in lifted}
    metadata = {SNAPSHOT: lifted, **({"yaa": rest} if rest else {})}
    yield {**theirs, "metadata": metadata}


def _thought(reasoning: Message, owner: str, taken: set[str]) -> Message:
    wanted = reasoning.get("id")
    thought_id = _free(wanted if isinstance(wanted, str) else f"{owner}-thought", taken)
    about = {"message_id": owner}
    if isinstance(reasoning.get("field"), str):
        about["field"] = reasoning["field"]
    text = reasoning["text"]
    return {"id": thought_id, "role": "reasoning", "content": text, "metadata": {"yaa": about}}


def _in_their_words(message: Message, message_id: str) -> Message:
    content, role = message.get("content"), role_of(message)
    if role == "error":
        said = {"message": _text(content)}
        return {"id": message_id, "role": "activity", "activityType": ERROR, "content": said}
    found: Message = {"id": message_id, "role": role}
    if role == "user" and isinstance(content, list):
        found["content"] = [_part(part) for part in content]
    elif content is not None or role != "assistant":
        found["content"] = content if isinstance(content, str) else _text(content)
    if role == "tool":
        found["toolCallId"] = message["tool_call_id"]
    if role == "assistant" and message.get("tool_calls"):
        found["toolCalls"] = [_call(call) for call in message["tool_calls"]]
    if role == "assistant" and (marks := opaque(message)):
        found["encryptedValue"] = sealed(**marks)
    return found


def opaque(message: Message) -> dict[str, Any]:
    """What its provider wants back with an answer and nobody can read, and which model that was:
    another one is not given it. {} where there is nothing."""
    reasoning, meta = message.get("reasoning"), message.get("meta")
    if not isinstance(reasoning, dict) or "details" not in reasoning:
        return {}
    known = {"meta": {"model": meta["model"]}} if isinstance(meta, dict) and "model" in meta else {}
    return {**known, "reasoning_details": reasoning["details"]}


def _call(call: dict[str, Any]) -> dict[str, Any]:
    """A call; what a provider wants back with it stands where a stream would have put it."""
    function = {key: call["function"][key] for key in ("name", "arguments")}
    found = {"id": call["id"], "type": "function", "function": function}
    if rest := {key: value for key, value in call.items() if key not in found}:
        found["metadata"] = {"yaa": rest}
    if "extra" in call:
        found["encryptedValue"] = sealed(extra=call["extra"])
    return found


def _part(part: dict[str, Any]) -> dict[str, Any]:
    """Text as it is, a picture by its address or its bytes, and a mark for all else."""
    if isinstance(part.get("text"), str):
        return {"type": "text", "text": part["text"]}
    picture = part.get("image_url")
    url = picture.get("url") if isinstance(picture, dict) else None
    if not isinstance(url, str):
        return {"type": "text", "text": f"[{part['type'][:40]}]"}
    head, comma, data = url.partition(";base64,")
    if head.startswith("data:") and comma:
        return {"type": "image", "source": {"type": "data", "value": data, "mimeType": head[5:]}}
    return {"type": "image", "source": {"type": "url", "value": url}}


def _text(content: Any) -> str:
    if isinstance(content, list):
        texts = (part.get("text") for part in content)
        return "\n".join(text for text in texts if isinstance(text, str))
    return content if isinstance(content, str) else ""


def _free(wanted: str, taken: set[str]) -> str:
    """An id that no other message has: clients tell messages by it."""
    name, number = wanted, 2
    while name in taken:
        name, number = f"{wanted}-{number}", number + 1
    taken.add(name)
    return name
