"""Kept sessions that run: real servers, killed and stopped in the middle, and who follows them."""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
import threading
import time
import unittest
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from http.client import HTTPResponse
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

from server.errors import Problem
from server.extensions.keeper.driver import Keeper
from server.extensions.keeper.feed import Feed
from server.extensions.keeper.folder import KeptFolder, Room
from server.extensions.keeper.job import GAVE_UP, Job, Means, needs_run
from server.extensions.keeper.marks import ENDED, Mark, Marks
from server.extensions.keeper.remote import RemoteRun
from server.lib.http.sse import Decoder
from server.session.fold import Folder
from server.tools.runner import ToolRunner

from ...chaos.test_kill import OWNED, Provider
from ...tooling import patience
from ...tooling.api import connect
from ...tooling.child import Yaa
from .test_storm import FakeRun

CALLS = 8
AUTO = {"config": {"tool": {"mark": {"auto_approve": True}}}}
ONCE: Any = {"config": {"llm_api": {"retry": {"times": 0}}}}


class Model(Provider):
    """One call after the other, then an answer. `holds`: results -> the request waits for it."""

    calls = CALLS
    holds: dict[int, threading.Event]
    reached: dict[int, threading.Event]
    fails = 0  # so many requests are refused
    asked = 0

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        results = sum(m["role"] == "tool" for m in request["messages"])
        model: Any = type(self)
        model.asked += 1
        if model.fails:
            model.fails -= 1
            self.send_error(503)
            return
        if hold := self.holds.get(results):
            self.reached[results].set()
            hold.wait(patience.seconds(60))
        deltas: list[Any] = [{"content": f"Done: {results} results."}]
        reason = "stop"
        if results < self.calls:
            name, arguments = self.call(results)
            function = {"name": name, "arguments": json.dumps(arguments)}
            call = {"index": 0, "id": f"call_{results}", "type": "function", "function": function}
            deltas, reason = [{"tool_calls": [call]}], "tool_calls"
        chunks = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
        chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
        self.stream(chunks)

    def call(self, results: int) -> tuple[str, Any]:
        """The name and the arguments of the call after so many results."""
        return "mark", {"name": f"mark{results}"}


class Case(unittest.TestCase):
    model_type = Model
    home: Path
    model: Any
    config: Any

    def setUp(self) -> None:
        self.connections: list[Any] = []
        self.lay_out(self, self.enterContext, self.addCleanup)

    @classmethod
    def lay_out(cls, place: Any, enter: Any, clean: Any) -> None:
        """Give a test or a class of them a home, a model and the configuration of its servers."""
        place.home = Path(enter(tempfile.TemporaryDirectory())) / "home"
        (place.home / "tools").mkdir(parents=True)
        (place.home / "tools" / "mark.py").write_text(OWNED)
        model: Any = type("Own", (cls.model_type,), {"holds": {}, "reached": {}})
        place.model = model
        provider = ThreadingHTTPServer(("127.0.0.1", 0), model)
        provider.daemon_threads = True
        threading.Thread(target=provider.serve_forever, daemon=True).start()
        clean(provider.server_close)
        clean(provider.shutdown)
        clean(lambda: [each.set() for each in model.holds.values()])
        url = f"http://127.0.0.1:{provider.server_port}/v1"
        entry = {"api_url": url, "api_key": "k", "model_name": "m"}
        keeper = {"pause_s": 0.1, "attempts": 3}
        place.config = {"discover": False, "providers": {"main": entry}, "keeper": keeper}

    def hold(self, results: int) -> None:
        """Let the model wait when it is asked with so many results."""
        self.model.holds[results] = threading.Event()
        self.model.reached[results] = threading.Event()

    def until_reached(self, results: int) -> None:
        self.assertTrue(self.model.reached[results].wait(patience.seconds(60)))

    def whole(self) -> Any:
        """The configuration of a server."""
        return {"server": self.config, "session": ONCE}

    def server(self) -> Yaa:
        return Yaa(self.whole(), home=self.home)

    def open(
        self, yaa: Yaa, method: str, path: str, body: Any = None, **headers: str
    ) -> HTTPResponse:
        host, _, port = yaa.url.removeprefix("http://").partition(":")
        connection = connect(host, int(port), patience.seconds(60))
        self.addCleanup(connection.close)
        self.connections.append(connection)
        more = {name.replace("_", "-"): value for name, value in headers.items()}
        sent = {"Authorization": f"Bearer {yaa.key}", "Content-Type": "application/json", **more}
        data = None if body is None else json.dumps(body)
        connection.request(method, f"/keeper/sessions/{path}", data, sent)
        return connection.getresponse()

    def ask(self, yaa: Yaa, method: str, path: str, body: Any = None, **headers: str) -> Any:
        answer = self.open(yaa, method, path, body, **headers)
        text = answer.read()
        self.assertLess(answer.status, 300, text)
        return json.loads(text) if text else None

    def keep(self, yaa: Yaa, session_id: str, **more: Any) -> None:
        said = {"role": "user", "content": "go"}
        self.ask(yaa, "PUT", session_id, {"messages": [said], **more})

    def until(self, what: Callable[[], bool]) -> None:
        allowance = patience.Allowance(60, time.monotonic())
        while not what():
            time.sleep(0.05)
            allowance.spend(time.monotonic(), patience.slowness())
            self.assertGreater(allowance.left_s, 0, "it did not come to that in time")

    def rest(self, yaa: Yaa, session_id: str) -> Any:
        """The session, once it does not run any more."""
        rows: list[Any] = []

        def rests() -> bool:
            rows[:] = self.ask(yaa, "GET", "")["sessions"]
            return not next(each["running"] for each in rows if each["id"] == session_id)

        self.until(rests)
        return self.ask(yaa, "GET", session_id)

    def executions(self, session_id: str) -> list[int]:
        folder = ToolRunner(self.home).folder(session_id)
        return [len(file.read_text().split()) for file in sorted(folder.glob("mark*"))]

    def events(self, answer: HTTPResponse) -> Iterator[Any]:
        """(id, event) as they come."""
        decoder = Decoder()
        while data := answer.read1():
            for frame in decoder.feed(data):
                yield frame.id, json.loads(frame.data)


