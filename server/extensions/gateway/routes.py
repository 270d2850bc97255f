"""The routes of `/api/*`: agents, queries and submits, for clients of an agent gateway.

Runs are the same as those of `POST /session`; `events` translates those of a run. Only an open
request waits for a submit: the stream of a query ends with the session, and the server keeps
nothing of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

from ...agent.loop import Run
from ...api.body import check_fields
from ...api.router import RequestContext, Route
from ...api.sessions import Runs, wants_stream
from ...api.waiting_stream import WaitingStream
from ...errors import Problem, translate_problems
from ...json_types import AgentDefinition, Event, Interrupt, Json, Session
from ...lib.http import sse
from ...lib.json_schema.objects import object_schema
from ...lib.runtime.offload import offload
from ...lib.strict_json import JSONError, dumps, dumps_in_pieces, loads, pointer
from ...session import agent_definition
from ...session.accept import accept
from ...session.modes import mode_named
from ..parts import Host, Parts
from .events import QueryTranslator, chat, reply

# -- request --------------------------------------------------------------------------------------
# Convert the bodies of an agent gateway (`/api/*`) to sessions, and its envelope. Pure.
#
# A gateway stores chats and this server does not, so the session is sent with the end of every run
# and comes back with the next request.


SUCCESS = "success"
SCENE = "The user is looking at the page"  # prefix of the scene's line in the environment
MAX_URL = 2000  # characters of a reference's URL that the model gets
WINDOW = 20  # default number of runs that the model gets: a gateway's memory.chat.k
WAIT_S = 30  # default time for a submit
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
_FLAG = {"type": ["boolean", "null"]}
_OBJECTS = {"type": "array", "items": {"type": "object"}}
_SESSION = object_schema(
    {
        "messages": {"type": "array"},
        "environment": {"type": "array", "items": _TEXT},
        "interrupts": _OBJECTS,
        "ext": {"type": "object"},
    }
)
_BODY_FIELDS = {**_SESSION, "type": ["object", "null"]}
QUERY: Json = object_schema(
    {
        **dict.fromkeys(("requestId", "chatId", "agentKey", "message"), _NAME),
        "role": {"enum": ["user", None]},
        "references": {**_OBJECTS, "type": ["array", "null"]},
        "params": {"type": ["object", "null"]},
        "scene": {"type": ["object", "null"], "properties": {"url": _NAME, "title": _NAME}},
        "stream": _FLAG,
        "tools": _OBJECTS,
        "wait": {"type": ["number", "null"], "minimum": 0, "maximum": MAX_WAIT_S},
        "session": _BODY_FIELDS,
    }
)
SUBMIT: Json = object_schema(
    {
        **dict.fromkeys(("requestId", "chatId", "runId", "viewId"), _NAME),
        "toolId": {"type": "string", "minLength": 1},
        "payload": {"not": {"type": "null"}},
        "isError": _FLAG,
        "session": _BODY_FIELDS,
    },
    ("toolId", "payload"),
)
CHAT: Json = object_schema({"session": _SESSION, "includeEvents": _FLAG}, ("session",))


@dataclass
class ChatRequest:
    """The session that a body asks to run.

    `document`: the session. `told`: the event that repeats the request. `places`: (prefix of a
    pointer into the document, prefix of the pointer into the body), the first match counts. `wait`:
    seconds that the stream stays open for answers to the run's interrupts.
    """

    document: Json
    places: list[tuple[str, str]]
    told: Json = field(default_factory=dict)
    new: bool = False  # a chat begins
    wait: float = 0

    def place_in_body(self, problem: Problem) -> Problem:
        """Return a problem of the document with the places of the body.

        A value that does not fit has the status 400, which clients of this protocol expect.
        """
        for error in problem.errors:
            for ours, theirs in self.places:
                if error["pointer"].startswith(ours):
                    error["pointer"] = theirs + error["pointer"][len(ours) :]
                    break
        if problem.status == 422:
            problem.status = 400
        return problem


def query(body: Json, window: int | None = None) -> ChatRequest:
    """Return the run that `POST /api/query` asks for, of a new chat or of the body's `session`.

    Without a message the session continues where it stopped. `window`: how many runs the model gets
    if the session has no such setting. Raises Problem.
    """
    check_fields(body, QUERY)
    brought = body.get("session") is not None
    session: Json = {**(body.get("session") or {})}
    if body.get("chatId") and not brought:
        raise _invalid("session", NO_HISTORY)
    _same_chat(body, session)
    message = body.get("message") or ""
    if not message.strip() and not session.get("messages"):
        raise _invalid("message", "must not be blank")
    if window is not None:
        _limit_window(session, window)
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
        (pointer("messages", index), pointer("message")),
        *((pointer(ours), pointer(key)) for key, ours in _PLACES.items() if body.get(key)),
        _WHOLE,
    ]
    wait = body.get("wait")
    if wait is None:
        wait = 0 if brought or "tools" in body else WAIT_S
    return ChatRequest(session, places, told, new=not index, wait=wait)


def submit(body: Json) -> ChatRequest:
    """Return the run that `POST /api/submit` asks for, with the answer at its interrupt.

    The answer is the result of a client tool, a decision or an answer to a question. Without a
    `session` the document is empty, and the answer is for an open query (`waits_for`). Raises
    Problem.
    """
    check_fields(body, SUBMIT)
    told = {"type": "request.submit", "toolId": body["toolId"], "payload": body["payload"]}
    told |= {key: body[key] for key in ("requestId", "viewId") if body.get(key)}
    if body.get("session") is None:
        return ChatRequest({}, [], told)
    session: Json = {**body["session"]}
    _same_chat(body, session)
    waiting = session.get("interrupts", [])
    index = _waiting_at(waiting, body["toolId"])
    if index is None:
        raise _invalid("toolId", f"nothing waits for {body['toolId'][:80]!r} in this session")
    item = waiting[index]
    answer = {"status": "resolved", "payload": _payload(item, body)}
    session["interrupts"] = [*waiting[:index], {**item, "answer": answer}, *waiting[index + 1 :]]
    at = ("interrupts", index, "answer")
    places = [(pointer(*at, "payload"), pointer("payload")), (pointer(*at), pointer("toolId"))]
    return ChatRequest(session, [*places, _WHOLE], told)


def waits_for(session: Session, body: Json) -> Interrupt | None:
    """Return the session's interrupt that a submit without a session answers.

    None if there is none, or if it has an answer already.
    """
    if body.get("chatId") not in (None, "", session.get("id")):
        return None
    waiting = session.get("interrupts", [])
    index = _waiting_at(waiting, body["toolId"])
    return None if index is None or "answer" in waiting[index] else waiting[index]


def _waiting_at(waiting: Sequence[Mapping[str, Any]], tool_id: str) -> int | None:
    named = [tool_id in (item.get("call_id"), item.get("id")) for item in waiting]
    return named.index(True) if any(named) else None


def not_waiting(body: Json) -> Problem:
    """Return the refusal of a submit for which no open query of this process waits."""
    detail = f"Nothing waits here for {body['toolId'][:80]!r}. {NOT_WAITING}"
    errors = [{"pointer": pointer("session"), "detail": NOT_WAITING}]
    return Problem("request_invalid", detail, errors=errors, status=409)


def chat_request(body: Json) -> ChatRequest:
    """Return the session whose details `/api/chat` asks for. Raises Problem."""
    check_fields(body, CHAT)
    return ChatRequest(body["session"], [_WHOLE])


def chat_in(parameters: Json) -> Json:
    """Return the body that the query string of `GET /api/chat` stands for. Raises Problem."""
    text = parameters.get("session", "")
    if not text:
        missing = "missing; send it as JSON, here or in the body"
        errors = [{"pointer": pointer("session"), "detail": missing}]
        raise Problem("not_found", f"{NO_CHATS} Send the session.", errors=errors)
    try:
        session = loads(text)
    except JSONError as problem:
        raise _invalid("session", f"this is no JSON: {problem}") from None
    return {"session": session, "includeEvents": parameters.get("includeEvents") == "true"}


def one_agent(key: str) -> ChatRequest:
    """Return a document that names the agent of `GET /api/agent`. Raises Problem."""
    if not key:
        raise _invalid("agentKey", "must not be blank")
    return ChatRequest({"agent": key}, [(pointer("agent"), pointer("agentKey"))])


def envelope(data: Any, msg: str = SUCCESS) -> Json:
    """Return the body of a success."""
    return {"code": 0, "msg": msg, "data": data}


def refusal(problem: Problem) -> Json:
    """Return the body of a failure.

    `code` is the HTTP status, `data.fields` maps places in the body to errors.
    """
    fields = {
        error["pointer"].removeprefix("/").replace("/", ".") or "body": error["detail"]
        for error in problem.errors
    }
    data = {"fields": fields} if fields else {}
    return {"code": problem.status, "msg": problem.detail, "data": data}


# -- agents ---------------------------------------------------------------------------------------


def summary(about: AgentDefinition, tools: Iterable[str], named: Iterable[str] = ()) -> Json:
    """Return an agent for a list; `about` is its definition.

    `tools` are the server's tools, `named` those that an agent has only if it names them.
    """
    found = usable(about, tools) + [name for name in named if agent_definition.names(about, name)]
    meta = {"model": about.get("model", ""), "mode": _mode(about), "tools": found}
    return {
        "key": about["name"],
        "name": about["name"],
        "description": about.get("description", ""),
        "meta": meta,
    }


def detail(about: AgentDefinition, tools: Iterable[str], named: Iterable[str] = ()) -> Json:
    """Return an agent with its provider and instructions; the arguments are those of `summary`."""
    found = summary(about, tools, named)
    provider = {"providerType": about.get("provider", "").upper()}
    instructions = {"instructions": about.get("systemPrompt", "")}
    return {**found, **instructions, "meta": {**provider, **found["meta"]}}


def usable(about: AgentDefinition, tools: Iterable[str]) -> list[str]:
    """Return the names of those tools that the agent may use."""
    session = {"config": {"agent": about}}
    return [
        name for name in tools if agent_definition.policy_word(session, name, page=False) != "deny"
    ]


def has_tag(agent: Json, tag: str) -> bool:
    """Return whether the tag is in the agent's name, description or name of a tool."""
    places = (agent["key"], agent["description"], *agent["meta"]["tools"])
    return any(tag.casefold() in place.casefold() for place in places)


