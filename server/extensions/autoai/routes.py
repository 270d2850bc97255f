"""The routes of AutoAi's chat widget, `/auto-ai/v1/*`.

Runs are the same as those of `POST /session`. Chat Completions, and the messages of the widget's
own stream, are read by the extension openai, which this one requires. Only an open
request waits for the widget; after it has ended, the client continues with the session that it was
sent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ...agent.loop import Run
from ...api.body import check_fields
from ...api.router import RequestContext, Route
from ...api.sessions import Runs
from ...api.waiting_stream import WaitingStream
from ...errors import Problem, translate_problems
from ...json_types import Event, Interrupt, Json, Session
from ...lib.http import sse
from ...lib.json_schema.generate import NOTHING, example
from ...lib.json_schema.objects import object_schema
from ...lib.json_schema.validate import SchemaError, validate
from ...lib.runtime.offload import offload
from ...lib.strict_json import dumps, dumps_in_pieces, pointer
from ...session.fold import yaa_metadata
from ..openai import chat, common
from ..openai.common import shown_value
from ..openai.routes import OpenAI
from ..parts import Host, Parts

# -- chat -----------------------------------------------------------------------------------------
# Convert the requests and streams of AutoAi's chat widget (`/auto-ai/v1/chat/*`). Pure.
#
# Chat Completions are those of ../openai/chat.py.
# AutoAi's own server kept sessions and this one does not, so every request has the history, or the
# session.


FRONTEND = "[Frontend Tool Call]"  # marks a call of the page's tools
OUTING_MS = 1000  # between two events with the length of a call
MARKED = ("marks", "think_tags")  # reasoning.field of reasoning from tags in the answer itself
_TEXT = {"type": "string"}
_OBJECTS = {"type": "array", "items": {"type": "object"}}
_OUTCOME = {"error": {"type": ["string", "null"]}, "isError": {"type": ["boolean", "null"]}}
RESULT: Json = object_schema({"callId": _TEXT, **_OUTCOME}, ("callId",))
EXTRAS: Json = object_schema(
    {
        "sessionId": {"type": ["string", "null"], "maxLength": 128},
        "session": {
            "type": ["object", "null"],
            "properties": {"messages": _OBJECTS, "interrupts": _OBJECTS},
        },
        "tool_results": {"type": ["array", "null"], "items": RESULT},
        "wait": {"type": ["number", "null"], "minimum": 0},
    }
)
SUBMIT: Json = object_schema({"sessionId": _TEXT, "toolCall": RESULT}, None)


@dataclass
class StreamRequest:
    """The session that a body asks to run.

    `names`: our name of a page's tool -> the page's. `wait`: seconds that the page's results are
    waited for, None for the default. `brought`: whether the session came with the body.
    """

    document: Json
    names: Mapping[str, str]
    wait: float | None
    brought: bool

    def place_in_body(self, problem: Problem) -> Problem:
        """Return a problem of the session with the places of the body, if the session came with it.

        Errors have the status 400, as everywhere in this API, and an unknown agent has 404.
        """
        if self.brought:
            for error in problem.errors:
                error["pointer"] = pointer("session") + error["pointer"]
        if problem.status == 422:
            problem.status = 404 if problem.code == "agent_unknown" else 400
        return problem


def completions(body: Json) -> Json:
    """Return a body of Chat Completions, with a default for the model."""
    return {**body, "model": body.get("model") or "auto"}


def stream(body: Json, taken: Collection[str]) -> StreamRequest:
    """Return the run that `POST /chat/stream` asks for. Raises Problem.

    The body has all messages, or the session and the newest message. `taken`: names of the server's
    own tools.
    """
    check_fields(body, EXTRAS)
    session = body.get("session")
    messages = body.get("messages") or ([] if session is None else [_NOTHING])
    document, wish = chat.read({**completions(body), "messages": messages}, taken, _nothing)
    document["config"]["yaa"]["unattended"] = False  # here the user can be asked
    if body.get("sessionId") and session is None:
        document["id"] = body["sessionId"]
    if session is not None:
        document = _continue_session(session, document, new=messages[-1] is not _NOTHING)
        answer(document, *(body.get("tool_results") or ()))
    return StreamRequest(document, wish.names, body.get("wait"), session is not None)


def answer(session: Mapping[str, Any], *results: Json) -> bool:
    """Put the page's results at their interrupts; return False if one has no interrupt."""
    waiting: dict[Any, Interrupt] = {}
    for item in session.get("interrupts", ()):
        if item.get("reason") == "client_tool" and isinstance(item.get("call_id"), str):
            waiting.setdefault(item["call_id"], item)
    for result in results:
        failed = result.get("isError") is True or result.get("error") is not None
        content = result.get("error") if failed else result.get("result")
        payload = {"content": content, **({"is_error": True} if failed else {})}
        if found := waiting.get(result["callId"]):
            found["answer"] = {"status": "resolved", "payload": payload}
    return all(result["callId"] in waiting for result in results)


