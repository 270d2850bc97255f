"""The view of a session: the messages that a model is sent, and the operations that shorten them.

Operations are data in `session.context.ops`, so a client can show, undo or pin; the messages
themselves are never changed. Targets are message ids. A placeholder in the view has a handle,
`m12`, which is the message's index in the session; `context_reload` returns its full text.

    stub     {ids, why}            results → one line
    preview  {id, head, tail}      a long text → its beginning and end, in characters; a picture →
                                   words, unless `pictures` is true
    args     {id, keep}            long values in a call's arguments → their beginning
    summary  {id, text}            a long text → a summary of it
    fold     {from, to, text}      several messages → one that sums them up
    pin, unpin {ids}               not to be made smaller
    expire   {ids, after}          results that may go after so many model calls

Operations are idempotent, and one on a missing message does nothing: a client may have switched to
another branch. Pure.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from ..json_types import Json, Message, Op, Session, ToolCall
from ..lib.strict_json import JSONError, dumps, loads
from ..session import media
from .pictures import in_words, without_media

KINDS = ("stub", "preview", "args", "summary", "fold", "pin", "unpin", "expire")
RELOAD = "context_reload"
STOPPED = "[The user stopped this answer here.]"
FOLDED = (
    "[What happened earlier in this conversation, in short. It is a note, not your own words.]\n"
)


def ops_of(session: Session) -> list[Op]:
    """Return the operations of a session."""
    return list(session.get("context", {}).get("ops") or ())


def apply_ops(messages: list[Message], ops: list[Op]) -> list[Message]:
    """Return the messages with the operations applied. Unchanged ones are the same objects."""
    if not ops:
        return messages
    changes = changes_of(ops)
    places = {message.get("id"): place for place, message in enumerate(messages)}
    folds = _folds(ops, places)
    seen: list[Message] = []
    place = 0
    while place < len(messages):
        if fold := folds.get(place):
            seen.append(fold_message(fold))
            place = places[fold["to"]] + 1
            continue
        message = messages[place]
        op = changes.get(message.get("id", ""))
        seen.append(apply_op(message, op, place) if op else message)
        place += 1
    return seen


def changes_of(ops: Iterable[Op]) -> dict[str, Op]:
    """Map message ids to the operation that changes the message: the last one, but a stub stays."""
    found: dict[str, Op] = {}
    for op in ops:
        if op.get("op") == "stub":
            found.update(dict.fromkeys(ids_of(op), op))
        elif op.get("op") in ("preview", "args", "summary"):
            if (other := found.get(op["id"])) is None or other["op"] != "stub":  # the shortest
                found[op["id"]] = op
    return found


def ids_of(op: Op) -> list[str]:
    """Return the ids of an operation on several messages."""
    return list(op.get("ids") or ())


def pinned_ids(ops: Iterable[Op]) -> set[str]:
    """Return the ids of messages that are pinned and not unpinned since."""
    found: set[str] = set()
    for op in ops:
        if op.get("op") == "pin":
            found.update(ids_of(op))
        elif op.get("op") == "unpin":
            found.difference_update(ids_of(op))
    return found


def _folds(ops: list[Op], places: dict[Any, int]) -> dict[int, Op]:
    """Map the index of the first message to its fold.

    A later fold replaces earlier ones that it covers; an earlier one that overlaps a later one is
    left out.
    """
    chosen: dict[int, Op] = {}
    spans: list[tuple[int, int]] = []  # of those chosen, in order
    for op in reversed(ops):
        if op.get("op") != "fold":
            continue
        first, last = places.get(op["from"]), places.get(op["to"])
        if first is None or last is None or first > last:
            continue
        at = bisect_right(spans, (first, last))
        before, after = spans[at - 1 : at], spans[at : at + 1]
        if all(end < first for _, end in before) and all(last < start for start, _ in after):
            chosen[first] = op
            spans.insert(at, (first, last))
    return chosen


def folded_ids(messages: list[Message], ops: list[Op]) -> dict[str, Op]:
    """Map message ids to the fold that contains the message."""
    places = {message.get("id"): place for place, message in enumerate(messages)}
    return {
        messages[place].get("id", ""): op
        for first, op in _folds(ops, places).items()
        for place in range(first, places[op["to"]] + 1)
    }


def fold_message(op: Op) -> Message:
    """Return the message that replaces those of a fold.

    It is an assistant's, so that roles alternate: some chat templates refuse two user messages in a
    row.
    """
    return {"role": "assistant", "content": FOLDED + op["text"]}


def apply_op(message: Message, op: Op, place: int) -> Message:
    """Return the message with `op` applied, or the same object if the operation does not fit it."""
    kind = op["op"]
    if kind == "stub" and message["role"] == "tool":
        return {**without_media(message), "content": stub_text(message, place)}
    if kind == "preview":
        text = text_of(message.get("content"))
        short = preview_text(text, op.get("head", 0), op.get("tail", 0), place)
        shown = message if len(short) >= len(text) else {**message, "content": short}
        return shown if op.get("pictures") is True else in_words(shown)
    if kind == "summary":
        text = text_of(message.get("content"))
        short = summary_text(text, op["text"], place)
        return {**without_media(message), "content": short} if len(short) < len(text) else message
    if kind == "args" and (calls := message.get("tool_calls")):
        short_calls = [shorten_call(call, op.get("keep", 0), place) for call in calls]
        return {**message, "tool_calls": short_calls}
    return message


def stub_text(message: Message, place: int) -> str:
    """Return the line that replaces a tool result."""
    status = (message.get("result") or {}).get("status") or (
        "error" if message.get("is_error") else "ok"
    )
    size = len(text_of(message.get("content")))
    words = (
        f"[The result of {message.get('name', 'a tool')} ({status}, {size:,} characters) is left"
        f' out here. {RELOAD}(handle="m{place}") shows it.]'
    )
    seen = media.of_message(message)
    return f"{words} [It had a {'; a '.join(map(media.describe, seen))}.]" if seen else words


def preview_text(text: str, head: int, tail: int, place: int) -> str:
    """Return the beginning and the end of a text, cut at a line break if one is near.

    Between them is a note of what is left out. A text that is short enough is returned as it is.
    """
    head, tail = max(head, 0), max(tail, 0)
    if len(text) <= head + tail:
        return text
    begin = _to_line_end(text[:head])
    end = _from_line_start(text[len(text) - tail :]) if tail else ""
    left = len(text) - len(begin) - len(end)
    note = (
        f"[… {left:,} of {len(text):,} characters are left out here."
        f' {RELOAD}(handle="m{place}") shows them. …]'
    )
    return "\n".join(filter(None, (begin, note, end)))


def summary_text(text: str, summary: str, place: int) -> str:
    """Return a summary under a line that says how to reload the text."""
    return (
        f'[A summary of {len(text):,} characters. {RELOAD}(handle="m{place}") shows them.]\n'
        f"{summary}"
    )


def _to_line_end(text: str) -> str:
    cut = text.rfind("\n")
    return text[:cut] if cut > len(text) * 3 // 4 else text


def _from_line_start(text: str) -> str:
    cut = text.find("\n")
    return text[cut + 1 :] if 0 <= cut < len(text) // 4 else text


def shorten_call(call: ToolCall, keep: int, place: int) -> ToolCall:
    """Return a call with long argument values cut; they stay a JSON object with the same keys."""
    function = call["function"]
    try:
        value = loads(function["arguments"])
    except (JSONError, TypeError):
        return call
    short = _shorten_value(value, max(keep, 0), place)
    if short == value:
        return call
    return {**call, "function": {**function, "arguments": dumps(short)}}


def _shorten_value(value: Any, keep: int, place: int) -> Any:
    if isinstance(value, str):
        note = f" [… {len(value) - keep:,} more characters: m{place}]"
        return value[:keep] + note if len(value) > keep + len(note) else value
    if isinstance(value, list):
        return [_shorten_value(item, keep, place) for item in value]
    if isinstance(value, dict):
        return {key: _shorten_value(item, keep, place) for key, item in value.items()}
    return value


def text_of(content: Any) -> str:
    """Return the text of a message's content: parts joined by line breaks, media by their type."""
    if isinstance(content, str):
        return content
    return "\n".join(_texts(content))


