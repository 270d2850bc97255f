"""Build requests of the Messages API: Anthropic's, and compatible vendors'.

`models/http_model.py` makes the call, AnthropicDecoder reads the answer. Sources:
https://docs.anthropic.com/en/api/messages and the types of the official SDK. Thinking blocks go
back unchanged and in place, signature included; cache breakpoints are set so that the next request
finds all of this one in the prompt cache.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from ...json_types import Json, Message
from ...lib.strict_json import as_object, as_text, dumps, objects_in
from ...models import chat_request, provider_search
from ...models.chat_request import of_answer, of_content, of_data_url
from ...models.decoder import Delta, StreamDecoder, inner
from ...models.http_model import RemoteAPI
from ...models.provider import Provider
from ...models.tool_call_assembler import PartialCall, opaque
from ...session.media import plain_text

# -- anthropic decoder ----------------------------------------------------------------------------
# Decode the events of a Messages answer into the events of one assistant message.
#
# `stream_reader` passes every parsed event. The API sends a message as numbered blocks, each
# started, filled and stopped; an unstreamed answer has the same blocks, whole. Thinking blocks are
# kept with signature and place, since the API requires them back unchanged; so are the blocks of
# its own search. Events, blocks and deltas of other kinds are ignored.

FIELD = "thinking_blocks"  # reasoning.field

USE, RESULT = "server_tool_use", "_tool_result"  # newer searches run code, whose results end so
BLOCK = ("type", "id", "name", "input", "tool_use_id", "content", "caller")  # kept of both
CITED = "cited_text"  # our item for a text block of Messages: {type, chars, citations}
# Kinds of blocks that are kept, and the members with a text that are kept of each.
_KEPT = {"text": (), "thinking": ("thinking", "signature"), "redacted_thinking": ("data",)}


@dataclass
class Block:
    """A block of the answer, and what has been made of it.

    start   the block as it was begun
    began   characters of the answer before it
    item    what is kept of it, to send back
    pieces  of the input of a search
    """

    start: Json
    began: int
    item: Json = field(default_factory=dict)
    call: PartialCall | None = None
    pieces: list[str] = field(default_factory=list)
    stopped: bool = False


class AnthropicDecoder(StreamDecoder):
    """Decoder of the Messages API. See StreamDecoder for the arguments."""

    reasons = {
        "end_turn": "stop",
        "stop_sequence": "stop",
        "tool_use": "tool_calls",
        "max_tokens": "length",
        "refusal": "content_filter",
    }

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._blocks: dict[int | None, Block] = {}  # the last one at each index

    def _read(self, chunk: dict[str, Any]) -> None:
        kind, index = chunk.get("type"), chunk.get("index")
        index = index if isinstance(index, int) else None
        if kind == "message_start":
            self._check_same(inner(chunk, "message"))
            self._take_usage(inner(chunk, "message").get("usage"))
        elif kind == "content_block_start":
            self._start(index, inner(chunk, "content_block"))
        elif kind == "content_block_delta":
            self._add(index, inner(chunk, "delta"))
        elif kind == "content_block_stop":
            self._stop(index)
        elif kind == "message_delta":
            self._end(chunk.get("usage"), inner(chunk, "delta"))
        elif kind == "message_stop":
            self.ended = True

    def _read_document(self, document: dict[str, Any]) -> bool:
        for index, block in enumerate(objects_in(document.get("content"))):
            self._start(index, block)
            self._stop(index)
        self._end(document.get("usage"), document)
        return isinstance(document.get("content"), list)

    def only_text(self, chunk: dict[str, Any]) -> Delta | None:
        """See StreamDecoder."""
        delta = inner(chunk, "delta") if chunk.get("type") == "content_block_delta" else {}
        if delta.get("type") != "text_delta" or not isinstance(delta.get("text"), str):
            return None
        return Delta("text", delta["text"], self._scan)

    # -- blocks -----------------------------------------------------------------------------------

    def _start(self, index: int | None, start: Json) -> None:
        """Begin a block; compatible servers may send all of it at once."""
        if (last := self._blocks.get(index)) and not last.stopped:
            if last.start == start:
                return  # told twice
            self._stop(index)
        kind, block = as_text(start.get("type")), Block(start, self._said.tell())
        self._blocks[index] = block
        if kind in _KEPT:
            if kind != "text":  # a text is empty until it is cited
                block.item |= {"type": kind}
            block.item |= {name: as_text(start.get(name)) for name in _KEPT[kind]}
            self._keep(block.item)
            self._scan(as_text(start.get("text")))
            for each in objects_in(start.get("citations")):
                self._cite(block, each)
            if kind == "thinking":
                self._new_thought()
                self._think(block.item["thinking"], FIELD)
        elif kind == USE and isinstance(start.get("input", {}), dict):
            block.item |= kept_block(start)
            self._keep(block.item)
        elif is_result(kind):
            self._keep(kept_block(start))
        elif kind == "tool_use":
            block.call = self._begin_call(as_text(start.get("name")), as_text(start.get("id")))
            block.call.blank = dumps(opaque(start["input"])) if start.get("input") else ""
        elif kind and not self._take_media("file", start):
            self._untaken.add(kind)

    def _add(self, index: int | None, delta: dict[str, Any]) -> None:
        kind, block = delta.get("type"), self._blocks.get(index) or Block({}, 0)
        if kind == "text_delta":
            self._scan(as_text(delta.get("text")))
        elif kind == "thinking_delta":
            text = as_text(delta.get("thinking"))
            if "thinking" in block.item:
                block.item["thinking"] += text
            self._think(text, FIELD)  # gateways send it also in a block that began as text
        elif kind == "signature_delta" and "signature" in block.item:
            block.item["signature"] += as_text(delta.get("signature"))
        elif kind == "citations_delta":
            self._cite(block, delta.get("citation"))
        elif kind == "input_json_delta" and block.call is None:
            block.pieces.append(as_text(delta.get("partial_json")))
        elif kind == "input_json_delta" and block.call:
            self._out += self._calls.add(block.call, as_text(delta.get("partial_json")))

    def _cite(self, block: Block, citation: Any) -> None:
        """Keep a citation of a text block, as the API wants it back."""
        if block.start.get("type") == "text" and isinstance(citation, dict):
            block.item.setdefault("citations", []).append(citation)

    def _stop(self, index: int | None) -> None:
        block = self._blocks.get(index)
        if block is None or block.stopped:
            return
        block.stopped = True
        if block.pieces and "input" in block.item:
            block.item["input"] = input_of("".join(block.pieces))
        if cited := block.item.get("citations"):
            end = self._said.tell()
            block.item |= {"type": CITED, "chars": end - block.began}
            for each in cited:
                self._citations.add(each, block.began, end)
        if block.call:
            self._out += self._calls.close(block.call)

    # -- the end ----------------------------------------------------------------------------------

    def _end(self, usage: Any, delta: dict[str, Any]) -> None:
        self._take_usage(usage)
        self._take_finish(delta.get("stop_reason"))
        why = as_text(inner(delta, "stop_details").get("explanation"))
        if self._finish == "content_filter" and why and not self._said.tell():
            self._scan(why)  # without a text a refusal would look like an error


# -- anthropic ------------------------------------------------------------------------------------

VERSION = "2023-06-01"
SEARCH = {"type": "web_search_20250305"}
MAX_TOKENS = 32_000  # the API requires a limit; every model since Claude 4 supports this one
IMAGES = {"image/jpeg", "image/png", "image/gif", "image/webp"}
NOTHING_SAID = "(nothing)"  # empty and blank texts are refused
EARLIER = "(The conversation began earlier.)"  # the first message must be the user's

_CACHE = {"type": "ephemeral"}
_FORBIDDEN = ("oneOf", "anyOf", "allOf")  # at the top of an input_schema
# Settings of Chat Completions that this API lacks or names differently.
_UNKNOWN = frozenset(
    {"presence_penalty", "frequency_penalty", "logit_bias", "logprobs", "top_logprobs", "seed"}
    | {"stop", "user", "reasoning_effort", "parallel_tool_calls", "thinking", "output_config"}
    | {"verbosity", "min_p"}
    # set by the request itself, or makes the provider call other servers
    | {"system", "container", "mcp_servers", "context_management"}
)
_SAMPLING = ("temperature", "top_p", "top_k")


def request(asked: chat_request.ModelRequest) -> dict[str, Any]:
    """Return the body of one call. See RemoteAPI.request."""
    provider, _, _, options, mode, names = asked
    messages, tools, offered, wish, wanted = chat_request.prepare_request(asked)
    system, turns = _turns(provider, messages, names)
    body: dict[str, Any] = {"model": provider.model}
    body["max_tokens"] = chat_request.most_tokens(provider, options) or MAX_TOKENS
    if system:
        body["system"] = system
    body["messages"] = turns
    body["stream"] = options.stream
    search = provider_search.search_options(provider, options)
    searching = [] if search is None else [{**SEARCH, **search, "name": provider_search.OWN_TOOL}]
    if offered or searching:
        body["tools"] = [_tool(tool, names) for tool in offered] + searching
    thinking = _thinking(provider, wanted, turns)
    if thinking:
        body["thinking"] = thinking
    thinks = bool(thinking) and thinking.get("type") != "disabled"
    if offered and (choice := _tool_choice(wish, wanted, thinks, names)):
        body["tool_choice"] = choice
    if output := _output(mode.response_format(tools, options) or {}, wanted):
        body["output_config"] = output
    if stop := wanted.get("stop"):
        body["stop_sequences"] = [stop] if isinstance(stop, str) else stop
    dropped = _UNKNOWN | set(_SAMPLING if thinks else ())  # sampling is refused with thinking
    body |= {k: v for k, v in wanted.items() if k not in dropped}
    if provider.preset.cache_marks:
        _mark(body)
    return body | dict(provider.extra_body)


class AnthropicAPI(RemoteAPI):
    """A model that is called by the Messages API."""

    decoder = AnthropicDecoder
    request = staticmethod(request)
    optional = {
        "thinking": b"adaptive",  # some models support only this type, some only others
        "output_config.format": b"output_config.format",
        "output_config.effort": b"effort",
        "temperature": b"temperature",
        "top_p": b"top_p",
        "top_k": b"top_k",
    }

    def key_headers(self, key: str) -> dict[str, str]:
        """Return the headers that carry the key; see Preset.bearer."""
        headers = {"x-api-key": key, "anthropic-version": VERSION}
        return headers | (super().key_headers(key) if self.provider.preset.bearer else {})


# -- messages --------------------------------------------------------------------------------------


def _turns(
    provider: Provider, messages: list[Message], names: chat_request.ToolNameMap
) -> tuple[list[Json], list[dict[str, Any]]]:
    """Return the system prompt and the turns of user and assistant.

    Tool results are turns of the user. The first turn is always the user's.
    """
    first = next((i for i, m in enumerate(messages) if m.get("role") != "system"), len(messages))
    rules = [plain_text(message.get("content")) for message in messages[:first]]
    turns: list[dict[str, Any]] = []
    for message in messages[first:]:
        role = "assistant" if message.get("role") == "assistant" else "user"
        blocks = _blocks(provider, message, names)
        if blocks and turns and turns[-1]["role"] == role:
            turns[-1]["content"] += blocks
        elif blocks:
            turns.append({"role": role, "content": blocks})
    if not turns or turns[0]["role"] == "assistant":
        turns.insert(0, {"role": "user", "content": [_text(EARLIER)]})
    return [_text(rule) for rule in rules if rule.strip()], turns


def _blocks(provider: Provider, message: Message, names: chat_request.ToolNameMap) -> list[Json]:
    role, content = message.get("role"), message.get("content")
    if role == "assistant":
        return [] if message.get("open") else _assistant(provider, message, names)
    if role == "tool":
        result: Json = {"type": "tool_result"}
        result["tool_use_id"] = names.safe(message["tool_call_id"])
        if inner := [_part(*piece) for piece in of_content(content)]:
            result["content"] = content if isinstance(content, str) else inner
        return [result | ({"is_error": True} if message.get("is_error") else {})]
    if role == "system":  # the API has system prompts at the top only
        return [_text(chat_request.SYSTEM_NOTE.format(plain_text(content)))]
    if role == "user":
        return [_part(*piece) for piece in of_content(content)] or [_text(NOTHING_SAID)]
    return []


def _assistant(provider: Provider, message: Message, names: chat_request.ToolNameMap) -> list[Json]:
    blocks: list[Json] = []
    cited: Json | None = None
    for kind, value in of_answer(message, provider):
        if kind == "text":
            blocks += cited_blocks(value, cited)
            cited = None
        elif kind == "item" and value.get("type") == CITED:
            cited = value
        elif kind == "item" and is_server_block(as_text(value.get("type"))):
            blocks.append(value)
        elif kind == "item" and (thought := _thought(value)):
            blocks.append(thought)
        elif kind == "call":
            function = value["function"]
            blocks.append(
                {
                    "type": "tool_use",
                    "id": names.safe(value["id"]),
                    "name": names.safe(function["name"]),
                    "input": json.loads(chat_request.object_text(function.get("arguments") or "")),
                }
            )
    while blocks and blocks[-1]["type"] in ("thinking", "redacted_thinking"):
        blocks.pop()  # the text behind it was blank
    return returned_items(blocks)


def _thought(item: dict[str, Any]) -> Json | None:
    """Return a signed or redacted thinking block to send back, None for any other item."""
    names = _KEPT.get(as_text(item.get("type")))
    if not names or not all(isinstance(item.get(name), str) for name in names):
        return None
    return {name: item[name] for name in ("type", *names)}


def _part(kind: str, value: Any) -> Json:
    if kind == "text":
        return _text(value)
    url, name = value
    media, data = of_data_url(url) or ("", "")
    if kind == "image" and media in IMAGES:
        source = {"type": "base64", "media_type": media, "data": data}
        return {"type": "image", "source": source}
    if kind == "file" and media == "application/pdf":
        source = {"type": "base64", "media_type": media, "data": data}
        return {"type": "document", "source": source, "title": name}
    if kind == "image" and url.startswith(("https://", "http://")):
        return {"type": "image", "source": {"type": "url", "url": url}}
    what = (name if kind == "file" else media) or "of an unknown kind"
    return _text(f"[{kind} {what}: this model cannot be given it]")


def _text(text: str) -> Json:
    return {"type": "text", "text": text if text.strip() else NOTHING_SAID}


# -- the search of the provider -------------------------------------------------------------------
# https://docs.claude.com/en/docs/agents-and-tools/tool-use/web-search-tool


def returned_items(items: Iterable[Json]) -> list[Json]:
    """Return the blocks of Messages without uses that have no result, and results without a use.

    The API refuses both; an answer that broke off may have them.
    """
    items = list(items)
    uses = {str(each.get("id")) for each in items if each["type"] == USE}
    whole = uses & {str(each.get("tool_use_id")) for each in items if is_result(each["type"])}
    return [
        each
        for each in items
        if not is_server_block(each["type"])
        or each.get("id" if each["type"] == USE else "tool_use_id") in whole
    ]


def kept_block(block: Json) -> Json:
    """Return what is kept of a use or a result, to send it back."""
    found = {name: block[name] for name in BLOCK if name in block}
    return {"input": {}, **found} if found["type"] == USE else found


def is_server_block(kind: str) -> bool:
    """Return whether a block of Messages is the use or the result of a tool of the provider."""
    return kind == USE or is_result(kind)


def is_result(kind: str) -> bool:
    """Return whether a block of Messages is the result of one of the provider's own tools."""
    return kind.endswith(RESULT) and kind != "mcp_tool_result"