def _mode(about: AgentDefinition) -> str:
    """Return the mode in the gateway's notation, in capitals; RE_ACT for react."""
    mode = mode_named(about.get("mode", ""))
    name = mode.name if mode else ""
    return {"react": "RE_ACT"}.get(name, name.upper())


_PLACES = {"agentKey": "agent", "tools": "tools", "chatId": "id"}
_WHOLE = (pointer(), pointer("session"))  # see ChatRequest.places


# -- parts of a request ---------------------------------------------------------------------------


def _same_chat(body: Json, session: Json) -> None:
    """Set the session's id to `chatId`. Raises Problem if it has another one."""
    chat = body.get("chatId")
    if chat and session.setdefault("id", chat) != chat:
        raise _invalid("chatId", "the session that came along has another id")


def _limit_window(session: Json, window: int) -> None:
    """Limit the model's view to the last `window` runs, unless the session says otherwise.

    Values of a wrong type are left as they are, for the validation of the session to report.
    """
    config = session.get("config", {})
    context = config.get("context", {}) if isinstance(config, dict) else None
    if isinstance(context, dict) and "window_runs" not in context:
        session["config"] = {**config, "context": {**context, "window_runs": window}}


def _scene(scene: Json) -> list[str]:
    title, url = scene.get("title") or "", scene.get("url") or ""
    named = " ".join(filter(None, (f"“{title}”" if title else "", url)))
    return [f"{SCENE} {named}"] if named else []