def _texts(content: Any) -> Iterator[str]:
    for part in content if isinstance(content, list) else ():
        if isinstance(part, dict):
            text = part.get("text")
            yield text if isinstance(text, str) else f"[{part.get('type', 'a part')}]"


# -- reload ---------------------------------------------------------------------------------------
# The tools with which a model manages its history: reload what was left out, keep or drop results.
#
# They read the session alone, so any server can run them. What they return is paged and expires
# soon, so that reloading does not fill the window again. Pure.

PAGE = 6_000  # characters of one answer
MATCHES = 40
_HANDLE = re.compile(r"\[?m(\d{1,9})\]?")


class NoSuchMessage(Exception):
    """An unknown handle; the text is for the model."""


def reload(
    session: Session, handle: str, offset: int = 0, limit: int = PAGE, grep: str = ""
) -> Json:
    """Return one message in full, from character `offset` on.

    {handle, role, name?, text, offset, next_offset?, total}, at most PAGE characters of text. With
    `grep`: {handle, role, name?, lines, matches, total}, the lines that contain it with their
    numbers.
    """
    place, message = find_by_handle(session, handle)
    text = full_text(message)
    about = {"handle": f"m{place}", "role": message["role"]}
    if message.get("name"):
        about["name"] = message["name"]
    if grep:
        hits = [
            f"{number}: {line[:400]}"
            for number, line in enumerate(text.splitlines(), 1)
            if grep.casefold() in line.casefold()
        ]
        return {**about, "lines": hits[:MATCHES], "matches": len(hits), "total": len(text)}
    start = min(max(offset, 0), len(text))
    end = min(start + min(max(limit, 1), PAGE), len(text))
    page = {**about, "text": text[start:end], "offset": start, "total": len(text)}
    return {**page, "next_offset": end} if end < len(text) else page


