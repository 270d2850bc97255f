"""The words of an agent gateway (`/api/*`): its bodies as sessions, and its envelope. Pure.

In the walk: protocols/gateway/routes reads a body and asks here for the session document it means;
what the run then tells goes through gateway_events. The rule of the file: a gateway keeps chats and
yaa keeps nothing, so the document goes out with the end of every run and comes back with the next
request.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...errors import Problem
from ...session import agent_definition
from ...session.events import pointer
from ...session.modes import mode_named
from ...strict_json import JSONError, loads
from ..session_body import check

Json = dict[str, Any]

SUCCESS = "success"
SCENE = "The user is looking at the page"  # how the environment's line about a scene begins
MAX_URL = 2000  # characters of a reference's address that the model is told
WINDOW = 20  # runs that the model is sent where nobody says how many: a gateway's memory.chat.k
WAIT_S = 30  # for a submit, where a body does not say how long
MAX_WAIT_S = 300
NO_CHATS = (
    "This server keeps no chats: the session that a query ends with is the chat, and its client"
    " keeps it."
)
NO_HISTORY = (
    "missing; this server keeps no chats, so send the session that the chat's last run.complete"
    " had, or {} to begin a chat with this chatId"
)
NOT_WAITING = "Send the session that the run.complete of that query had along with this body."

_TEXT = {"type": "string"}
_NAME = {"type": ["string", "null"]}
_SESSION = {
    "type": "object",
    "properties": {
        "messages": {"type": "array"},
        "environment": {"type": "array", "items": _TEXT},
        "interrupts": {"type": "array", "items": {"type": "object"}},
        "ext": {"type": "object"},
    },
}
_GIVEN = {**_SESSION, "type": ["object", "null"]}
QUERY: Json = {
    "type": "object",
    "properties": {
        **dict.fromkeys(("requestId", "chatId", "agentKey", "message"), _NAME),
        "role": {"enum": ["user", None]},
        "references": {"type": ["array", "null"], "items": {"type": "object"}},
        "params": {"type": ["object", "null"]},
        "scene": {"type": ["object", "null"], "properties": {"url": _NAME, "title": _NAME}},
        "stream": {"type": ["boolean", "null"]},
        "tools": {"type": "array", "items": {"type": "object"}},
        "wait": {"type": ["number", "null"], "minimum": 0, "maximum": MAX_WAIT_S},
        "session": _GIVEN,
    },
}
SUBMIT: Json = {
    "type": "object",
    "properties": {
        **dict.fromkeys(("requestId", "chatId", "runId", "viewId"), _NAME),
        "toolId": {"type": "string", "minLength": 1},
        "payload": {"not": {"type": "null"}},
        "isError": {"type": ["boolean", "null"]},
        "session": _GIVEN,
    },
    "required": ["toolId", "payload"],
}
CHAT: Json = {
    "type": "object",
    "properties": {"session": _SESSION, "includeEvents": {"type": ["boolean", "null"]}},
    "required": ["session"],
}


@dataclass
class Asked:
    """What a body means: `document` for the run, `told` for the event that repeats the request,
    and `places`, where in the body each part of the document came from. `wait`: seconds that the
    stream stays open for what the run waits for."""

    document: Json
    places: list[tuple[str, str]]
    told: Json = field(default_factory=dict)
    new: bool = False  # a chat begins
    wait: float = 0

    def in_body(self, problem: Problem) -> Problem:
        """A problem of the document as one of the body: its places are the body's, and a value
        that does not fit is a 400, as such clients expect."""
        for error in problem.errors:
            for ours, theirs in self.places:
                if error["pointer"].startswith(ours):
                    error["pointer"] = theirs + error["pointer"][len(ours) :]
                    break
        if problem.status == 422:
            problem.status = 400
        return problem


def query(body: Json, window: int | None = None) -> Asked:
    """`POST /api/query`: a message for a new chat, or for the one whose `session` comes along.
    Without a message a session goes on where it is. `window`: how many runs the model is sent where
    the session does not say. Raises Problem."""
    check(body, QUERY)
    brought = body.get("session") is not None
    session: Json = {**(body.get("session") or {})}
    if body.get("chatId") and not brought:
        raise _invalid("/session", NO_HISTORY)
    _same_chat(body, session)
    message = body.get("message") or ""
    if not message.strip() and not session.get("messages"):
        raise _invalid("/message", "must not be blank")
    if window is not None:
        _windowed(session, window)
    if body.get("agentKey"):
        session["agent"] = body["agentKey"]
    if "tools" in body:
        session["tools"] = body["tools"]
    if body.get("params"):
        session["ext"] = {**session.get("ext", {}), "params": body["params"]}
    facts = [fact for fact in session.get("environment", ()) if not fact.startswith(SCENE)]
    session["environment"] = facts + _scene(body.get("scene") or {})
    messages = session["messages"] = list(session.get("messages", ()))
    index = len(messages)
    if message.strip():
        messages.append({"role": "user", "content": _content(message, body.get("references"))})
    told = {"type": "request.query", "role": "user", "message": message}
    told |= {key: body[key] for key in ("requestId", "references", "scene") if body.get(key)}
    places = [
        (pointer("messages", index), "/message"),
        *((ours, f"/{key}") for key, ours in _PLACES.items() if body.get(key)),
        ("", "/session"),
    ]
    wait = body.get("wait")
    if wait is None:
        wait = 0 if brought or "tools" in body else WAIT_S
    return Asked(session, places, told, new=not index, wait=wait)


def submit(body: Json) -> Asked:
    """`POST /api/submit`: what a call of the session has waited for: the result of a page's tool,
    a decision, an answer. Without a `session` the document is empty, and what is answered is a
    query that waits here (`waits_for`). Raises Problem."""
    check(body, SUBMIT)
    told = {"type": "request.submit", "toolId": body["toolId"], "payload": body["payload"]}
    told |= {key: body[key] for key in ("requestId", "viewId") if body.get(key)}
    if body.get("session") is None:
        return Asked({}, [], told)
    session: Json = {**body["session"]}
    _same_chat(body, session)
    waiting = session.get("interrupts", [])
    index = _waiting_at(waiting, body["toolId"])
    if index is None:
        raise _invalid("/toolId", f"nothing waits for {body['toolId'][:80]!r} in this session")
    item = waiting[index]
    answer = {"status": "resolved", "payload": _payload(item, body)}
    session["interrupts"] = [*waiting[:index], {**item, "answer": answer}, *waiting[index + 1 :]]
    at = pointer("interrupts", index, "answer")
    places = [(f"{at}/payload", "/payload"), (at, "/toolId"), ("", "/session")]
    return Asked(session, places, told)


def waits_for(session: Json, body: Json) -> Json | None:
    """The interrupt of a session that a submit without one means, if it waits there; None if it
    has an answer already."""
    if body.get("chatId") not in (None, "", session.get("id")):
        return None
    waiting: list[Json] = session.get("interrupts", [])
    index = _waiting_at(waiting, body["toolId"])
    return None if index is None or "answer" in waiting[index] else waiting[index]


def _waiting_at(waiting: list[Json], tool_id: str) -> int | None:
    named = [tool_id in (item.get("call_id"), item.get("id")) for item in waiting]
    return named.index(True) if any(named) else None


def not_waiting(body: Json) -> Problem:
    """The refusal of a submit for which no open query of this process waits."""
    detail = f"Nothing waits here for {body['toolId'][:80]!r}. {NOT_WAITING}"
    errors = [{"pointer": "/session", "detail": NOT_WAITING}]
    return Problem("request_invalid", detail, errors=errors, status=409)


def chat(body: Json) -> Asked:
    """`/api/chat`: the session to tell the details of. Raises Problem."""
    check(body, CHAT)
    return Asked(body["session"], [("", "/session")])


def chat_in(parameters: Json) -> Json:
    """The body that the query string of `GET /api/chat` stands for. Raises Problem."""
    text = parameters.get("session", "")
    if not text:
        error = {"pointer": "/session", "detail": "missing; send it as JSON, here or in the body"}
        raise Problem("not_found", f"{NO_CHATS} Send the session.", errors=[error])
    try:
        session = loads(text)
    except JSONError as problem:
        raise _invalid("/session", f"this is no JSON: {problem}") from None
    return {"session": session, "includeEvents": parameters.get("includeEvents") == "true"}


def one_agent(key: str) -> Asked:
    """`GET /api/agent`: a document that names the agent. Raises Problem."""
    if not key:
        raise _invalid("/agentKey", "must not be blank")
    return Asked({"agent": key}, [("/agent", "/agentKey")])


def envelope(data: Any, msg: str = SUCCESS) -> Json:
    return {"code": 0, "msg": msg, "data": data}


def refusal(problem: Problem) -> Json:
    """The envelope of a failure: its code is the HTTP status, and `data.fields` says what is wrong
    where."""
    fields = {
        error["pointer"].removeprefix("/").replace("/", ".") or "body": error["detail"]
        for error in problem.errors
    }
    data = {"fields": fields} if fields else {}
    return {"code": problem.status, "msg": problem.detail, "data": data}


# -- agents ---------------------------------------------------------------------------------------


def summary(about: Mapping[str, Any], tools: Iterable[str], named: Iterable[str] = ()) -> Json:
    """An agent in a list; `about` is a definition. `tools` are the server's, `named` those that an
    agent has only if it names them."""
    found = usable(about, tools) + [
        name for name in named if agent_definition.names(dict(about), name)
    ]
    meta = {"model": about.get("model", ""), "mode": _mode(about), "tools": found}
    return {
        "key": about["name"],
        "name": about["name"],
        "description": about.get("description", ""),
        "meta": meta,
    }


def detail(about: Mapping[str, Any], tools: Iterable[str], named: Iterable[str] = ()) -> Json:
    found = summary(about, tools, named)
    provider = {"providerType": about.get("provider", "").upper()}
    instructions = {"instructions": about.get("systemPrompt", "")}
    return {**found, **instructions, "meta": {**provider, **found["meta"]}}


def usable(about: Mapping[str, Any], tools: Iterable[str]) -> list[str]:
    """The tools of a server that an agent may use."""
    session = {"config": {"agent": dict(about)}}
    return [name for name in tools if agent_definition.word(session, name, page=False) != "deny"]


def tagged(agent: Json, tag: str) -> bool:
    """Whether the tag is in the agent's name, its description or the name of a tool it has."""
    places = (agent["key"], agent["description"], *agent["meta"]["tools"])
    return any(tag.casefold() in place.casefold() for place in places)


