"""The routes of AutoAi's chat widget, `/auto-ai/v1/*`.

Runs are the same as those of `POST /session`; Chat Completions are answered by protocols/openai,
and protocols/autoai/chat.py converts the widget's own stream. Only an open request waits for the
widget; after it has ended, the client continues with the session that it was sent.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Collection, Iterator
from typing import Any

from ...api.router import Call, Route
from ...api.run_stream import Run, Runs
from ...errors import Problem
from ...http import sse
from ...session.events import Event
from ...strict_json import dumps
from ..openai import common
from ..openai.fields import shown
from ..openai.routes import OpenAI, spoken
from ..session_body import check, in_body
from . import chat
from .chat import Asked, Json, Telling

DONE = b"data:[DONE]\n\n"  # the widget compares the whole line; AutoAi's server wrote no space
ABORTED = "The task was aborted."
STOPPING = "This server is stopping. Send the session again: it goes on."
RESUME = "Nothing waits for it here. Send the session with tool_results to /chat/stream."
NOT_AWAITED = (
    "The run of this session waits for no such result: it was too late, came before, or belongs to"
    " another call."
)
MOST_KNOWN = 10_000  # sessions whose beginnings are remembered


class AutoAi:
    """The handlers.

    `tools` and `names` return the server's tools and their names, `clock` the time in milliseconds;
    `wait_s`: the longest time that a stream waits for its page.
    """

    def __init__(
        self,
        runs: Runs,
        openai_front: OpenAI,
        tools: Callable[[], list[Json]],
        names: Callable[[], Collection[str]],
        clock: Callable[[], int],
        wait_s: float,
    ) -> None:
        self._wait_s, self._known = wait_s, Known()
        self._runs, self._openai, self._tools = runs, openai_front, tools
        self._names, self._clock = names, clock
        self._live: dict[str, Live] = {}  # open streams by task

    def routes(self) -> dict[tuple[str, str], Route]:
        """Return (method, path) -> route."""
        table = {
            ("GET", "/auto-ai/v1/models"): self._openai.models,
            ("POST", "/auto-ai/v1/chat/completions"): self.completions,
            ("POST", "/auto-ai/v1/chat/stream"): self.stream,
            ("DELETE", "/auto-ai/v1/chat/stream/{task}"): self.abort,
            ("POST", "/auto-ai/v1/chat/tool-result"): self.tool_result,
            # AutoAi's protocol document has these paths without the base path.
            ("POST", "/v1/chat/stream"): self.stream,
            ("DELETE", "/v1/chat/stream/{task}"): self.abort,
            ("POST", "/v1/chat/tool-result"): self.tool_result,
            ("GET", "/auto-ai/v1/tools"): self.tools,
            ("GET", "/auto-ai/v1/tools/{name}"): self.tool,
        }
        routes = {at: Route(handler, refusal=common.refusal) for at, handler in table.items()}
        return {**routes, ("GET", "/auto-ai/v1/health"): Route(self.health, open=True)}

    async def health(self, call: Call) -> None:
        """Send the status, without authentication."""
        await call.json({"status": "online", "timestamp": self._clock()})

    async def tools(self, call: Call) -> None:
        """Send the list of usable tools."""
        await call.json([chat.summary(tool) for tool in self._usable()])

    async def tool(self, call: Call) -> None:
        """Send one tool. Raises Problem if there is none of that name."""
        for tool in self._usable():
            if tool["name"] == call.at["name"]:
                await call.json(chat.detail(tool))
                return
        raise Problem("not_found", f"There is no tool {shown(call.at['name'])} here")

    def _usable(self) -> Iterator[Json]:
        return (t for t in self._tools() if t["policy"] != "deny" and "unavailable" not in t)

    async def completions(self, call: Call) -> None:
        """Answer Chat Completions. Raises Problem."""
        with spoken():
            body = await self._runs.read(call, "request_invalid")
            opened = self._known.check(call, body)
            await self._openai.complete(call, chat.completions(body))
            if call.status == 200:
                self._known.add(call, body, opened)

    async def stream(self, call: Call) -> None:
        """Run a session and send its events.

        When the run stops for the page's tools, the stream stays open for their results
        (`tool_result`) for a while, and continues with them, or with an error in place of each
        missing one.
        """
        body = await self._runs.read(call, "request_invalid")
        opened = self._known.check(call, body)
        asked = chat.stream(body, self._names())
        with in_body(asked):
            async with self._runs.begin(call, asked.document) as run:
                wait_s = self._wait_s if asked.wait is None else min(asked.wait, self._wait_s)
                live = self._live[run.id] = Live(call, run, asked, wait_s)
                try:
                    frame = live.frames(self._clock)
                    await self._runs.stream(call, run, frame, live.last, self._next(live))
                    if any(m["role"] == "assistant" for m in live.run.session["messages"]):
                        self._known.add(call, body, opened)
                finally:
                    del self._live[run.id]

    def _next(self, live: Live) -> Callable[[], Any]:
        async def go_on() -> Run | None:
            """Return the run that continues with the page's results, None if none are awaited."""
            if not await live.results():
                return None
            try:
                live.run = self._runs.again(live.call, live.run.session)
            except Problem:  # the server stops: the session sent to the client has the answers
                return None
            return live.run

        return go_on

    async def abort(self, call: Call) -> None:
        """End a stream of this process. Closing its connection does the same, on any process."""
        live = self._live.get(call.at["task"])
        if live is None or live.call.key.owner != call.key.owner:
            missing = {"success": False, "message": "No such task runs here."}
            await call.json(missing, status=404)
            return
        live.abort()
        await call.json({"success": True, "message": ABORTED})

    async def tool_result(self, call: Call) -> None:
        """Hand the result of a page's tool to the stream that waits for it."""
        body = await self._runs.read(call, "request_invalid")
        check(body, chat.SUBMIT)
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


