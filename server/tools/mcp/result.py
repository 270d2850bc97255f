"""Conversion from MCP: tools, results, and questions to a person.

Used by mcp/servers.py before and after a call. What a server claims about itself is not trusted,
and everything is bounded before it enters a session. Pure.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

from ...schema.validate import check_schema
from ...types import Json
from ..result import shortened
from ..runner import Outcome
from ..tool import BaseTool, ToolError, hints_of

MAX_NAME = 64  # accepted by most providers
MAX_DESCRIPTION = 8_000
MAX_BLOB = 4_000  # characters of base64 kept in the session; images have more
MAX_TEXT = 200_000
MAX_STATE = 64 * 1024
MAX_QUESTIONS = 8
MAX_SCHEMA = 64 * 1024  # characters of one tool's schema, sent with every model call

_MARKED = re.compile(r"_[0-9a-f]{8}\Z")  # the hash that `legal_name` appends


def legal_name(server: str, tool: str) -> str:
    """Return `mcp__<server>__<tool>` as a name that is legal for every provider.

    If that changes or is ambiguous, a hash of the real names is appended, so that a name never
    depends on which other tools exist.
    """
    full = f"mcp__{server}__{tool}"
    legal = re.sub(r"[^a-zA-Z0-9_-]", "_", full)
    unclear = "__" in server or server.endswith("_") or _MARKED.search(full)
    if legal == full and len(legal) <= MAX_NAME and not unclear:
        return legal
    mark = hashlib.sha256(f"{server}\n{tool}".encode("utf-8", "replace")).hexdigest()[:8]
    return f"{legal[: MAX_NAME - 9]}_{mark}"


def tool_of(server: str, listed: Json, timeout_s: float, *, trusted: bool) -> BaseTool:
    """Return the record of a listed tool. Raises ToolError for a tool that cannot be called.

    `trusted`: believe the server's annotations (`readOnlyHint` and others).
    """
    name, schema = listed.get("name"), listed.get("inputSchema")
    if not isinstance(name, str) or not name:
        raise ToolError("a tool has no name")
    # Some servers send schemas without a type, or with `$schema` only (issues: servers 3051,
    # gitlab-mcp 286).
    if not isinstance(schema, dict) or schema.get("type") not in ("object", None):
        raise ToolError(f"{name[:100]}: its inputSchema does not describe an object")
    schema = {key: value for key, value in schema.items() if value is not None}  # Go sends nulls
    schema = {"type": "object", **schema}
    if len(json.dumps(schema)) > MAX_SCHEMA:
        raise ToolError(f"{name[:100]}: its inputSchema has more than {MAX_SCHEMA} characters")
    said = listed.get("annotations")
    notes: Json = said if trusted and isinstance(said, dict) else {}
    hints = {
        "read_only": notes.get("readOnlyHint") is True,
        "destructive": notes.get("destructiveHint") is not False,
        "idempotent": notes.get("idempotentHint") is True,
    }
    if hints["read_only"]:
        hints["destructive"] = False
    about = listed.get("description") or listed.get("title") or ""
    return BaseTool(
        legal_name(server, name),
        shortened(str(about), MAX_DESCRIPTION),
        schema,
        kind="mcp",
        origin=f"mcp {server}",
        where=("mcp", server, name),
        hints=hints_of(hints),
        required_resources={"wall_s": timeout_s},
    )


# -- results --------------------------------------------------------------------------------------


def outcome_of(result: Json) -> Outcome:
    """Return the Outcome of a complete `tools/call` result.

    The model reads `text`; the session keeps the rest too.
    """
    blocks = result.get("content")
    blocks = [b for b in blocks if isinstance(b, dict)] if isinstance(blocks, list) else []
    texts = [block_text(block) for block in blocks]
    structured = result.get("structuredContent")
    if not any(block.get("type") == "text" for block in blocks) and structured is not None:
        texts.append("")
    text = "\n".join(filter(None, texts))
    raw = {"content": [without_blobs(block) for block in blocks]}
    if structured is not None:
        raw["structuredContent"] = structured
    if result.get("isError") is True:
        told = text or (json.dumps(structured, ensure_ascii=False) if structured else "")
        message = shortened(told or "the tool failed and did not say why", MAX_TEXT)
        return Outcome("error", error={"type": "error", "message": message})
    if not text and structured is not None:
        return Outcome("ok", structured)
    return Outcome("ok", raw, text=text or "done")


def block_text(block: Json) -> str:
    """Return a content block as text for the model, with placeholders for other media."""
    kind = block.get("type")
    if kind == "text":
        return str(block.get("text", ""))
    if kind in ("image", "audio"):
        return f"[{kind} {block.get('mimeType', '')}: {_size(block.get('data'))}, not shown]"
    if kind == "resource_link":
        return f"[{block.get('name') or block.get('uri', '')}]({block.get('uri', '')})"
    if kind == "resource" and isinstance(inner := block.get("resource"), dict):
        if isinstance(inner.get("text"), str):
            return str(inner["text"])
        size = _size(inner.get("blob"))
        return f"[{inner.get('uri', '')} {inner.get('mimeType', '')}: {size}, not shown]"
    return f"[a part of the kind {str(kind)[:40]!r}, not shown]"


def without_blobs(block: Json) -> Json:
    """Return a content block with large base64 data replaced by its size."""
    kept = dict(block)
    for key, value in block.items():
        if isinstance(value, dict):
            kept[key] = without_blobs(value)
        elif key in ("data", "blob") and isinstance(value, str) and len(value) > MAX_BLOB:
            del kept[key]
            kept["omitted"] = _size(value)
    return kept


def _size(data: Any) -> str:
    count = len(data) * 3 // 4 if isinstance(data, str) else 0
    return f"{count // 1000} kB" if count >= 10_000 else f"{count} bytes"


# -- questions ------------------------------------------------------------------------------------


def question_of(result: Json) -> Json:
    """Return an `input_required` result as {message, response_schema, keys, state?}.

    The call log keeps it in this form. Several questions become one, whose answer has a member for
    each. Without `keys` the server only asks for the request to be repeated. Raises ToolError for a
    question that no person can answer.
    """
    requests = result.get("inputRequests") or {}
    if not isinstance(requests, dict) or len(requests) > MAX_QUESTIONS:
        raise ToolError("it asks more than a person can answer")
    asked = {str(key): _asked(request) for key, request in requests.items()}
    keys = list(asked)
    question: Json = {"keys": keys}
    if len(keys) == 1:
        question["message"], question["response_schema"] = asked[keys[0]]
    else:
        question["message"] = "\n".join(message for message, _ in asked.values())
        parts = {key: {"description": text, **schema} for key, (text, schema) in asked.items()}
        question["response_schema"] = {"type": "object", "properties": parts, "required": keys}
    if problems := check_schema(question["response_schema"]):
        raise ToolError(f"it asks for an answer of a shape that cannot be used: {problems[0]}")
    if (state := result.get("requestState")) is not None:
        if not isinstance(state, str) or len(state) > MAX_STATE:
            raise ToolError(f"its requestState is not a text of at most {MAX_STATE} characters")
        question["state"] = state
    return question


def _asked(request: Any) -> tuple[str, Json]:
    method = request.get("method") if isinstance(request, dict) else None
    params = request.get("params") if isinstance(request, dict) else None
    if method != "elicitation/create" or not isinstance(params, dict):
        raise ToolError(f"it asks for {str(method)[:60]!r}, which is not offered here")
    if params.get("mode", "form") != "form":
        raise ToolError("it asks to open a page, which is not offered here")
    schema = params.get("requestedSchema")
    usable: Json = schema if isinstance(schema, dict) else {"type": "object"}
    return shortened(str(params.get("message", "")), 4_000), usable


def answered(question: Json) -> Json:
    """Return the params with which a call is repeated, from an answered question of the call log.

    `refused` replaces `answer` if the person declined ("decline") or went away ("cancel"). The
    question comes from a session, so any of its values may be malformed.
    """
    params: Json = {}
    keys, answer, refused = question.get("keys"), question.get("answer"), question.get("refused")
    if isinstance(keys, list) and keys and refused in ("decline", "cancel"):
        params["inputResponses"] = {str(key): {"action": refused} for key in keys}
    elif isinstance(keys, list) and keys:
        single = len(keys) == 1
        parts = answer if isinstance(answer, dict) else {}
        params["inputResponses"] = {
            str(key): {"action": "accept", "content": parts if single else parts.get(str(key), {})}
            for key in keys
        }
    if isinstance(state := question.get("state"), str):
        params["requestState"] = state
    return params