def input_of(text: str) -> Json:
    """Return the input of a use from its streamed JSON, {} if that is no object."""
    with suppress(ValueError, RecursionError):
        return as_object(json.loads(text))
    return {}


def cited_blocks(text: str, cited: Json | None) -> Iterator[Json]:
    """Yield the blocks of a text. Its beginning is the block of `cited`, None for none."""
    chars, citations = (cited or {}).get("chars"), (cited or {}).get("citations")
    if type(chars) is int and isinstance(citations, list) and text[:chars].strip():
        yield {"type": "text", "text": text[:chars], "citations": citations}
        text = text[chars:]
    if text.strip():
        yield {"type": "text", "text": text}


# -- the rest --------------------------------------------------------------------------------------


def _tool(tool: Json, names: chat_request.ToolNameMap) -> dict[str, Any]:
    function = tool["function"]
    schema = {"type": "object", **(function.get("parameters") or {"properties": {}})}
    told = str(function.get("description") or "")
    if more := {key: schema.pop(key) for key in _FORBIDDEN if key in schema}:
        told += f"\nThe arguments must also fit this schema: {json.dumps(more)}"
    sent: dict[str, Any] = {"name": names.safe(function["name"]), "input_schema": schema}
    return sent | ({"description": told} if told else {})


def _tool_choice(
    choice: str | None, wanted: dict[str, Any], thinks: bool, names: chat_request.ToolNameMap
) -> dict[str, Any] | None:
    """Return the tool_choice, None for auto, the default, and where nothing else is accepted.

    A model with thinking cannot be forced to call a tool.
    """
    if choice == "none":
        return {"type": "none"}
    sent: dict[str, Any] = {"type": "auto"}
    if not thinks and choice not in (None, "", "auto"):
        named = {"type": "tool", "name": names.safe(str(choice))}
        sent = {"type": "any"} if choice == "required" else named
    if wanted.get("parallel_tool_calls") is False:
        sent["disable_parallel_tool_use"] = True
    return sent if len(sent) > 1 or sent["type"] != "auto" else None