class Known:
    """The beginnings of sessions that have had an answer in this process.

    They serve to refuse requests that rely on a stored session, with a message that says what to
    send. Losing them loses only that message.
    """

    def __init__(self) -> None:
        self._openings: dict[bytes, bytes] = {}  # digests

    def check(self, call: Call, body: Json) -> bytes | None:
        """Return the digest of a beginning; None if the body has more than a beginning.

        Raises Problem if a session with that id has had an answer after another beginning.
        """
        if (said := chat.opening(body)) is None:
            return None
        digest = _digest(said)
        if self._openings.get(_session(call, body), digest) != digest:
            what = "has had an answer that this request does not bring"
            raise chat.no_history(body, what)
        return digest

    def add(self, call: Call, body: Json, opened: bytes | None) -> None:
        """Remember the beginning `opened` of a session that has had an answer."""
        if opened is not None:
            self._openings[_session(call, body)] = opened
            if len(self._openings) > MOST_KNOWN:
                del self._openings[next(iter(self._openings))]


def _session(call: Call, body: Json) -> bytes:
    return _digest(dumps([call.key.owner, body["sessionId"]]))


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


class Live:
    """An open stream: its request, its run, and the results that have come meanwhile."""

    def __init__(self, call: Call, run: Run, asked: Asked, wait_s: float) -> None:
        self.call, self.run = call, run
        self.waiting = False
        self.arrived = asyncio.Event()
        self._task = asyncio.current_task()
        self._aborted = self._ended = False
        self._telling = Telling(asked.names)
        self._wait_s = wait_s

    def frames(self, clock: Callable[[], int]) -> Callable[[Event, str, int], bytes]:
        """Return a function from an event to its frames."""

        def frame(event: Event, name: str, number: int) -> bytes:
            """Return the frames of an event."""
            self._ended = name in ("run.end", "run.error")
            self.waiting = name == "run.end" and chat.waits_for_page(self.run.session)
            told = self._telling.tell(event, name, clock(), self.run.session)
            return b"".join(_data(each) for each in told)

        return frame

    async def results(self) -> bool:
        """Wait for the page's results; a result that is late becomes an error.

        Return False if none are waited for.
        """
        if not (self.waiting and self._wait_s):
            self.waiting = False
            return False
        try:
            async with asyncio.timeout(self._wait_s):
                while not self._answered():
                    self.arrived.clear()
                    await self.arrived.wait()
        except TimeoutError:
            chat.given_up(self.run.session, self._wait_s)
        finally:
            self.waiting = False
        return True

    def take(self, result: Json) -> bool:
        """Put a result at its interrupt; return False if it is not waited for.

        A second result for the same call is not.
        """
        asked = (i["call_id"] for i in self.run.session["interrupts"] if "answer" not in i)
        if not self.waiting or result["callId"] not in asked:
            return False
        chat.answer(self.run.session, result)
        self.arrived.set()
        return True

    def _answered(self) -> bool:
        return all("answer" in item for item in self.run.session["interrupts"])

    def last(self) -> bytes:
        """Return the end of the stream, in every case the session and `[DONE]`."""
        told = [chat.last(self.run.session)]
        if self._aborted or not self._ended:
            told.append(chat.error(ABORTED if self._aborted else STOPPING))
        return b"".join(map(_data, told)) + DONE

    def abort(self) -> None:
        """End the stream."""
        self._aborted = True
        if self._task is not None:
            self._task.cancel()


def _data(message: Json) -> bytes:
    return sse.encode(dumps(message))