def _content(message: str, references: list[Json] | None) -> Any:
    """Return the message, with references as parts: a second text part lists them."""
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
    """Return what the page sent as the payload of an answer to the interrupt."""
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


def _invalid(member: str, detail: str) -> Problem:
    errors = [{"pointer": pointer(member), "detail": detail}]
    return Problem("request_invalid", f"{member}: {detail}", errors=errors, status=400)


# -- routes ---------------------------------------------------------------------------------------

DONE = sse.encode("[DONE]")


class GatewayParts(Parts):
    """What clients of a gateway have: their routes."""

    def session_routes(self, runs: Runs) -> Mapping[tuple[str, str], Route]:
        """Return the routes `/api/*`."""
        front = Gateway(self.host, runs)
        table = {
            ("GET", "/api/agents"): front.agents,
            ("GET", "/api/agent"): front.agent,
            ("GET", "/api/chats"): front.chats,
            ("GET", "/api/chat"): front.chat,
            ("POST", "/api/chat"): front.chat,
            ("POST", "/api/query"): front.query,
            ("POST", "/api/submit"): front.submit,
        }
        return {at: Route(handler, refusal=refusal) for at, handler in table.items()}


class Gateway:
    """The handlers of `/api/*`."""

    def __init__(self, host: Host, runs: Runs) -> None:
        self._runs, self._agents, self._toolbox = runs, host.agents, host.toolbox
        self._clock = host.clock
        context = host.config.session["config"]["context"]
        self._window = WINDOW if context["window_runs"] is None else None
        self._open: set[LiveQuery] = set()  # streams of queries

    async def agents(self, call: RequestContext) -> None:
        """Send the list of agents, filtered by `tag`."""
        tag, tools = _parameter(call, "tag"), self._tools_of()
        owner = call.key.owner
        names = [each["name"] for each in self._agents.info(owner)]
        known = [self._agents.resolve({"agent": name}, owner) for name in names]
        listed = [summary(about, *tools) for about in known]
        await call.json(envelope([agent for agent in listed if has_tag(agent, tag)]))

    async def agent(self, call: RequestContext) -> None:
        """Send one agent. Raises Problem if it is unknown."""
        asked = one_agent(_parameter(call, "agentKey"))
        with translate_problems(asked.place_in_body):
            about = self._agents.resolve(asked.document, call.key.owner)
        await call.json(envelope(detail(about, *self._tools_of())))

    async def query(self, call: RequestContext) -> None:
        """Run a query and send its events; with `"stream": false` one answer."""
        body = await self._runs.read(call, "request_invalid")
        asked = await offload(call.size, query, body, self._window)
        await self._run(call, asked, streams=body.get("stream") is not False)

    async def submit(self, call: RequestContext) -> None:
        """Continue a run with a submitted answer.

        With a `session` in the body, that session runs; the response is one answer unless `Accept`
        asks for events. Without one, the run continues in the stream of the query that waits in
        this process.
        """
        body = await self._runs.read(call, "request_invalid")
        asked = submit(body)
        more = {"requestId": body.get("requestId"), "accepted": True, "toolId": body["toolId"]}
        if body.get("session") is None:
            live = await self._take_submit(call, body, asked)
            await call.json(envelope({**more, "runId": live.run_id}))
            return
        streams = wants_stream(call.request.headers.get("accept", ""), False)
        await self._run(call, asked, streams=streams, more=more)

    async def _take_submit(self, call: RequestContext, body: Json, asked: ChatRequest) -> LiveQuery:
        """Return the open query that waited for this submit and has taken it. Raises Problem."""
        for live in list(self._open):
            if live.call.key.owner == call.key.owner and live.waits_for(body):
                full = submit({**body, "session": live.run.session})
                with translate_problems(full.place_in_body):
                    await offload(live.call.size, accept, full.document)
                if live.take(body, full, asked.told):  # another submit may have been faster
                    return live
        raise not_waiting(body)

    async def chats(self, call: RequestContext) -> None:
        """Send an empty list: chats are not kept here."""
        await call.json(envelope([], NO_CHATS))

    async def chat(self, call: RequestContext) -> None:
        """Send the details of the session in the body or in the query string."""
        heads = call.request.headers
        sent = heads.get("content-length", "0") != "0" or "transfer-encoding" in heads
        if call.request.method == "POST" or sent:
            body = await self._runs.read(call, "request_invalid")
            if _parameter(call, "includeEvents") == "true":
                body.setdefault("includeEvents", True)
        else:
            names = ("session", "includeEvents")
            body = chat_in({name: _parameter(call, name) for name in names})
        asked = chat_request(body)
        with translate_problems(asked.place_in_body):
            session = await offload(call.size, accept, asked.document)
        with_events = body.get("includeEvents") is True
        found = await offload(call.size, chat, session, with_events=with_events)
        await call.json(envelope(found))

    async def _run(
        self, call: RequestContext, asked: ChatRequest, *, streams: bool, more: Json | None = None
    ) -> None:
        with translate_problems(asked.place_in_body):
            async with self._runs.begin(call, asked.document) as run:
                if streams:
                    live = LiveQuery(self._runs, call, run, asked, self._clock)
                    self._open.add(live)
                    try:
                        frames = live.frame, live.last, live.next_run
                        await self._runs.stream(call, run, *frames, size=call.size)
                    finally:
                        self._open.discard(live)
                    return
                session = await self._runs.collect(call, run)
                data = {**(more or {}), **reply(session, run.id, run.first_message)}
                await call.json(envelope(data), headers={"x-should-retry": "false"})

    def _tools_of(self) -> tuple[list[str], list[str]]:
        """Return the names of usable tools: (of every agent, of agents that name them)."""
        return _usable(self._toolbox.info()), _usable(self._toolbox.info_named())


