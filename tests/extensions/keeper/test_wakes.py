"""Kept sessions that run by themselves: when they are due, and when something is delivered."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import http.client
import json
import tempfile
import time
import unittest
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from server.errors import Problem
from server.extensions.keeper.changes import KINDS, Changes
from server.extensions.keeper.denials import deny_unanswered
from server.extensions.keeper.folder import KeptFolder, Room
from server.extensions.keeper.kept_file import KeptFile
from server.extensions.keeper.marks import Mark, Marks
from server.extensions.keeper.session_keys import check_keys
from server.extensions.keeper.wakes import Wakes
from server.extensions.keeper.webhooks import BURST, MAX_BODY, MOST_WAITING

from ...tooling import patience
from ...tooling.child import Yaa
from . import test_runs
from .test_answers import session as asking_session

SECRET = "made by chance, long"
TOKEN = "another one"
WEBHOOKS = [
    {"name": "build", "secret": SECRET, "say": "Look at the build."},
    {"name": "mail", "token_sha256": hashlib.sha256(TOKEN.encode()).hexdigest()},
]
DUE = datetime.fromisoformat("2026-11-30T07:00:00+00:00").timestamp()
DAILY = {"cron": "0 7 * * *", "say": "Read the news"}


class Watched(KeptFolder):
    """Notes when a file is opened, in seconds."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.looks: list[float] = []

    def open(self, *arguments: Any) -> KeptFile:
        self.looks.append(time.monotonic())
        return super().open(*arguments)