def give_up_waiting(session: Session, seconds: float) -> None:
    """Put an error as the answer of each client tool whose result has not come in time."""
    text = f"The page sent no result within {seconds:g} seconds. Whether it ran is not known."
    for item in session["interrupts"]:
        if item["reason"] == "client_tool" and "answer" not in item:
            payload = {"content": text, "is_error": True}
            item["answer"] = {"status": "resolved", "payload": payload}


def _nothing(call_id: str) -> None:
    """Return None: no calls are remembered, because the session has them."""


_NOTHING: Json = {"role": "user", "content": ""}


def _continue_session(session: Session, fresh: Json, *, new: bool) -> Json:
    """Return the session with the body's last message, page tools and facts.

    A message that fits the only open question is its answer.
    """
    waiting = [dict(item) for item in session.get("interrupts", ())]
    document = {**session, "interrupts": waiting}
    messages = document["messages"] = list(session.get("messages", ()))
    for key in ("tools", "environment"):
        if fresh.get(key):
            document[key] = fresh[key]
    said = fresh["messages"][-1]
    questions = [item for item in waiting if item.get("reason") == "input_required"]
    if new and len(questions) == 1 and _fits(said["content"], questions[0]):
        questions[0]["answer"] = {"status": "resolved", "payload": said["content"]}
    elif new:
        messages.append(said)
    return document


def _fits(content: Any, question: Json) -> bool:
    schema = question.get("response_schema")
    if not isinstance(content, str) or not isinstance(schema, dict):
        return False
    try:
        return schema.get("type") == "string" and not list(validate(content, schema))
    except SchemaError:  # reported when the session is validated
        return False


# -- events ---------------------------------------------------------------------------------------