class Served(Case):
    """One server for the tests of a class, each with a session of its own name."""

    yaa: Yaa

    @classmethod
    def setUpClass(cls) -> None:
        cls.lay_out(cls, cls.enterClassContext, cls.addClassCleanup)
        whole = {"server": cls.config, "session": ONCE}
        cls.yaa = cls.enterClassContext(Yaa(whole, home=cls.home))

    def setUp(self) -> None:
        self.connections = []
        self.name = self._testMethodName
        model, made = self.model, self.model_type
        model.calls, model.fails, model.asked = made.calls, made.fails, made.asked
        self.addCleanup(self.clear)

    def clear(self) -> None:
        """End what runs, and delete all sessions."""
        for each in self.model.holds.values():
            each.set()
        self.model.holds.clear()
        for row in self.ask(self.yaa, "GET", "")["sessions"]:
            if row["running"]:
                self.ask(self.yaa, "POST", f"{row['id']}/stop")
            self.ask(self.yaa, "DELETE", row["id"])


class Killed(Case):
    def test_a_task_of_many_calls_goes_on_after_two_kills(self) -> None:
        """No page, no request: only the server, which is killed and started again."""
        self.hold(3)
        self.hold(6)
        with self.server() as yaa:
            self.keep(yaa, "task", **AUTO)
            begun = self.ask(yaa, "POST", "task/run")
            self.assertTrue(begun["running"])
            again = self.ask(yaa, "POST", "task/run")
            self.assertEqual((again["running"], again["run"]), (True, begun["run"]))
            self.until_reached(3)
            yaa.kill()
        self.model.holds.pop(3).set()
        with self.server() as yaa:
            self.until_reached(6)
            yaa.kill()
        self.model.holds.pop(6).set()
        draft = self.home / "keeper" / ".running" / ".x.draft"  # of a kill in a write
        draft.touch()
        os.utime(draft, (0, 0))
        with self.server() as yaa:
            session = self.rest(yaa, "task")
        self.assertEqual(session["status"], "completed")
        self.assertEqual(session["messages"][-1]["content"], f"Done: {CALLS} results.")
        self.assertEqual(self.executions("task"), [1] * CALLS)
        results = [m["tool_call_id"] for m in session["messages"] if m["role"] == "tool"]
        calls = [c["id"] for m in session["messages"] for c in m.get("tool_calls") or ()]
        self.assertEqual((results, len({*results})), (calls, CALLS))
        self.assertEqual([*(self.home / "keeper" / ".running").iterdir()], [])
        self.assertEqual([*(self.home / "keeper" / "@home").glob(".*.journal")], [])

    def test_a_server_that_is_stopped_goes_on_with_it_at_its_next_start(self) -> None:
        self.hold(2)
        self.model.calls = 3
        with self.server() as yaa:
            self.keep(yaa, "task", **AUTO)
            self.ask(yaa, "POST", "task/run")
            self.until_reached(2)
            assert yaa.child is not None
            self.assertEqual(yaa.child.stop(patience.seconds(30)), 0)
        self.model.holds.pop(2).set()
        with self.server() as yaa:
            self.assertEqual(self.rest(yaa, "task")["status"], "completed")
        self.assertEqual(self.executions("task"), [1] * 3)

    def test_runs_that_get_nowhere_count_whoever_ended_them(self) -> None:
        """What ends its server each time is given up, too."""
        self.model.calls = 2
        self.hold(0)
        self.hold(1)
        marks = Marks(self.home / "keeper")
        with self.server() as yaa:
            self.keep(yaa, "task", **AUTO)
            self.ask(yaa, "POST", "task/run")
            self.until_reached(0)
            yaa.kill()
        self.model.holds.pop(0).set()
        marks.set(Mark("", "task", 2))
        with self.server() as yaa:
            self.until_reached(1)
            self.assertEqual([*marks.all()], [Mark("", "task")], "it has got on")
            yaa.kill()
        self.model.holds.pop(1).set()
        marks.set(Mark("", "task", 3))
        asked = self.model.asked
        with self.server() as yaa:
            session = self.rest(yaa, "task")
        last = session["messages"][-1]
        self.assertEqual((session["status"], last["code"]), ("failed", GAVE_UP))
        self.assertIn("tried 4 times", last["content"])
        self.assertEqual(self.model.asked, asked)