class LiveQuery(WaitingStream):
    """The open stream of a query: its request, its run, and the answers submitted meanwhile."""

    def __init__(
        self,
        runs: Runs,
        call: RequestContext,
        run: Run,
        asked: ChatRequest,
        clock: Callable[[], int],
    ) -> None:
        super().__init__(runs, call, run, asked.wait)
        self.run_id, self._clock = run.id, clock
        self._telling = QueryTranslator(
            run.session, asked.told, new=asked.new, holds=asked.wait > 0
        )
        self._submitted: list[Json] = []
        self._late = False

    def frame(self, event: Event, name: str, number: int) -> bytes:
        """Return the frames of an event."""
        return _frames(self._telling.translate(event, name, self._clock()))

    def last(self) -> bytes:
        """Return the end of the stream, in every case the session's last event and `[DONE]`."""
        return _frames(self._telling.last(self._clock())) + DONE

    def waits_for(self, body: Json) -> bool:
        """Return whether the run waits for this submit."""
        right = body.get("runId") in (None, "", self.run_id)
        waits = right and self._telling.holds_end and not self._late
        return waits and waits_for(self.run.session, body) is not None

    def take(self, body: Json, full: ChatRequest, told: Json) -> bool:
        """Put the answer into the session; return False if nothing waits for it any more."""
        if not self.waits_for(body) or (item := waits_for(self.run.session, body)) is None:
            return False
        item["answer"] = next(
            each["answer"] for each in full.document["interrupts"] if each["id"] == item["id"]
        )
        self._submitted.append(told)
        self.arrived.set()
        return True

    async def next_run(self) -> Run | None:
        """Return the run that continues with the answers; None unless all came in time."""
        if not self._telling.holds_end:
            return None
        try:
            in_time = await self.all_answered()
        finally:
            self._late = True
        if run := await self.again() if in_time else None:
            self._late = False
            self._telling.continue_with(self._submitted)
            self._submitted = []
        return run


def _usable(tools: list[Json]) -> list[str]:
    return [t["name"] for t in tools if t["policy"] != "deny" and "unavailable" not in t]


def _frames(told: list[Json]) -> bytes:
    texts = [dumps_in_pieces(each) if "session" in each else dumps(each) for each in told]
    return b"".join(sse.encode(text, e["type"]) for text, e in zip(texts, told, strict=True))


def _parameter(call: RequestContext, name: str) -> str:
    """Return a parameter of the query string, "" if it is missing."""
    return parse_qs(call.request.query).get(name, [""])[0]
