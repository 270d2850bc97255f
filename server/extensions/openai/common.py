"""The history, session and errors that Chat Completions and Responses share. Pure.

`chat` and `responses` read a body and `document` makes the session. Each tool call of the caller's
history must have its result, else the body is refused at the place that is wrong. Runs are
unattended: tools that would ask a person are withheld, because this API has no way to ask.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar

from ...errors import Problem
from ...json_types import ClientTool, Event, Json, Session
from ...lib.http import sse
from ...lib.strict_json import LARGEST_COUNT, dumps, pointer
from ...session import client_tools, media, outcome
from ...session.config_schema import MODEL_SETTINGS
from ...session.json_patch import parse_pointer
from ...session.limits import MOST
from ...session.schema import MAX_ID, MAX_SESSION_ID, check

# -- fields ---------------------------------------------------------------------------------------
# Typed access to the fields of a body of /v1, with errors at the field's place.
#
# Null is the same as absent. Used by `chat` and `responses`.

Place = tuple[str | int, ...]

_WORDS: dict[type, str] = {
    str: "a string",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    list: "an array",
    dict: "an object",
}


def misfit(place: Place, detail: str) -> Problem:
    """Return a Problem at `place` in the body."""
    where = pointer(*place)
    errors = [{"pointer": where, "detail": detail}]
    return Problem("request_invalid", f"{param(where)}: {detail}", errors=errors, status=400)


def param(where: str) -> str:
    """Return a JSON pointer in OpenAI's notation: `messages[0].content`."""
    found = ""
    for part in parse_pointer(where) or []:
        found += f"[{part}]" if part.isdigit() else f".{part}" if found else part
    return found


def take_member(node: Mapping[str, Any], kind: type, *place: str | int) -> Any:
    """Return the member that the last of `place` names; None if it is absent or null.

    Raises Problem if it is not a `kind`.
    """
    value = node.get(str(place[-1]))
    if value is None:
        return None
    fits = isinstance(value, int | float) if kind is float else isinstance(value, kind)
    if not fits or (isinstance(value, bool) and kind is not bool):
        raise misfit(place, f"expected {_WORDS[kind]}, got {shown_value(value)}")
    return value


def require(node: Mapping[str, Any], kind: type, *place: str | int) -> Any:
    """Return the member that the last of `place` names. Raises Problem if it is missing."""
    value = take_member(node, kind, *place)
    if value is None:
        raise misfit(place, f"expected {_WORDS[kind]}, and it is missing")
    return value


def items(values: list[Any], *place: str | int) -> Iterable[tuple[Place, Json]]:
    """Yield (place, object) for each item of an array. Raises Problem for other items."""
    for index, value in enumerate(values):
        if not isinstance(value, dict):
            raise misfit((*place, index), f"expected an object, got {shown_value(value)}")
        yield (*place, index), value