def _mode(about: Mapping[str, Any]) -> str:
    """In the gateway's spelling, with ours for the one it has not."""
    mode = mode_named(about.get("mode", ""))
    name = mode.name if mode else ""
    return {"react": "RE_ACT"}.get(name, name.upper())


_PLACES = {"agentKey": "/agent", "tools": "/tools", "chatId": "/id"}


# -- parts of a request ---------------------------------------------------------------------------


def _same_chat(body: Json, session: Json) -> None:
    """`chatId` names the session, and cannot name another one."""
    chat = body.get("chatId")
    if chat and session.setdefault("id", chat) != chat:
        raise _invalid("/chatId", "the session that came along has another id")


def _windowed(session: Json, window: int) -> None:
    """Send the model the last so many runs. What is no object is left for the check to name."""
    config = session.get("config", {})
    context = config.get("context", {}) if isinstance(config, dict) else None
    if isinstance(context, dict) and "window_runs" not in context:
        session["config"] = {**config, "context": {**context, "window_runs": window}}


def _scene(scene: Json) -> list[str]:
    title, url = scene.get("title") or "", scene.get("url") or ""
    named = " ".join(filter(None, (f"“{title}”" if title else "", url)))
    return [f"{SCENE} {named}"] if named else []


def _content(message: str, references: list[Json] | None) -> Any:
    """The message, and behind it a part that lists what it refers to."""
    if not references:
        return message
    listed = "\n".join(f"- {_reference(each)}" for each in references)
    return [
        {"type": "text", "text": message},
        {"type": "text", "text": f"The message refers to:\n{listed}"},
    ]


def _reference(reference: Json) -> str:
    size = reference.get("sizeBytes")
    about = (reference.get("mimeType"), f"{size} bytes" if size is not None else None)
    kind = ", ".join(str(each) for each in about if each)
    name = reference.get("name") or reference.get("id") or reference.get("type") or "?"
    url = str(reference.get("url") or "")
    shown = url if len(url) <= MAX_URL else f"{url[:80]}…"
    return " ".join(filter(None, (str(name), f"({kind})" if kind else "", shown)))


def _payload(interrupt: Json, body: Json) -> Any:
    """What the page sent as the answer to what was asked."""
    payload = body["payload"]
    match interrupt.get("reason"):
        case "client_tool":
            return {"content": payload, **({"is_error": True} if body.get("isError") else {})}
        case "tool_call" if isinstance(payload, bool):
            return {"approved": payload}
        case "limit" if isinstance(payload, bool):
            return {"continue": payload}
        case "model_error" if isinstance(payload, bool):
            return {"retry": payload}
    return payload


def _invalid(place: str, detail: str) -> Problem:
    error = {"pointer": place, "detail": detail}
    return Problem("request_invalid", f"{place[1:]}: {detail}", errors=[error], status=400)