class Running(Served):
    def test_it_stops_at_a_question(self) -> None:
        self.keep(self.yaa, "asks")
        self.ask(self.yaa, "POST", "asks/run")
        session = self.rest(self.yaa, "asks")
        self.assertEqual([each["reason"] for each in session["interrupts"]], ["tool_call"])
        self.assertEqual(self.executions("asks"), [])
        self.assertEqual(self.ask(self.yaa, "GET", "")["sessions"][0]["waiting"], 1)
        self.assertFalse(self.ask(self.yaa, "POST", "asks/run")["running"], "nothing is to be done")

    def test_a_provider_that_fails_is_asked_again_and_then_given_up(self) -> None:
        self.model.calls, self.model.fails = 0, 2
        self.keep(self.yaa, "patient")
        self.ask(self.yaa, "POST", "patient/run")
        session = self.rest(self.yaa, "patient")
        self.assertEqual(session["messages"][-1]["content"], "Done: 0 results.")
        self.model.fails = 1_000
        self.keep(self.yaa, "lost")
        self.model.asked = 0
        self.ask(self.yaa, "POST", "lost/run")
        session = self.rest(self.yaa, "lost")
        self.assertEqual(self.model.asked, 4, "once, and three attempts")
        self.assertEqual((session["status"], session["messages"][-1]["role"]), ("failed", "error"))
        self.assertIn("tried 4 times", session["messages"][-1]["content"])

    def test_what_cannot_run_is_refused_and_stays_as_it_is(self) -> None:
        provider = {"config": {"llm_api": {"provider": {"name": "nobody"}}}}
        self.keep(self.yaa, "wrong", **provider)
        answer = self.open(self.yaa, "POST", "wrong/run")
        self.assertEqual(
            (answer.status, json.loads(answer.read())["code"]), (422, "provider_unknown")
        )
        self.assertNotIn("error", [m["role"] for m in self.rest(self.yaa, "wrong")["messages"]])
        self.assertEqual(self.open(self.yaa, "POST", "nothing/run").status, 404)
        self.assertEqual(self.open(self.yaa, "POST", "nothing/stop").status, 404)
        self.assertEqual(self.open(self.yaa, "GET", "nothing/events").status, 404)

    def test_stopped_it_does_not_go_on(self) -> None:
        self.hold(1)
        self.keep(self.yaa, "long", **AUTO)
        self.ask(self.yaa, "POST", "long/run")
        self.until_reached(1)
        self.assertEqual(self.ask(self.yaa, "POST", "long/stop")["stopped"], True)
        self.assertFalse(self.ask(self.yaa, "GET", "")["sessions"][0]["running"])
        self.assertEqual(self.executions("long"), [1])
        self.model.holds.pop(1).set()
        self.ask(self.yaa, "POST", "long/run")
        self.assertEqual(self.rest(self.yaa, "long")["status"], "completed")
        self.assertEqual(self.executions("long"), [1] * CALLS)

    def test_a_change_by_another_program_while_it_runs_makes_a_branch(self) -> None:
        self.hold(1)
        self.model.calls = 3
        self.keep(self.yaa, "shared", **AUTO)
        self.ask(self.yaa, "POST", "shared/run")
        self.until_reached(1)
        file = self.home / "keeper" / "@home" / "shared.json"
        edited = {"id": "shared", "messages": [{"role": "user", "content": "edited"}]}
        file.write_text(json.dumps(edited))
        self.model.holds.pop(1).set()
        self.until(lambda: len(self.ask(self.yaa, "GET", "")["sessions"]) == 2)
        branch = self.rest(self.yaa, "shared-2")
        self.assertEqual(branch["messages"][-1]["content"], "Done: 3 results.")
        self.assertEqual(branch["ext"]["forked_from"]["session"], "shared")
        self.assertEqual(json.loads(file.read_text()), edited)
        self.assertEqual(self.executions("shared"), [1] * 3)


