"""Conversion from MCP: results, and questions to a person.

Used by mcp/servers.py before and after a call. What a server claims about itself is not trusted,
and everything is bounded before it enters a session. Pure.
"""

from __future__ import annotations

import json
from typing import Any

from ...schema.validate import check_schema
from ...types import Json
from ..result import shorten_text
from ..runner import Outcome
from ..tool import ToolError

MAX_BLOB = 4_000  # characters of base64 kept in the session; images have more
MAX_TEXT = 200_000
MAX_STATE = 64 * 1024
MAX_QUESTIONS = 8


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
        message = shorten_text(told or "the tool failed and did not say why", MAX_TEXT)
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
    asked = {str(key): _parse_question(request) for key, request in requests.items()}
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


def _parse_question(request: Any) -> tuple[str, Json]:
    method = request.get("method") if isinstance(request, dict) else None
    params = request.get("params") if isinstance(request, dict) else None
    if method != "elicitation/create" or not isinstance(params, dict):
        raise ToolError(f"it asks for {str(method)[:60]!r}, which is not offered here")
    if params.get("mode", "form") != "form":
        raise ToolError("it asks to open a page, which is not offered here")
    schema = params.get("requestedSchema")
    usable: Json = schema if isinstance(schema, dict) else {"type": "object"}
    return shorten_text(str(params.get("message", "")), 4_000), usable


def answer_params(question: Json) -> Json:
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