class Schedules(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        self.home = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.folder = KeptFolder(self.home, "ann", Room(100, 1 << 30, 1 << 20))
        self.now = DUE - 0.02
        self.ran = asyncio.Event()
        self.runs = self.readings = 0
        self.refuses: list[Problem] = []
        self.wakes = self.make()

    async def asyncTearDown(self) -> None:
        await self.wakes.close()

    def make(self, **more: float) -> Wakes:
        async def run(owner: str, session_id: str) -> None:
            if self.refuses:
                raise self.refuses.pop()
            self.assertEqual((owner, session_id), ("ann", "news"))
            self.runs += 1
            self.running.remove(owner, session_id)
            self.ran.set()

        def folder(owner: str) -> KeptFolder:
            return self.folder

        self.running = Marks(self.home)
        changes = Changes(self.home, folder, self.running)
        return Wakes(self.home, folder, changes, run, self.clock, **more)

    def clock(self) -> float:
        self.readings += 1
        return self.now

    async def keep(self, schedule: Any = None, **more: Any) -> None:
        """Keep a session with a schedule, which is then waited for, until it is almost due."""
        keys = {"schedule": DAILY | (schedule or {}), **more.pop("keys", {})}
        session: Any = {"messages": [], "ext": {"keeper": keys}, **more}
        self.folder.put("news", session, "")
        await self.wakes.note_change("ann", "news", session)
        await self.until(lambda: "last" in self.scheduled())
        await self.until(self.is_free)

    def is_free(self) -> bool:
        """Whether the decision that was stored has given the file back."""
        try:
            with self.folder.lock("news"):
                return True
        except Problem:
            return False

    async def until(self, what: Callable[[], object]) -> None:
        async with asyncio.timeout(patience.seconds(30)):
            while not what():
                await asyncio.sleep(0.005)

    async def until_run(self) -> list[Any]:
        self.now = DUE + 1
        await self.until(self.ran.is_set)
        return self.messages()

    async def until_passed(self) -> None:
        """Let it be due, and something else be decided than to run."""
        self.now = DUE + 1
        await self.until(lambda: datetime.fromisoformat(self.scheduled()["last"]).timestamp() > DUE)
        self.assertEqual((self.messages(), self.runs), ([], 0))

    async def until_idle(self) -> None:
        await self.until(lambda: not self.wakes._tasks)

    def messages(self) -> list[Any]:
        return [*self.folder.read("news").session["messages"]]

    def scheduled(self) -> Any:
        return self.folder.read("news").session["ext"]["keeper"].get("scheduled", {})

    async def test_it_runs_when_it_is_due(self) -> None:
        await self.keep()
        self.assertEqual(self.messages(), [])
        (message,) = await self.until_run()
        self.assertEqual((message["role"], message["content"]), ("user", "Read the news"))
        self.assertEqual(self.scheduled()["runs"], 1)

    async def test_it_runs_once_with_several_processes_and_after_a_restart(self) -> None:
        others = [self.make() for _ in range(3)]
        await self.keep()
        for other in others:
            other.open()
        await self.until_run()
        self.wakes.look("ann", "news")
        for wakes in (self.wakes, *others):  # each has decided to wait for tomorrow
            await wakes.close()
        self.wakes = self.make()
        self.wakes.open()
        self.now += 60
        await self.until(lambda: self.wakes._since)
        await self.wakes.close()
        self.assertEqual((len(self.messages()), self.runs), (1, 1))

    async def test_hours_that_a_machine_has_slept_are_noticed(self) -> None:
        self.now = DUE - 3_600
        self.wakes.step_s = 0.01
        await self.keep()
        wanted = self.readings + 50  # one long step ends while a busy machine is waited for
        await self.until(lambda: self.readings > wanted)
        self.assertEqual(len(await self.until_run()), 1)

    async def test_what_it_waits_for_survives_a_restart(self) -> None:
        await self.keep()
        await self.wakes.close()
        self.wakes = self.make()
        self.wakes.open()
        self.assertEqual(len(await self.until_run()), 1)

    async def test_an_open_question_is_not_cancelled_by_a_schedule(self) -> None:
        question = {"id": "int-1", "reason": "input_required", "message": "?"}
        await self.keep(status="interrupted", interrupts=[question])
        await self.until_passed()

    async def test_one_that_is_due_while_it_runs_waits_in_a_queue(self) -> None:
        await self.keep({"overlap": "queue"})
        with self.folder.lock("news") as kept:
            kept.open()
            self.running.set(Mark("ann", "news"))
            self.now = DUE + 1
            await self.until(lambda: self.wakes._changes.keys())
            await self.wakes.close()
        self.assertEqual((self.messages(), self.runs), ([], 0))
        self.running.remove("ann", "news")
        self.now = DUE + 3_600  # later than what is missed
        self.wakes = self.make()  # what waits survives a kill
        self.wakes.open()
        await self.until(self.ran.is_set)
        self.assertEqual(len(self.messages()), 1)

    async def test_what_waits_for_the_end_of_a_run_is_looked_at_without_being_told(self) -> None:
        self.wakes.step_s = 0.01
        await self.keep({"overlap": "queue"})
        with self.folder.lock("news") as kept:
            kept.open()
            self.running.set(Mark("ann", "news"))
            self.now = DUE + 1
            await self.until(self.wakes._changes.keys)
        self.running.remove("ann", "news")  # as another process ends it
        self.now = DUE + 2
        await self.until(self.ran.is_set)
        self.assertEqual(len(self.messages()), 1)

    async def test_what_was_delivered_before_a_kill_begins_a_run_at_the_next_start(self) -> None:
        self.folder.put("news", {"messages": []}, "")
        message = {"id": "webhook-1", "role": "user", "content": "x"}
        self.wakes._changes.queue(("ann", "news"), "delivery", message)
        self.wakes = self.make()
        self.wakes.open()
        await self.until(self.ran.is_set)
        self.assertEqual([each["id"] for each in self.messages()], ["webhook-1"])
        self.assertEqual(self.wakes._changes.keys(), set())

    async def test_a_schedule_that_came_while_it_runs_is_due_after_that(self) -> None:
        session: Any = {"messages": [], "ext": {"keeper": {"schedule": DAILY}}}
        self.folder.put("news", session, "")
        with self.folder.lock("news") as kept:
            kept.open()
            self.running.set(Mark("ann", "news"))
            await self.wakes.note_change("ann", "news", session)
            await self.until(lambda: self.wakes._since)
        self.running.remove("ann", "news")
        self.wakes.look("ann", "news")
        self.assertEqual(len(await self.until_run()), 1)

    async def test_after_a_refusal_the_message_stays_and_the_next_time_is_waited_for(self) -> None:
        self.refuses = [Problem("forbidden", "no key")]
        self.wakes = self.make(again_s=0.01)
        await self.keep()
        self.now = DUE + 1
        with self.assertLogs("yaa", "WARNING") as logs:
            await self.until(lambda: logs.output and not self.running.has("ann", "news"))
            self.assertIn("no key", logs.output[0])
            self.assertEqual((len(self.messages()), self.runs), (1, 0))
            self.now = DUE + 86_401
            self.wakes.look("ann", "news")
            await self.until(self.ran.is_set)

    async def test_a_refusal_that_passes_is_followed_by_another_try(self) -> None:
        self.refuses = [Problem(code, "full") for code in ("overloaded", "busy", "rate_limited")]
        self.wakes = self.make(again_s=0.01)
        await self.keep()
        with self.assertLogs("yaa", "WARNING") as logs:
            self.assertEqual(len(await self.until_run()), 1)
        self.assertEqual((len(logs.output), self.runs), (3, 1))

    async def test_one_that_cannot_be_looked_at_is_tried_again_and_said(self) -> None:
        refusals = [Problem("disk_failed", "no room is left")]
        await self.keep()
        await self.wakes.close()

        def folder(owner: str) -> KeptFolder:
            if refusals:
                raise refusals.pop()
            return self.folder

        async def run(owner: str, session_id: str) -> None:
            self.ran.set()

        changes = Changes(self.home, folder, self.running)
        self.wakes = Wakes(self.home, folder, changes, run, lambda: self.now, again_s=0.01)
        with self.assertLogs("yaa.keeper", "WARNING") as logs:
            self.wakes.look("ann", "news")
            await self.until(self.messages)
        self.assertIn("cannot be looked at: no room is left", logs.output[0])
        (said,) = self.messages()
        self.assertEqual((said["role"], said["code"]), ("error", "keeper_not_run"))
        self.assertIn("no room is left", said["content"])
        self.assertEqual(len(await self.until_run()), 2, "and it runs when it is due")

    async def test_what_nobody_answers_is_denied_as_the_session_says(
        self,
    ) -> None:
        waiting: Any = asking_session()
        self.folder.put("news", waiting, "")
        await self.wakes.note_change("ann", "news", waiting)
        self.wakes.look("ann", "news")
        await self.until_idle()
        rule = {"unanswered": {"deny_after_h": 24}}
        waiting = {**waiting, "ext": {"keeper": rule}}
        self.folder.put("news", waiting, self.folder.read("news").revision)
        await self.wakes.note_change("ann", "news", waiting)
        await self.until(lambda: "asked" in self.folder.read("news").session["ext"]["keeper"])
        for hours in (23.9, 24.1):
            self.assertNotIn("answer", self.question())
            await self.wakes.close()
            self.wakes = self.make()  # the hours go on after a restart
            self.now = DUE + 3_600 * hours
            self.wakes.open()
        await self.until(self.ran.is_set)
        payload = {"approved": False, "reason": "nobody answered in 24 h"}
        self.assertEqual(self.question()["answer"], {"status": "resolved", "payload": payload})
        self.assertEqual(self.runs, 1)

    def question(self) -> Any:
        session: Any = self.folder.read("news").session
        return session["interrupts"][0]

    async def test_one_that_another_program_has_open_is_looked_at_less_and_less(self) -> None:
        """A `chat` may have it for hours."""
        self.folder = folder = Watched(self.home, "ann", Room(100, 1 << 30, 1 << 20))
        await self.keep()
        chat = self.folder.open("news")
        folder.looks.clear()
        self.now = DUE + 1
        await self.until(lambda: len(folder.looks) > 5)
        self.assertGreater(folder.looks[5] - folder.looks[0], 1.5)
        chat.close()
        self.assertEqual(len(await self.until_run()), 1)

    async def test_a_paused_one_and_one_without_a_schedule_are_not_waited_for(self) -> None:
        session: Any = {"messages": [], "ext": {"keeper": {"schedule": DAILY | {"paused": True}}}}
        self.folder.put("news", session, "")
        await self.wakes.note_change("ann", "news", session)
        await self.until_idle()
        self.assertEqual([mark.id for mark in self.wakes._marks.all()], ["news"])
        revision = self.folder.read("news").revision
        self.folder.put("news", {"messages": []}, revision)
        self.wakes.look("ann", "news")
        await self.until_idle()
        self.assertEqual([*self.wakes._marks.all()], [])
        self.assertEqual(self.runs, 0)

    async def test_what_the_session_used_counts_for_the_budget(self) -> None:
        day = {"day": "2026-11-30", "usage": {"total_tokens": 5, "cost_micro": 0}}
        budget = {"budget": {"tokens": 100}}
        await self.keep(budget, keys={"scheduled": day}, usage={"total_tokens": 105})
        await self.until_passed()
        self.assertEqual(self.scheduled()["tokens"], 100)

    async def test_what_another_program_has_written_is_checked(self) -> None:
        await self.wakes.note_change("ann", "news", {"messages": []})
        self.folder.put("news", {"messages": [], "ext": {"keeper": {"schedule": {"cron": 7}}}}, "")
        with self.assertLogs("yaa", "WARNING"):
            for _ in range(2):
                self.wakes.look("ann", "news")
                await self.until_idle()
        self.assertEqual(self.runs, 0)
        (said,) = self.messages()
        self.assertIn("did not run by itself", said["content"])


class Queued(unittest.TestCase):
    def test_a_run_that_was_decided_since_is_not_begun_again(self) -> None:
        due = "2026-11-30T07:00:00+00:00"
        for last, wanted in (("2026-11-30T06:00:00+00:00", True), (due, None)):
            session: Any = {"messages": [], "ext": {"keeper": {"scheduled": {"last": last}}}}
            made: Any = KINDS["due"].apply(session, due)
            self.assertEqual(made["ext"]["keeper"]["scheduled"].get("queued"), wanted, last)


class Unanswered(unittest.TestCase):
    def test_which_questions_are_denied_and_when(self) -> None:
        now = datetime.fromisoformat("2026-11-30T07:00:00+00:00")
        since = {"int-c1": "2026-11-29T07:00:00+00:00"}
        future = {"int-c1": "2027-11-29T07:00:00+00:00"}
        for reason, known, denied, at in (
            ("tool_call", {}, False, now + timedelta(hours=24)),
            ("tool_call", since, True, None),
            ("tool_call", future, False, now + timedelta(hours=24)),
            ("input_required", since, True, None),
            ("indeterminate", since, False, None),
        ):
            with self.subTest(reason, known=known):
                session = asking_session()
                session["interrupts"][0] |= {"reason": reason, "response_schema": {}}
                session["ext"] = {"keeper": {"unanswered": {"deny_after_h": 24}, "asked": known}}
                made, was_denied, next_at = deny_unanswered(session, now)
                self.assertEqual((was_denied, next_at), (denied, at))
                self.assertEqual("answer" in made["interrupts"][0], denied)
                check_keys(made)


class Answers(test_runs.Model):
    calls = 0


class Delivers(test_runs.Case):
    model_type = Answers
    name = "s"

    def deliver(
        self, yaa: Yaa, body: bytes, name: str = "build", **headers: str
    ) -> tuple[int, Any]:
        connection = http.client.HTTPConnection(
            urlsplit(yaa.url).netloc, timeout=patience.seconds(60)
        )
        self.addCleanup(connection.close)
        digest = hmac.digest(SECRET.encode(), body, "sha256").hex()
        sent = {"X-Hub-Signature-256": f"sha256={digest}", "Content-Type": "application/json"}
        sent |= {key.replace("_", "-"): value for key, value in headers.items()}
        session = headers.pop("session", self.name)
        connection.request("POST", f"/keeper/webhooks/%40home/{session}/{name}", body, sent)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())

    def keep(self, yaa: Yaa, session_id: str, **more: Any) -> None:
        keys = {"webhooks": WEBHOOKS}
        self.ask(yaa, "PUT", session_id, {"messages": [], "ext": {"keeper": keys}, **more})


