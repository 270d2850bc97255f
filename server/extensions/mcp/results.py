"""Convert results of MCP tools to Outcomes.

Used by servers.py after a call. What a server claims about itself is not trusted, and everything is
bounded before it enters a session. Pure.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

from ...json_types import Json
from ...session.media import PDF
from ...tools.result import shorten_text
from ...tools.runner import Outcome

MAX_BLOB = 4_000  # characters of base64 kept in the session; images have more
MAX_TEXT = 200_000


def outcome_of(result: Json) -> Outcome:
    """Return the Outcome of a complete `tools/call` result.

    The model reads `text`; the session keeps the rest too.
    """
    blocks = result.get("content")
    blocks = [b for b in blocks if isinstance(b, dict)] if isinstance(blocks, list) else []
    texts = [text for block in blocks if (text := block_text(block))]
    structured = result.get("structuredContent")
    text = "\n".join(texts)
    if texts and structured and not _repeats(texts, structured):
        text += f"\n{json.dumps(structured, ensure_ascii=False)}"
    raw = {"content": [without_blobs(block) for block in blocks]}
    if structured is not None:
        raw["structuredContent"] = structured
    if result.get("isError") is True:
        told = text or (json.dumps(structured, ensure_ascii=False) if structured else "")
        message = shorten_text(told or "the tool failed and did not say why", MAX_TEXT)
        error = {"type": "error", "message": message}
        return Outcome("error", error=error, media=media_of(blocks))
    if not text and structured is not None:
        return Outcome("ok", structured)
    return Outcome("ok", raw, text=text or "done", media=media_of(blocks))


def _repeats(texts: list[str], structured: Any) -> bool:
    """Return whether the texts of a result say all of its structured content.

    Servers repeat it as JSON; what is no object they wrap (FastMCP as `{"result": …}`), with a text
    for each item of a list.
    """
    said: list[Any] = []
    for text in texts:
        with suppress(ValueError, RecursionError):
            said.append(json.loads(text))
    wanted = [structured]
    if isinstance(structured, dict) and len(structured) == 1:
        wanted += structured.values()
    return any(each in (*said, said, *texts, texts) for each in wanted)


def media_of(blocks: list[Json]) -> tuple[Json, ...]:
    """Return {data, name} of the pictures, sounds and embedded files that a model may be shown."""
    found: list[Json] = []
    for number, block in enumerate(blocks, 1):
        kind, inner = block.get("type"), block.get("resource")
        if kind in ("image", "audio"):
            found.append({"data": block.get("data"), "name": f"{kind} {number}"})
        elif kind == "resource" and isinstance(inner, dict) and _is_shown(inner):
            found.append({"data": inner["blob"], "name": str(inner.get("uri") or "resource")})
    return tuple(found)


def _is_shown(resource: Json) -> bool:
    kind = str(resource.get("mimeType", "")).lower()
    shown = kind == PDF or kind.startswith(("image/", "audio/"))
    return shown and isinstance(resource.get("blob"), str)


def block_text(block: Json) -> str:
    """Return a content block as text for the model, with placeholders for other media."""
    kind = block.get("type")
    if kind == "text":
        return str(block.get("text", ""))
    if kind in ("image", "audio"):
        return f"[{kind} {block.get('mimeType', '')}: {_size(block.get('data'))}]"
    if kind == "resource_link":
        return f"[{block.get('name') or block.get('uri', '')}]({block.get('uri', '')})"
    if kind == "resource" and isinstance(inner := block.get("resource"), dict):
        if isinstance(inner.get("text"), str):
            return str(inner["text"])
        size = _size(inner.get("blob")) + ("" if _is_shown(inner) else ", not shown")
        return f"[{inner.get('uri', '')} {inner.get('mimeType', '')}: {size}]"
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
