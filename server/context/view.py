"""Make the messages that a model sees from the messages of a session.

`messages` is never edited. The view applies `context.ops`, leaves out what is for people only,
repairs the order and pairs every call with exactly one result, because providers refuse a history
with an unpaired one. Pairing comes last, after every other change. Appending to the session never
changes earlier messages of the view, byte for byte, so providers can cache the prefix; only a new
operation changes it, once. Pure.
"""

from __future__ import annotations

from ..types import Message, Session, ToolCall
from .ops import apply_ops, ops_of

NO_RESULT = "No result was recorded for this call."


def view(session: Session) -> list[Message]:
    """Return the messages for the model, results after their calls and in call order.

    They are the session's own objects: copy one before changing it. Left out are errors, messages
    still open (cut off), results without a call, second results, and empty assistant messages.
    """
    messages = within_window(apply_ops(session["messages"], ops_of(session)), session)
    results = first_results(messages)
    seen: list[Message] = []
    for message in messages:
        role = message["role"]
        if role in ("error", "tool") or message.get("open"):
            continue
        calls = message.get("tool_calls")
        if role != "assistant":
            seen.append(message if calls is None else without_calls(message))
        elif calls or message.get("content"):
            seen.append(message)
            seen.extend(result_of(call, results) for call in calls or ())
    if session.get("config", {}).get("context", {}).get("retain_tool"):
        return with_handles(seen, session["messages"])
    return seen


def with_handles(seen: list[Message], messages: list[Message]) -> list[Message]:
    """Return the messages with a handle before each result, for `context_retain`."""
    places = {message.get("id"): place for place, message in enumerate(messages)}
    return [
        {**message, "content": f"[m{places[message['id']]}] {message['content']}"}
        if message["role"] == "tool"
        and message.get("id") in places
        and isinstance(message.get("content"), str)
        else message
        for message in seen
    ]


def within_window(messages: list[Message], session: Session) -> list[Message]:
    """Return the messages of the last `context.window_runs` runs, or all messages.

    A run here begins with a user message. `context_reload` still reaches the others.
    """
    runs = session.get("config", {}).get("context", {}).get("window_runs")
    if not isinstance(runs, int) or isinstance(runs, bool) or runs < 1:
        return messages
    spoken = [place for place, message in enumerate(messages) if message["role"] == "user"]
    return messages[spoken[-runs] :] if len(spoken) > runs else messages


def without_calls(message: Message) -> Message:
    """Return a message without calls, which only an assistant message may have."""
    found = message.copy()
    found.pop("tool_calls", None)
    return found


def first_results(messages: list[Message]) -> dict[str, Message]:
    """Map call ids to the first result after the call."""
    called: set[str] = set()
    results: dict[str, Message] = {}
    for message in messages:
        if message["role"] == "tool":
            if (call_id := message["tool_call_id"]) in called:
                results.setdefault(call_id, message)
        elif message["role"] == "assistant" and (calls := message.get("tool_calls")):
            called.update(call["id"] for call in calls)
    return results


def result_of(call: ToolCall, results: dict[str, Message]) -> Message:
    """Return the result of a call, or a message that none was recorded."""
    if found := results.get(call["id"]):
        return found
    name = call["function"]["name"]
    return {"role": "tool", "tool_call_id": call["id"], "name": name, "content": NO_RESULT}


def pairing_errors(messages: list[Message]) -> list[str]:
    """Return what a strict provider would refuse in a list of messages, [] if nothing.

    The last check of every request, after every change: shortening a history after its repair is a
    common cause of unpaired calls.
    """
    errors: list[str] = []
    open_calls: set[str] = set()
    seen: set[str] = set()
    for index, message in enumerate(messages):
        role = message.get("role")
        if role == "tool":
            call_id = message.get("tool_call_id", "")
            if call_id in open_calls:
                open_calls.remove(call_id)
            else:
                errors.append(f"message {index}: a result for {call_id!r}, which is not waiting")
            continue
        if open_calls:
            errors.append(f"message {index}: calls {sorted(open_calls)} have no result before it")
            open_calls = set()
        for call in message.get("tool_calls") or ():
            if call["id"] in seen:
                errors.append(f"message {index}: the call id {call['id']!r} is used twice")
            seen.add(call["id"])
            open_calls.add(call["id"])
        if role not in ("system", "user", "assistant"):
            errors.append(f"message {index}: the role {role!r} is not for a model")
    if open_calls:
        errors.append(f"the end: calls {sorted(open_calls)} have no result")
    return errors
