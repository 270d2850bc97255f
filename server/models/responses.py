"""Build requests of the Responses API: OpenAI's, and compatible vendors'.

`http_model` makes the call, `responses_decoder` reads the answer. Sources:
https://platform.openai.com/docs/api-reference/responses and the types of the official SDK.
Nothing is stored at the provider, so every request has the whole conversation, and reasoning goes
back encrypted and in place.
"""

from __future__ import annotations

from typing import Any

from . import Message, Options, Tool, chat_request
from .content_parts import of_answer, of_content
from .http_model import RemoteAPI
from .responses_decoder import ResponsesDecoder
from .vendors import Provider

# Settings of Chat Completions that this API lacks or names differently, and settings that would
# store the conversation at the provider or replace parts of the request.
_UNKNOWN = frozenset(
    {"presence_penalty", "frequency_penalty", "logit_bias", "logprobs", "seed", "stop"}
    | {"reasoning_effort", "reasoning", "verbosity", "text"}
    | {"input", "instructions", "store", "include", "previous_response_id", "conversation"}
    | {"background", "prompt", "max_output_tokens", "context_management"}
)
_PHASES = ("commentary", "final_answer")

Item = dict[str, Any]


def request(
    provider: Provider,
    messages: list[Message],
    tools: list[Tool],
    options: Options,
    mode: str,
    names: chat_request.Names,
) -> dict[str, Any]:
    """Return the body of one call. See RemoteAPI.request."""
    wish = options.tool_choice
    messages, tools, wish = chat_request.prepared(provider, messages, tools, mode, options, wish)
    offered = tools if mode == "native" else []
    wanted = chat_request.settings(provider, options, tools=bool(offered))
    body: dict[str, Any] = {"model": provider.model}
    body["input"] = [item for each in messages for item in _items(provider, each, names)]
    body["stream"] = options.stream
    body["store"] = False
    if provider.is_reasoning:
        body["include"] = ["reasoning.encrypted_content"]
    if offered:
        body["tools"] = [_tool(tool, provider.preset.strict, names) for tool in offered]
        if wish not in (None, "", "auto"):
            named = {"type": "function", "name": names.safe(str(wish))}
            body["tool_choice"] = wish if wish in ("none", "required") else named
    if reasoning := _reasoning(provider, wanted):
        body["reasoning"] = reasoning
    if text := _text(options, tools, mode, wanted):
        body["text"] = text
    if most := chat_request.most_tokens(provider, options):
        body["max_output_tokens"] = most
    body |= {k: v for k, v in wanted.items() if k not in _UNKNOWN}
    return body | dict(provider.extra_body)


class ResponsesAPI(RemoteAPI):
    """A model that is called by the Responses API."""

    answer = ResponsesDecoder
    request = staticmethod(request)
    optional = {
        "include": b'"include"',
        "reasoning.summary": b"reasoning.summary",
        "reasoning.effort": b"reasoning.effort",
        "parallel_tool_calls": b"parallel_tool_calls",
        "temperature": b"'temperature'",
        "top_p": b"'top_p'",
    }


# -- the conversation ------------------------------------------------------------------------------


def _items(provider: Provider, message: Message, names: chat_request.Names) -> list[Item]:
    role, content = message.get("role"), message.get("content")
    if role == "assistant":
        return [] if message.get("open") else _assistant(provider, message, names)
    if role == "tool":
        call_id = names.safe(message["tool_call_id"])
        return [{"type": "function_call_output", "call_id": call_id, "output": _content(content)}]
    if role in ("user", "system"):
        return [{"role": role, "content": _content(content)}]
    return []


def _assistant(provider: Provider, message: Message, names: chat_request.Names) -> list[Item]:
    items: list[Item] = []
    phase: dict[str, str] = {}
    for kind, value in of_answer(message, provider):
        if kind == "text":
            items.append({"role": "assistant", "content": value} | phase)
        elif kind == "item" and value.get("type") == "message":
            phase = {"phase": value["phase"]} if value.get("phase") in _PHASES else {}
        elif kind == "item" and (thought := _thought(value)):
            items.append(thought)
        elif kind == "call":
            function = value["function"]
            items.append(
                {
                    "type": "function_call",
                    "call_id": names.safe(value["id"]),
                    "name": names.safe(function["name"]),
                    "arguments": chat_request.object_text(function.get("arguments") or ""),
                }
            )
    return items


def _thought(item: Item) -> Item | None:
    """Return a reasoning item to send back, encrypted or in plain text as local models give it.

    None for an item with neither: it refers to the provider's store, which is not used.
    """
    names = ("id", "content", "encrypted_content")
    sent = {name: item[name] for name in names if item.get(name)}
    known = item.get("type") == "reasoning" and (sent.keys() & {"content", "encrypted_content"})
    return {"type": "reasoning", "summary": item.get("summary") or [], **sent} if known else None


def _content(content: Any) -> Any:
    """Return a text unchanged, and parts in this API's names."""
    if isinstance(content, str):
        return content
    parts = [_part(kind, value) for kind, value in of_content(content)]
    return parts or ""


def _part(kind: str, value: Any) -> Item:
    if kind == "text":
        return {"type": "input_text", "text": value}
    if kind == "image":
        return {"type": "input_image", "image_url": value, "detail": "auto"}
    data, name = value
    return {"type": "input_file", "filename": name, "file_data": data}


# -- the rest --------------------------------------------------------------------------------------


def _tool(tool: Tool, strict: bool, names: chat_request.Names) -> Item:
    """Return the declaration of a tool. `strict` is always set: this API's default is true."""
    function = tool["function"]
    return {
        "type": "function",
        "name": names.safe(function["name"]),
        "description": str(function.get("description") or ""),
        "parameters": function.get("parameters") or {"type": "object", "properties": {}},
        "strict": strict and function.get("strict") is True,
    }


def _reasoning(provider: Provider, wanted: dict[str, Any]) -> dict[str, Any]:
    """Return the `reasoning` settings; for a reasoning model summaries, unless set otherwise."""
    reasoning = {"summary": "auto"} if provider.is_reasoning else {}
    if effort := wanted.get("reasoning_effort"):
        reasoning["effort"] = effort
    own = wanted.get("reasoning")
    return reasoning | (own if isinstance(own, dict) else {})


def _text(options: Options, tools: list[Tool], mode: str, wanted: dict[str, Any]) -> dict[str, Any]:
    text = dict(wanted["text"]) if isinstance(wanted.get("text"), dict) else {}
    if verbosity := wanted.get("verbosity"):
        text.setdefault("verbosity", verbosity)
    asked = chat_request.wanted_format(options, tools, mode) or {}
    if isinstance(schema := asked.get("json_schema"), dict):
        text["format"] = {"type": "json_schema", **schema}
    elif asked.get("type"):
        text["format"] = {"type": asked["type"]}
    return text
