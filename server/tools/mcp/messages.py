"""Messages of the Model Context Protocol: JSON-RPC 2.0, the two eras of its dialect, and errors.

In the walk: tools/mcp/peer.py makes requests with these, tools/mcp/stdio.py and tools/mcp/http.py
carry them. Pure. The rule of the file: a message with `method` is the server's request or
notification, anything else an answer: both sides count their own ids, so that an id alone says
nothing.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from ...runtime.gc_pause import collector_paused
from ...strict_json import count_values, depth_exceeds

Message = dict[str, Any]
Hear = Callable[[Message], None]  # gets the params of a progress notification

MODERN = "2026-07-28"
LEGACY = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
CLIENT = {"name": "yaa", "version": "1"}  # of this client, not of the server it is in
LIST_CHANGED = "notifications/tools/list_changed"
METHOD_NOT_FOUND = -32601
UNSUPPORTED_VERSION = -32022
MAX_MESSAGE = 8 * 1024 * 1024  # bytes
MAX_VALUES = 500_000  # of a message
MAX_BATCH = 1_000  # messages; no request of ours is in one, so that hardly any has more than two
MAX_DEPTH = 60  # a result travels in a session, which may be 100 levels deep

_META = "io.modelcontextprotocol/"
_PLAIN = re.compile(r"[\x21-\x7e]([\x20-\x7e\t]*[\x21-\x7e])?")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


class RpcError(Exception):
    """The server answered with an error. `code` as in JSON-RPC; `data` is the server's."""

    def __init__(self, error: Any) -> None:
        told = error if isinstance(error, dict) else {}
        self.code = told.get("code")
        self.data = told.get("data")
        super().__init__(str(told.get("message") or "an error without a message")[:2_000])


class LinkError(Exception):
    """There is no answer: the server cannot be reached, ended, or sent what is no message.

    `expired`: it has forgotten this client (HTTP 404) and must be initialised again.
    """

    def __init__(self, text: str, *, expired: bool = False) -> None:
        super().__init__(text)
        self.expired = expired


def parsed(text: str | bytes) -> list[Message]:
    """The message, or those of a batch: 2025-03-26 has them, and some servers still answer each
    request so (Effect 6274). Empty for what is none. Lenient where JSON of other languages is: half
    surrogates and repeated keys pass. One that is nested too deeply becomes an error answer. Raises
    LinkError for one with too many values."""
    try:
        if isinstance(text, bytes):  # as json.loads does
            text = text.decode(json.detect_encoding(text), "surrogatepass")
        if (seen := count_values(text, MAX_VALUES)) > MAX_VALUES:
            raise LinkError(f"it sent {seen} JSON values, at most {MAX_VALUES} are taken")
        with collector_paused(len(text)):
            value = json.loads(text)
    except (ValueError, RecursionError):
        return []
    found = value if isinstance(value, list) else [value]
    if len(found) > MAX_BATCH:  # each may want a reply
        return []
    return [_shallow(each) for each in found if isinstance(each, dict)]


def _shallow(message: Message) -> Message:
    if depth_exceeds(message, MAX_DEPTH):
        text = f"the answer is nested deeper than {MAX_DEPTH} levels"
        return {"id": message.get("id"), "error": {"code": 0, "message": text}}
    return message


def answers(message: Message) -> int | None:
    """Which of our requests it answers, if any. Some servers make a text or a float of a number
    (neuro-san 526)."""
    told = message.get("id")
    if isinstance(told, str) and len(told) < 20 and told.isdecimal():
        told = int(told)
    if "method" in message or isinstance(told, bool) or not isinstance(told, int | float):
        return None
    return int(told) if told == told // 1 else None


def result_of(message: Message) -> Message:
    """The result of an answer. Raises RpcError, LinkError."""
    if message.get("error") is not None:
        raise RpcError(message["error"])
    if not isinstance(result := message.get("result"), dict):
        raise LinkError("it sent an answer without a result")
    return result


def reply_to(message: Message) -> Message:
    """Our answer to a request of the server's: we are alive, and offer nothing else."""
    if message["method"] == "ping":
        return {"jsonrpc": "2.0", "id": message["id"], "result": {}}
    error = {"code": METHOD_NOT_FOUND, "message": "Method not found"}
    return {"jsonrpc": "2.0", "id": message["id"], "error": error}


def cancelled(request_id: Any) -> Message:
    """Says that nobody waits for this answer any longer."""
    params = {"requestId": request_id, "reason": "the client does not wait any longer"}
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}


def is_progress(message: Message, request_id: Any) -> bool:
    """Whether this notification is about the request; its id is its progress token."""
    params = message.get("params")
    return (
        message.get("method") == "notifications/progress"
        and isinstance(params, dict)
        and params.get("progressToken") == request_id
    )


def meta() -> Message:
    """What each request of the modern era says about us: there is no handshake that could."""
    return {
        _META + "protocolVersion": MODERN,
        _META + "clientInfo": CLIENT,
        _META + "clientCapabilities": {"elicitation": {"form": {}}},
    }


# -- headers of the modern era --------------------------------------------------------------------


def header_value(value: Any) -> str:
    """A value as a header may carry it; what is not plain ASCII travels as base64."""
    text = {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)
    if _PLAIN.fullmatch(text) and not (text.startswith("=?base64?") and text.endswith("?=")):
        return text
    return f"=?base64?{base64.b64encode(text.encode('utf-8', 'replace')).decode()}?="


def header_places(schema: Any) -> dict[tuple[str, ...], str]:
    """Path of a property → the header that repeats its value (`x-mcp-header`).

    Raises ValueError for an annotation that is malformed, double or out of reach: such a tool
    must not be used over HTTP.
    """
    found: dict[tuple[str, ...], str] = {}

    def walk(node: Any, path: tuple[str, ...]) -> None:
        if not isinstance(node, dict):
            return
        if "x-mcp-header" in node:
            name = node["x-mcp-header"]
            taken = {each.lower() for each in found.values()}
            fits = isinstance(name, str) and _TOKEN.fullmatch(name) and name.lower() not in taken
            if not path or not fits or node.get("type") not in ("string", "integer", "boolean"):
                raise ValueError(f"the annotation x-mcp-header {str(name)[:60]!r} cannot be used")
            found[path] = name
        for key, inner in node.items():
            if key == "properties" and isinstance(inner, dict):
                for name, part in inner.items():
                    walk(part, (*path, name))
            elif key not in ("default", "const", "enum", "examples") and _annotated(inner):
                raise ValueError(f"an x-mcp-header below {key!r} is out of reach")

    walk(schema, ())
    return found


def _annotated(value: Any) -> bool:
    if isinstance(value, dict):
        return "x-mcp-header" in value or any(map(_annotated, value.values()))
    return isinstance(value, list) and any(map(_annotated, value))


def header_params(places: Mapping[tuple[str, ...], str], args: Message) -> dict[str, str]:
    """The `Mcp-Param-…` headers of one call."""
    found: dict[str, str] = {}
    for path, name in places.items():
        value: Any = args
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        if value is not None:
            found[f"Mcp-Param-{name}"] = header_value(value)
    return found
