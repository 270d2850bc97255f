"""What a world consists of: calls that the model wants, what goes wrong, what the client does."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

TOOLS = {"bump": "auto", "side": "auto safe", "ask": "write", "look": "read"}
ONCE = ("bump", "side", "ask")  # may not repeat
UNASKED = ("bump", "side")
UNATTENDED = (*UNASKED, "look")
LAYOUTS = ("together", "apart")  # both calls in one message, or one after the other
# deaf: the machine has all, the program a part. rst, fin: the client closes. void: the line says
# nothing more. gateway: the same, but a gateway goes on to take and confirm what the server sends.
# late: the network holds the request for 3 s, while the client goes on.
CUTS = ("deaf", "rst", "fin", "void", "gateway")
MODES = (*CUTS, "late", "kill", "full")
PLACES = ("same", "other", "restart")
ACTIONS = (
    *("again", "later", "day", "older", "older-later", "oldest", "user", "user-later"),
    *("user-older", "deny", "cancel", "edit", "keep+user", "stop", "branch", "sibling", "wish"),
    *("both", "clock", "times", "allow"),
)
WIRES = ("sse", "json", "key", "base")
DAY_S = 90_000.0  # longer than claims are kept
AND = "and?"  # a user message that wants nothing new


class Disturbance(NamedTuple):
    """What happens to one POST.

    post     its number
    at       events that the program reads; for JSON, `kill` and `full` an effect of the server
    mode     of MODES
    action   what the client does next, of ACTIONS
    place    the server that it does it at, of PLACES
    """

    post: int
    at: int
    mode: str
    action: str
    place: str


class Spec(NamedTuple):
    """A world. `page`: the client marks what it approves, as the page does. `turns`: messages."""

    kinds: tuple[str, ...]
    layout: str = "together"
    wire: str = "sse"
    page: bool = False
    turns: int = 1
    disturbances: tuple[Disturbance, ...] = ()


def script_of(spec: Spec) -> Callable[[list[Any]], list[tuple[Any, ...]]]:
    """Return a model that wants things done, and asks for what no message says is done.

    Each thing is named by the user's message that wants it.
    """

    def script(messages: list[Any]) -> list[tuple[Any, ...]]:
        results = {m["tool_call_id"]: m["content"] for m in messages if m["role"] == "tool"}
        done = {
            wanted_by(call)
            for message in messages
            for call in message.get("tool_calls") or ()
            if not results.get(call["id"], "Not run").startswith("Not run")
        }
        texts = [text_of(m) for m in messages if m["role"] == "user"]
        wanted = [
            (f"{text}.{number}", kind)
            for text in texts
            if text != AND
            for number, kind in enumerate(spec.kinds)
        ]
        left = [(name, kind) for name, kind in wanted if name not in done]
        if not left:
            return [("text", ["All ", "done."])]
        calls = [("call", kind, ["{", json.dumps({"n": name})[1:]]) for name, kind in left]
        return [("text", ["Now."]), *(calls if spec.layout == "together" else calls[:1])]

    return script


def wants_once(spec: Spec, message: Any) -> bool:
    """Return whether this message of the user's wants a tool that may not repeat."""
    return text_of(message) != AND and any(kind in ONCE for kind in spec.kinds)


def text_of(message: Any) -> str:
    """Return the text of a message."""
    content = message["content"]
    return content if isinstance(content, str) else str(content[0]["text"])


def wanted_by(call: Any) -> str:
    """Return what the model wanted with a call, "" if its arguments were cut."""
    try:
        return str(json.loads(call["function"]["arguments"])["n"])
    except ValueError:
        return ""
