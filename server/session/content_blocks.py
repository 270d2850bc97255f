"""Convert content blocks of AgentScope and Anthropic's API to session messages and back. Pure.

`accept` calls `convert_document` before the check; `from_blocks` and `to_blocks` are for programs.
A block `tool_use` becomes a call of the assistant's message, a block `tool_result` a tool message.
Unknown blocks stay as they are, and messages without known blocks are not changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..json_types import Json
from ..lib.strict_json import JSONError, as_list, dumps, loads, objects_in

SHAPES = ("agentscope", "anthropic")
USE, RESULT = "tool_use", "tool_result"
THOUGHTS = ("thinking", "redacted_thinking")
MEDIA = ("image", "audio", "video", "document")
ROLES = {"USER": "user", "ASSISTANT": "assistant", "SYSTEM": "system", "TOOL": "tool"}
SPELLINGS = tuple(ROLES)  # to look for any value in, even a list


def convert_document(document: Mapping[str, Any]) -> tuple[list[Any], list[int]] | None:
    """Return (session messages, index of the original of each), None if there are no blocks.

    `document` may be any JSON object.
    """
    messages = document.get("messages")
    if not isinstance(messages, list) or not any(map(_is_foreign, filter(_may_be, messages))):
        return None
    found: list[Any] = []
    places: list[int] = []
    waiting: dict[str, list[str]] = {}  # tool name -> ids of its calls without a result
    for index, message in enumerate(messages):
        made = list(_read(message, index, waiting)) if _is_foreign(message) else [message]
        found += made
        places += [index] * len(made)
    return found, places


def from_blocks(messages: Iterable[Json]) -> list[Json]:
    """Return messages with content blocks, of either shape, as session messages.

    A single text block becomes a string.
    """
    given = list(messages)
    converted = convert_document({"messages": given})
    return [_of_text(message) for message in (given if converted is None else converted[0])]


def _of_text(message: Json) -> Json:
    match message.get("content"):
        case [{"type": "text", "text": str(text), **rest}] if not rest:
            return {**message, "content": text}
    return message


def to_blocks(messages: Iterable[Mapping[str, Any]], shape: str = "agentscope") -> list[Json]:
    """Return session messages with content blocks.

    `shape`: `agentscope`, or `anthropic` for the Messages API, where results are in the user's
    message. Messages of role `error` are left out. Raises ValueError for another shape.
    """
    if shape not in SHAPES:
        raise ValueError(f"there is no shape {shape!r:.40}; there are {', '.join(SHAPES)}")
    write = _anthropic if shape == "anthropic" else _agentscope
    return list(write([m for m in messages if m.get("role") != "error"]))


# -- in -------------------------------------------------------------------------------------------


def _may_be(message: Any) -> bool:
    """Return whether a message may be foreign: a quick check, since few are."""
    return isinstance(message, dict) and (
        type(message.get("content")) is not str or message.get("role") in SPELLINGS
    )


def _is_foreign(message: Any) -> bool:
    if not isinstance(message, dict):
        return False
    role, content = message.get("role"), message.get("content")
    if isinstance(content, dict):
        return True
    if isinstance(content, list):
        return any(isinstance(each, dict) and _kind(each) for each in content) or (
            isinstance(role, str) and role in ROLES
        )
    return isinstance(role, str) and role in ROLES


def _kind(block: Json) -> str:
    """Return the kind of a block, "" if a session's message can hold it as it is."""
    kind = block.get("type")
    if kind in (USE, RESULT, *THOUGHTS):
        return str(kind)
    source = block.get("source")
    if kind in MEDIA and isinstance(source, dict):
        return str(kind) if isinstance(source.get("data") or source.get("url"), str) else ""
    return RESULT if kind is None and "toolCallId" in block else ""