class Needed(unittest.TestCase):
    def test_for_what_a_run_would_do_something(self) -> None:
        for status, roles, wanted in (
            ("in_progress", "user assistant", True),  # it was cut in the middle of an answer
            ("completed", "user assistant", False),
            ("completed", "user assistant error", False),
            ("failed", "user error", True),
            ("completed", "assistant tool", True),
            ("", "", False),
        ):
            messages = [{"role": each} for each in roles.split()]
            session: Any = {"status": status, "messages": messages}
            self.assertEqual(needs_run(session), wanted, (status, roles))


class Refused(unittest.IsolatedAsyncioTestCase):
    async def test_a_refusal_that_passes_is_waited_for_and_is_no_attempt(self) -> None:
        home = Path(self.enterContext(tempfile.TemporaryDirectory()))
        folder = KeptFolder(home, "", Room(9, 1 << 20, 1 << 20))
        said: Any = {"id": "m", "role": "user", "content": "go"}
        folder.put("s", {"messages": [said]}, "")
        refusals = [Problem("busy", "too many runs", headers={"Retry-After": "1"})]

        @asynccontextmanager
        async def begin(owner: str, document: Any, *_: Any) -> AsyncIterator[Any]:
            if refusals:
                raise refusals.pop()
            yield FakeRun(document, ["word"], lambda: None)

        given: Any = begin
        marks = Marks(home)
        means = Means(given, folder, marks, Marks(home, ENDED), 0, 0.01)
        job = Job("", "s", Feed(), lambda: means)
        self.assertTrue(await job.open())
        await job.work()
        self.assertEqual((refusals, [*marks.all()]), ([], []))
        stored: Any = folder.read("s").session["messages"]
        self.assertEqual([each["content"] for each in stored], ["go", " word"])


class Stopped(unittest.IsolatedAsyncioTestCase):
    async def test_a_stop_while_a_run_is_prepared_ends_it(self) -> None:
        home = Path(self.enterContext(tempfile.TemporaryDirectory()))
        folder = KeptFolder(home, "", Room(9, 1 << 20, 1 << 20))
        said: Any = {"id": "m", "role": "user", "content": "go"}
        folder.put("s", {"messages": [said]}, "")
        stops: list[Any] = []

        async def no_runs(owner: str, session_id: str) -> None:
            """Nothing is known to run."""

        @asynccontextmanager
        async def begin(owner: str, document: Any, *_: Any) -> AsyncIterator[Any]:
            stops.append(asyncio.create_task(keeper.pause("", "s", no_runs)))
            await asyncio.sleep(0)
            run: Any = FakeRun(document, [], lambda: None)
            run.stop = stops.append
            yield run

        given: Any = begin
        means = Means(given, folder, Marks(home), Marks(home, ENDED), 0, 0.01)
        keeper = Keeper(Marks(home), lambda owner: means)
        await keeper.start("", "s")
        self.assertEqual(await stops[0], {"stopped": True, "running": False})
        self.assertEqual(stops[1:], ["stopped"])

    async def test_at_another_server_nothing_comes_of_a_stopped_run(self) -> None:
        unread: Any = None
        run = RemoteRun(unread, {"messages": []})
        run.stop("stopped")
        self.assertEqual([event async for event in run.events()], [])


