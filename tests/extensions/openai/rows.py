"""Bodies of `/v1`, for tests of the whole server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from server.errors import Problem
from server.extensions.openai import chat, responses
from server.session import accept
from server.session.limits import MOST

from ...growing import Growing, call
from ...protocols.bodies import CALL, PARAMETERS
from .. import EASY

Json = dict[str, Any]

CHAT, RESPONSES = "/v1/chat/completions", "/v1/responses"
AGENTS = ("/v1/models", "/v1/models/{}", 404)


def carrying(session: Json, order: str) -> list[tuple[str, Json]]:
    return []


def bare(order: str) -> list[tuple[str, Json]]:
    said = {"role": "user", "content": order}
    chats = (CHAT, {"model": EASY, "messages": [said]})
    return [chats, (RESPONSES, {"model": EASY, "input": order})]


SAID = {"id": "msg_a1_0", "type": "message", "role": "assistant", "content": "x"}
EARLIER = {"previous_response_id": None, "input": [{"role": "user", "content": "x"}]}
EARLIER |= {"output": [SAID]}
BROUGHT = {
    "id": "s",
    "calls": {"c": "c"},
    "messages": [{"role": "assistant", "tool_calls": [CALL]}],
}


def naming(body: Json, taken: Any, recall: Any) -> Any:
    """The reader of Responses, with one earlier answer that a body may name."""
    return responses.read(
        body, taken, recall, lambda name, _: (EARLIER, 9) if name == "resp_a1" else None
    )


def of_openai(read: Callable[..., Any]) -> Callable[[Json], None]:
    """What a reader lets pass is a session: its places would be nobody's."""

    def accepted(body: Json) -> None:
        document, _ = read(body, ["taken"], lambda call_id: None)
        try:
            accept.accept(document)
        except Problem as problem:
            raise AssertionError(f"made a session that is none: {problem.detail}") from None

    return accepted


HOSTILE: dict[str, tuple[Callable[[Json], None], Json]] = {
    "chat completions": (
        of_openai(chat.read),
        {
            "model": "auto",
            "messages": [
                {"role": "developer", "content": [{"type": "text", "text": "x"}]},
                {
                    "role": "user",
                    "name": "u",
                    "content": [
                        {"type": "image_url", "image_url": {"url": "https://x/y", "detail": "low"}},
                        {"type": "input_audio", "input_audio": {"data": "AA", "format": "wav"}},
                        {
                            "type": "file",
                            "file": {"filename": "f", "file_data": "data:a/b;base64,AA"},
                        },
                    ],
                },
                {"role": "assistant", "content": None, "tool_calls": [CALL], "yaa": BROUGHT},
                {"role": "tool", "tool_call_id": "c", "content": [{"type": "text", "text": "r"}]},
            ],
            "tools": [{"type": "function", "function": {"name": "n", "parameters": PARAMETERS}}],
            "tool_choice": {"type": "function", "function": {"name": "n"}},
            "response_format": {"type": "json_schema", "json_schema": {"schema": PARAMETERS}},
            "stream_options": {"include_usage": True},
            "n": 1,
            "stop": ["x"],
            "temperature": 1,
            "max_tokens": 5,
            "stream": True,
            "environment_context": {"a": "b"},
        },
    ),
    "responses": (
        of_openai(naming),
        {
            "model": "auto",
            "instructions": "x",
            "previous_response_id": "resp_a1",
            "input": [
                {"type": "item_reference", "id": "msg_a1_0"},
                {"role": "user", "content": [{"type": "input_text", "text": "x"}]},
                {"role": "assistant", "content": [{"type": "output_text", "text": "x"}]},
                {"type": "function_call", "call_id": "c", "name": "n", "arguments": "{}"}
                | {"yaa": BROUGHT},
                {"type": "function_call_output", "call_id": "c", "output": "r"},
            ],
            "tools": [{"type": "function", "name": "n", "parameters": PARAMETERS}],
            "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [{"name": "n"}]},
            "text": {"format": {"type": "json_schema", "schema": PARAMETERS}},
            "reasoning": {"effort": "low"},
            "max_output_tokens": 5,
            "temperature": 1,
        },
    ),
}


def growing() -> Iterator[Growing]:
    yield from growing_chats(CHAT)
    for name, items in {"items": _plain, "calls": _items}.items():
        yield Growing(f"{RESPONSES}: {name}", _responses(items), RESPONSES)


def growing_chats(path: str) -> Iterator[Growing]:
    """Bodies with OpenAI's messages. `same`: all calls have one id, as small providers do."""
    tools, calls = 256, MOST["messages/*/tool_calls"]
    yield Growing(f"{path}: messages", _chat(_plain), path)
    yield Growing(f"{path}: results in turns", _chat(_chat_turns), path)
    yield Growing(f"{path}: same ids", _chat(lambda n: _chat_turns(n, same=True)), path)
    yield Growing(f"{path}: one message", _chat(_chat_calls), path, most=calls)
    offered = _chat(lambda n: [_said()], _chat_tools)
    yield Growing(f"{path}: tools", offered, path, most=tools, growth=20)
    yield Growing(f"{path}: parts", _chat(lambda n: [_said([_part()] * n)]), path)


def _said(content: Any = "x") -> Json:
    return {"role": "user", "content": content}


def _part() -> Json:
    return {"type": "text", "text": "x"}


def _plain(n: int) -> list[Json]:
    return [_said(), *({"role": "assistant", "content": "x"} for _ in range(n)), _said()]


def _chat(
    messages: Callable[[int], list[Json]], more: Callable[[int], Json] = lambda n: {}
) -> Callable[[int], Json]:
    return lambda n: {"model": "default", "messages": messages(n), **more(n)}


def _chat_turns(n: int, *, same: bool = False) -> list[Json]:
    messages = [_said()]
    for number in range(n):
        made = call(0 if same else number)
        messages.append({"role": "assistant", "content": "", "tool_calls": [made]})
        messages.append({"role": "tool", "tool_call_id": made["id"], "content": "2"})
    return messages


def _chat_calls(n: int) -> list[Json]:
    made = [call(number) for number in range(n)]
    results = ({"role": "tool", "tool_call_id": each["id"], "content": "2"} for each in made)
    return [_said(), {"role": "assistant", "content": "", "tool_calls": made}, *results]


def _chat_tools(n: int) -> Json:
    names = (f"tool_{number}" for number in range(n))
    return {"tools": [{"type": "function", "function": {"name": name}} for name in names]}


def _responses(items: Callable[[int], list[Json]]) -> Callable[[int], Json]:
    return lambda n: {"model": "default", "input": items(n)}


def _items(n: int) -> list[Json]:
    found = [_said()]
    for number in range(n):
        about = {"call_id": f"c{number}"}
        found.append({"type": "function_call", **about, "name": "t", "arguments": "{}"})
        found.append({"type": "function_call_output", **about, "output": "2"})
    return found
