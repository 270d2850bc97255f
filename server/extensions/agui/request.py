"""Convert AG-UI's RunAgentInput to the session that it asks to run (https://ag-ui.com/spec/1.0).

Pure. `routes` runs the session and converts its events. The client
holds the whole session: the messages in AG-UI's form, the rest in `state.yaa`, as the events have
put it there. Input is untrusted and validated like any session; errors point into the
RunAgentInput.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ...errors import Problem, refuse
from ...json_types import Change, Json
from ...lib.json_schema import field_types
from ...lib.json_schema.field_types import OBJECT, TEXT, Misfit, Misfits, Place
from ...lib.json_schema.objects import object_schema
from ...lib.strict_json import JSONError, dumps, loads, pointer
from ...session.events import SNAPSHOT
from ...session.fold import yaa_metadata
from ...session.json_patch import parse_pointer
from ...session.limits import LIMITS
from ...session.schema import MAX_ERRORS

# -- content --------------------------------------------------------------------------------------
# Convert the contents of AG-UI messages to those of a session.
#
# Used by `messages`. Images, audio and documents come as data, as a URL or as the id of a file at a
# provider. Unknown parts are passed on unchanged; whether a model accepts a part is checked when
# its request is built.

_FORMATS = {"mpeg": "mp3", "x-wav": "wav", "wave": "wav", "vnd.wave": "wav"}  # OpenAI's names


def content_of(content: Any) -> Any:
    """Return a content in the form of a session: text, or parts."""
    if isinstance(content, list):
        return [_part(part) for part in content]
    return content or ""


def _part(part: Json) -> Json:
    kind, source = part["type"], part.get("source")
    if kind == "binary":  # AG-UI before 1.0
        kind, source = _kind_of(part.get("mimeType")), _older_source(part)
    if kind not in ("image", "audio", "video", "document") or not isinstance(source, dict):
        return part
    value, media = source.get("value"), source.get("mimeType") or "application/octet-stream"
    if not isinstance(value, str) or not isinstance(media, str):
        return part
    if source.get("type") == "file":
        return {"type": "file", "file": {"file_id": value}}
    inline = source.get("type") == "data"
    address = f"data:{media};base64,{value}" if inline else value
    if kind == "document":
        name = _name(part) or "document"
        return {"type": "file", "file": {"filename": name, "file_data": address}}
    if kind == "audio" and inline:
        form = media.partition("/")[2].partition(";")[0].lower()
        audio = {"data": value, "format": _FORMATS.get(form, form)}
        return {"type": "input_audio", "input_audio": audio}
    return {"type": f"{kind}_url", f"{kind}_url": {"url": address}}


def _kind_of(media: Any) -> str:
    kind = media.partition("/")[0] if isinstance(media, str) else ""
    return kind if kind in ("image", "audio", "video") else "document"


def _older_source(part: Json) -> Json:
    for key, kind in (("data", "data"), ("url", "url"), ("id", "file")):
        if isinstance(part.get(key), str):
            return {"type": kind, "value": part[key], "mimeType": part.get("mimeType")}
    return {}


def _name(part: Json) -> str:
    metadata = part.get("metadata")
    known = {**(metadata if isinstance(metadata, dict) else {}), **part}
    return next((v for k in ("filename", "name") if isinstance(v := known.get(k), str)), "")


# -- messages -------------------------------------------------------------------------------------
# Convert AG-UI messages to messages of a session.
#
# Fields that AG-UI does not have are sent to the client in a message's `metadata.yaa` and
# `encryptedValue` and come back there, so that messages of this server are restored exactly,
# interrupted ones too. Messages of other systems are read by AG-UI's fields alone. No call is
# invented, and of several results for a call the first is kept.

ROLES = ("developer", "system", "user", "assistant", "tool", "reasoning", "activity")
FOR_EYES = ("activity",)  # not sent to a model; the client keeps it
# Members of this server's messages for which AG-UI has no field, or not for all values.
AS_IT_WAS = ("at", "meta", "open", "name", "is_error", "result", "reasoning", "content")
ITS_OWN = ("id", "role", "tool_calls", "tool_call_id")  # always taken from AG-UI's own fields


def _look_into_role(message: Any, place: Place, found: Misfits) -> None:
    role = message.get("role")
    if isinstance(role, str) and role in _OF_ROLE:
        field_types.collect(message, _OF_ROLE[role], place, found)


_ID = {"id": field_types.text("a string", none=True)}
_PART = field_types.as_one(field_types.object_of({"type": TEXT}, ("type",)), "a part with a type")
_CONTENT = replace(field_types.either(TEXT, field_types.list_of(_PART)), words="a string or parts")
_CONTENT_OR_NONE = replace(
    field_types.either(field_types.text(none=True), field_types.list_of(_PART)),
    words=_CONTENT.words,
)
_CALL = field_types.as_one(
    field_types.object_of({"id": TEXT, "function": OBJECT}, ("id", "function")),
    "an object with id and function",
)
_OF_ROLE = {
    **dict.fromkeys(
        ("developer", "system", "user"),
        field_types.object_of({**_ID, "content": _CONTENT}, ("content",)),
    ),
    "reasoning": field_types.object_of({**_ID, "content": TEXT}, ("content",)),
    "assistant": field_types.object_of(
        {**_ID, "content": _CONTENT_OR_NONE, "toolCalls": field_types.list_of(_CALL, none=True)}
    ),
    "tool": field_types.object_of(
        {
            **_ID,
            "content": _CONTENT_OR_NONE,
            "toolCallId": replace(TEXT, words="the id of a call"),
        },
        ("toolCallId",),
    ),
}
MESSAGES = field_types.list_of(
    field_types.object_of({"role": field_types.one_of(*ROLES)}, ("role",), more=_look_into_role)
)


def session_messages(messages: list[Json]) -> tuple[list[Json], list[int]]:
    """Return (the session's messages, for each the index of the AG-UI message it was made of)."""
    thoughts = _thoughts(messages)
    spoken = {message.get("id") for message in messages if message["role"] == "assistant"}
    names: dict[Any, str] = {}
    answered: set[str] = set()
    told = {m["toolCallId"] for m in messages if m["role"] == "tool" and _marks(m)}
    found: list[tuple[Json, int]] = []
    for index, message in enumerate(messages):
        role = message["role"]
        if role == "assistant":
            made = _assistant_message(message, thoughts.get(message.get("id")))
            names |= {call["id"]: call["function"]["name"] for call in made.get("tool_calls", ())}
        elif role == "tool":
            call_id = message["toolCallId"]
            if call_id in answered or (call_id in told and not _marks(message)):
                continue  # a client may have written a result of its own before this server's
            answered.add(call_id)
            made = _result_message(message, names)
        elif role == "reasoning":
            owner = _owner(message)
            if owner is None or owner in spoken:
                continue
            spoken.add(owner)  # its message was interrupted before the first text
            made = {"id": owner, "role": "assistant", "content": "", "open": True}
            if "at" in (marks := yaa_metadata(message)):
                made["at"] = marks["at"]
            made["reasoning"] = thoughts[owner]
        elif role in FOR_EYES:
            continue
        else:
            made = _said(message)
        found.append((made, index))
    return [made for made, _ in found], [index for _, index in found]


def _thoughts(messages: list[Json]) -> dict[Any, Json]:
    """Return assistant message id -> reasoning.

    A reasoning message belongs to the message that it names, as this server's do, else to the next
    assistant message.
    """
    found: dict[Any, list[Json]] = {}
    unnamed: list[Json] = []
    for message in messages:
        if message["role"] == "assistant":
            if unnamed:
                found.setdefault(message.get("id"), []).extend(unnamed)
            unnamed = []
        elif message["role"] == "reasoning":
            if (owner := _owner(message)) is not None:
                found.setdefault(owner, []).append(message)
            else:
                unnamed.append(message)
    return {owner: _reasoning(thoughts) for owner, thoughts in found.items()}


def _owner(message: Json) -> str | None:
    owner = yaa_metadata(message).get("message_id")
    return owner if isinstance(owner, str) else None


def _reasoning(thoughts: list[Json]) -> Json:
    """Return the reasoning of several reasoning messages."""
    reasoning: Json = {"text": "".join(thought["content"] for thought in thoughts)}
    for thought in thoughts:
        if "id" in thought:
            reasoning["id"] = thought["id"]
        if isinstance(field := yaa_metadata(thought).get("field"), str):
            reasoning["field"] = field
    return reasoning


def _assistant_message(message: Json, reasoning: Json | None) -> Json:
    made = _kept(message) | {"role": "assistant", "content": content_of(message.get("content"))}
    if calls := message.get("toolCalls"):
        made["tool_calls"] = [_call(call) for call in calls]
    if "reasoning_details" in (marks := _marks(message)):
        reasoning = {**(reasoning or {"text": ""}), "details": marks["reasoning_details"]}
    if reasoning is not None:
        made["reasoning"] = reasoning
    return made | _as_it_was(message)


def _call(call: Json) -> Json:
    function = call["function"]
    made = {
        "id": call.get("id"),
        "type": "function",
        "function": {"name": function.get("name"), "arguments": function.get("arguments") or ""},
    }
    return {**_marks(call), **made}


def _result_message(message: Json, names: dict[Any, str]) -> Json:
    """Return a tool result: one of this server's restored, or one of the application's tools."""
    call_id = message["toolCallId"]
    content, error = content_of(message.get("content")), message.get("error")
    if error and not content:
        content = f"Error: {error}"
    made = _kept(message) | {"role": "tool", "tool_call_id": call_id, "content": content}
    made["name"] = names.get(call_id, "")
    if error:
        made["is_error"] = True
    return made | _as_it_was(message)


def _said(message: Json) -> Json:
    role = "user" if message["role"] == "user" else "system"
    made = _kept(message) | {"role": role, "content": content_of(message["content"])}
    return made | _as_it_was(message)


def _kept(message: Json) -> Json:
    """Return id and name. A message without an id gets one when the session is accepted."""
    return {key: message[key] for key in ("id", "name") if message.get(key) is not None}


def _as_it_was(message: Json) -> Json:
    """Return this server's members that came back: all from a snapshot, else AS_IT_WAS."""
    marks, metadata = _marks(message), message.get("metadata")
    whole = isinstance(metadata, dict) and SNAPSHOT in metadata
    kept = set(marks) - {"reasoning_details", *ITS_OWN} if whole else AS_IT_WAS
    return {key: value for key, value in marks.items() if key in kept}


def _marks(node: Json) -> Json:
    """Return this server's members of a message or a call, from `encryptedValue` and metadata.

    An `encryptedValue` that can't be read belongs to another system and is ignored.
    """
    return {**_read_encrypted_value(node.get("encryptedValue")), **yaa_metadata(node)}


def _read_encrypted_value(value: Any) -> Json:
    if not isinstance(value, str) or not value.startswith('{"yaa":'):
        return {}
    try:
        return yaa_metadata({"metadata": loads(value)})
    except JSONError:
        return {}


# -- request --------------------------------------------------------------------------------------


SETTLED = ("done", "failed", "denied", "skipped")
OF_A_RUN = {"int-model", "int-context_overflow", *(f"int-{name}" for name in LIMITS)}
EDITED = ("editedArgs", "edited_args")  # AG-UI's name for an approval's own arguments, and ours
ASKED_FIRST = "confirm"  # member of an interrupt: why a client tool needs an approval


@dataclass(frozen=True)
class AguiRequest:
    """The content of a RunAgentInput.

    session   the document to run
    run_id    the client's id of the run
    state     the application's own state, which stays as it is
    resumed   interrupt id -> its index in `resume`
    places    for each message of the session, the index of the one it was made of
    config    the part of the configuration that came in `forwardedProps`
    older     the client is from before protocol 1.0, and refuses unknown fields
    shares    the model is told the application's state, and STATE_SET changes it
    """

    session: Json
    run_id: str
    state: Json
    resumed: Mapping[str, int]
    places: list[int]
    config: Json
    older: bool = False
    shares: bool = False


def read(body: Json, agent: str) -> AguiRequest:
    """Return the session and run that a RunAgentInput asks for. Raises Problem if it is not one.

    Null is the same as absent, as older clients send it.
    """
    body = {key: value for key, value in body.items() if value is not None}
    wrong = [misfit.error() for misfit in field_types.misfits(body, BODY, MAX_ERRORS)]
    refuse("request_invalid", wrong[:MAX_ERRORS])
    messages = body["messages"]
    state = body.get("state", {})
    own = {key: value for key, value in state.get("yaa", {}).items() if key != "messages"}
    config = body.get("forwardedProps", {}).get("yaa", {}).get("config", {})
    made, places = _without_decisions(*session_messages(messages), body, own)
    session = own | {"id": body["threadId"], "agent": agent, "messages": made}
    if "tools" in body:
        session["tools"] = [_tool(tool) for tool in body["tools"]]
    if "context" in body:
        session["environment"] = [_fact(item) for item in body["context"]]
    if config:
        session["config"] = _laid_over(own.get("config", {}), config)
    if isinstance(calls := own.get("calls"), dict):
        session["calls"] = _with_results(calls, made)
    resumed = _resume(session, body.get("resume", []))
    rest = {key: value for key, value in state.items() if key != "yaa"}
    shares = _share_state(session, rest)
    older = "protocolVersion" not in body
    return AguiRequest(session, body["runId"], rest, resumed, places, config, older, shares)


def problem_in_input(problem: Problem, given: AguiRequest) -> Problem:
    """Return the refusal of a session with the places of the RunAgentInput.

    An unknown agent has the status 404, because the agent is part of the URL.
    """
    status = 404 if problem.code == "agent_unknown" else problem.status
    errors = [{**error, "pointer": _place(error["pointer"], given)} for error in problem.errors]
    detail = problem.detail
    for before, now in zip(problem.errors, errors, strict=True):
        if detail.startswith(f"{before['pointer']}:"):
            detail = now["pointer"] + detail.removeprefix(before["pointer"])
            break
    return Problem(problem.code, detail, errors=errors, headers=problem.headers, status=status)


def refusal(problem: Problem) -> Json:
    """Return the body of a refusal: the members of RUN_ERROR and those of every refusal."""
    return {"message": problem.detail, **problem.body()}


# -- the body -------------------------------------------------------------------------------------


_NAME = field_types.text("a string that is not empty", least=1)
_OBJECTS = field_types.list_of(OBJECT)
BODY = field_types.object_of(
    {
        **dict.fromkeys(("threadId", "runId"), _NAME),
        "messages": MESSAGES,
        **dict.fromkeys(("tools", "context", "resume"), _OBJECTS),
        "state": field_types.object_of(
            {"yaa": OBJECT},
            words="an object: this server keeps what is its own under its member yaa",
        ),
        "forwardedProps": field_types.object_of({"yaa": field_types.object_of({"config": OBJECT})}),
    },
    ("threadId", "runId", "messages"),
)


def _tool(tool: Json) -> Json:
    wanted = ("name", "description", "parameters")
    return {key: tool[key] for key in wanted if tool.get(key) is not None}


def _fact(item: Json) -> str:
    said = [item.get("description"), item.get("value")]
    words = [each if isinstance(each, str) else dumps(each) for each in said if each is not None]
    return ": ".join(word for word in words if word)


def _laid_over(base: Any, over: Json) -> Json:
    """Return settings merged into settings; a provider is replaced as a whole."""
    found = dict(base) if isinstance(base, dict) else {}
    for key, value in over.items():
        deeper = isinstance(value, dict) and key != "provider"
        found[key] = _laid_over(found.get(key), value) if deeper else value
    return found


# -- the application's state ----------------------------------------------------------------------
# The model reads it as a fact of the environment, and changes it by an action of the page, whose
# result `routes` sends as a STATE_DELTA.

STATE_SET = "state_set"
MAX_STATE = 20_000  # characters; of a longer state the model is told the names of its members
_TOLD = "The application's state when this run began"
_STATE_TOOL: Json = {
    "name": STATE_SET,
    "description": (
        "Change the application's state, which the user sees. Each member of `changes` replaces the"
        " member of its name as a whole; null removes it."
    ),
    "parameters": object_schema({"changes": {"type": "object"}}, None),
    "wait": False,
}


def _share_state(session: Json, state: Json) -> bool:
    """Tell the session's model the application's state, if it has one and the session is sound.

    Return whether STATE_SET is this module's tool, and not one of the application's own.
    """
    tools, facts = session.get("tools", []), session.get("environment", [])
    if not (isinstance(tools, list) and isinstance(facts, list)):
        return False
    tools = [tool for tool in tools if tool != _STATE_TOOL]
    facts = [fact for fact in facts if not str(fact).startswith(_TOLD)]
    own = any(isinstance(tool, dict) and tool.get("name") == STATE_SET for tool in tools)
    if state:
        text = dumps(state)
        whole = len(text) <= MAX_STATE
        facts.append(f"{_TOLD}: {text}" if whole else f"{_TOLD} has {dumps([*state])[:MAX_STATE]}")
        tools += [] if own else [_STATE_TOOL]
    for name, found in (("tools", tools), ("environment", facts)):
        if found or name in session:
            session[name] = found
    return bool(state) and not own


def state_changes(state: Json, changes: Json) -> list[Change]:
    """Apply the changes of a call of STATE_SET to the state; return them as RFC 6902 operations.

    `yaa` is the session, which no model changes.
    """
    found: list[Change] = []
    for name, value in changes.items():
        if name == "yaa" or (value is None and name not in state):
            continue
        if value is None:
            del state[name]
            found.append({"op": "remove", "path": pointer(name)})
        else:
            state[name] = value
            found.append({"op": "add", "path": pointer(name), "value": value})
    return found


# -- a thread that continues ----------------------------------------------------------------------


def _without_decisions(
    made: list[Json], places: list[int], body: Json, own: Json
) -> tuple[list[Json], list[int]]:
    """Return (messages, places) without results that are only decisions.

    CopilotKit's `useInterrupt` sends what a person decided twice: as `resume`, and as the result of
    the call that waits for it, which is none.
    """
    decided = [each.get("interruptId") for each in body.get("resume", ())]
    calls, asked = own.get("calls"), own.get("interrupts")
    named = [
        interrupt.get("call_id")
        for interrupt in (asked if isinstance(asked, list) else ())
        if isinstance(interrupt, dict) and interrupt.get("id") in decided
    ]
    log = calls if isinstance(calls, dict) else {}
    waiting = [each for each in named if isinstance(each, str) and _is_asking(log, each)]
    kept = [
        index
        for index, (message, place) in enumerate(zip(made, places, strict=True))
        if message.get("tool_call_id") not in waiting or _marks(body["messages"][place])
    ]
    return [made[index] for index in kept], [places[index] for index in kept]


def _is_asking(calls: Json, call_id: str) -> bool:
    entry = calls.get(call_id)
    return isinstance(entry, dict) and entry.get("state") == "asking"


def _with_results(calls: Json, messages: list[Json]) -> Json:
    """Return the call log with the states that follow from the tool messages.

    An application reports the result of its own tool only by a tool message, and a stream may be
    cut after a result.
    """
    failed = {m["tool_call_id"]: bool(m.get("is_error")) for m in messages if m["role"] == "tool"}
    return {
        call_id: {**entry, "state": "failed" if failed[call_id] else "done"}
        if call_id in failed and isinstance(entry, dict) and entry.get("state") not in SETTLED
        else entry
        for call_id, entry in calls.items()
    }


def _resume(session: Json, entries: list[Json]) -> dict[str, int]:
    """Put each answer at its interrupt; return interrupt id -> index in `resume`.

    An answer that already had its effect is ignored: after a cut stream the client sends it again.
    Raises Problem for an interrupt that the thread never had.
    """
    asked = session.get("interrupts")
    asked = [dict(i) if isinstance(i, dict) else i for i in asked] if type(asked) is list else []
    waiting = {_id(item): item for item in asked if _id(item) is not None}
    made = (call["id"] for m in session["messages"] for call in m.get("tool_calls", ()))
    known = {*OF_A_RUN, *(f"int-{call_id}" for call_id in made)}
    resumed: dict[str, int] = {}
    wrong: list[Misfit] = []
    for index, entry in enumerate(entries):
        name, place = entry.get("interruptId"), ("resume", index, "interruptId")
        if not isinstance(name, str) or name in resumed:
            wrong.append(Misfit(place, "the id of an interrupt, once", name))
        elif name in waiting:
            _decide(waiting[name], entry)
        elif name not in known:
            said = "this thread has no such interrupt; send its messages and its state"
            wrong.append(Misfit(place, said))
        resumed[str(name)] = index
    refuse("answer_invalid", [misfit.error() for misfit in wrong[:MAX_ERRORS]])
    if resumed and asked:
        session["interrupts"] = asked
    return resumed


def _id(interrupt: Any) -> str | None:
    name = interrupt.get("id") if isinstance(interrupt, dict) else None
    return name if isinstance(name, str) else None


def _decide(interrupt: Json, entry: Json) -> None:
    """Put the entry as the interrupt's answer.

    If the call of a client tool needed an approval, "yes" is not its answer: the call itself is
    sent next.
    """
    payload = entry.get("payload")
    if interrupt.get("reason") == "client_tool" and isinstance(payload, dict):
        approved = payload.get("approved")
        if approved is True:
            for settled in (ASKED_FIRST, "answer"):
                interrupt.pop(settled, None)
            return
        if approved is False:
            reason = {"reason": payload["reason"]} if "reason" in payload else {}
            entry = {"status": "cancelled", "payload": reason}
    interrupt["answer"] = _answer(entry)


def _answer(entry: Json) -> Json:
    answer = {"status": entry.get("status")}
    payload = entry.get("payload")
    if isinstance(payload, dict) and EDITED[0] in payload:
        theirs = {key: value for key, value in payload.items() if key != EDITED[0]}
        payload = {**theirs, EDITED[1]: payload[EDITED[0]]}
    return answer | ({"payload": payload} if "payload" in entry else {})


# -- errors ---------------------------------------------------------------------------------------


def _place(place: str, given: AguiRequest) -> str:
    """Return a place in the session as one in the RunAgentInput."""
    parts = parse_pointer(place) or [""]
    first, rest = parts[0], parts[1:]
    if first in _NAMES:
        return pointer(_NAMES[first], *rest[:1])
    if first == "messages" and rest and rest[0].isdigit():
        return pointer("messages", given.places[int(rest[0])])
    if first == "interrupts" and rest[1:2] == ["answer"]:
        name = _id(given.session["interrupts"][int(rest[0])])
        if (index := given.resumed.get(name or "")) is not None:
            return pointer("resume", index, *rest[2:]).replace(EDITED[1], EDITED[0])
    if first == "tools":
        return place
    if first == "config" and _reaches(given.config, rest):
        return pointer("forwardedProps", "yaa", *parts)
    return pointer("state", "yaa", *(parts if place else ()))


_NAMES = {"id": "threadId", "environment": "context"}


def _reaches(node: Any, parts: list[str]) -> bool:
    for part in parts:
        if not isinstance(node, dict) or part not in node:
            return False
        node = node[part]
    return bool(parts)