class StreamTranslator:
    """The events of a stream: `{type, content}` each. `names`: see StreamRequest."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names
        self._begun = False
        self._thought = "REASONING"
        self._calls: dict[str, tuple[str, list[str]]] = {}  # id -> name and arguments so far
        self._now_ms = self._told_ms = 0

    def translate(self, event: Event, name: str, now_ms: int, session: Session) -> list[Json]:
        """Return the events to send for one that is folded into `session`; `name` is its alias."""
        self._now_ms = now_ms
        method = _METHODS.get(name)
        return method(self, event, session) if method else []

    def _start(self, event: Event, session: Session) -> list[Json]:
        begun, self._begun = self._begun, True
        return [] if begun else [{"type": "TASK_INFO", "taskId": event["runId"]}]

    def _begin_thought(self, event: Event, session: Session) -> list[Json]:
        self._thought = "THINKING" if yaa_metadata(event).get("field") in MARKED else "REASONING"
        return []

    def _thinking(self, event: Event, session: Session) -> list[Json]:
        return [_piece(self._thought, event["delta"])]

    def _text(self, event: Event, session: Session) -> list[Json]:
        return [_piece("CONTENT", event["delta"])]

    # A call that is being written: its length, at intervals, and at its end the call.

    def _call(self, event: Event, session: Session) -> list[Json]:
        self._calls[event["toolCallId"]] = event["toolCallName"], []
        self._told_ms = self._now_ms
        return [_piece("ACTION_OUTING", "0")]

    def _arguments(self, event: Event, session: Session) -> list[Json]:
        _, pieces = self._calls[event["toolCallId"]]
        pieces.append(event["delta"])
        if self._now_ms - self._told_ms < OUTING_MS:
            return []
        self._told_ms = self._now_ms
        return [_piece("ACTION_OUTING", str(sum(map(len, pieces))))]

    def _end_arguments(self, event: Event, session: Session) -> list[Json]:
        """Return the call; nothing for one of the page's tools, for which the run stops."""
        called, pieces = self._calls.pop(event["toolCallId"])
        page = any(tool["name"] == called for tool in session.get("tools", ()))
        call = {"name": called, "arguments": "".join(pieces)}
        return [] if page else [_piece("ACTION", dumps(call))]

    def _execution(self, event: Event, session: Session) -> list[Json]:
        entry = session["calls"].get(yaa_metadata(event)["exec"], {})
        return [_piece("ACTION_START", entry.get("name", ""))]

    def _result(self, event: Event, session: Session) -> list[Json]:
        end = "error" if yaa_metadata(event).get("is_error") else "success"
        return [_piece("ACTION_END", end), _piece("OBSERVATION", event["content"])]

    def _end(self, event: Event, session: Session) -> list[Json]:
        return [self._interrupt_event(item) for item in session["interrupts"]]

    def _error(self, event: Event, session: Session) -> list[Json]:
        return [error(event["message"])]

    def _interrupt_event(self, item: Interrupt) -> Json:
        """Return the event for an interrupt: a call of a page's tool, or a question to the user."""
        if item["reason"] != "client_tool":
            args = f" {dumps(item['args'])}" if item["reason"] == "tool_call" else ""
            return _piece("ASK", f"{item.get('message', '')}{args}")
        name = item.get("tool", "")
        function = {"name": self._names.get(name, name), "arguments": dumps(item.get("args", {}))}
        call = {"id": item["call_id"], "type": "function", "function": function}
        told = {"type": "FRONTEND_TOOL_CALL", "callId": item["call_id"], "toolCall": call}
        return _piece("ACTION", f"{FRONTEND} {dumps(told)}")


_METHODS: dict[str, Callable[[StreamTranslator, Event, Session], list[Json]]] = {
    "run.start": StreamTranslator._start,
    "think.start": StreamTranslator._begin_thought,
    "think.delta": StreamTranslator._thinking,
    "text.delta": StreamTranslator._text,
    "tool.start": StreamTranslator._call,
    "tool.args": StreamTranslator._arguments,
    "tool.end": StreamTranslator._end_arguments,
    "tool.exec": StreamTranslator._execution,
    "tool.result": StreamTranslator._result,
    "run.end": StreamTranslator._end,
    "run.error": StreamTranslator._error,
}


def waits_for_page(session: Session) -> bool:
    """Return whether the session has interrupts, all of them for page tools."""
    waiting = session.get("interrupts") or []
    return bool(waiting) and all(item["reason"] == "client_tool" for item in waiting)


def session_event(session: Session) -> Json:
    """Return the event with the session, for the next request."""
    return {"type": "SESSION", "content": "", "session": session}


def error(text: str) -> Json:
    """Return an error event."""
    return _piece("ERROR", text)


def _piece(kind: str, content: str) -> Json:
    return {"type": kind, "content": content}


# -- tools ----------------------------------------------------------------------------------------


def summary(tool: Mapping[str, Any]) -> Json:
    """Return a tool for a list."""
    return {"name": tool["name"], "description": tool["description"]}


