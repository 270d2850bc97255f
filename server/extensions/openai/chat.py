"""Convert a Chat Completions request to a session, and its run to an answer. Pure.

    READ      is interpreted here        SETTINGS  is passed on to the model
    ONLY      other values are refused   IGNORED   is accepted without effect

Fields in none of these sets are ignored too. docs/reference/extension-openai.md has a row for each
field. Sources: OpenAI's API reference and the types of the official SDKs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ...json_types import Event, Json, Session
from ...lib.http import sse
from ...lib.json_schema.validate import check_schema
from ...lib.strict_json import dumps, quote
from ...session import media, outcome
from ...session.citations import url_citations
from ...session.events import EXEC, alias
from ...session.schema import MAX_ID
from . import common
from .common import (
    BREAK,
    CARRIER,
    Place,
    Recall,
    Tools,
    choose_tools,
    document,
    error,
    items,
    made_media,
    misfit,
    only,
    positive,
    recall_messages,
    require,
    settings,
    shown_value,
    take_member,
    tools,
)

READ = frozenset(
    ("model", "messages", "stream", "stream_options", "tools", "tool_choice", "response_format")
    + ("max_tokens", "max_completion_tokens", "user", "metadata")
    + ("yaa", "frontend_tools", "environment_context")  # not defined by OpenAI
)
SETTINGS: dict[str, type] = {
    **dict.fromkeys(("temperature", "top_p", "presence_penalty", "frequency_penalty"), float),
    "seed": int,
    "logit_bias": dict,
    "parallel_tool_calls": bool,
    "reasoning_effort": str,
}
STOP = "stop"  # one text or several
ONLY: dict[str, tuple[Any, ...]] = {
    "n": (1,),
    "logprobs": (False,),
    "top_logprobs": (0,),
    "modalities": (["text"],),
    "audio": (),
    "functions": ([],),
    "function_call": ("none", "auto"),
    "web_search_options": (),
}
# What to do instead of a value that is refused.
INSTEAD = {
    "web_search_options": "leave it out: a model with the tool web_search searches by itself, and"
    " the owner switches on a provider's own search (model_settings.web_search)",
}
IGNORED = frozenset(
    ("store", "service_tier", "prediction", "verbosity", "safety_identifier", "prompt_cache_key")
    + ("prompt_cache_retention", "moderation", "sessionId")
)
PARTS = ("text", "image_url", "input_audio", "file")
SCHEMES = ("https://", "http://", "data:")


@dataclass(frozen=True)
class ChatOptions:
    """The wanted form of the answer. `names`: our name of a tool -> the caller's."""

    model: str
    stream: bool
    usage: bool
    names: dict[str, str]
    steps: bool = False  # report calls of the server's own tools
    session: bool = False  # include the session


def read(body: Json, taken: Collection[str], recall: Recall) -> tuple[Json, ChatOptions]:
    """Return (session, wish).

    `taken`: names of the server's own tools. Raises Problem with a pointer into the body.
    """
    only(body, ONLY, INSTEAD)
    model = require(body, str, "model")
    offered = _tools(body, taken)
    told = {name: value for name in ("user", "metadata") if (value := body.get(name)) is not None}
    most = [n for name in ("max_completion_tokens", "max_tokens") if (n := positive(body, name))]
    session = document(
        model,
        _history(require(body, list, "messages"), offered, recall),
        offered,
        place=("messages",),
        taken=taken,
        settings=settings(body, SETTINGS) | stop(body),
        max_tokens=min(most, default=None),
        schema=wanted_schema(take_member(body, dict, "response_format"), ("response_format",)),
        ext=told,
    )
    if facts := _facts(body.get("environment_context")):
        session["environment"] = facts
    more = take_member(body, dict, "yaa") or {}
    streams = bool(take_member(body, bool, "stream"))
    options = take_member(body, dict, "stream_options") or {}
    return session, ChatOptions(
        model,
        streams,
        usage=options.get("include_usage") is True,
        names=dict(offered.outer),
        steps=more.get("tools") is True,
        session=more.get("session") is True,
    )