def _read(message: Json, index: int, waiting: dict[str, list[str]]) -> Iterator[Json]:
    """Yield the session messages for one message.

    Results come first, since they belong to earlier calls; in an assistant's message they come
    last, since they belong to its own calls.
    """
    role, content = message.get("role"), message.get("content")
    role = ROLES.get(role, role) if isinstance(role, str) else role
    rest = {key: value for key, value in message.items() if key not in ("role", "content")}
    if not isinstance(content, dict | list):
        yield {**message, "role": role}
        return
    blocks = content if isinstance(content, list) else [content]
    of = [(_kind(each) if isinstance(each, dict) else "", each) for each in blocks]
    calls = [_call(each, f"{index}-{n}") for n, (kind, each) in enumerate(of) if kind == USE]
    for call in calls:
        waiting.setdefault(call["function"]["name"], []).append(call["id"])
    results = [_result(each, rest, waiting) for kind, each in of if kind == RESULT]
    other = [_part(kind, each) for kind, each in of if kind not in (USE, RESULT, *THOUGHTS)]
    thoughts = [each for kind, each in of if kind in THOUGHTS]
    said = bool(other or calls or thoughts or not results)
    if results and not said:
        results[0] = {**rest, **results[0]}
    behind = role == "assistant"
    if not behind:
        yield from results
    if said:
        main = "user" if role == "tool" and results else role
        yield _main(rest, main, other, calls, thoughts)
    if behind:
        yield from results


def _main(rest: Json, role: Any, parts: list[Any], calls: list[Json], thoughts: list[Json]) -> Json:
    texts = [each.get("text") for each in parts if isinstance(each, dict)]
    plain = all(isinstance(each, dict) and each.get("type") == "text" for each in parts)
    plain = plain and all(isinstance(text, str) for text in texts)
    content: Any = parts
    if plain and (role in ("assistant", "system") or len(texts) < 2):
        content = "\n".join(text for text in texts if isinstance(text, str))
    found = {**rest, "role": role, "content": content}
    if calls:
        there = as_list(rest.get("tool_calls"))
        known = [each.get("id") for each in objects_in(there)]
        found["tool_calls"] = [*there, *(call for call in calls if call["id"] not in known)]
    if thoughts and role == "assistant":
        words = [each.get("thinking") for each in thoughts]
        text = "\n\n".join(word for word in words if isinstance(word, str) and word)
        sealed = [each for each in thoughts if "signature" in each or "data" in each]
        found["reasoning"] = {"text": text}
        if sealed:
            found["reasoning"]["details"] = [{"at": [0, 0], "item": each} for each in sealed]
    return found


def _call(block: Json, otherwise: str) -> Json:
    given = block.get("input", {})
    function = {
        "name": _text(block, "name", "toolName"),
        "arguments": given if isinstance(given, str) else dumps({} if given is None else given),
    }
    call_id = _text(block, "id", "toolCallId") or f"call_{otherwise}"
    return {"id": call_id, "type": "function", "function": function}


def _result(block: Json, rest: Json, waiting: dict[str, list[str]]) -> Json:
    name = _text(block, "toolName", "name") or str(rest.get("name") or "")
    call_id = _text(block, "tool_use_id", "toolCallId", "tool_call_id", "id")
    if not call_id and isinstance(rest.get("tool_call_id"), str):
        call_id = rest["tool_call_id"]
    open_calls = waiting.get(name) or []
    call_id = call_id or (open_calls[0] if open_calls else "")
    for tool, ids in waiting.items():
        if call_id in ids:
            ids.remove(call_id)
            name = name or tool
    content = next((block[key] for key in ("content", "output") if key in block), "")
    found: Json = {"role": "tool", "tool_call_id": call_id, "content": _result_content(content)}
    if name:
        found["name"] = name
    if block.get("is_error") is True or block.get("isError") is True:
        found["is_error"] = True
    return found


def _result_content(content: Any) -> Any:
    """Return the content of a result: text, parts, or the JSON of anything else."""
    if isinstance(content, dict) and "type" in content:
        content = [content]
    if isinstance(content, list) and all(isinstance(e, dict) and "type" in e for e in content):
        parts = [_part(_kind(each), each) for each in content]
        texts = [part.get("text") for part in parts if part.get("type") == "text"]
        if len(texts) == len(parts) and all(isinstance(text, str) for text in texts):
            return "\n".join(str(text) for text in texts)
        return parts
    if content is None:
        return ""
    return content if isinstance(content, str) else dumps(content)