def detail(tool: Mapping[str, Any]) -> Json:
    """Return a tool with its schema and, if possible, examples of arguments and result."""
    returned = tool.get("result_schema", {}).get("properties", {}).get("result")
    examples = {"requestExample": tool["parameters"], "responseExample": returned}
    made = {key: example(schema) if schema else NOTHING for key, schema in examples.items()}
    shown = {key: value for key, value in made.items() if value is not NOTHING}
    return {**summary(tool), "parameters": tool["parameters"], **shown}


# -- routes ---------------------------------------------------------------------------------------

DONE = b"data:[DONE]\n\n"  # the widget compares the whole line; AutoAi's server wrote no space
ABORTED = "The task was aborted."
STOPPING = "This server is stopping. Send the session again: it goes on."
RESUME = "Nothing waits for it here. Send the session with tool_results to /chat/stream."
NOT_AWAITED = (
    "The run of this session waits for no such result: it was too late, came before, or belongs to"
    " another call."
)


class AutoAiParts(Parts):
    """What AutoAi's widget has: its routes."""

    def session_routes(self, runs: Runs) -> Mapping[tuple[str, str], Route]:
        """Return the routes of the widget, and those of the protocol document."""
        front = AutoAi(self.host, runs)
        table = {
            ("GET", "/auto-ai/v1/models"): front.openai.models,
            ("POST", "/auto-ai/v1/chat/completions"): front.completions,
            ("POST", "/auto-ai/v1/chat/stream"): front.stream,
            ("DELETE", "/auto-ai/v1/chat/stream/{task}"): front.abort,
            ("POST", "/auto-ai/v1/chat/tool-result"): front.tool_result,
            # AutoAi's protocol document has these paths without the base path.
            ("POST", "/v1/chat/stream"): front.stream,
            ("DELETE", "/v1/chat/stream/{task}"): front.abort,
            ("POST", "/v1/chat/tool-result"): front.tool_result,
            ("GET", "/auto-ai/v1/tools"): front.tools,
            ("GET", "/auto-ai/v1/tools/{name}"): front.tool,
        }
        found = {at: Route(handler, refusal=common.refusal) for at, handler in table.items()}
        return {**found, ("GET", "/auto-ai/v1/health"): Route(front.health, open=True)}


