"""Convert a Responses request to a session (OpenAI's Responses API, Open Responses).

    READ      is interpreted here        SETTINGS  is passed on to the model
    ONLY      other values are refused   IGNORED   is accepted without effect

`input` becomes the same history as the messages of Chat Completions; the rest is shared.
docs/reference/protocol-openai.md has a row for each field. Sources: OpenAI's API reference, the
types of the official SDK, the Open Responses schema.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from .chat import PARTS, address, file, made_call, wanted_schema
from .common import CARRIER, Recall, document, remembered
from .fields import Json, Place, items, misfit, needed, only, positive, settings, shown, take
from .previous_responses import BY_ID, Earlier, conversation
from .tools import Tools, chosen, tools

READ = frozenset(
    ("model", "input", "instructions", "stream", "tools", "tool_choice", "text", "reasoning")
    + ("max_output_tokens", "metadata", "user", "yaa", "store", BY_ID)
)
SETTINGS: dict[str, type] = {
    **dict.fromkeys(("temperature", "top_p"), float),
    "parallel_tool_calls": bool,
}
ONLY: dict[str, tuple[Any, ...]] = {
    "conversation": (),
    "prompt": (),
    "background": (False,),
    "top_logprobs": (0,),
}
IGNORED = frozenset(
    ("include", "truncation", "service_tier", "stream_options", "safety_identifier")
    + ("prompt_cache_key", "prompt_cache_retention", "max_tool_calls", "context_management")
    + ("moderation",)
)
STORED = {
    "conversation": "no conversations are stored here; send previous_response_id or all of input",
    "prompt": "no prompts are stored here; send instructions and input",
}
# Types of parts that are text in a session.
_TEXTS = ("input_text", "output_text", "text", "refusal", "summary_text", "reasoning_text")


@dataclass(frozen=True)
class Wish:
    """The wanted form of the answer.

    `names`: our name of a tool -> the caller's. `echo`: fields of the request that the answer
    repeats. `body`: the request, if a later one may refer to its answer, else None.
    """

    model: str
    stream: bool
    names: dict[str, str]
    echo: Json = field(default_factory=dict)
    session: bool = False  # include the session
    body: Json | None = None


def read(
    body: Json, taken: Collection[str], recall: Recall, earlier: Earlier, *, keeps: bool = True
) -> tuple[Json, Wish]:
    """Return (session, wish).

    `taken`: names of the server's own tools. `keeps`: answers are kept for `earlier`. Raises
    Problem with a pointer into the body.
    """
    for name, why in STORED.items():
        if body.get(name) is not None:
            raise misfit((name,), why)
    only(body, ONLY)
    model = needed(body, str, "model")
    offered = _tools(body, taken)
    told = {name: value for name in ("user", "metadata") if (value := body.get(name)) is not None}
    stores = keeps and take(body, bool, "store") is not False
    session = document(
        model,
        _history(body, offered, recall, earlier),
        offered,
        place=("input",),
        taken=taken,
        settings=settings(body, SETTINGS) | _effort(body),
        max_tokens=positive(body, "max_output_tokens"),
        schema=_schema(body),
        ext=told,
    )
    more = take(body, dict, "yaa") or {}
    return session, Wish(
        model,
        bool(take(body, bool, "stream")),
        names=dict(offered.outer),
        echo=_echo(body) | {"store": stores},
        session=more.get("session") is True,
        body=body if stores else None,
    )


def _effort(body: Json) -> Json:
    reasoning = take(body, dict, "reasoning") or {}
    effort = take(reasoning, str, "reasoning", "effort")
    return {"reasoning_effort": effort} if effort else {}


def _schema(body: Json) -> Json | None:
    text = take(body, dict, "text") or {}
    place = ("text", "format")
    return wanted_schema(take(text, dict, *place), place, inner="")


def _echo(body: Json) -> Json:
    """Return the fields of the request that the answer repeats, with the API's defaults."""
    given = {name: value for name, value in body.items() if value is not None}
    return {
        "instructions": given.get("instructions"),
        "max_output_tokens": given.get("max_output_tokens"),
        "metadata": given.get("metadata", {}),
        "parallel_tool_calls": given.get("parallel_tool_calls", True),
        BY_ID: given.get(BY_ID),
        "reasoning": {"effort": None, "summary": None, **given.get("reasoning", {})},
        "temperature": given.get("temperature", 1.0),
        "text": {"format": {"type": "text"}, **given.get("text", {})},
        "tool_choice": given.get("tool_choice", "auto"),
        "tools": given.get("tools", []),
        "top_p": given.get("top_p", 1.0),
        "truncation": "disabled",
        "background": False,
        "user": given.get("user"),
    }


# -- tools ----------------------------------------------------------------------------------------


def _tools(body: Json, taken: Collection[str]) -> Tools:
    listed = items(take(body, list, "tools") or [], "tools")
    return chosen(body, tools(listed, _flat, taken), _flat)


def _flat(place: Place, tool: Json) -> tuple[Place, Json]:
    return place, tool


# -- the conversation ------------------------------------------------------------------------------


def _history(
    body: Json, offered: Tools, recall: Recall, earlier: Earlier
) -> Iterator[tuple[Place, Json]]:
    if instructions := take(body, str, "instructions"):
        yield ("instructions",), {"role": "system", "content": instructions}
    yield from _together(_items(conversation(body, earlier), offered, recall))