def _part(kind: str, block: Any) -> Any:
    """Return a block as a content part of Chat Completions."""
    if kind not in MEDIA:
        return block
    source = block["source"]
    media = source.get("media_type") or source.get("mediaType") or "application/octet-stream"
    data, url = source.get("data"), source.get("url")
    if not isinstance(media, str):
        return block
    if kind == "document" and source.get("type") == "text" and isinstance(data, str):
        return {"type": "text", "text": data}
    if kind == "audio" and isinstance(data, str):
        return {"type": "input_audio", "input_audio": {"data": data, "format": _ending(media)}}
    address = f"data:{media};base64,{data}" if isinstance(data, str) else url
    if not isinstance(address, str):
        return block
    if kind == "document":
        name = block.get("title") if isinstance(block.get("title"), str) else "document"
        return {"type": "file", "file": {"filename": name, "file_data": address}}
    return {"type": f"{kind}_url", f"{kind}_url": {"url": address}}


def _ending(media: str) -> str:
    form = media.partition("/")[2].partition(";")[0].lower()
    return {"mpeg": "mp3", "x-wav": "wav", "wave": "wav"}.get(form, form)


def _text(block: Json, *keys: str) -> str:
    return next((v for key in keys if isinstance(v := block.get(key), str) and v), "")


# -- out ------------------------------------------------------------------------------------------


def _agentscope(messages: Iterable[Mapping[str, Any]]) -> Iterator[Json]:
    for message in messages:
        about: Json = {key: message[key] for key in ("id", "name") if key in message}
        if message.get("role") == "tool":
            name = {"toolName": message["name"]} if "name" in message else {}
            block = {"type": RESULT, "toolCallId": message["tool_call_id"], **name}
            block |= {"content": _words(message), "isError": bool(message.get("is_error"))}
            yield {**about, "role": "tool", "content": [block]}
        else:
            yield {**about, "role": message["role"], "content": _blocks(message, sealed=False)}


def _anthropic(messages: Iterable[Mapping[str, Any]]) -> Iterator[Json]:
    results: list[Json] = []
    for message in messages:
        role = message["role"]
        if role == "tool":
            block: Json = {"type": RESULT, "tool_use_id": message["tool_call_id"]}
            block["content"] = _words(message)
            if message.get("is_error"):
                block["is_error"] = True
            results.append(block)
            continue
        blocks = _blocks(message, sealed=True)
        if role == "user":
            blocks, results = [*results, *blocks], []
        elif results:
            yield {"role": "user", "content": results}
            results = []
        yield {"role": role, "content": blocks}
    if results:
        yield {"role": "user", "content": results}


def _blocks(message: Mapping[str, Any], *, sealed: bool) -> list[Json]:
    """Return a message's content as blocks.

    `sealed`: of the reasoning only the blocks that the provider signed, as it requires them back.
    """
    found: list[Json] = []
    reasoning = message.get("reasoning")
    if isinstance(reasoning, dict):
        details = reasoning.get("details")
        items = (
            [e.get("item") for e in details if isinstance(e, dict)] if sealed and details else []
        )
        found += [each for each in items if isinstance(each, dict) and each.get("type") in THOUGHTS]
        if not sealed and isinstance(text := reasoning.get("text"), str) and text:
            found.append({"type": "thinking", "thinking": text})
    content = message.get("content")
    if isinstance(content, str) and content:
        found.append({"type": "text", "text": content})
    elif isinstance(content, list):
        found += [_source(part) for part in content]
    for call in message.get("tool_calls") or ():
        function = call["function"]
        use = {"type": USE, "id": call["id"], "name": function["name"]}
        found.append({**use, "input": _input(function["arguments"])})
    return found


def _input(arguments: str) -> Any:
    """Return the arguments as an object; {"arguments": …} if they are not one."""
    try:
        value = loads(arguments or "{}")
    except JSONError:
        return {"arguments": arguments}
    return value if isinstance(value, dict) else {"arguments": value}


def _words(message: Mapping[str, Any]) -> Any:
    content = message.get("content")
    if isinstance(content, list):
        return [_source(part) for part in content]
    return content or ""


def _source(part: Any) -> Any:
    """Return a part as a block. Only images differ: by URL or data."""
    address = part.get("image_url") if isinstance(part, dict) else None
    url = address.get("url") if isinstance(address, dict) else address
    if not isinstance(url, str):
        return part
    head, comma, data = url.partition(";base64,")
    if comma and head.startswith("data:"):
        source = {"type": "base64", "media_type": head.removeprefix("data:"), "data": data}
        return {"type": "image", "source": source}
    return {"type": "image", "source": {"type": "url", "url": url}}
