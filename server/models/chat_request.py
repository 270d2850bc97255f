"""The request: session-shaped messages and tools in, one provider's JSON body out.

In the walk: `openai` calls `request` before each attempt. What a provider gets is decided by the
flags of its preset. The rule of the file: the same messages always give the same bytes, so that a
provider's prompt cache keeps hitting; nothing that is only ours (ids, times, envelopes) is sent.
"""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from collections.abc import Mapping
from typing import Any

from ..schema.inline import inline
from ..strict_json import Constant, text_of
from . import Message, Options, Tool
from .chat_decoder import DETAILS, PARTS, TAGS
from .text_tools import history
from .vendors import Preset, Provider

# What a session's model_settings may never replace: they are the request itself.
RESERVED = frozenset(
    {"model", "messages", "tools", "tool_choice", "stream", "stream_options", "n", "functions"}
    | {"response_format", "max_tokens", "max_completion_tokens", "extra_body"}
    | {"use_custom_temp", "use_costum_temp"}  # seed 003 spells it both ways
)
SAMPLING = frozenset({"temperature", "top_p", "presence_penalty", "frequency_penalty"})

_SAFE_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_NINE = re.compile(r"[A-Za-z0-9]{9}")
LONGEST_ID = 40  # of a call, at OpenAI; vLLM and others make longer ones
SYSTEM_NOTE = "<system>\n{}\n</system>"


class Names:
    """Tool names as providers accept them, and back."""

    def __init__(self) -> None:
        self._originals: dict[str, str] = {}

    def safe(self, name: str) -> str:
        if _SAFE_NAME.fullmatch(name):
            return name
        plain = re.sub(r"[^A-Za-z0-9_-]", "_", name)[:55]
        safe = f"{plain}_{zlib.crc32(name.encode()):08x}"
        self._originals[safe] = name
        return safe

    def restore(self, name: str) -> str:
        return self._originals.get(name, name)


def request(
    provider: Provider,
    messages: list[Message],
    tools: list[Tool],
    options: Options,
    mode: str,
    names: Names,
) -> dict[str, Any]:
    """The body of one call. `mode` is native, json_schema or text, never auto."""
    messages, tools, wish = prepared(provider, messages, tools, mode, options, options.tool_choice)
    choice = _tool_choice(provider, wish, names)
    offered = tools if mode == "native" else []
    preset = provider.preset
    stream = options.stream and (preset.stream_with_tools or not offered)
    body: dict[str, Any] = {"model": provider.model}
    body["messages"] = _messages(provider, messages, names)
    body["stream"] = stream
    if stream and preset.stream_options:
        body["stream_options"] = {"include_usage": True}
    if offered:
        body["tools"] = [_tool(tool, preset.strict, names) for tool in offered]
        if choice is not None:
            body["tool_choice"] = choice
    if wanted := wanted_format(options, tools, mode):
        body["response_format"] = wanted
    body |= _limits(provider, options)
    body |= settings(provider, options, tools=bool(offered))
    body |= {k: v for k, v in preset.extra_body.items() if k != "tool_stream" or offered}
    return body | dict(provider.extra_body)


def prepared(
    provider: Provider,
    messages: list[Message],
    tools: list[Tool],
    mode: str,
    options: Options,
    choice: str | None,
) -> tuple[list[Message], list[Tool], str | None]:
    """All as this provider understands them, still session-shaped: schemas without references,
    calls as text."""
    if mode == "native" and provider.preset.idle_tools and not tools:
        calls = [call for message in messages for call in message.get("tool_calls") or ()]
        used = dict.fromkeys(call["function"]["name"] for call in calls)
        return messages, [_idle(name) for name in used], "none"
    if mode != "native" or not provider.preset.references:
        tools = [_written_out(tool) for tool in tools]
    if mode != "native":
        messages = history.transcript(messages, tools, mode, options.prompts)
    return messages, tools, choice


def _messages(provider: Provider, messages: list[Message], names: Names) -> list[dict[str, Any]]:
    """Provider-shaped messages. Roles that are not for models, and empty answers, are left out."""
    preset = provider.preset
    sent: list[dict[str, Any]] = []
    ids: dict[str, str] = {}  # of calls, as they are sent
    for message in messages:
        role, content = message.get("role"), message.get("content") or ""  # null is refused
        if role == "assistant":
            calls = message.get("tool_calls")
            if (content or calls) and not message.get("open"):
                ours = bool(calls) and _is_ours(provider, message)
                if calls:
                    ids |= {call["id"]: _call_id(preset, call["id"], ours) for call in calls}
                sent.append(_assistant(provider, message, names, ids, ours))
        elif role == "tool":
            call_id = message["tool_call_id"]
            result = {"role": "tool", "tool_call_id": ids.get(call_id, call_id)}
            if preset.result_name and message.get("name"):
                result["name"] = names.safe(message["name"])
            sent.append({**result, "content": content})
        elif role == "user" and preset.message_name and message.get("name"):
            sent.append({"role": "user", "name": message["name"], "content": content})
        elif role in ("user", "system"):
            sent.append({"role": role, "content": content})
    if not preset.images:
        sent = [{**each, "content": _in_words(each["content"])} for each in sent]
    if preset.single_system_message or not preset.system_role:
        sent = _few_systems(sent, one=preset.system_role)
    return _in_turns(sent) if preset.alternate else sent