def only(
    body: Mapping[str, Any],
    allowed: Mapping[str, tuple[Any, ...]],
    instead_of: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Refuse values of unsupported fields, naming field and value. Raises Problem.

    `instead_of`: field -> what to do in its place.
    """
    for name, values in allowed.items():
        value = body.get(name)
        if value is not None and not any(value == each for each in values):
            instead = f"; only {' or '.join(map(dumps, values))} is" if values else ""
            if name in instead_of:
                instead = f"; {instead_of[name]}"
            raise misfit((name,), f"{shown_value(value)} is not supported here{instead}")


def settings(body: Mapping[str, Any], known: Mapping[str, type]) -> Json:
    """Return the fields that are passed on to the model, as a provider's `model_settings`.

    Raises Problem for a value that a session cannot have.
    """
    found = {name: take_member(body, kind, name) for name, kind in known.items()}
    found = {name: value for name, value in found.items() if value is not None}
    for name, value in found.items():
        allowed = MODEL_SETTINGS.fields.get(name)
        if allowed and not allowed.fits(value):
            raise misfit((name,), f"expected {allowed.words}, got {shown_value(value)}")
    return found | ({"use_custom_temp": True} if "temperature" in found else {})


def positive(body: Mapping[str, Any], name: str) -> int | None:
    """Return a positive integer; None if it is absent. Raises Problem."""
    value = take_member(body, int, name)
    if value is not None and not 1 <= value <= LARGEST_COUNT:
        raise misfit((name,), f"expected 1 to {LARGEST_COUNT}, got {shown_value(value)}")
    return None if value is None else int(value)


def shown_value(value: Any) -> str:
    """Return a value as text for an error: the kind of a container, else at most 60 characters."""
    if isinstance(value, dict | list):
        return _WORDS[type(value)]
    text = f'"{value}"' if isinstance(value, str) else dumps(value)
    return text if len(text) <= 60 else f"{text[:60]}…"


# -- tools ----------------------------------------------------------------------------------------
# The tools that a caller of /v1 offers, and its `tool_choice`.
#
# Used by `chat` and `responses`, which have different places for a tool's fields. A caller's tool
# with the name of one of the server's own is renamed for the model, and back for the caller.

TAKEN = "caller_"  # prefix of a caller's tool if the server has one of the same name
CHOICES = "only auto, none, required, and objects of the type function or allowed_tools are"
Spelling = Callable[[Place, Json], tuple[Place, Json]]  # tool -> (place of its {name, …}, that)


@dataclass(frozen=True)
class Tools:
    """The caller's tools in the form of a session's `tools`.

    `inner`: the caller's name of a tool -> ours; `outer`: our name -> the caller's. `choice`: auto,
    none, required or one name of ours.
    """

    declarations: tuple[ClientTool, ...] = ()
    inner: Mapping[str, str] = field(default_factory=dict)
    outer: Mapping[str, str] = field(default_factory=dict)
    choice: str = "auto"

    def restrict(self, choice: str, allowed: Iterable[str] | None = None) -> Tools:
        """Return the tools that `tool_choice` allows. Raises Problem."""
        declared = self.declarations if choice != "none" else ()
        if allowed is not None:
            names = {self.inner[name] for name in allowed}
            declared = tuple(tool for tool in declared if tool["name"] in names)
        if choice == "required" and not declared:
            raise misfit(("tool_choice",), "required without tools")
        return Tools(declared, self.inner, self.outer, self.inner.get(choice, choice))


def tools(listed: Iterable[tuple[Place, Json]], spelling: Spelling, taken: Container[str]) -> Tools:
    """Return the tools that are `listed` with their places. Raises Problem.

    `taken`: names of the server's own tools.
    """
    declared: list[ClientTool] = []
    outer: dict[str, str] = {}
    places = []
    for place, function in (_function(*each, spelling) for each in listed):
        name = require(function, str, *place, "name")
        inside = name if name not in taken else f"{TAKEN}{name}"[:64]
        tool: ClientTool = {
            "name": inside,
            "description": take_member(function, str, *place, "description") or "",
            "parameters": take_member(function, dict, *place, "parameters") or {},
        }
        if inside in outer:
            raise misfit((*place, "name"), f"there is a tool named {name} already")
        declared.append(tool)
        places.append(place)
        outer[inside] = name
    if len(declared) > MOST["tools"]:
        raise misfit(("tools",), f"expected at most {MOST['tools']} tools, got {len(declared)}")
    for (index, *at), said, *_ in client_tools.tool_misfits(declared):
        raise misfit((*places[int(index)], *at), said)
    return Tools(tuple(declared), {name: inside for inside, name in outer.items()}, outer)


def check_tool_name(name: str, offered: Tools, *place: str | int) -> str:
    """Return `name` if it is one of the request's tools. Raises Problem."""
    if name not in offered.inner:
        raise misfit(place, f"{shown_value(name)} is none of the request's tools")
    return name


def _function(place: Place, tool: Json, spelling: Spelling) -> tuple[Place, Json]:
    if tool.get("type", "function") != "function":
        said = f"{shown_value(tool['type'])} is not supported here; only function is"
        raise misfit((*place, "type"), said)
    return spelling(place, tool)


def choose_tools(body: Json, offered: Tools, spelling: Spelling, *inner: str) -> Tools:
    """Return the tools that a body's `tool_choice` allows. Raises Problem.

    `inner`: the member that lists the allowed tools, if they are in one.
    """
    choice = body.get("tool_choice")
    place: Place = ("tool_choice",)
    if choice is None or choice in ("auto", "none", "required"):
        return offered.restrict(choice or "auto")
    kind = choice.get("type") if isinstance(choice, dict) else None
    if kind == "function":
        place, named = spelling(place, choice)
        name = require(named, str, *place, "name")
        return offered.restrict(check_tool_name(name, offered, *place, "name"))
    if kind == "allowed_tools":
        place = (*place, *inner)
        allowed = require(choice, dict, *place) if inner else choice
        mode = take_member(allowed, str, *place, "mode") or "auto"
        if mode not in ("auto", "required"):
            raise misfit((*place, "mode"), f"expected auto or required, got {shown_value(mode)}")
        names = []
        for where, tool in items(require(allowed, list, *place, "tools"), *place, "tools"):
            _, function = _function(where, tool, spelling)
            names.append(check_tool_name(str(function.get("name")), offered, *where))
        return offered.restrict(mode, names)
    raise misfit(place, f"{shown_value(kind or choice)} is not supported here; {CHOICES}")


# -- common ---------------------------------------------------------------------------------------

Recall = Callable[[str], Json | None]  # call id -> hidden messages that this host has kept

HIDDEN = re.compile(r"call_[0-9a-f]{24}_[0-9]{1,4}")  # ids of calls that this server sent
CARRIER = "yaa"  # the member of a message with a run's hidden messages, sent back by the client
CODES = {  # Problem's code -> OpenAI's
    "unauthorized": "invalid_api_key",
    "agent_unknown": "model_not_found",
    "busy": "rate_limit_exceeded",
    "rate_limited": "rate_limit_exceeded",
}
# 424: the agent's definition is wrong; clients do not retry this status (session/outcome.py).
STATUS = {"agent_unknown": 404, "provider_unknown": 424, "provider_not_allowed": 424}


# -- the conversation ------------------------------------------------------------------------------


def pair_results(history: Iterable[tuple[Place, Json]]) -> tuple[list[Json], str]:
    """Return (messages, each call followed by its result; id of the continued session or "").

    `history` has messages in the form of a session; an assistant message with the hidden messages
    of a run (CARRIER) is replaced by those. Raises Problem for a call or a result without its
    counterpart.
    """
    pairs = ResultPairing()
    session_id = ""
    for place, message in history:
        if brought := read_carrier(message):
            session_id, messages, told = brought
            for each in messages:
                pairs.add(each, place, told)
            continue
        if message["role"] == "user":
            session_id = ""
        pairs.add({key: value for key, value in message.items() if key != CARRIER}, place, {})
    pairs.close()
    return pairs.messages, session_id


class ResultPairing:
    """Messages with each result behind its call.

    Ids that occur twice, as small providers produce them, are made unique.
    """

    def __init__(self) -> None:
        self.messages: list[Json] = []
        self._waiting: dict[str, tuple[Place, Json]] = {}  # the caller's id -> place, result
        self._used: set[str] = set()
        self._times: Counter[str] = Counter()  # stem of an id -> how often it was used again

    def add(self, message: Json, place: Place, told: Mapping[str, str]) -> None:
        """Add a message. `told`: id of a call in the message -> id that the caller uses.

        Raises Problem for a result without a call, or an id of two open calls.
        """
        if message["role"] == "tool":
            self._answer(message, place)
            return
        self.messages.append(message)
        if not message.get("tool_calls"):
            return
        message["tool_calls"] = [{**call} for call in message["tool_calls"]]
        for call in message["tool_calls"]:
            name = told.get(call["id"], call["id"])
            if name in self._waiting:
                raise misfit(place, f"the call id {shown_value(name)} is used by two open calls")
            call["id"] = self._fresh(call["id"])
            result: Json = {"tool_call_id": call["id"]}
            self._waiting[name] = place, result
            self.messages.append(result)

    def close(self) -> None:
        """Refuse calls without a result. Raises Problem."""
        for call_id, (place, _) in self._waiting.items():
            raise misfit(
                place, f"the call {shown_value(call_id)} has no result; each call needs one"
            )

    def _answer(self, given: Json, place: Place) -> None:
        call_id = given["tool_call_id"]
        if call_id not in self._waiting:
            raise misfit(
                place, f"the result for {shown_value(call_id)} follows no call with that id"
            )
        _, result = self._waiting.pop(call_id)
        result |= {**given, **result}

    def _fresh(self, call_id: str) -> str:
        stem = call_id[: MAX_ID - 12]
        while call_id in self._used:
            self._times[stem] += 1
            call_id = f"{stem}~{self._times[stem] + 1}"
        self._used.add(call_id)
        return call_id


def made_media(value: Any) -> Json:
    """Return {media} of the pictures in an answer that a caller sends back, {} without any."""
    items = ({"name": "image", "data": data} for data in media.made_in(value))
    usable, _ = media.check_items(items, media.MAX_RESULT)
    return {"media": usable} if usable else {}


def recall_messages(message: Json, call_ids: Iterable[str], recall: Recall) -> None:
    """Add the hidden messages that a client has dropped, if this host still has them."""
    first = next(iter(call_ids), "")
    if CARRIER not in message and HIDDEN.fullmatch(first) and (found := recall(first)):
        message[CARRIER] = found


def read_carrier(message: Json) -> tuple[str, list[Json], dict[str, str]] | None:
    """Return (session id, messages, id -> caller's id of the open calls) from a message's CARRIER.

    None if the message has none, or if it is malformed or its open calls differ from the message's.
    """
    brought = message.get(CARRIER)
    if not isinstance(brought, dict):
        return None
    session_id, told = brought.get("id"), brought.get("calls")
    if not isinstance(session_id, str) or len(session_id) > MAX_SESSION_ID:
        return None
    if not isinstance(told, dict) or not all(isinstance(each, str) for each in told.values()):
        return None
    if not isinstance(brought.get("messages"), list):
        return None
    messages = [found for each in brought["messages"] if (found := _copy_checked(each))]
    results = {each["tool_call_id"] for each in messages if each["role"] == "tool"}
    calls = [call["id"] for each in messages for call in each.get("tool_calls", ())]
    waiting = [call_id for call_id in calls if call_id not in results]
    called = [call["id"] for call in message.get("tool_calls") or ()]
    theirs: dict[str, str] = {told[name]: name for name in called if name in told}
    whole = len(messages) == len(brought["messages"]) and len(theirs) == len(called)
    if not whole or set(theirs) != set(waiting) or check({"messages": messages}):
        return None
    return session_id, messages, theirs


def _copy_checked(message: Any) -> Json | None:
    """Return a copy of a message after checking the fields that pairing needs; else None."""
    if not isinstance(message, dict) or message.get("role") not in ("assistant", "tool"):
        return None
    if message["role"] == "tool":
        return dict(message) if isinstance(message.get("tool_call_id"), str) else None
    calls = message.get("tool_calls", [])
    if not isinstance(calls, list):
        return None
    if not all(isinstance(call, dict) and isinstance(call.get("id"), str) for call in calls):
        return None
    return {**message, **({"tool_calls": list(calls)} if calls else {})}


def with_request_last(messages: list[Json], place: Place) -> list[Json]:
    """Return the messages with one to answer at the end. Raises Problem.

    A last system message becomes a user message, because the loop answers only users and results.
    """
    last = messages[-1] if messages else {"role": ""}
    if last["role"] == "system":
        return [*messages[:-1], {**last, "role": "user"}]
    if last["role"] not in ("user", "tool"):
        raise misfit(
            place, "the last one must be the user's or a result: there is nothing to answer"
        )
    return messages


# -- the session ----------------------------------------------------------------------------------


def document(
    agent: str,
    history: Iterable[tuple[Place, Json]],
    offered: Tools,
    *,
    place: Place,
    taken: Iterable[str],
    settings: Json,
    max_tokens: int | None,
    schema: Json | None,
    ext: Json,
) -> Json:
    """Return the session of one request. Raises Problem.

    With the tool choice "required" the server's own tools are denied, so that one of the caller's
    is called. `place`: of the messages in the body. `taken`: names of the server's own tools.
    """
    messages, session_id = pair_results(history)
    choice = offered.choice if offered.declarations else "auto"
    llm: Json = {"model_settings": settings, "max_tokens": max_tokens}
    if choice not in ("auto", "none"):
        llm["tool_choice"] = choice
    yaa: Json = {"unattended": True, "auto_title": False}
    if schema is not None:
        yaa["output_schema"] = schema
    denied = {name: {"deny": True} for name in taken} if choice == "required" else {}
    return {
        **({"id": session_id} if session_id else {}),
        "agent": agent,
        "messages": with_request_last(messages, place),
        "tools": list(offered.declarations),
        "config": {"yaa": yaa, "llm_api": llm, "tool": denied},
        "ext": {"openai": ext},
    }


# -- errors ---------------------------------------------------------------------------------------


def refusal(problem: Problem) -> Json:
    """Return the error body that OpenAI's SDKs read."""
    first = problem.errors[0]["pointer"] if problem.errors else ""
    code = CODES.get(problem.code, problem.code)
    ours = problem.status >= 500 or problem.status == 424
    kind = "server_error" if ours else "invalid_request_error"
    kind = "rate_limit_error" if problem.status == 429 else kind
    where = "model" if problem.code == "agent_unknown" else param(first) or None
    return error(problem.detail, kind, code, where)


def error(message: str, kind: str, code: str, where: str | None = None) -> Json:
    """Return an error body in OpenAI's form; `where` is the parameter at fault."""
    return {"error": {"message": message, "type": kind, "param": where, "code": code}}


def sdk_problem(problem: Problem) -> Problem:
    """Return the problem with the status for which SDKs raise the right exception.

    This API has no 422: an invalid session counts as an invalid body.
    """
    status = STATUS.get(problem.code, 400 if problem.status == 422 else problem.status)
    headers = problem.headers
    if status >= 500 and "Retry-After" not in headers:
        headers = {**headers, "x-should-retry": "false"}  # a retry would fail the same way
    return Problem(
        problem.code, problem.detail, errors=problem.errors, headers=headers, status=status
    )


# -- reply ----------------------------------------------------------------------------------------
# The answer to a request of `/v1`, made of the events of its run: streamed, or whole at the end.
#
# `routes` passes every event to `frame`, or without streaming to `see` and sends `answer` at the
# end; both are made by the same methods. Calls of the caller's tools are sent when the run has
# stopped for them: until then the server may still find that their arguments do not fit, and ask
# the model again.

BREAK = "\n\n"  # between the texts before and after a call of the server's own tools
# A member of `yaa.warnings` in the answer.
NOT_KEPT = {
    "code": "not_kept",
    "message": "This server has no room to keep what later requests need of this answer. Send the"
    " whole conversation next, with each `yaa` of its messages. The same request is a new one.",
}
Message = Json | bytes  # of a stream; bytes are frames already
Method = Callable[[Any, Event], bytes | Iterable[Message]]  # of a Reply


class Reply(ABC):
    """The answer of one run. `session` is the live document, `names` those of the caller's tools.

    `METHODS`: type of an event -> the method that returns its messages, or their frames. `keep`:
    called once the answer is complete; returns whether what later requests need of it was kept.
    """

    METHODS: ClassVar[Mapping[str, Method]] = {}

    def __init__(
        self, session: Session, names: Mapping[str, str], *, run_id: str, first_message: int
    ) -> None:
        self._session, self._names, self._first = session, names, first_message
        self._run = run_id.removeprefix("run_")
        self._created = 0  # Unix seconds
        self.keep: Callable[[], bool] = lambda: True
        self._is_kept = True
        self.warnings: list[Json] = []
        self._ended = False
        self._failure: outcome.Failure | None = None
        self._structured: bool | None = None

    def frame(self, event: Event) -> bytes:
        """Return the frames of an event, b"" for most kinds."""
        found = self._messages(event)
        return found if isinstance(found, bytes) else b"".join(map(_frame, found))

    def see(self, event: Event) -> None:
        """Handle an event of a run that is not streamed."""
        for _ in self._messages(event):
            pass

    def cut_frames(self) -> bytes:
        """Return the end of the stream when the server stops."""
        self._failure = outcome.stop_failure(self._session, self._first)
        return b"".join(map(_frame, self._fail(self._failure)))

    def answer(self) -> tuple[int, Json]:
        """Return (status, body)."""
        if not self._ended:
            self._failure = outcome.stop_failure(self._session, self._first)
        if found := self._failure:
            return found.status, error(found.message, found.kind, found.code)
        return 200, self._whole()

    def answer_to_store(self) -> tuple[str, Json] | None:
        """Return (id, value to keep for later requests); None if nothing may be kept."""
        return None

    @abstractmethod
    def hidden_data(self) -> Json | None:
        """Return the data that the caller sends back with its tool results; None without calls."""

    def _messages(self, event: Event) -> bytes | Iterable[Message]:
        method = self.METHODS.get(event["type"])
        return method(self, event) if method else b""

    def _end(self, event: Event) -> Iterable[Message]:
        self._ended = True
        self._failure = outcome.failure(self._session, event, self._first)
        if self._failure is None:
            return self._completed()
        self.keep()
        return self._fail(self._failure)

    def _extra(self, *, with_session: bool) -> Json:
        """Return {yaa: …} with the session, if wanted, and warnings, if there are any."""
        extra: Json = {"session": self._session} if with_session else {}
        if warnings := [*self.warnings, *([] if self._is_kept else [NOT_KEPT])]:
            extra["warnings"] = warnings
        return {CARRIER: extra} if extra else {}

    def _is_structured(self) -> bool:
        """Return whether the answer is structured; its text is sent after the run then."""
        if self._structured is None:
            self._structured = outcome.is_structured(self._session)
        return self._structured

    @abstractmethod
    def _fail(self, found: outcome.Failure) -> Iterable[Message]:
        """Return the messages that end a stream with a failure."""

    @abstractmethod
    def _completed(self) -> Iterable[Message]:
        """Return the messages at the end of a run that did not fail."""

    @abstractmethod
    def _whole(self) -> Json:
        """Return the body of a run that did not fail."""


def _frame(message: Message) -> bytes:
    if isinstance(message, bytes):
        return message
    return sse.encode(dumps(message), message.get("type"))
