"""Build requests of the Responses API: OpenAI's, and compatible vendors'.

`models/http_model.py` makes the call, ResponsesDecoder reads the answer. Sources:
https://platform.openai.com/docs/api-reference/responses and the types of the official SDK.
Nothing is stored at the provider, so every request has the whole conversation, and reasoning goes
back encrypted and in place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ...json_types import Json, Message
from ...lib.strict_json import as_list, as_object, as_text, objects_in
from ...models import chat_request, provider_search
from ...models.chat_request import of_answer, of_content
from ...models.decoder import StreamDecoder, inner
from ...models.failure import Failure
from ...models.http_model import RemoteAPI
from ...models.provider import Provider
from ...models.tool_call_assembler import PartialCall

# -- responses decoder ----------------------------------------------------------------------------
# Decode the events of a Responses answer into the events of one assistant message.
#
# `stream_reader` passes every parsed event. The API sends items (messages, reasoning, calls), each
# three times: as deltas, as the whole text, as the whole item, and all items once more at the end.
# The first is used; the later ones fill in what a server has left out. Reasoning items are kept
# whole, encrypted part included, since nothing is stored at the provider. Events and items of other
# kinds are ignored.

SUMMARY, TEXT = "reasoning_summary", "reasoning_text"  # reasoning.field
CALL = "web_search_call"  # item of a search of the provider's own

# Types of events and of parts: the kind of text, and the member that has all of it.
_TEXTS = {
    "output_text": ("text", "text"),
    "refusal": ("text", "refusal"),
    "reasoning_summary_text": (SUMMARY, "text"),
    "summary_text": (SUMMARY, "text"),
    "reasoning_text": (TEXT, "text"),
    "function_call_arguments": ("arguments", "arguments"),
    "function_call": ("arguments", "arguments"),
}
_EVENTS = {f"response.{name}.delta": (kind, "delta", False) for name, (kind, _) in _TEXTS.items()}
_EVENTS |= {f"response.{name}.done": (*about, True) for name, about in _TEXTS.items()}
# Members that are kept of an item, if it has the first two.
_KEPT = {
    "message": ("type", "phase"),
    "reasoning": ("type", "id", "summary", "content", "encrypted_content"),
    CALL: ("type", "id", "status", "action"),
}
_ENDS = ("response.completed", "response.incomplete", "response.failed", "response.done")

Place = str | None  # of an item in the answer; None: the server names none


@dataclass
class OutputItem:
    """State of one item: the `parts` begun, by kind and number, and the members `kept` of it."""

    begun: bool = False
    call: PartialCall | None = None
    kept: dict[str, Any] = field(default_factory=dict)
    parts: set[tuple[str, int]] = field(default_factory=set)
    whole: bool = False
    start: int = 0  # characters of the answer before it
    unread: str = ""  # its type, if it is read by nobody here


class ResponsesDecoder(StreamDecoder):
    """Decoder of the Responses API. See StreamDecoder for the arguments."""

    reasons = {"max_output_tokens": "length"}

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._items: dict[Place, OutputItem] = {}
        self._latest: Place = None  # of the item that was begun last

    def _read(self, chunk: dict[str, Any]) -> None:
        kind = as_text(chunk.get("type"))
        if text := _EVENTS.get(kind):
            which, member, is_last = text
            self._piece(chunk, which, chunk.get(member), whole=is_last)
        elif kind == "response.created":
            self._check_same(inner(chunk, "response"))
        elif kind in _ENDS:
            self._end(inner(chunk, "response"), failed=kind == "response.failed")
        elif kind == "response.output_item.added":
            item = inner(chunk, "item")
            self._begin(_place(chunk, item) or self._new_place(), item)
        elif kind == "response.output_item.done":
            item = inner(chunk, "item")
            self._item(_place(chunk, item) or self._open_place(), item)

    def _read_document(self, document: dict[str, Any]) -> bool:
        if found := isinstance(document.get("output"), list):
            self._end(document)
        return found

    # -- items ------------------------------------------------------------------------------------

    def _new_place(self) -> Place:
        """Return a place for an item whose server names none."""
        return f"#{len(self._items)}"

    def _open_place(self) -> Place:
        """Return the place of the item begun last, a new one if that item is complete."""
        latest = self._items.get(self._latest)
        return self._new_place() if latest is None or latest.whole else self._latest

    def _begin(self, place: Place, item: dict[str, Any]) -> OutputItem:
        known = self._items.setdefault(place, OutputItem())
        if known.begun:
            return known
        known.begun = True
        known.start = self._said.tell()
        self._latest = place
        kind = as_text(item.get("type"))
        if kind == "function_call":
            known.call = self._begin_call(as_text(item.get("name")), as_text(item.get("call_id")))
        elif kind in _KEPT:
            self._keep(known.kept)
        else:
            known.unread = kind  # a picture, or the work of another of the provider's tools
        return known

    def _piece(self, chunk: dict[str, Any], kind: str, text: Any, *, whole: bool = False) -> None:
        """Add a delta, or a whole part, which counts only where no deltas came."""
        place = _place(chunk, {})
        if place not in self._items and not isinstance(chunk.get("output_index"), int):
            place = self._latest or place
        item = self._items.setdefault(place, OutputItem())
        number = chunk.get("summary_index" if kind == SUMMARY else "content_index")
        part = (kind, number if isinstance(number, int) else 0)
        if whole and part in item.parts:
            return
        if part not in item.parts and kind in (SUMMARY, TEXT):
            self._new_thought()
        item.parts.add(part)
        self._put(item, kind, as_text(text))

    def _put(self, item: OutputItem, kind: str, text: str) -> None:
        if kind == "text":
            self._scan(text)
        elif kind != "arguments":
            self._think(text, kind)
        elif item.call is not None:
            self._out += self._calls.add(item.call, text)

    def _item(self, place: Place, item: dict[str, Any]) -> None:
        """Add a whole item: emit the parts that were not streamed, and keep its members."""
        known = self._begin(place, item)
        if known.whole:
            return
        known.whole = True
        if known.unread and self._take_media("image", item):
            known.unread = ""
        streamed, start = Counter(kind for kind, _ in known.parts), known.start
        for kind, text, cited in _parts(item):
            streamed[kind] -= 1  # not by index: Bedrock counts other kinds in its deltas
            if streamed[kind] < 0:
                if kind in (SUMMARY, TEXT):
                    self._new_thought()
                self._put(known, kind, text)
            self._citations.add_annotations(cited, start)
            start += len(text)
        if known.call is not None:
            self._out += self._calls.close(known.call, cut=item.get("status") == "incomplete")
        names = _KEPT.get(as_text(item.get("type")), ())
        if all(item.get(name) for name in names[:2]):
            known.kept |= {name: item[name] for name in names if item.get(name) is not None}

    # -- the end ----------------------------------------------------------------------------------

    def _end(self, response: dict[str, Any], *, failed: bool = False) -> None:
        self._take_usage(response.get("usage"))
        status = response.get("status")
        if failed or status in ("failed", "cancelled") or response.get("error"):
            error = inner(response, "error") or {"message": f"the response is {status}"}
            self._check({"error": error})
        output, streamed = response.get("output"), bool(self._items)
        if status in ("queued", "in_progress") and not output and not streamed:
            text = f"{self._provider.name} answered before there was an answer ({status}): leave"
            raise Failure("upstream_error", f"{text} `background` out", retryable=False)
        for index, item in enumerate(as_list(output)):
            if isinstance(item, dict):
                places = (str(index), _place({}, item))
                known = next((place for place in places if place in self._items), None)
                if known is not None or not streamed:
                    self._item(known or str(index), item)
        self._untaken |= {item.unread for item in self._items.values() if item.unread}
        why = inner(response, "incomplete_details").get("reason")
        cut = status == "incomplete" or why
        self._finish = "incomplete" if cut else "stop"
        self._take_finish(why)
        self.ended = True


def _parts(item: dict[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """Yield (kind, text, annotations) of everything readable in a whole item."""
    for part in [item, *objects_in(item.get("summary")), *objects_in(item.get("content"))]:
        kind, member = _TEXTS.get(as_text(part.get("type")), ("", ""))
        if kind:
            yield kind, as_text(part.get(member)), part.get("annotations")


def _place(chunk: dict[str, Any], item: dict[str, Any]) -> Place:
    """Return the place of an item: its number, else an id; None where the server sends neither."""
    if isinstance(index := chunk.get("output_index"), int):
        return str(index)
    names = (chunk.get("item_id"), item.get("id"), item.get("call_id"))
    return next(filter(None, map(as_text, names)), None)


# -- responses ------------------------------------------------------------------------------------

# Settings of Chat Completions that this API lacks or names differently, and settings that would
# store the conversation at the provider or replace parts of the request.
_UNKNOWN = frozenset(
    {"presence_penalty", "frequency_penalty", "logit_bias", "logprobs", "seed", "stop"}
    | {"reasoning_effort", "reasoning", "verbosity", "text"}
    | {"input", "instructions", "store", "include", "previous_response_id", "conversation"}
    | {"background", "prompt", "max_output_tokens", "context_management"}
)
_PHASES = ("commentary", "final_answer")


def request(asked: chat_request.ModelRequest) -> dict[str, Any]:
    """Return the body of one call. See RemoteAPI.request."""
    provider, _, _, options, mode, names = asked
    messages, tools, offered, wish, wanted = chat_request.prepare_request(asked)
    body: dict[str, Any] = {"model": provider.model}
    body["input"] = [item for each in messages for item in _items(provider, each, names)]
    body["stream"] = options.stream
    body["store"] = False
    if provider.is_reasoning:
        body["include"] = ["reasoning.encrypted_content"]
    search = provider_search.search_options(provider, options)
    searching = [] if search is None else [{**search, "type": "web_search"}]
    if offered or searching:
        body["tools"] = [_tool(tool, provider.preset.strict, names) for tool in offered] + searching
    if offered:
        if wish not in (None, "", "auto"):
            named = {"type": "function", "name": names.safe(str(wish))}
            body["tool_choice"] = wish if wish in ("none", "required") else named
    if reasoning := _reasoning(provider, wanted):
        body["reasoning"] = reasoning
    if text := _text(mode.response_format(tools, options) or {}, wanted):
        body["text"] = text
    if most := chat_request.most_tokens(provider, options):
        body["max_output_tokens"] = most
    body |= {k: v for k, v in wanted.items() if k not in _UNKNOWN}
    return body | dict(provider.extra_body)


class ResponsesAPI(RemoteAPI):
    """A model that is called by the Responses API."""

    decoder = ResponsesDecoder
    request = staticmethod(request)
    optional = {
        "stream": b"verified to stream",
        "include": b'"include"',
        "reasoning.summary": b"reasoning.summary",
        "reasoning.effort": b"reasoning.effort",
        "parallel_tool_calls": b"parallel_tool_calls",
        "temperature": b"'temperature'",
        "top_p": b"'top_p'",
    }


# -- the conversation ------------------------------------------------------------------------------


def _items(provider: Provider, message: Message, names: chat_request.ToolNameMap) -> list[Json]:
    role, content = message.get("role"), message.get("content")
    if role == "assistant":
        return [] if message.get("open") else _assistant(provider, message, names)
    if role == "tool":
        call_id = names.safe(message["tool_call_id"])
        return [{"type": "function_call_output", "call_id": call_id, "output": _content(content)}]
    if role in ("user", "system"):
        return [{"role": role, "content": _content(content)}]
    return []


def _assistant(provider: Provider, message: Message, names: chat_request.ToolNameMap) -> list[Json]:
    items: list[Json] = []
    phase: dict[str, str] = {}
    for kind, value in of_answer(message, provider):
        if kind == "text":
            items.append({"role": "assistant", "content": value} | phase)
        elif kind == "item" and value.get("type") == "message":
            phase = {"phase": value["phase"]} if value.get("phase") in _PHASES else {}
        elif kind == "item" and value.get("type") == CALL:
            items.append(value)
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


def _thought(item: Json) -> Json | None:
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


def _part(kind: str, value: Any) -> Json:
    if kind == "text":
        return {"type": "input_text", "text": value}
    data, about = value
    if kind == "image":
        return {"type": "input_image", "image_url": data, "detail": about}
    return {"type": "input_file", "filename": about, "file_data": data}


# -- the rest --------------------------------------------------------------------------------------


def _tool(tool: Json, strict: bool, names: chat_request.ToolNameMap) -> Json:
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
    return reasoning | as_object(wanted.get("reasoning"))


def _text(asked: Json, wanted: dict[str, Any]) -> dict[str, Any]:
    text = dict(as_object(wanted.get("text")))
    if verbosity := wanted.get("verbosity"):
        text.setdefault("verbosity", verbosity)
    if isinstance(schema := asked.get("json_schema"), dict):
        text["format"] = {"type": "json_schema", **schema}
    elif asked.get("type"):
        text["format"] = {"type": asked["type"]}
    return text
