"""What a body costs as it grows: eight times the entries, about eight times the work.

Work is counted, not timed: calls of functions and lines of the server that are run, the same on
every machine. If every entry were held against every other, eight times as many would be sixty-four
times the work. What the interpreter does in C is not in this count, so texts are also measured by
the processor's time, with much room.
"""

from __future__ import annotations

import asyncio
import functools
import io
import json
import re
import sys
import tempfile
import threading
import time
import unittest
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from server.api.auth import Keys
from server.app import App, routes
from server.config import Config
from server.lib.http import sse
from server.lib.runtime.offload import LARGE
from server.lib.strict_json import canonical, dumps, dumps_in_pieces
from server.session import schema
from server.telemetry import log
from server.tools.session_files import SessionFiles

from . import growing
from .api import fakes as wire
from .fakes import DEFAULTS, Ids, ManualClock, ScriptedModel
from .growing import Growing, Json
from .tooling import turns

SERVER = str(Path(schema.__file__).parent.parent)
SHARES = 3  # of the rows: the suite plays one of them
FEW = 32  # entries
TIMES = 8
LONG = 5_000  # words
MOST_TIMES, LEAST_S, ROUNDS = 3 * TIMES, 0.02, 3
LEAST = 6_000  # steps; fewer cannot be told from what is kept of an earlier request
PER_ENTRY = 12  # steps on the event loop for each entry of a large body
PER_SMALL_CALL = 250  # the same for each call of a small body
# Steps in all threads for one more message of a long history.
MOST_OF_MESSAGE = {"bare": 150, "returned": 200}
WRITERS = {each.__code__ for each in (canonical, dumps, dumps_in_pieces, sse.encode)}
# An event at the beginning repeats a part of the body: 0.3 ms for 100 KB.
REPEATED = (
    *("calls that a message supersedes", "/agui/default: calls", "/agui/default: answers"),
    *("interrupts with a denial", "/api/query: references"),
)
# Each entry is a call that is answered by events of its own.
ANSWERED = (
    *("begun calls", "values that nothing has", "calls that a message supersedes"),
    *("interrupts with a no", "interrupts with a denial"),
    *("/auto-ai/v1/chat/stream: calls", "/api/query: calls", "/api/submit: calls"),
)


class Model(ScriptedModel):
    """Says one word; keeps no requests."""

    async def stream(self, *args: Any) -> Any:
        async for event in super().stream([], [], args[2]):
            yield event


class Server:
    """All routes, without a socket."""

    def __init__(self, home: Path) -> None:
        server = json.loads(json.dumps(DEFAULTS["server"]))
        server["sandbox"]["require"] = "none"
        server["limits"]["max_runs"] = 1
        session = json.loads(json.dumps(DEFAULTS["session"]))
        self.app = App(Config(server, session, home), {})
        model = Model(lambda messages: [("text", ["ok"])])
        self.app.agent.models = model  # type: ignore[assignment]
        self.app.agent.workspaces = SessionFiles(home)  # others outlive the loop of a request
        self.app.agent.ids, self.app.agent.clock = Ids(), ManualClock()
        self.app._opened.set()
        self.router = routes(self.app, Keys([], required=False))

    def post(self, growing: Growing, n: int) -> wire.Call:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        return wire.Call("POST", growing.path, headers, json.dumps(growing.body(n)).encode())

    def answer(self, call: wire.Call) -> None:
        self.app.agent.ids = Ids()

        async def answered() -> None:
            await self.router(call.exchange)

        asyncio.run(answered())