def _items(
    given: Iterable[tuple[Place, Json]], offered: Tools, recall: Recall
) -> Iterator[tuple[Place, Json]]:
    for place, item in given:
        kind = item.get("type", "message")
        if kind == "message":
            found = _message(item, place)
            if not _is_thought(found):
                yield place, found
        elif kind == "function_call":
            found = _call(item, place, offered)
            remembered(found, [item["call_id"]], recall)
            yield place, found
        elif kind == "function_call_output":
            call_id = needed(item, str, *place, "call_id")
            content = _content(item, "output", place)
            if isinstance(content, list) and all(part["type"] == "text" for part in content):
                content = _texts(content)
            yield place, {"role": "tool", "tool_call_id": call_id, "content": content}
        elif kind != "reasoning":  # reasoning comes back in the CARRIER, for the model that made it
            wanted = "message, function_call, function_call_output or reasoning"
            raise misfit((*place, "type"), f"expected {wanted}, got {shown(kind)}")


def _message(item: Json, place: Place) -> Json:
    role = item.get("role")
    if role in ("system", "developer"):
        return {"role": "system", "content": _texts(_content(item, "content", place))}
    if role == "assistant":
        return {"role": "assistant", "content": _texts(_content(item, "content", place))}
    if role != "user":
        wanted = "user, assistant, system or developer"
        raise misfit((*place, "role"), f"expected {wanted}, got {shown(role)}")
    return {"role": "user", "content": _content(item, "content", place)}


def _is_thought(message: Json) -> bool:
    """Return whether an assistant message is only <think> text, as Pydantic AI sends reasoning."""
    if message["role"] != "assistant":
        return False
    text: str = message["content"].strip()
    whole = text.startswith("<think>") and text.endswith("</think>")
    return whole and text.count("</think>") == 1


def _call(item: Json, place: Place, offered: Tools) -> Json:
    call_id, name = needed(item, str, *place, "call_id"), needed(item, str, *place, "name")
    arguments = take(item, str, *place, "arguments") or ""
    places = (*place, "call_id"), (*place, "name")
    call = made_call(call_id, name, arguments, offered, places)
    found: Json = {"role": "assistant", "content": "", "tool_calls": [call]}
    return found | ({CARRIER: item[CARRIER]} if CARRIER in item else {})


def _together(history: Iterator[tuple[Place, Json]]) -> Iterator[tuple[Place, Json]]:
    """Merge text and calls of one model answer into one assistant message, followed by its results.

    In this API they are separate items, in any order. Texts before calls with a CARRIER are
    dropped: the CARRIER contains them.
    """
    answer: list[tuple[Place, Json]] = []
    results: list[tuple[Place, Json]] = []
    for place, message in history:
        role = message["role"]
        if role == "assistant" and not results:
            if answer and any(each.get("tool_calls") for each in (answer[-1][1], message)):
                _merge(answer, message)
            else:
                answer.append((place, message))
        elif role == "tool" and answer:
            results.append((place, message))
        else:
            yield from (*_joined(answer), *results)
            answer, results = [], []
            if role == "assistant":
                answer.append((place, message))
            else:
                yield place, message
    yield from (*_joined(answer), *results)


def _joined(answer: list[tuple[Place, Json]]) -> Iterator[tuple[Place, Json]]:
    """Yield the messages, with the texts that `_merge` has collected joined to one."""
    for place, message in answer:
        if isinstance(texts := message["content"], list):
            message["content"] = "\n".join(filter(None, texts))
        yield place, message


def _merge(answer: list[tuple[Place, Json]], message: Json) -> None:
    last = answer[-1][1]
    last.setdefault("tool_calls", []).extend(message.get("tool_calls", ()))
    if isinstance(last["content"], str):
        last["content"] = [last["content"]]
    last["content"].append(message["content"])
    if CARRIER in message:
        last[CARRIER] = message[CARRIER]
        del answer[:-1]


def _content(item: Json, name: str, place: Place) -> Any:
    """Return a text, or parts in the form of a session. Raises Problem."""
    value = item.get(name)
    if isinstance(value, str):
        return value
    given = needed(item, list, *place, name)
    return [_part(part, where) for where, part in items(given, *place, name)]


def _part(part: Json, place: Place) -> Json:
    kind = part.get("type")
    if kind in _TEXTS:
        name = "refusal" if kind == "refusal" else "text"
        return {"type": "text", "text": needed(part, str, *place, name)}
    if kind == "input_image":
        if part.get("file_id") is not None:
            raise misfit((*place, "file_id"), "no files are kept here; send image_url")
        detail = take(part, str, *place, "detail")
        image = {"url": address(part, *place, "image_url")} | ({"detail": detail} if detail else {})
        return {"type": "image_url", "image_url": image}
    if kind == "input_file":
        return file(part, *place)
    if kind == "input_audio":
        audio = needed(part, dict, *place, kind)
        found = {each: needed(audio, str, *place, kind, each) for each in ("data", "format")}
        return {"type": kind, kind: found}
    wanted = ", ".join(
        f"input_{each.removesuffix('_url').removeprefix('input_')}" for each in PARTS
    )
    raise misfit((*place, "type"), f"expected {wanted}, got {shown(kind)}")


def _texts(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content if part["type"] == "text")
