"""Messages of the Model Context Protocol: JSON-RPC 2.0, the modern and the legacy era, errors.

mcp/peer.py makes requests with these, mcp/stdio.py and mcp/http.py carry them. A message with
`method` is a request or notification of the server, any other an answer: both sides count their own
ids, so the id alone does not tell. Pure.
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
Hear = Callable[[Message], None]  # called with the params of a progress notification

MODERN = "2026-07-28"
LEGACY = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
CLIENT = {"name": "yaa", "version": "1"}  # version of this MCP client, not of yaa
LIST_CHANGED = "notifications/tools/list_changed"
METHOD_NOT_FOUND = -32601
UNSUPPORTED_VERSION = -32022
MAX_MESSAGE = 8 * 1024 * 1024  # bytes
MAX_VALUES = 500_000  # JSON values in one message
MAX_BATCH = 1_000  # messages; as we send no batches, hardly any has more than two
MAX_DEPTH = 60  # results become part of a session, which may be 100 levels deep

_META = "io.modelcontextprotocol/"
_PLAIN = re.compile(r"[\x21-\x7e]([\x20-\x7e\t]*[\x21-\x7e])?")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


class RpcError(Exception):
    """An error answer of the server. `code` as in JSON-RPC; `data` is the server's."""

    def __init__(self, error: Any) -> None:
        told = error if isinstance(error, dict) else {}
        self.code = told.get("code")
        self.data = told.get("data")
        super().__init__(str(told.get("message") or "an error without a message")[:2_000])


class LinkError(Exception):
    """No answer: the server cannot be reached, has ended, or sent something that is not a message.

    `expired`: our session is unknown to it (HTTP 404); the handshake is needed again.
    """

    def __init__(self, text: str, *, expired: bool = False) -> None:
        super().__init__(text)
        self.expired = expired


def parsed(text: str | bytes) -> list[Message]:
    """Return the messages in a text: one, or those of a batch; empty if it is not JSON objects.

    Batches are part of 2025-03-26, and some servers still send them (Effect issue 6274). Half
    surrogates and repeated keys are accepted, as other JSON parsers do. A message that is nested
    too deeply becomes an error answer. Raises LinkError for too many values.
    """
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
    """Return the id of our request that a message answers; None if it is not an answer.

    Some servers send the number as text or as a float (neuro-san issue 526).
    """
    told = message.get("id")
    if isinstance(told, str) and len(told) < 20 and told.isdecimal():
        told = int(told)
    if "method" in message or isinstance(told, bool) or not isinstance(told, int | float):
        return None
    return int(told) if told == told // 1 else None


def result_of(message: Message) -> Message:
    """Return the result in an answer. Raises RpcError, LinkError."""
    if message.get("error") is not None:
        raise RpcError(message["error"])
    if not isinstance(result := message.get("result"), dict):
        raise LinkError("it sent an answer without a result")
    return result


def reply_to(message: Message) -> Message:
    """Return our answer to a request of the server; only `ping` is supported."""
    if message["method"] == "ping":
        return {"jsonrpc": "2.0", "id": message["id"], "result": {}}
    error = {"code": METHOD_NOT_FOUND, "message": "Method not found"}
    return {"jsonrpc": "2.0", "id": message["id"], "error": error}


def cancelled(request_id: Any) -> Message:
    """Return the notification that we no longer wait for an answer."""
    params = {"requestId": request_id, "reason": "the client does not wait any longer"}
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}


def is_progress(message: Message, request_id: Any) -> bool:
    """Return whether a message is a progress notification for a request; its id is the token."""
    params = message.get("params")
    return (
        message.get("method") == "notifications/progress"
        and isinstance(params, dict)
        and params.get("progressToken") == request_id
    )


def meta() -> Message:
    """Return the `_meta` of a request of the modern era, which has no handshake."""
    return {
        _META + "protocolVersion": MODERN,
        _META + "clientInfo": CLIENT,
        _META + "clientCapabilities": {"elicitation": {"form": {}}},
    }


# -- headers of the modern era --------------------------------------------------------------------


def header_value(value: Any) -> str:
    """Return a value as header text; what is not plain ASCII is encoded as base64."""
    text = {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)
    if _PLAIN.fullmatch(text) and not (text.startswith("=?base64?") and text.endswith("?=")):
        return text
    return f"=?base64?{base64.b64encode(text.encode('utf-8', 'replace')).decode()}?="


def header_places(schema: Any) -> dict[tuple[str, ...], str]:
    """Return {path of a property: header that repeats its value}, from `x-mcp-header`.

    Raises ValueError for an annotation that is malformed, repeated or unreachable; such a tool must
    not be used over HTTP.
    """
    found: dict[tuple[str, ...], str] = {}

    def walk(node: Any, path: tuple[str, ...]) -> None:
        """Collect the annotations of a schema below `path`."""
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
    """Return the `Mcp-Param-…` headers of one call."""
    found: dict[str, str] = {}
    for path, name in places.items():
        value: Any = args
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        if value is not None:
            found[f"Mcp-Param-{name}"] = header_value(value)
    return found