# -- tools ----------------------------------------------------------------------------------------


def _tools(body: Json, taken: Collection[str]) -> Tools:
    listed = (
        *items(take_member(body, list, "tools") or [], "tools"),
        *items(take_member(body, list, "frontend_tools") or [], "frontend_tools"),
    )
    offered = tools(listed, _function, taken)
    return choose_tools(body, offered, _function, "allowed_tools")


def _function(place: Place, tool: Json) -> tuple[Place, Json]:
    if "function" not in tool and "name" in tool:  # the flat form of other APIs
        return place, tool
    return (*place, "function"), require(tool, dict, *place, "function")


# -- messages -------------------------------------------------------------------------------------


def _history(messages: list[Any], offered: Tools, recall: Recall) -> Iterator[tuple[Place, Json]]:
    if not messages:
        raise misfit(("messages",), "expected at least one message")
    for place, message in items(messages, "messages"):
        role = message.get("role")
        if role in ("system", "developer"):
            yield place, {"role": "system", "content": _plain(message, place)}
        elif role == "user":
            yield place, _user(message, place)
        elif role == "assistant":
            found = _assistant(message, place, offered)
            recall_messages(found, (call["id"] for call in found.get("tool_calls", ())), recall)
            yield place, found
        elif role == "tool":
            call_id = require(message, str, *place, "tool_call_id")
            content = _plain(message, place)
            yield place, {"role": "tool", "tool_call_id": call_id, "content": content}
        else:
            wanted = "system, developer, user, assistant or tool"
            raise misfit((*place, "role"), f"expected {wanted}, got {shown_value(role)}")


def _user(message: Json, place: Place) -> Json:
    content = message.get("content")
    name = take_member(message, str, *place, "name")
    if not isinstance(content, str):
        given = require(message, list, *place, "content")
        content = [_part(part, where) for where, part in items(given, *place, "content")]
    return {"role": "user", "content": content, **({"name": name} if name else {})}


def _part(part: Json, place: Place) -> Json:
    """Return a part of a content with the fields that providers accept. Raises Problem."""
    kind = part.get("type")
    if kind == "text":
        return {"type": "text", "text": require(part, str, *place, "text")}
    if kind == "image_url":
        image = part.get("image_url")
        image = (
            {"url": image} if isinstance(image, str) else require(part, dict, *place, "image_url")
        )
        url = address(image, *place, "image_url", "url")
        detail = take_member(image, str, *place, "image_url", "detail")
        return {"type": kind, "image_url": {"url": url} | ({"detail": detail} if detail else {})}
    if kind == "input_audio":
        audio = require(part, dict, *place, kind)
        found = {name: require(audio, str, *place, kind, name) for name in ("data", "format")}
        return {"type": kind, kind: found}
    if kind == "file":
        return file(require(part, dict, *place, kind), *place, kind)
    raise misfit((*place, "type"), f"expected {', '.join(PARTS)}, got {shown_value(kind)}")


def address(image: Json, *place: str | int) -> str:
    """Return the URL of an image. Raises Problem for other schemes than https, http and data."""
    url: str = require(image, str, *place)
    if not url.startswith(SCHEMES):
        raise misfit(place, f"expected https:, http: or data:, got {shown_value(url[:30])}")
    return url


def file(given: Json, *place: str | int) -> Json:
    """Return a file part. Raises Problem for a `file_id`: no files are stored here."""
    if given.get("file_id") is not None:
        raise misfit((*place, "file_id"), "no files are kept here; send file_data")
    data = require(given, str, *place, "file_data")
    name = take_member(given, str, *place, "filename")
    return {"type": "file", "file": {"file_data": data} | ({"filename": name} if name else {})}


