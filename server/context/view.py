"""The messages that a model sees, made of the messages that a session has.

`messages` is never edited; the view makes smaller what `context.ops` name, leaves out what is for
people only, repairs the order and pairs every call with exactly one result, because providers
refuse a history where one dangles. Pairing is last, after every other change. The prefix is
byte-stable: appending to the session never changes what was said before it, so providers can cache
it; only a new operation does, once.
"""

from __future__ import annotations

from typing import Any

from .ops import applied, ops_of

Session = dict[str, Any]
Message = dict[str, Any]

NO_RESULT = "No result was recorded for this call."


def view(session: Session) -> list[Message]:
    """Session messages as the model gets them, results behind their calls in call order. They are
    the session's own: whoever changes one copies it first.

    Left out: errors (for people), messages still open (they were cut), results of no call, second
    results, and assistant messages that say nothing.
    """
    messages = within_window(applied(session["messages"], ops_of(session)), session)
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
    """Results under their handles, so that the model can name them to `context_retain`."""
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
    """All messages, or those of the last `context.window_runs` runs: a run begins with what the
    user says. The rest stays in the session, where `context_reload` reaches it."""
    runs = session.get("config", {}).get("context", {}).get("window_runs")
    if not isinstance(runs, int) or isinstance(runs, bool) or runs < 1:
        return messages
    spoken = [place for place, message in enumerate(messages) if message["role"] == "user"]
    return messages[spoken[-runs] :] if len(spoken) > runs else messages


def without_calls(message: Message) -> Message:
    """Calls are the model's; what others bring as such is not one."""
    return {key: value for key, value in message.items() if key != "tool_calls"}


def first_results(messages: list[Message]) -> dict[str, Message]:
    """Call id -> its first result that comes after the call."""
    called: set[str] = set()
    results: dict[str, Message] = {}
    for message in messages:
        if message["role"] == "tool":
            if (call_id := message["tool_call_id"]) in called:
                results.setdefault(call_id, message)
        elif message["role"] == "assistant" and (calls := message.get("tool_calls")):
            called.update(call["id"] for call in calls)
    return results


def result_of(call: dict[str, Any], results: dict[str, Message]) -> Message:
    if found := results.get(call["id"]):
        return found
    name = call["function"]["name"]
    return {"role": "tool", "tool_call_id": call["id"], "name": name, "content": NO_RESULT}


def pairing_errors(messages: list[Message]) -> list[str]:
    """What a strict provider would refuse in a list of messages; empty when nothing.

    The last look at every request, after every transformation: trimming a history after it was
    repaired is the most common way in which agents break theirs.
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