def reload_text(found: Json) -> str:
    """Return the text of a `reload` result for the model."""
    who = f"{found['handle']}, {found.get('name', found['role'])}"
    if "lines" in found:
        return "\n".join([f"[{who}: {found['matches']} lines]", *found["lines"]])
    start = found["offset"]
    end = start + len(found["text"])
    more = f"; offset={end} goes on" if "next_offset" in found else ""
    return f"[{who}: characters {start} to {end} of {found['total']}{more}]\n{found['text']}"


def retain(session: Session, handles: list[str], action: str, turns: int = 5) -> Json:
    """Return the result of `context_retain`: {action, ids, turns?, handles}.

    compact.py reads it from the session. Raises NoSuchMessage.
    """
    places = [find_by_handle(session, handle) for handle in handles]
    about: Json = {"action": action, "ids": [message["id"] for _, message in places]}
    if action == "keep":
        about["turns"] = max(turns, 0)
    return {**about, "handles": [f"m{place}" for place, _ in places]}


def find_by_handle(session: Session, handle: str) -> tuple[int, Message]:
    """Return (index in the session, message) of a handle. Raises NoSuchMessage."""
    messages = session["messages"]
    match = _HANDLE.fullmatch(handle.strip())
    if match is None or int(match[1]) >= len(messages):
        last = len(messages) - 1
        raise NoSuchMessage(f"there is no message {handle[:40]!r}; handles are m0 to m{last}")
    return int(match[1]), messages[int(match[1])]


def full_text(message: Message) -> str:
    """Return the full text of a message, its calls included."""
    parts = [text_of(message.get("content"))]
    for call in message.get("tool_calls") or ():
        function = call["function"]
        arguments = function["arguments"]
        text = arguments if isinstance(arguments, str) else dumps(arguments)
        parts.append(f"{function['name']}({text})")
    return "\n".join(part for part in parts if part)


# -- view -----------------------------------------------------------------------------------------
# Make the messages that a model sees from the messages of a session.
#
# `messages` is never edited. The view applies `context.ops`, leaves out what is for people only,
# repairs the order and pairs every call with exactly one result, because providers refuse a history
# with an unpaired one. Pairing comes last, after every other change. Appending to the session never
# changes earlier messages of the view, byte for byte, so providers can cache the prefix; only a new
# operation changes it, once. Pure.

SPEAKERS = ("user", "assistant", "system")
NO_RESULT = "No result was recorded for this call."


def view(session: Session) -> list[Message]:
    """Return the messages for the model, results after their calls and in call order.

    They are the session's own objects: copy one before changing it. Left out are errors, messages
    still open (cut off, but for what `stopped_answer` shows), results without a call, second
    results, and empty assistant messages.
    """
    messages = within_window(apply_ops(session["messages"], ops_of(session)), session)
    if not _changing(messages):
        return messages[:]
    results = first_results(messages)
    seen: list[Message] = []
    for place, message in enumerate(messages):
        role = message["role"]
        if role in ("error", "tool"):
            continue
        if message.get("open"):
            seen += filter(None, [stopped_answer(messages, place)])
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


def stopped_answer(messages: list[Message], place: int) -> Message | None:
    """Return the text of an open message that the user has answered, with a note at its end.

    None if nothing of it was seen, or if the model has begun its answer again since. Its calls were
    not made.
    """
    message = messages[place]
    text = message.get("content")
    if message["role"] != "assistant" or not text or not isinstance(text, str):
        return None
    later = (each["role"] for each in islice(messages, place + 1, None))
    if next((role for role in later if role != "error"), "") != "user":
        return None
    whole: Message = {"role": "assistant", "content": f"{text}\n\n{STOPPED}"}
    return whole if "id" not in message else {**whole, "id": message["id"]}


def _changing(messages: list[Message]) -> list[Message]:
    """Return the messages of which a model sees more or less than themselves: mostly few."""
    return [
        each
        for each in messages
        if "tool_calls" in each
        or "open" in each
        or (each["role"] != "user" and (each["role"] != "assistant" or not each.get("content")))
    ]


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
    if not [m for m in messages if m.get("role") not in SPEAKERS or "tool_calls" in m]:
        return []
    errors, open_calls, seen = list[str](), set[str](), set[str]()
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
        if role not in SPEAKERS:
            errors.append(f"message {index}: the role {role!r} is not for a model")
    if open_calls:
        errors.append(f"the end: calls {sorted(open_calls)} have no result")
    return errors