def _few_systems(messages: list[dict[str, Any]], *, one: bool) -> list[dict[str, Any]]:
    """Leading system messages as one, or none; others, which would have to move, as notes in
    place."""
    first = next((i for i, m in enumerate(messages) if m["role"] != "system"), len(messages))
    first = first if one else 0
    rules = "\n\n".join(plain_text(message["content"]) for message in messages[:first])
    head = [{"role": "system", "content": rules}] if first else []
    return head + [
        {"role": "user", "content": SYSTEM_NOTE.format(plain_text(message["content"]))}
        if message["role"] == "system"
        else message
        for message in messages[first:]
    ]


def _in_turns(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What one side says in several messages as one."""
    turns: list[dict[str, Any]] = []
    for message in messages:
        last = turns[-1] if turns else {}
        talk = message["role"] in ("user", "assistant") and "tool_calls" not in last
        if talk and last.get("role") == message["role"]:
            both = last["content"], message["content"]
            turns[-1] = {**last, **message, "content": _joined(*both)}
        else:
            turns.append(message)
    return turns


def _joined(first: Any, second: Any) -> Any:
    if not first or not second:
        return first or second
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}"
    lists = [[{"type": "text", "text": c}] if isinstance(c, str) else c for c in (first, second)]
    return [*lists[0], *lists[1]]


def _in_words(content: Any) -> Any:
    """A content of parts as a text, with what is none named; without thoughts (Mistral)."""
    if not isinstance(content, list):
        return content
    parts = [p for p in content if isinstance(p, dict) and p.get("type") != PARTS]
    texts = (
        part["text"]
        if isinstance(part.get("text"), str)
        else f"[{str(part.get('type')).removesuffix('_url')}: this model cannot be given it]"
        for part in parts
    )
    return "\n\n".join(texts)


def _is_ours(provider: Provider, message: Message) -> bool:
    return bool((message.get("meta") or {}).get("model") == provider.model)


def _assistant(
    provider: Provider, message: Message, names: Names, ids: Mapping[str, str], ours: bool
) -> dict[str, Any]:
    content, calls = message.get("content"), message.get("tool_calls")
    sent: dict[str, Any] = {"role": "assistant", "content": content or None}
    if calls:
        # Reasoning and opaque data mean something to the model that made them, and to no other.
        sent |= _reasoning(provider, message, content or "", ours)
        sent["tool_calls"] = [_call(call, names, ids, ours) for call in calls]
        if extra := provider.preset.foreign_extra:  # the first call stands for all: Gemini
            sent["tool_calls"][0].setdefault("extra_content", extra)
    return sent


def _reasoning(provider: Provider, message: Message, content: Any, ours: bool) -> dict[str, Any]:
    """How earlier thoughts go back: under the field they came in, on every message with calls.

    DeepSeek and Moonshot refuse a history in which one is missing, in any turn; their templates
    drop those of messages without calls, so those are not sent.
    """
    preset, reasoning = provider.preset, message.get("reasoning") or {}
    if preset.send_back_reasoning == "never":
        return {}
    text = reasoning.get("text") if ours else ""
    name = reasoning.get("field") if ours else ""
    details = reasoning.get("details") if ours else None
    if details and not any(isinstance(each, dict) and "at" in each for each in details):
        return {DETAILS: details}  # those with a place are another API's, see models/decoder.py
    if text and isinstance(content, str) and (name == TAGS or preset.send_back_reasoning == "tags"):
        return {"content": f"<think>{text}</think>{content}"}
    if text and isinstance(content, str) and name == PARTS:
        thought = {"type": "thinking", "thinking": [{"type": "text", "text": text}]}
        return {"content": [thought, {"type": "text", "text": content}]}
    if text or preset.reasoning_required_on_tool_turns:
        field = name if name in ("reasoning_content", "reasoning") else preset.reasoning_field
        return {field: text or ""} if field != DETAILS else {}
    return {}


def _call(call: dict[str, Any], names: Names, ids: Mapping[str, str], ours: bool) -> dict[str, Any]:
    function = call["function"]
    arguments = object_text(function.get("arguments") or "")
    sent = {
        "id": ids[call["id"]],
        "type": "function",
        "function": {"name": names.safe(function["name"]), "arguments": arguments},
    }
    extra = call.get("extra")
    if ours and isinstance(extra, dict) and "extra_content" in extra:
        sent["extra_content"] = extra["extra_content"]  # Gemini's thought signatures
    return sent


def _call_id(preset: Preset, call_id: str, ours: bool) -> str:
    """An id that this provider takes. A model gets its own as it was: Kimi reads the tool in it."""
    if preset.short_ids and not _NINE.fullmatch(call_id):
        return hashlib.sha256(call_id.encode("utf-8", "replace")).hexdigest()[:9]
    if ours or len(call_id) <= LONGEST_ID:
        return call_id
    return f"{call_id[: LONGEST_ID - 9]}_{zlib.crc32(call_id.encode('utf-8', 'replace')):08x}"


def object_text(arguments: str) -> str:
    """Arguments as a JSON object: templates and gateways parse those of the history, and a model's
    broken ones must not break every later call."""
    try:
        if isinstance(json.loads(arguments), dict):
            return arguments
    except (ValueError, RecursionError):
        pass
    broken = {"invalid_json": arguments} if arguments.strip() else {}
    return json.dumps(broken, ensure_ascii=False)


def plain_text(content: Any) -> str:
    """The text of a content that may be a list of parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") for part in parts if isinstance(part, dict)]
    return "\n".join(text for text in texts if isinstance(text, str))


def _idle(name: str) -> Tool:
    """A tool of which nothing is known but that it was called."""
    about = "It cannot be called now."
    return {"type": "function", "function": {"name": name, "description": about}}


def _written_out(tool: Tool) -> Tool:
    """The tool with its schema's references written out: Gemini and others refuse `$ref`, and one
    such tool costs the whole request."""
    function = tool["function"]
    if '"$ref"' not in text_of(tool):
        return tool
    return {**tool, "function": {**function, "parameters": inline(function["parameters"])}}


def _tool(tool: Tool, strict: bool, names: Names) -> Tool:
    if isinstance(tool, Constant):
        return tool  # the toolbox's: every provider takes its name and its members
    function = tool["function"]
    function = dict(function)
    function["name"] = names.safe(function["name"])
    function.setdefault("parameters", {"type": "object", "properties": {}})
    if not strict:
        function.pop("strict", None)
    return {"type": "function", "function": function}


def _tool_choice(provider: Provider, choice: str | None, names: Names) -> Any:
    """None where the default, auto, is meant or nothing else is accepted."""
    if choice in (None, "", "auto"):
        return None
    modes = provider.preset.tool_choice_modes
    if choice in ("none", "required"):  # for "none" hardly anybody is offered tools at all
        return choice if choice in modes else None
    name = {"name": names.safe(str(choice))}
    return {"type": "function", "function": name} if "named" in modes else None


def wanted_format(options: Options, tools: list[Tool], mode: str) -> dict[str, Any] | None:
    """The response_format of a call, in the shape of Chat Completions."""
    if mode == "json_schema" and tools:
        return history.response_format(tools, options.response_format, options.tool_choice)
    return options.response_format


def most_tokens(provider: Provider, options: Options) -> int | None:
    return min((each for each in (provider.max_tokens, options.max_tokens) if each), default=None)


def _limits(provider: Provider, options: Options) -> dict[str, Any]:
    most = most_tokens(provider, options)
    if most is None:
        return {}
    by_type = "max_completion_tokens" if provider.is_reasoning else "max_tokens"
    return {provider.preset.max_tokens_field or by_type: most}


def settings(provider: Provider, options: Options, *, tools: bool) -> dict[str, Any]:
    """Sampling and other settings, the session's over the provider's; temperature only where it is
    switched on, and none of the sampling ones for reasoning models, which refuse them. What an
    owner has put into `extra_body` is not the session's to undo."""
    own = {k: v for k, v in options.settings.items() if k != "extra_body"}
    wanted: Mapping[str, Any] = {**provider.settings, **own}
    custom = wanted.get("use_custom_temp") or wanted.get("use_costum_temp")
    sent = {k: v for k, v in wanted.items() if k not in RESERVED and v is not None}
    if not custom:
        sent.pop("temperature", None)
    if not (tools and provider.preset.parallel_tool_calls):
        sent.pop("parallel_tool_calls", None)
    extra = wanted.get("extra_body")
    sent |= {k: v for k, v in extra.items() if k not in RESERVED} if isinstance(extra, dict) else {}
    return {k: v for k, v in sent.items() if not (provider.is_reasoning and k in SAMPLING)}
