"""`{{tool.field+Nd}}` in a call's arguments: values of earlier results, filled in before anything
looks at them.

In the walk: the toolbox fills them in first, so that the policy judges, people approve and the tool
gets the same arguments. A template is a whole string; `x {{a.b}}` and `{{ a.b }}` are only text.
The rule of the file: what cannot be filled in is an error that says what is missing, never a
literal. Pure.
"""

from __future__ import annotations

import datetime as dt
import re
from typing import Any

from ..jsontext import JSONError, dumps, loads
from ..session.events import pointer

Session = dict[str, Any]
Call = dict[str, Any]
Place = tuple[str | int, ...]

MAX_NAMED = 12  # fields or problems that one error lists
MISSING: Any = object()

_TEMPLATE = re.compile(r"\{\{([A-Za-z0-9_-]+)\.([^\s{}]+?)(?:([+-]\d{1,6})d)?\}\}")
_DATE = re.compile(r"\d{4}-\d\d-\d\d([T ].+)?")


class Unfilled(Exception):
    """Templates without a value; the message names them all, for the model."""


class Pending(Exception):
    """A template names a tool whose call, earlier in the same message, has no result yet."""


def fill(session: Session, call: Call, args: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The arguments with every template replaced, and a line for each. `args` stays as it is.

    Raises Unfilled or Pending.
    """
    if not _has_template(args):
        return args, []
    results, waiting = earlier(session, call["id"])
    notes: list[str] = []
    problems: list[str] = []

    def filled(value: Any, at: Place) -> Any:
        if isinstance(value, dict):
            return {key: filled(item, (*at, key)) for key, item in value.items()}
        if isinstance(value, list):
            return [filled(item, (*at, index)) for index, item in enumerate(value)]
        if not isinstance(value, str) or not (match := _TEMPLATE.fullmatch(value)):
            return value
        if match[1] in waiting:
            raise Pending(f"{match[1]} has given no result yet")
        try:
            found = looked_up(results, match[1], match[2], int(match[3] or 0))
        except Unfilled as error:
            problems.append(f"{pointer(*at)}: {value[:200]} has no value: {error}")
            return value
        notes.append(f"{pointer(*at)}: {value[:200]} became {dumps(found)[:200]}")
        return found

    changed = {key: filled(value, (key,)) for key, value in args.items()}
    if problems:
        text = "\n".join(problems[:MAX_NAMED])
        raise Unfilled(f"{text}\nFor the braces themselves put a space inside them: {{{{ a.b }}}}.")
    return changed, notes


def earlier(session: Session, call_id: str) -> tuple[list[tuple[str, Any]], set[str]]:
    """Results before a call, latest first, as (tool, result); and the tools that were called
    before it in its own message and have none yet.

    Results of later calls do not count, however early they came: what a call means must not
    change while it waits for an approval.
    """
    messages = session["messages"]
    before: dict[str, str] = {}
    start = len(messages)
    for index in range(len(messages) - 1, -1, -1):
        calls = messages[index].get("tool_calls") or ()
        ids = [call["id"] for call in calls]
        if call_id in ids:
            start = index
            ahead = calls[: ids.index(call_id)]
            before = {call["id"]: call["function"]["name"] for call in ahead}
            break
    found: list[tuple[str, Any]] = []
    for index, message in enumerate(messages):
        if message["role"] == "tool":
            own = before.pop(message["tool_call_id"], None) is not None
            if (own or index < start) and not message.get("is_error"):
                found.append((message.get("name") or "", _result(message)))
    return found[::-1], set(before.values())


def looked_up(results: list[tuple[str, Any]], tool: str, path: str, days: int) -> Any:
    """The field of the latest result of `tool` that has it. Raises Unfilled."""
    own = [result for name, result in results if name == tool]
    for result in own:
        if (value := field(result, path)) is not MISSING:
            return shifted(value, days) if days else value
    if own:
        names = list(own[0])[:MAX_NAMED] if isinstance(own[0], dict) else []
        has = f"; the latest has {', '.join(names)}" if names else ""
        raise Unfilled(f"no result of {tool} has the field {path[:100]}{has}")
    names = list(dict.fromkeys(name for name, _ in results if name))[:MAX_NAMED]
    has = f"; there are results of {', '.join(names)}" if names else ""
    raise Unfilled(f"{tool} has given no result yet{has}")


def field(result: Any, path: str) -> Any:
    """The value at a path such as `city.days.0.date`, or MISSING."""
    for name in path.split("."):
        if isinstance(result, dict) and name in result:
            result = result[name]
        elif isinstance(result, list) and name.isdecimal() and len(name) < 10:
            if int(name) >= len(result):
                return MISSING
            result = result[int(name)]
        else:
            return MISSING
    return result


def shifted(value: Any, days: int) -> str:
    """An ISO date, or the date of an ISO time, so many calendar days later. Raises Unfilled."""
    if isinstance(value, str) and _DATE.fullmatch(value):
        try:
            dt.datetime.fromisoformat(value)
            moved = dt.date.fromisoformat(value[:10]) + dt.timedelta(days)
        except ValueError:
            pass
        except OverflowError:
            raise Unfilled(f"{days:+}d leads out of the calendar") from None
        else:
            return moved.isoformat() + value[10:]
    raise Unfilled(f"{days:+}d needs a date such as 2026-02-28, and it is {dumps(value)[:100]}")


def _result(message: dict[str, Any]) -> Any:
    """What a tool returned: out of its envelope, or the JSON that its text is."""
    envelope = message.get("result")
    result = message.get("content")
    if isinstance(envelope, dict):
        result = envelope.get("result", result)
    if isinstance(result, str):
        try:
            return loads(result)
        except JSONError:
            return result
    return result


def _has_template(value: Any) -> bool:
    if isinstance(value, str):
        return _TEMPLATE.fullmatch(value) is not None
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(map(_has_template, inner))