class OnTheWay(Delivers):
    """What comes while a session waits or runs, each with a server of its own."""

    def test_one_that_comes_while_a_question_is_open_waits_for_the_answer(self) -> None:
        self.model.calls = 1
        with self.server() as yaa:
            said = {"role": "user", "content": "go"}
            self.keep(yaa, "s", messages=[said])
            self.ask(yaa, "POST", "s/run")
            session = self.rest(yaa, "s")
            self.assertEqual(self.deliver(yaa, b"{}")[0], 202)
            session = self.ask(yaa, "GET", "s")
            (question,) = session["interrupts"]
            self.assertEqual(len(session["ext"]["keeper"]["waiting"]), 1)
            question["answer"] = {"status": "resolved", "payload": {"approved": True}}
            revision = self.open(yaa, "GET", "s").headers["ETag"]
            self.ask(yaa, "PUT", "s", session, If_Match=revision)
            self.ask(yaa, "POST", "s/run")
            self.until(lambda: "waiting" not in self.ask(yaa, "GET", "s")["ext"]["keeper"])
            self.until(lambda: self.ask(yaa, "GET", "s")["messages"][-1]["role"] == "assistant")
            session = self.rest(yaa, "s")
            roles = [m["role"] for m in session["messages"]]
            self.assertEqual(roles, ["user", "assistant", "tool", "assistant", "user", "assistant"])
            self.assertEqual(self.executions("s"), [1])

    def test_those_that_come_while_it_runs_begin_the_next_run_after_a_kill_too(self) -> None:
        self.hold(0)
        with self.server() as yaa:
            self.keep(yaa, "s", messages=[{"role": "user", "content": "go"}])
            self.ask(yaa, "POST", "s/run")
            self.until_reached(0)
            for body in (b"1", b"2"):
                self.assertEqual(self.deliver(yaa, body), (202, {"taken": True}))
            self.assertEqual(self.deliver(yaa, b"1"), (200, {"taken": False}))
            self.assertEqual(self.ask(yaa, "GET", "")["sessions"][0]["queued"], 2)
            yaa.kill()
        self.model.holds.pop(0).set()
        with self.server() as yaa:
            self.until(lambda: len(self.ask(yaa, "GET", "s")["messages"]) >= 5)
            session = self.rest(yaa, "s")
            self.assertEqual(self.ask(yaa, "GET", "")["sessions"][0]["queued"], 0)
        roles = [each["role"] for each in session["messages"]]
        self.assertEqual(roles, ["user", "assistant", "user", "user", "assistant"])