def steps(work: Callable[[], None], *, threads: bool = True) -> int:
    """How many functions are called, and lines of the server run: in all threads, or in this."""
    count = 0

    def in_server(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal count
        count += 1
        return in_server

    def called(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal count
        count += 1
        return in_server if frame.f_code.co_filename.startswith(SERVER) else None

    before = sys.gettrace()
    if threads:
        threading.settrace(called)
    sys.settrace(called)
    try:
        work()
    finally:
        sys.settrace(before)
        threading.settrace(None)
    return count


def longest_text(work: Callable[[], None]) -> int:
    """Characters of the longest JSON that this thread writes, or puts into a frame."""
    longest = 0

    def returned(frame: FrameType, event: str, arg: Any) -> None:
        nonlocal longest
        if event == "return" and frame.f_code in WRITERS and arg is not None:
            longest = max(longest, len(arg))

    sys.setprofile(returned)
    try:
        work()
    finally:
        sys.setprofile(None)
    return longest


def is_large(growing: Growing, n: int) -> bool:
    return len(json.dumps(growing.body(n))) >= LARGE * 1.2  # also without its spaces


class Growth(unittest.TestCase):
    server: Server
    log: io.StringIO

    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory(prefix="yaa-growth-")
        cls.addClassCleanup(folder.cleanup)
        cls.log = io.StringIO()
        log.setup("error", stream=cls.log)
        cls.addClassCleanup(log.setup, "error", stream=io.StringIO())
        cls.server = Server(Path(folder.name))
        for row in growing.routed():  # what is made once and kept
            cls.server.answer(cls.server.post(row, 2))

    def work(self, growing: Growing, n: int) -> int:
        call = self.server.post(growing, n)
        found = steps(lambda: self.server.answer(call))
        self.assertIn(call.status // 100, (2, 4), call.answer[:500])
        self.assertEqual(self.log.getvalue(), "")
        return found

    def check(self, growing: Growing) -> None:
        few = min(FEW, growing.most // TIMES)
        least, small = self.work(growing, 1), self.work(growing, few)
        large = self.work(growing, few * TIMES)
        self.assertLessEqual(
            large - least,
            growing.growth * max(small - least, LEAST),
            f"{few} entries: {small - least:,} steps, {few * TIMES}: {large - least:,}",
        )

    def seconds(self, growing: Growing, n: int) -> float:
        call = self.server.post(growing, n)
        began = time.process_time()
        self.server.answer(call)
        return time.process_time() - began

    def test_every_text_of_a_session(self) -> None:
        for row in turns.share(growing.texts(), SHARES):
            with self.subTest(row.name):
                most = MOST_TIMES * max(self.seconds(row, LONG), LEAST_S)
                rounds = (self.seconds(row, LONG * TIMES) for _ in range(ROUNDS))
                took = next((each for each in rounds if each <= most), None)
                self.assertIsNotNone(took, f"more than {most:.2f} s")

    def test_every_route_has_bodies_that_grow(self) -> None:
        table = self.server.router._routes.items()
        posted = {re.sub(r"{\w+}", "default", at) for at, methods in table if "POST" in methods}
        tried = {row.path for row in growing.routed()} | {growing.SESSION}
        self.assertEqual(posted - growing.small(), tried)

    def test_every_key_of_a_session(self) -> None:
        for row in turns.share(growing.keys(), SHARES):
            with self.subTest(row.name):
                self.check(row)

    def test_lists_that_are_held_against_each_other(self) -> None:
        for row in turns.share(growing.rows(), SHARES):
            with self.subTest(row.name):
                self.check(row)

    def test_a_large_body_is_worked_on_beside_the_event_loop(self) -> None:
        for row in turns.share((*growing.rows(), *growing.routed(), *growing.keys()), SHARES):
            many = min(FEW, row.most)
            while many < row.most and not is_large(row, many):
                many = min(2 * many, row.most)
            if row.name in ANSWERED or not is_large(row, many):
                continue
            with self.subTest(row.name):
                least, large = (
                    steps(functools.partial(self.server.answer, call), threads=False)
                    for call in (self.server.post(row, n) for n in (1, many))
                )
                self.assertLessEqual(large - least, PER_ENTRY * many + LEAST)

    def test_many_small_calls_that_ask_are_planned_beside_the_event_loop(self) -> None:
        """Below the size at which a body is large; they were three times as many steps."""
        (row,) = (each for each in growing.rows() if each.name == "calls that ask")
        self.assertFalse(is_large(row, row.most))
        least, many = (
            steps(functools.partial(self.server.answer, call), threads=False)
            for call in (self.server.post(row, n) for n in (1, row.most))
        )
        self.assertLessEqual(many - least, PER_SMALL_CALL * row.most)

    def test_a_large_session_is_not_written_on_the_event_loop(self) -> None:
        """Neither where it is sent back, nor where it is kept."""
        for row in turns.share((*growing.routed(), *growing.rows()), 2 * SHARES):
            many = min(2_000, row.most)
            if row.name in (*REPEATED, *ANSWERED) or not is_large(row, many):
                continue
            with self.subTest(row.name):
                call = self.server.post(row, many)
                longest = longest_text(functools.partial(self.server.answer, call))
                self.assertIn(call.status // 100, (2, 4), call.answer[:500])
                self.assertLess(longest, LARGE)

    def test_what_a_message_costs(self) -> None:
        """A bare one, and one with an id and what it cost, in a history of many."""
        for name, more in (("bare", {}), ("returned", {"meta": {"usage": {"total_tokens": 1}}})):
            with self.subTest(name):

                def body(n: int, more: Json = more) -> Json:
                    roles = ("user", "assistant")
                    said = [{"role": roles[k % 2], "content": "word " * 30} for k in range(n)]
                    if more:
                        said = [{"id": f"m{k}", **each, **more} for k, each in enumerate(said)]
                    return {"messages": said}

                row = Growing(name, body)
                few, many = self.work(row, 501), self.work(row, 1_001)
                self.assertLessEqual((many - few) / 500, MOST_OF_MESSAGE[name])

    def test_every_route(self) -> None:
        for row in turns.share(growing.routed(), SHARES):
            with self.subTest(row.name):
                self.check(row)


if __name__ == "__main__":
    unittest.main()