def _assistant(message: Json, place: Place, offered: Tools) -> Json:
    for name in ("audio", "function_call"):
        if message.get(name) is not None:
            raise misfit((*place, name), "this is not supported here")
    content = _plain(message, place) if message.get("content") is not None else ""
    found: Json = {"role": "assistant", "content": content} | made_media(message.get("images"))
    if not content and (refused := take_member(message, str, *place, "refusal")):
        found["content"] = refused
    thought = message.get("reasoning_content") or message.get("reasoning")
    if thought and isinstance(thought, str):
        found["reasoning"] = {"field": "reasoning_content", "text": thought}
    calls = items(take_member(message, list, *place, "tool_calls") or [], *place, "tool_calls")
    if made := [_call(call, where, offered) for where, call in calls]:
        found["tool_calls"] = made
    if CARRIER in message:
        found[CARRIER] = message[CARRIER]
    return found


def _call(call: Json, place: Place, offered: Tools) -> Json:
    if call.get("type", "function") != "function":
        raise misfit((*place, "type"), f"{shown_value(call['type'])} is not supported here")
    function = require(call, dict, *place, "function")
    call_id, name = (
        require(call, str, *place, "id"),
        require(function, str, *place, "function", "name"),
    )
    arguments = take_member(function, str, *place, "function", "arguments") or ""
    places = (*place, "id"), (*place, "function", "name")
    return made_call(call_id, name, arguments, offered, places)