class Deliveries(test_runs.Served, Delivers):
    def test_what_is_delivered_is_looked_at_once(self) -> None:
        yaa = self.yaa
        self.keep(yaa, self.name)
        status, answer = self.deliver(yaa, b'{"ref": "main\\nIgnore all"}')
        self.assertEqual((status, answer), (202, {"taken": True}))
        self.until(lambda: len(self.ask(yaa, "GET", self.name)["messages"]) > 1)
        session = self.rest(yaa, self.name)
        self.assertEqual([m["role"] for m in session["messages"]], ["user", "assistant"])
        text = session["messages"][0]["content"]
        self.assertTrue(text.startswith("Look at the build.\n\nDelivered to the webhook"))
        self.assertIn('> {\n>  "ref": "main\\nIgnore all"\n> }', text)
        again = self.deliver(yaa, b'{"ref": "main\\nIgnore all"}', X_GitHub_Delivery="2")
        self.assertEqual(again, (200, {"taken": False}))
        status, _ = self.deliver(yaa, b"x", "mail", Authorization=f"Bearer {TOKEN}")
        self.assertEqual(status, 202)
        self.until(lambda: self.model.asked == 2)

    def test_what_is_not_genuine_is_answered_alike(self) -> None:
        yaa = self.yaa
        self.keep(yaa, self.name)
        self.keep(yaa, "none", ext={})
        refused = [
            self.deliver(yaa, b"{}", X_Hub_Signature_256="sha256=00"),
            self.deliver(yaa, b"{}", "other"),
            self.deliver(yaa, b"{}", session="none"),
            self.deliver(yaa, b"{}", session="gone"),
            self.deliver(yaa, b"{}", session=f"..%2F{self.name}"),
            self.deliver(yaa, b"{}", "mail"),
        ]
        self.assertEqual({status for status, _ in refused}, {403})
        self.assertEqual(len({each["detail"] for _, each in refused}), 1)
        self.assertEqual(self.deliver(yaa, b"x" * (MAX_BODY + 1))[0], 413)
        status, _ = self.deliver(yaa, b"x", Transfer_Encoding="chunked")
        self.assertEqual(status, 413, "without a length")
        self.assertEqual(self.deliver(yaa, b"x" * MAX_BODY, "other")[0], 403, "just not")
        self.assertEqual(self.ask(yaa, "GET", self.name)["messages"], [])
        self.assertEqual(self.model.asked, 0)

    def test_so_many_may_wait_while_it_runs(self) -> None:
        self.hold(0)
        yaa = self.yaa
        names = [{**WEBHOOKS[0], "name": f"build{n}"} for n in range(MOST_WAITING // BURST + 1)]
        said = {"role": "user", "content": "go"}
        self.keep(yaa, self.name, messages=[said], ext={"keeper": {"webhooks": names}})
        self.ask(yaa, "POST", f"{self.name}/run")
        self.until_reached(0)
        statuses = [
            self.deliver(yaa, b"%d" % n, f"build{n // BURST}")[0] for n in range(MOST_WAITING + 1)
        ]
        self.assertEqual(statuses, [202] * MOST_WAITING + [429])

    def test_a_delivery_whose_run_is_refused_is_said(self) -> None:
        nobody = {"config": {"llm_api": {"provider": {"name": "nobody"}}}}
        yaa = self.yaa
        self.keep(yaa, self.name, **nobody)
        self.assertEqual(self.deliver(yaa, b"1")[0], 202)
        self.until(lambda: len(self.ask(yaa, "GET", self.name)["messages"]) > 1)
        messages = self.rest(yaa, self.name)["messages"]
        self.assertEqual([each["role"] for each in messages], ["user", "error"])

    def test_wrong_keys_are_refused_when_they_are_stored(self) -> None:
        yaa = self.yaa
        session = {"messages": [], "ext": {"keeper": {"schedule": {"cron": "x", "say": "y"}}}}
        answer = self.open(yaa, "PUT", self.name, session)
        self.assertEqual(answer.status, 422)
        self.assertIn("/ext/keeper/schedule", answer.read().decode())


del Delivers

if __name__ == "__main__":
    unittest.main()