class Followed(Case):
    def setUp(self) -> None:
        super().setUp()
        self.yaa = self.enterContext(self.server())

    def fold(self, answer: HTTPResponse, ends: Callable[[Any], bool]) -> tuple[Any, list[str]]:
        """The document that the events make, and their ids, up to the state that `ends` wants."""
        session: Any = {"messages": []}
        folder, ids = Folder(session), list[str]()
        for event_id, event in self.events(answer):
            ids.append(event_id)
            folder.apply(event)
            if event.get("name") == "yaa.kept" and ends(event["value"]):
                break
        folder.flush()
        return session, ids

    def test_all_of_it_arrives_wherever_somebody_begins_to_look(self) -> None:
        self.hold(3)
        self.model.calls = 6
        self.keep(self.yaa, "seen", **AUTO)
        first = self.open(self.yaa, "GET", "seen/events")
        self.assertEqual(self.ask(self.yaa, "GET", "")["sessions"][0]["running"], False)
        self.ask(self.yaa, "POST", "seen/run")
        self.until_reached(3)
        late = self.open(self.yaa, "GET", "seen/events")
        self.model.holds.pop(3).set()
        began: list[bool] = []

        def ended(state: Any) -> bool:
            began.append(state["running"])
            return any(began) and not state["running"]

        seen, ids = self.fold(first, ended)
        began.clear()
        self.assertEqual(len(ids), len({*ids}), "each has an id of its own")
        seen_late, _ = self.fold(late, ended)
        stored = self.ask(self.yaa, "GET", "seen")
        for session in (seen, seen_late):
            self.assertEqual(session["messages"], stored["messages"])
            self.assertEqual(session["calls"], stored["calls"])
        revision = self.open(self.yaa, "GET", "seen").getheader("ETag", "").strip('"')
        self.assertEqual(ids[-1], f"kept/{revision}")
        middle = self.open(self.yaa, "GET", "seen/events", Last_Event_ID=ids[-4])
        _, rest = self.fold(middle, lambda state: not state["running"])
        self.assertEqual(rest[-len(ids[-3:]) :], ids[-3:])
        again = self.open(self.yaa, "GET", "seen/events", Last_Event_ID=ids[-1])
        _, rest = self.fold(again, lambda state: True)
        self.assertEqual(len(rest), 1, "nothing is sent again")

    def test_a_change_without_a_run_brings_the_document(self) -> None:
        self.keep(self.yaa, "edited")
        answer = self.open(self.yaa, "GET", "edited/events")
        self.fold(answer, lambda state: True)
        file = self.home / "keeper" / "@home" / "edited.json"
        file.write_text(
            json.dumps({"id": "edited", "messages": [{"role": "user", "content": "x"}]})
        )
        session, _ = self.fold(answer, lambda state: True)
        self.assertEqual([m["content"] for m in session["messages"]], ["x"])

    def test_who_follows_is_counted_and_ends_with_the_server(self) -> None:
        self.keep(self.yaa, "shown")
        one = self.open(self.yaa, "GET", "shown/events")
        self.open(self.yaa, "GET", "shown/events")
        self.fold(one, lambda state: state["followers"] == 2)
        self.connections[-1].close()
        self.fold(one, lambda state: state["followers"] == 1)
        assert self.yaa.child is not None
        began = time.monotonic()
        self.assertEqual(self.yaa.child.stop(patience.seconds(30)), 0)
        self.assertLess(time.monotonic() - began, patience.seconds(9), "it need not be waited for")


if __name__ == "__main__":
    unittest.main()