def _thinking(
    provider: Provider, wanted: dict[str, Any], turns: list[dict[str, Any]]
) -> dict[str, Any]:
    """Return the owner's `thinking`, else adaptive thinking with summaries for a reasoning model.

    With a budget (`enabled`) the API refuses pending calls whose message does not begin with a
    thinking block, as when another model made them or their thinking was refused. Thinking is left
    out then ({}).
    """
    thinking = wanted.get("thinking")
    if not isinstance(thinking, dict):
        return {"type": "adaptive", "display": "summarized"} if provider.is_reasoning else {}
    answers = [turn["content"] for turn in turns[-2:] if turn["role"] == "assistant"]
    calls = answers and turns[-1]["content"][0]["type"] == "tool_result"
    if calls and thinking.get("type") == "enabled" and "thinking" not in answers[0][0]["type"]:
        return {}
    return thinking


def _output(asked: Json, wanted: dict[str, Any]) -> dict[str, Any]:
    output = dict(as_object(wanted.get("output_config")))
    if effort := wanted.get("reasoning_effort"):
        output.setdefault("effort", effort)
    schema = (asked.get("json_schema") or {}).get("schema")
    if asked.get("type") == "json_schema" and isinstance(schema, dict):
        output["format"] = {"type": "json_schema", "schema": schema}
    return output


def _mark(body: dict[str, Any]) -> None:
    """Set the breakpoints of the prompt cache, at most the allowed four.

    One is behind the system prompt, which comes after the tools, and two behind the last two turns
    of the user. The older of these is where the request before this one ended; the API looks back
    only twenty blocks from a breakpoint.
    """
    user = [turn["content"] for turn in body["messages"] if turn["role"] == "user"]
    ends = [blocks[-1] for blocks in user[-2:]]
    head = body.get("system") or body.get("tools")
    for block in [*(head[-1:] if head else ()), *ends]:
        block["cache_control"] = dict(_CACHE)