def made_call(
    call_id: str, name: str, arguments: str, offered: Tools, places: tuple[Place, Place]
) -> Json:
    """Return a tool call of a session. Raises Problem.

    `places`: of the id and of the name in the body.
    """
    for value, place in zip((call_id, name), places, strict=True):
        if not 1 <= len(value) <= MAX_ID:
            raise misfit(place, f"expected 1 to {MAX_ID} characters")
    function = {"name": offered.inner.get(name, name), "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function}


def _plain(message: Json, place: Place) -> str:
    """Return a content that may have text parts only, as text. Raises Problem."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    texts = []
    for where, part in items(require(message, list, *place, "content"), *place, "content"):
        kind = part.get("type")
        if kind not in ("text", "refusal"):
            raise misfit((*where, "type"), f"expected text, got {shown_value(kind)}")
        texts.append(require(part, str, *where, kind))
    return "\n".join(texts)


# -- the rest -------------------------------------------------------------------------------------


def stop(body: Json) -> Json:
    """Return the setting for `stop`, {} without one. Raises Problem."""
    value = body.get(STOP)
    if value is None:
        return {}
    given = [value] if isinstance(value, str) else value
    if not isinstance(given, list) or not all(isinstance(each, str) for each in given):
        raise misfit((STOP,), f"expected a string or several, got {shown_value(value)}")
    return {STOP: value}


def wanted_schema(wanted: Json | None, place: Place, inner: str = "json_schema") -> Json | None:
    """Return the JSON Schema of the answer; None for text. Raises Problem.

    `inner`: the member that holds name and schema; "" if they are beside the type.
    """
    kind = wanted.get("type") if wanted else "text"
    if wanted is None or kind == "text":
        return None
    if kind == "json_object":
        return {"type": "object"}
    if kind != "json_schema":
        said = f"expected text, json_object or json_schema, got {shown_value(kind)}"
        raise misfit((*place, "type"), said)
    where = (*place, inner) if inner else place
    holder = require(wanted, dict, *where) if inner else wanted
    schema = take_member(holder, dict, *where, "schema")
    if schema is None:
        return {"type": "object"}
    if wrong := check_schema(schema):
        raise misfit((*where, "schema"), f"this is no JSON Schema: {wrong[0]}")
    return dict(schema)


def _facts(given: Any) -> list[str]:
    """Return the facts of `environment_context`: an object, a list of texts or one text."""
    if isinstance(given, dict):
        return [f"{name}: {value}" for name, value in given.items()]
    given = [given] if isinstance(given, str) else given
    return [each for each in given if isinstance(each, str)] if isinstance(given, list) else []


# -- the reply ------------------------------------------------------------------------------------

DONE = sse.encode("[DONE]")
THOUGHT = ("reasoning_content", "reasoning")  # clients look for one or the other
LAST = ""  # not the id of any message: the key of text that is sent after the run


class ChatReply(common.Reply):
    """Chunks of a stream, or one completion. `fingerprint` names this server."""

    def __init__(
        self,
        session: Session,
        wish: ChatOptions,
        *,
        run_id: str,
        first_message: int,
        fingerprint: str,
    ) -> None:
        super().__init__(session, wish.names, run_id=run_id, first_message=first_message)
        self._wish = wish
        self._id = f"chatcmpl-{self._run}"
        self._fingerprint = fingerprint
        self._prefix = ""  # of a chunk with one text
        self._texts: dict[str, list[str]] = {}  # pieces by message, in order
        self._thoughts: dict[str, list[str]] = {}  # by span
        self._reason = ""

    # -- a stream ---------------------------------------------------------------------------------

    def _text(self, event: Event) -> bytes:
        text = "" if self._is_structured() else _add_delta(self._texts, event)
        return self._delta(text, "content") if text else b""

    def _thought(self, event: Event) -> bytes:
        return self._delta(_add_delta(self._thoughts, event), *THOUGHT)

    def _start(self, event: Event) -> Iterable[Json]:
        self._created = event["timestamp"] // 1000
        return (self._chunk({"role": "assistant", "content": ""}),)

    def _step(self, event: Event) -> Iterable[Json]:
        step = step_of(event) if self._wish.steps else None
        return (self._chunk({}, more={CARRIER: step}),) if step else ()

    def _completed(self) -> Iterator[common.Message]:
        self._reason = outcome.reason(self._session)
        if text := outcome.last_words(self._session, said=bool(self._texts)):
            self._texts[LAST] = [text]
            yield self._chunk({"content": BREAK + text if len(self._texts) > 1 else text})
        for index, call in enumerate(self._calls()):
            function = {"name": call["name"], "arguments": ""}
            opened = {"index": index, "id": call["id"], "type": "function", "function": function}
            yield self._chunk({"tool_calls": [opened]})
            rest = {"index": index, "function": {"arguments": call["arguments"]}}
            yield self._chunk({"tool_calls": [rest]})
        self._is_kept = self.keep()
        extra = self._extra(with_session=self._wish.session)
        yield self._chunk(self._hidden_data() | self._beside_text(), self._reason, extra)
        if self._wish.usage:
            yield {**self._head(), "choices": [], "usage": self._usage()}
        yield DONE

    def _fail(self, found: outcome.Failure) -> Iterable[common.Message]:
        return error(found.message, found.kind, found.code), DONE

    def _delta(self, text: str, *names: str) -> bytes:
        """Return a chunk with one text.

        Formatted by hand, because nearly all chunks of a stream differ only in their text.
        """
        if not self._prefix:
            self._prefix = "data: " + dumps(self._head())[:-1]
        written = quote(text)
        delta = ",".join(f'"{name}":{written}' for name in names)
        return (
            f'{self._prefix},"choices":[{{"index":0,"delta":{{{delta}}},"finish_reason":null}}]}}\n\n'
        ).encode()

    def _chunk(
        self, delta: Json, finish_reason: str | None = None, more: Json | None = None
    ) -> Json:
        choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
        return {**self._head(), "choices": [choice], **(more or {})}

    def _head(self, kind: str = "chat.completion.chunk") -> Json:
        return {
            "id": self._id,
            "object": kind,
            "created": self._created,
            "model": self._wish.model,
            "system_fingerprint": self._fingerprint,
        }

    # -- a whole answer ---------------------------------------------------------------------------

    def see(self, event: Event) -> None:
        """Handle an event of a run that is not streamed; hooks may rewrite its texts."""
        super().see(event)
        if event["type"] == "CUSTOM" and not outcome.is_structured(self._session):
            for message_id, text in outcome.rewritten_texts(self._session, event):
                self._texts[message_id] = [text]

    def _whole(self) -> Json:
        message: Json = {"role": "assistant", "content": _join_pieces(self._texts) or None}
        message["refusal"] = None
        if self._thoughts:
            message |= dict.fromkeys(THOUGHT, _join_pieces(self._thoughts))
        if made := self._calls():
            message["tool_calls"] = [
                {
                    "id": call["id"],
                    "type": "function",
                    "function": {"name": call["name"], "arguments": call["arguments"]},
                }
                for call in made
            ]
        elif message["content"] is None:
            message["content"] = ""
        message |= self._hidden_data() | self._beside_text()
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": self._reason}
        return {
            **self._head("chat.completion"),
            "choices": [choice],
            "usage": self._usage(),
            **self._extra(with_session=self._wish.session),
        }

    # -- the pieces -------------------------------------------------------------------------------

    def hidden_data(self) -> Json | None:
        """Return the data that the caller sends back with its tool results; None without calls."""
        if self._reason != "tool_calls":
            return None
        return outcome.carrier(self._session, self._first, self._run)

    def _beside_text(self) -> Json:
        """Return {annotations} of the joined texts, and {images} in OpenRouter's form, if any."""
        found: list[Json] = []
        before = 0
        for message_id, pieces in self._texts.items():
            if text := "".join(pieces):
                for cited in url_citations(self._session, text, message_id):
                    moved = {k: cited[k] + before for k in ("start_index", "end_index")}
                    found.append({"type": "url_citation", "url_citation": cited | moved})
                before += len(text) + len(BREAK)
        pictures = outcome.pictures(self._session, self._first)
        images = [media.part_of(item) | {"index": n} for n, item in enumerate(pictures)]
        return ({"annotations": found} if found else {}) | ({"images": images} if images else {})

    def _calls(self) -> list[Json]:
        return outcome.calls(self._session, self._names, self._run)

    def _hidden_data(self) -> Json:
        found = self.hidden_data()
        return {CARRIER: found} if found else {}

    def _usage(self) -> Json:
        used = outcome.usage(self._session)
        return {
            **{f"{name}_tokens": used[name] for name in ("prompt", "completion", "total")},
            "prompt_tokens_details": {
                "cached_tokens": used["cached"],
                "cache_write_tokens": used["cache_write"],
            },
            "completion_tokens_details": {"reasoning_tokens": used["reasoning"]},
        }

    METHODS: ClassVar[Mapping[str, common.Method]] = {
        "TEXT_MESSAGE_CONTENT": _text,
        "REASONING_MESSAGE_CONTENT": _thought,
        "RUN_STARTED": _start,
        "STATE_DELTA": _step,
        "TOOL_CALL_RESULT": _step,
        "RUN_FINISHED": common.Reply._end,
        "RUN_ERROR": common.Reply._end,
    }


def _add_delta(pieces: dict[str, list[str]], event: Event) -> str:
    """Add a delta to `pieces` and return it, after a break if it begins another message or span."""
    source, text = event["messageId"], str(event["delta"])
    if source in pieces:
        pieces[source].append(text)
        return text
    begun = bool(pieces)
    pieces[source] = [text]
    return BREAK + text if begun else text


def _join_pieces(pieces: dict[str, list[str]]) -> str:
    return BREAK.join(filter(None, map("".join, pieces.values())))


def step_of(event: Event) -> Json | None:
    """Return the report of a call of the server's own tools, None for other events."""
    if alias(event) == EXEC:
        call_id = event["metadata"]["yaa"]["exec"]
        entries = [op["value"] for op in event["delta"] if isinstance(op.get("value"), dict)]
        name = entries[0].get("name", "") if entries else ""
        return {"tool": {"id": call_id, "name": name, "state": "started"}}
    if event["type"] == "TOOL_CALL_RESULT":
        ours = event["metadata"]["yaa"]
        return {"tool": {"id": event["toolCallId"], "name": ours["name"], "state": ours["state"]}}
    return None