class AutoAi:
    """The handlers. `openai` answers Chat Completions."""

    def __init__(self, host: Host, runs: Runs) -> None:
        self.openai = OpenAI(host, runs)
        self._runs, self._toolbox, self._clock = runs, host.toolbox, host.clock
        self._wait_s = host.config.server["limits"]["page_wait_s"]  # at most, for the page
        self._live: dict[str, LiveStream] = {}  # open streams by task

    async def health(self, call: RequestContext) -> None:
        """Send the status, without authentication."""
        await call.json({"status": "online", "timestamp": self._clock()})

    async def tools(self, call: RequestContext) -> None:
        """Send the list of usable tools."""
        await call.json([summary(tool) for tool in self._usable()])

    async def tool(self, call: RequestContext) -> None:
        """Send one tool. Raises Problem if there is none of that name."""
        for tool in self._usable():
            if tool["name"] == call.at["name"]:
                await call.json(detail(tool))
                return
        raise Problem("not_found", f"There is no tool {shown_value(call.at['name'])} here")

    def _usable(self) -> Iterator[Json]:
        return (t for t in self._toolbox.info() if t["policy"] != "deny" and "unavailable" not in t)

    async def completions(self, call: RequestContext) -> None:
        """Answer Chat Completions. Raises Problem."""
        with translate_problems(common.sdk_problem):
            body = await self._runs.read(call, "request_invalid")
            await self.openai.complete(call, completions(body))

    async def stream(self, call: RequestContext) -> None:
        """Run a session and send its events.

        When the run stops for the page's tools, the stream stays open for their results
        (`tool_result`) for a while, and continues with them, or with an error in place of each
        missing one.
        """
        body = await self._runs.read(call, "request_invalid")
        asked = await offload(call.size, stream, body, self._toolbox.names())
        with translate_problems(asked.place_in_body):
            async with self._runs.begin(call, asked.document) as run:
                wait_s = self._wait_s if asked.wait is None else min(asked.wait, self._wait_s)
                live = self._live[run.id] = LiveStream(self._runs, call, run, asked, wait_s)
                try:
                    frame = live.frames(self._clock)
                    frames = frame, live.last, live.next_run
                    await self._runs.stream(call, run, *frames, size=call.size)
                finally:
                    del self._live[run.id]

    async def abort(self, call: RequestContext) -> None:
        """End a stream of this process. Closing its connection does the same, on any process."""
        live = self._live.get(call.at["task"])
        if live is None or live.call.key.owner != call.key.owner:
            missing = {"success": False, "message": "No such task runs here."}
            await call.json(missing, status=404)
            return
        live.abort()
        await call.json({"success": True, "message": ABORTED})

    async def tool_result(self, call: RequestContext) -> None:
        """Hand the result of a page's tool to the stream that waits for it."""
        body = await self._runs.read(call, "request_invalid")
        check_fields(body, SUBMIT)
        theirs = [
            live
            for live in self._live.values()
            if live.call.key.owner == call.key.owner
            and live.run.session.get("id") == body["sessionId"]
        ]
        if any(live.take(body["toolCall"]) for live in theirs):
            await call.json({"success": True, "message": "The result has arrived."})
            return
        code, message = ("not_awaited", NOT_AWAITED) if theirs else ("resume_required", RESUME)
        await call.json({"success": False, "code": code, "message": message}, status=409)


class LiveStream(WaitingStream):
    """An open stream: its request, its run, and the results that have come meanwhile."""

    def __init__(
        self, runs: Runs, call: RequestContext, run: Run, asked: StreamRequest, wait_s: float
    ) -> None:
        super().__init__(runs, call, run, wait_s)
        self.waiting = False
        self._task = asyncio.current_task()
        self._aborted = self._ended = False
        self._telling = StreamTranslator(asked.names)

    def frames(self, clock: Callable[[], int]) -> Callable[[Event, str, int], bytes]:
        """Return a function from an event to its frames."""

        def frame(event: Event, name: str, number: int) -> bytes:
            """Return the frames of an event."""
            self._ended = name in ("run.end", "run.error")
            self.waiting = name == "run.end" and waits_for_page(self.run.session)
            told = self._telling.translate(event, name, clock(), self.run.session)
            return b"".join(_data(each) for each in told)

        return frame

    async def next_run(self) -> Run | None:
        """Return the run that continues with the page's results, None if none are awaited.

        A result that is late becomes an error.
        """
        if not (self.waiting and self._wait_s):
            self.waiting = False
            return None
        try:
            if not await self.all_answered():
                give_up_waiting(self.run.session, self._wait_s)
        finally:
            self.waiting = False
        return await self.again()

    def take(self, result: Json) -> bool:
        """Put a result at its interrupt; return False if it is not waited for.

        A second result for the same call is not.
        """
        asked = (i["call_id"] for i in self.run.session["interrupts"] if "answer" not in i)
        if not self.waiting or result["callId"] not in asked:
            return False
        answer(self.run.session, result)
        self.arrived.set()
        return True

    def last(self) -> bytes:
        """Return the end of the stream, in every case the session and `[DONE]`."""
        told = sse.encode(dumps_in_pieces(session_event(self.run.session)))
        if self._aborted or not self._ended:
            told += _data(error(ABORTED if self._aborted else STOPPING))
        return told + DONE

    def abort(self) -> None:
        """End the stream."""
        self._aborted = True
        if self._task is not None:
            self._task.cancel()


def _data(message: Json) -> bytes:
    return sse.encode(dumps(message))
