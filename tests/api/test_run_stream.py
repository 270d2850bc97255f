"""Runs inside requests: how many there may be, and what keeps a quiet stream alive."""

from __future__ import annotations

import asyncio
import json
import re
import unittest
from typing import Any

from server.api.auth import Keys
from server.api.router import RequestContext, Route, Router
from server.api.sessions import HeartbeatTimer, Runs, Sessions
from server.lib.runtime import waits

from .fakes import run_async
from .test_sessions import DOCUMENT, LIMITS, SCRIPT, SSE, Case

KEY = {"name": "me", "key": "k"}


class Busy(Case):
    def test_too_many_runs_is_429_and_says_when_to_come_back(self) -> None:
        async def main() -> None:
            gate = asyncio.Event()

            async def wait() -> None:
                await gate.wait()

            self.agent.wait = wait
            router = self.router()
            documents = ({**DOCUMENT, "id": f"s{n}"} for n in range(LIMITS["max_runs"]))
            running = [self.call(document, SSE) for document in documents]
            tasks = [asyncio.create_task(router(call.exchange)) for call in running]
            while len(self.agent.runs) < len(running):
                await asyncio.sleep(0)
            refused = self.call({**DOCUMENT, "id": "one too many"}, SSE)
            await router(refused.exchange)
            self.assertEqual((refused.status, refused.json["code"]), (429, "busy"))
            self.assertIn("retry-after", refused.headers)
            gate.set()
            await asyncio.gather(*tasks)
            self.assertEqual([call.status for call in running], [200, 200])

        run_async(main())

    def test_a_call_that_outlives_its_run_keeps_the_slot(self) -> None:
        """Of its session: that one may go on, which gets the call's result, and no other begins."""

        async def main() -> None:
            ended, router = asyncio.Event(), self.router()

            async def call() -> None:
                await ended.wait()

            async def status(session_id: str) -> int:
                asked = self.call({**DOCUMENT, "id": session_id}, SSE)
                await router(asked.exchange)
                return asked.status

            for name in ("one", "two"):
                self.agent.calls[name] = [asyncio.create_task(call())]
                self.assertEqual(await status(name), 200)
            self.assertEqual([await status(name) for name in ("one", "three")], [200, 429])
            ended.set()
            await asyncio.gather(*(task for tasks in self.agent.calls.values() for task in tasks))
            await asyncio.sleep(0)
            self.assertEqual(await status("three"), 200)

        run_async(main())


class Fronts(Case):
    """What the handlers of other systems' fronts are given."""

    def run_with(self, script: list[Any], wish: str) -> tuple[bytes, list[str]]:
        """(what was sent, the types of the events that were seen)."""
        self.agent.script = script
        seen: list[str] = []

        async def handle(call: RequestContext) -> None:
            runs = Runs(self.agent, LIMITS)
            async with runs.begin(call, await runs.read(call)) as run:
                if wish == "whole":
                    session = await runs.collect(call, run, lambda e: seen.append(e["type"]))
                    await call.json(session)
                else:
                    await runs.stream(call, run, lambda *_: b"", lambda: b"cut")

        router = Router({("POST", "/session"): Route(handle)}, handle, Keys([KEY]))
        call = self.call()
        run_async(router(call.exchange))
        return call.answer, seen

    def test_a_stream_without_its_end_says_so(self) -> None:
        ends = {"type": "RUN_FINISHED", "threadId": "s1", "runId": "run_1"}
        self.assertEqual(self.run_with(SCRIPT, "stream")[0], b"cut")
        self.assertEqual(self.run_with([*SCRIPT, ends], "stream")[0], b"")

    def test_what_a_run_leaves_is_kept_before_its_end_is_sent(self) -> None:
        """Its client may send what follows in the same moment."""
        ends: Any = {"type": "RUN_FINISHED", "threadId": "s1", "runId": "run_1"}
        self.agent.script = [*SCRIPT, ends]
        call, runs = self.call(DOCUMENT, SSE), Runs(self.agent, LIMITS)
        bases: Any = runs.bases

        async def keep(*_: Any) -> None:
            call.channel.log.append("kept")

        bases.keep = keep
        handler = Sessions(runs, streams=True)
        router = Router({("POST", "/session"): Route(handler.post)}, handler.post, Keys([KEY]))
        run_async(router(call.exchange))
        log = call.channel.log
        sent = [
            n
            for n, piece in enumerate(log)
            if isinstance(piece, bytes) and b"RUN_FINISHED" in piece
        ]
        self.assertEqual([log.index("kept") < n for n in sent], [True])

    def test_what_is_awaited_comes_between_the_events(self) -> None:
        async def wait() -> None:
            with waits.wait_notice("retry", 20.0, attempt=2, of=4, cause="busy"):
                await asyncio.sleep(0)

        self.agent.wait = wait
        call = self.call(DOCUMENT, SSE)
        run_async(self.router()(call.exchange))
        frames = call.answer.decode().split("\n\n")
        at, *_ = [n for n, frame in enumerate(frames) if "event: run.wait\n" in frame]
        number, _, data = frames[at].split("\n")
        self.assertEqual(number.partition("/")[2], str(at + 1))
        value = json.loads(data.removeprefix("data: "))["value"]
        wanted = {"awaits": "retry", "waited_s": 0, "left_s": 20.0, "attempt": 2, "of": 4}
        self.assertEqual(value, {**wanted, "cause": "busy"})
        numbers = re.findall(rb"^id: \w+/(\d+)$", call.answer, re.MULTILINE)
        self.assertEqual(numbers, [b"%d" % n for n in range(1, len(numbers) + 1)])

    def test_who_collects_sees_every_event(self) -> None:
        _, seen = self.run_with(SCRIPT, "whole")
        self.assertEqual(seen, [event["type"] for event in SCRIPT])


class Heartbeat(unittest.TestCase):
    """With a loop whose clock is set by hand."""

    class Loop(asyncio.SelectorEventLoop):
        now = 1000.0

        def time(self) -> float:
            return self.now

    class Stream:
        """Sends at once."""

        def __init__(self) -> None:
            self.written: list[bytes] = []
            self.sent_at = asyncio.get_running_loop().time()

        def write(self, data: bytes) -> None:
            self.written.append(data)
            self.sent_at = asyncio.get_running_loop().time()

    def test_a_comment_only_when_nothing_else_was_written(self) -> None:
        loop = self.Loop()

        async def pass_time(seconds: float) -> None:
            loop.now += seconds
            for _ in range(3):
                await asyncio.sleep(0)

        async def main() -> None:
            stream: Any = self.Stream()
            written, pulse = stream.written, HeartbeatTimer(stream, 15)
            await pass_time(14)
            self.assertEqual(written, [])
            stream.write(b"an event")
            await pass_time(14)
            self.assertEqual(written, [b"an event"])
            await pass_time(2)
            self.assertEqual(written[1:], [b": ping\n\n"])
            await pass_time(15)
            self.assertEqual(written[1:], [b": ping\n\n"] * 2)
            pulse.stop()
            await pass_time(100)
            self.assertEqual(len(written), 3)
            never = HeartbeatTimer(stream, 0)
            await pass_time(100)
            never.stop()
            self.assertEqual(len(written), 3)

        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(main())


if __name__ == "__main__":
    unittest.main()
