"""Messages that an MCP server sends unasked: notifications, and requests of its own.

A link (links.py) passes them to its `Inbox`, which knows the requests that are under way. Progress
goes to the request whose token it has. A question for a person goes to the tool call in whose
stream it came; where all calls share one stream, it goes to the only call under way. It is refused
if there are several, since it could be shown to another person than it is for. Everything else that
a server may want of its client (sampling, roots) is not offered. Pure, but for a log line.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...json_types import Json
from ...telemetry import log, redact

Hear = Callable[[Json], None]  # called with the params of a progress notification
Answer = Callable[[Json], None]  # sends an answer to a request of the server
Ask = Callable[[Json, Answer], None]  # called with a request of the server for a person

METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
LISTS = ("tools", "resources", "prompts")
ELICIT = "elicitation/create"
MAX_UPDATED = 1_000  # resources whose last change is remembered
MAX_URI = 2_048  # characters
MAX_PROGRESS = 2_000  # characters of one progress line

_CHANGED = {f"notifications/{kind}/list_changed": kind for kind in LISTS}

logger = log.get("mcp")


@dataclass(frozen=True)
class Caller:
    """Who takes what a server sends about one request; None: nobody.

    `hear`: progress. `ask`: questions for a person.
    """

    hear: Hear | None = None
    ask: Ask | None = None


class Inbox:
    """The unasked messages of one server. `clock`: Unix seconds.

    changed   the lists that the server said have changed; cleared by whoever reads the list
    updated   {URI: Unix time} of resources that the server said have changed
    callers   {id of a request under way: its Caller}
    """

    def __init__(self, name: str, clock: Callable[[], float] = time.time) -> None:
        self.name, self._clock = name, clock
        self.changed: set[str] = set()
        self.updated: dict[str, float] = {}
        self.callers: dict[int, Caller] = {}

    def take(self, message: Json, answer: Answer, request_id: int | None = None) -> Json | None:
        """Handle a request or a notification. Return the reply to send at once, None if none.

        `answer` sends a reply that comes later. `request_id`: of our request in whose stream the
        message came; None in a stream of all requests.
        """
        if "id" in message:
            return self._reply(message, answer, request_id)
        told = message.get("params")
        params: Json = told if isinstance(told, dict) else {}
        method = message["method"]
        if isinstance(method, str) and method in _CHANGED:
            self.changed.add(_CHANGED[method])
        elif method == "notifications/progress":
            self._pass_progress(params)
        elif method == "notifications/resources/updated":
            self._note_update(params.get("uri"))
        elif method == "notifications/message":
            said = redact.mask(str(params.get("data", ""))[:200])
            logger.debug("%s says: %s", self.name, said)
        return None

    def _pass_progress(self, params: Json) -> None:
        token = params.get("progressToken")
        if isinstance(token, int) and not isinstance(token, bool):
            caller = self.callers.get(token)
            if caller is not None and caller.hear is not None:
                caller.hear(params)

    def _note_update(self, uri: Any) -> None:
        if isinstance(uri, str) and len(uri) <= MAX_URI:
            self.updated.pop(uri, None)
            self.updated[uri] = self._clock()
            if len(self.updated) > MAX_UPDATED:
                del self.updated[next(iter(self.updated))]

    def _reply(self, message: Json, answer: Answer, request_id: int | None) -> Json | None:
        if message["method"] != ELICIT:
            return reply_to(message)
        asks = [
            caller.ask
            for each, caller in self.callers.items()
            if caller.ask is not None and request_id in (None, each)
        ]
        if len(asks) != 1:
            logger.warning("%s asks a question, but %d calls run", self.name, len(asks))
            return result_reply(message["id"], {"action": "cancel"})
        asks[0](message, answer)
        return None


def reply_to(message: Json) -> Json:
    """Return our answer to a request of the server that is not for a person: `ping` alone works."""
    if message["method"] == "ping":
        return result_reply(message["id"], {})
    error = {"code": METHOD_NOT_FOUND, "message": "Method not found"}
    return {"jsonrpc": "2.0", "id": message["id"], "error": error}


def result_reply(request_id: Any, result: Json) -> Json:
    """Return the message that answers a request of the server with a result."""
    return {"jsonrpc": "2.0", "id": request_id, "result": result}


def progress_line(params: Json) -> str:
    """Return a progress notification as a line for people, such as `2/5 reading`."""
    done, total, text = params.get("progress"), params.get("total"), params.get("message")
    count = f"{_plain(done)}/{_plain(total)}" if _is_number(total) else f"{_plain(done)}"
    words = [count if _is_number(done) else "", text if isinstance(text, str) else ""]
    return " ".join(filter(None, words))[:MAX_PROGRESS] + "\n"


def _plain(number: Any) -> Any:
    """Return 1.0 as 1: an official SDK sends every count as a float."""
    return int(number) if isinstance(number, float) and number.is_integer() else number


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
