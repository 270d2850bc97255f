"""A client that comes back after its line was lost: what it gets, and what is not run again."""

from __future__ import annotations

import asyncio
import copy
import json
import os
import tempfile
import unittest
from contextlib import aclosing
from pathlib import Path
from typing import Any

from server.agent.call_decisions import FORGOTTEN
from server.agent.earlier_calls import RAN_BEFORE
from server.agent.loop import STOPPED, BaseAgent, Run
from server.agent.run_records import RunRecords, StopSignals
from server.json_types import Event, Session
from server.session.events import EXEC, alias
from server.session.fold import Folder, digest
from server.tools.execution_claims import Locks, Scope

from .fakes import (
    CountingToolbox,
    Ids,
    ManualClock,
    MemoryClaims,
    ScriptedModel,
    agent,
    answer,
    user,
)
from .tooling import turns

ASKED: Session = {"id": "s", "messages": [user("go")]}


class LocksOfAnother(Locks):
    """The locks as another process sees them: those of one process do not hold each other up."""

    def __init__(self, locks: Locks) -> None:
        super().__init__()
        self._locks = locks

    def is_held(self, name: str) -> bool:
        return name in self._locks._mine


class Late(MemoryClaims):
    """Claims, and a horizon, that another process writes while a run here begins."""

    is_late = False

    def claimed_as(self, scope: Scope, call_id: str, attempt: int) -> str | None:
        return None if self.is_late else super().claimed_as(scope, call_id, attempt)

    def horizon(self, owner: str) -> int:
        return 0 if self.is_late else super().horizon(owner)

    def take(
        self, scope: Scope, call_id: str, attempt: int, fingerprint: str = "", since_ms: int = 0
    ) -> bool:
        self.is_late = False
        return super().take(scope, call_id, attempt, fingerprint, since_ms)


class Case(unittest.IsolatedAsyncioTestCase):
    """Servers that share one home folder. The model makes one call in each round."""

    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)
        self.claims, self.clock, self.ids = MemoryClaims(), ManualClock(), Ids()
        self.ran: list[str] = []
        self.rounds = ["bump"] * 5
        self.gate: asyncio.Event | None = None
        self.asked = 0  # model calls

    def host(self, owner_home: str = "home") -> BaseAgent:
        tools = {"bump": "auto", "ask": "write", "look": "read", "other": "auto"}
        self.toolbox = Toolbox(tools, self.ran)
        self.toolbox.gate = self.gate
        model = ScriptedModel(self.script)
        model.clock = self.clock
        home = self.folder / owner_home
        return agent(
            *(model, self.toolbox),
            claims=self.claims,
            ids=self.ids,
            clock=self.clock,
            records=RunRecords(home / "runs", 1000),
            signals=StopSignals(home / "stops"),
            limits={"disconnect_grace_s": 0.01},
        )

    def script(self, messages: list[Any]) -> list[tuple[Any, ...]]:
        self.asked += 1
        number = sum(bool(message.get("tool_calls")) for message in messages)
        if number >= len(self.rounds):
            return [("text", ["Done", "."])]
        called = ("call", self.rounds[number], json.dumps({"n": number}))
        return [("think", ["Hm."]), ("text", [f"Step {number}. ", "☃"]), called]

    async def read(self, run: Run, most: int | None = None) -> list[Event]:
        """The events of a run; it is cut after `most`."""
        found: list[Event] = []
        async with aclosing(run.events()) as events:
            async for event in events:
                found.append(copy.deepcopy(event))
                if most is not None and len(found) >= most:
                    break
        return found

    def folded(self, session: Session, found: list[Event]) -> Session:
        folder = Folder(copy.deepcopy(session))
        for event in found:
            folder.apply(copy.deepcopy(event))
        folder.flush()
        return folder.session


class Toolbox(CountingToolbox):
    def __init__(self, tools: dict[str, str], ran: list[str]) -> None:
        super().__init__(tools, {})
        self.ran = ran

    async def execute(
        self, session: Session, call: Any, args: Any, *more: Any, **owner: Any
    ) -> None:
        self.ran.append(f"{call['function']['name']} {args['n']}")
        await super().execute(session, call, args, *more, **owner)


class Lost(Case):
    async def test_cut_anywhere_while_the_server_went_on_to_any_event(self) -> None:
        """A client that slept: it has a part, the server did more, and nothing is done twice."""
        self.rounds = ["bump"] * 3
        total = len(await self.read(self.host().prepare(copy.deepcopy(ASKED))))
        rows = [(cut, ahead) for cut in range(total) for ahead in (cut, cut + 7, total)]
        for cut, ahead in turns.share(rows, 4):
            self.setUp()
            self.rounds = ["bump"] * 3
            with self.subTest(cut=cut, ahead=ahead):
                found = await self.read(self.host().prepare(copy.deepcopy(ASKED)), ahead or 1)
                client = self.folded(ASKED, found[:cut])
                run = self.host().prepare(copy.deepcopy(client))
                events = await self.read(run)
                self.assertEqual(len(self.ran), len(set(self.ran)), self.ran)
                if not run.session["interrupts"]:  # else it was cut at a call that had begun
                    self.assertEqual(self.ran, ["bump 0", "bump 1", "bump 2"])
                mirror = self.folded(client, events)
                self.assertEqual(mirror, run.session, "the client's copy and the server's")
                last = events[-1]["metadata"]["yaa"]
                self.assertEqual(digest(mirror, last["since"]), last["digest"])

    async def test_a_json_answer_that_was_lost(self) -> None:
        for last in (1, 5, 9, 30, None):
            self.setUp()
            with self.subTest(last):
                first = self.host().prepare(copy.deepcopy(ASKED))
                await self.read(first, last)
                again = self.host().prepare(copy.deepcopy(ASKED))
                await self.read(again)
                answer(again.session, "indeterminate", {"action": "skip"})
                self.assertEqual(len(self.ran), len(set(self.ran)), self.ran)
                if last is None:
                    self.assertEqual(again.session["messages"], first.session["messages"])
                    self.assertEqual(self.asked, 6, "the model is not asked anew")
                    self.assertEqual(again.session["usage"], first.session["usage"])

    async def test_new_messages_after_an_answer_that_was_lost(self) -> None:
        """However many they are, the answer is put before them; errors may stand between them."""
        for count in (1, 2, 9, 40):
            self.setUp()
            with self.subTest(count):
                first = self.host().prepare(copy.deepcopy(ASKED))
                await self.read(first)
                document: Any = copy.deepcopy(ASKED)
                for number in range(count):
                    document["messages"].append({"role": "error", "content": "", "code": "cut"})
                    document["messages"].append({"role": "user", "content": f"more {number}"})
                run = self.host().prepare(document)
                await self.read(run)
                self.assertEqual(len(self.ran), 5, "nothing runs twice")
                there, last = first.session["messages"], run.session["messages"][11 + 2 * count]
                self.assertEqual(run.session["messages"][: len(there)], there)
                self.assertEqual(last["content"], f"more {count - 1}")

    async def test_whoever_goes_back_gets_another_answer(self) -> None:
        """The ledger keeps the calls of what was taken out, as the page's does."""
        first = self.host().prepare(copy.deepcopy(ASKED))
        await self.read(first)
        back = copy.deepcopy(first.session)
        back["messages"] = back["messages"][:1]
        run = self.host().prepare(back)
        await self.read(run)
        self.assertEqual(len(self.ran), 10)
        again = copy.deepcopy(back)
        resumed = self.host().prepare(again, resumed=run.id)
        await self.read(resumed)
        self.assertEqual(len(self.ran), 10, "unless it says that it goes on with that run")

    async def test_another_question_or_an_edit_is_another_run(self) -> None:
        first = self.host().prepare(copy.deepcopy(ASKED))
        await self.read(first)
        for changed in ({"content": "go on"}, {"content": [{"type": "text", "text": "go"}]}):
            document = {"id": "s", "messages": [{**user("go"), **changed}]}
            self.ran.clear()
            await self.read(self.host().prepare(copy.deepcopy(document)))
            self.assertEqual(len(self.ran), 5, changed)

    async def test_a_new_wish_is_told_apart_from_a_lost_answer(self) -> None:
        """The same document again is a lost answer; `again` names a wish for another one."""
        for again, count, taken in (
            *((None, 5, 0), (None, 5, 11), ("one", 10, 0), ("one", 10, 11)),
            *(("two", 15, 0), (None, 15, 11)),
        ):
            document: Any = copy.deepcopy(ASKED) | ({"again": again} if again else {})
            run = self.host().prepare(document)
            await self.read(run)
            self.assertEqual(len(self.ran), count, again)
            session: Any = run.session
            self.assertEqual(session["run"].get("from_record", 0), taken, again)

    async def test_a_run_in_which_nothing_ran_is_run_again(self) -> None:
        self.rounds = ["look"]
        for number in (1, 2):
            run = self.host().prepare(copy.deepcopy(ASKED))
            await self.read(run)
            self.assertEqual(self.ran, ["look 0"] * number)
            self.assertNotIn("from_record", run.session["run"])

    async def test_what_must_be_kept_before_a_call_and_cannot_be(self) -> None:
        def refuse(session: Session) -> None:
            raise OSError(28, "No space left on device")

        for rounds, ran in ((["look", "bump"], ["look 0"]), (["look"], ["look 0"])):
            self.setUp()
            self.rounds = rounds
            run = self.host().prepare(copy.deepcopy(ASKED))
            run.keep_before_calls(refuse)
            last = (await self.read(run))[-1]
            self.assertEqual(self.ran, ran)
            self.assertEqual(last.get("code"), "claim_failed" if "bump" in rounds else None)

    async def test_keys_do_not_meet(self) -> None:
        await self.read(self.host().prepare(copy.deepcopy(ASKED), "a", "ann"), 25)
        self.ran.clear()
        run = self.host().prepare(copy.deepcopy(ASKED), "b", "bob")
        await self.read(run)
        self.assertEqual(self.ran, [f"bump {n}" for n in range(5)])
        self.assertEqual(run.session["status"], "completed")

    async def test_two_keys_hold_one_session_id_at_once(self) -> None:
        host = self.host()
        runs = [host.prepare(copy.deepcopy(ASKED), name, name) for name in ("ann", "bob")]
        for run in runs:
            await self.read(run)
            self.assertEqual(run.session["status"], "completed")


class SameIds(Case):
    def setUp(self) -> None:
        super().setUp()
        self.rounds = ["bump"]

    def document(self, tool: str, n: int) -> Session:
        function = {"name": tool, "arguments": json.dumps({"n": n})}
        calls = [{"id": "call_0", "type": "function", "function": function}]
        asking: Any = {"id": "a1", "role": "assistant", "content": "", "tool_calls": calls}
        return {"id": "s", "messages": [user("go"), asking]}

    async def test_another_call_under_a_claimed_id_gets_no_result_of_the_first(self) -> None:
        host = self.host()
        await self.read(host.prepare(self.document("bump", 1)))
        self.assertEqual(self.ran, ["bump 1"])
        for other in (("bump", 2), ("other", 1)):
            run = host.prepare(self.document(*other))
            await self.read(run)
            (asked,) = run.session["interrupts"]
            self.assertEqual((asked["reason"], asked["tool"]), ("indeterminate", other[0]))
            self.assertEqual(self.ran, ["bump 1"])
            self.assertEqual([m["role"] for m in run.session["messages"]], ["user", "assistant"])

    async def test_a_call_that_ran_before_says_so(self) -> None:
        """Whoever takes out a result and its ledger entry gets the result, and is told why."""
        host = self.host()
        for _ in range(2):
            run = host.prepare(self.document("bump", 1))
            await self.read(run)
            host = self.host("another")  # it has the claims, and no records
        self.assertEqual(self.ran[:2].count("bump 1"), 1)
        result: Any = run.session["messages"][2]["result"]
        self.assertEqual(result["hint"], RAN_BEFORE)

    async def test_so_does_one_that_ran_elsewhere_while_this_run_began(self) -> None:
        self.claims = claims = Late()
        await self.read(self.host().prepare(self.document("bump", 1)))
        claims.is_late = True
        run = self.host("another").prepare(self.document("bump", 1))
        await self.read(run)
        self.assertEqual(self.ran, ["bump 1"])
        result: Any = run.session["messages"][2]["result"]
        self.assertEqual(result["hint"], RAN_BEFORE)

    async def test_whoever_denies_a_call_that_ran_is_told_what_came_of_it(self) -> None:
        self.rounds = ["ask"]
        run = self.host().prepare(copy.deepcopy(ASKED))
        await self.read(run)
        for approved in (True, False):
            given = copy.deepcopy(run.session)
            answer(given, "tool_call", {"approved": approved})
            again = self.host(str(approved)).prepare(given)
            await self.read(again)
        self.assertEqual(self.ran, ["ask 0"])
        result: Any = next(m for m in again.session["messages"] if m["role"] == "tool")
        self.assertIn("denied this call, but it had begun before", result["content"])
        self.assertEqual(result["result"]["hint"], RAN_BEFORE)

    async def test_a_call_of_which_nothing_is_known_here_is_announced_at_once(self) -> None:
        found = await self.read(self.host().prepare(self.document("bump", 1)))
        self.assertNotIn([], [event.get("delta") for event in found])

    async def test_a_result_that_was_taken_out_is_given_again(self) -> None:
        host = self.host()
        run = host.prepare(self.document("bump", 1))
        await self.read(run)
        session = copy.deepcopy(run.session)
        del session["messages"][2:]
        session["messages"][1]["content"] = "edited"
        again = host.prepare(session)
        await self.read(again)
        self.assertEqual(again.session["interrupts"], [])
        self.assertEqual(self.ran.count("bump 1"), 1)


class Expired(Case):
    async def test_an_approval_that_is_older_than_the_claims_asks_again(self) -> None:
        self.rounds = ["ask"]
        host = self.host()
        run = host.prepare(copy.deepcopy(ASKED))
        await self.read(run)
        approved = copy.deepcopy(run.session)
        answer(approved, "tool_call", {"approved": True})
        await self.read(host.prepare(copy.deepcopy(approved)))
        self.assertEqual(self.ran, ["ask 0"])
        for step_ms in (0, -3_600_000, 90_000_000):  # whatever the clock says by then
            self.clock.now += step_ms
            self.claims.expire()
            again = self.host("another").prepare(copy.deepcopy(approved))
            await self.read(again)
            self.assertEqual(self.ran, ["ask 0"])
            (asked,) = again.session["interrupts"]
            self.assertIn(FORGOTTEN, asked["message"])
        denied = copy.deepcopy(run.session)
        answer(denied, "tool_call", {"approved": False})
        other = self.host("another").prepare(denied)
        await self.read(other)
        result = next(m for m in other.session["messages"] if m["role"] == "tool")
        self.assertIn(
            FORGOTTEN, str(result["content"]), "a denial does not say that it did not run"
        )
        answer(again.session, "tool_call", {"approved": True})
        await self.read(self.host("another").prepare(copy.deepcopy(again.session)))
        self.assertEqual(self.ran, ["ask 0", "ask 0"], "asked now, it runs")

    async def test_an_approval_that_gets_too_old_while_the_run_begins_asks_again(self) -> None:
        """Nothing is left of what was claimed for it, so that a new approval holds."""
        self.rounds = ["ask"]
        self.claims = claims = Late()
        run = self.host().prepare(copy.deepcopy(ASKED))
        await self.read(run)
        answer(run.session, "tool_call", {"approved": True})
        claims.expired, claims.is_late = self.clock.now, True
        again = self.host("another").prepare(copy.deepcopy(run.session))
        await self.read(again)
        self.assertEqual((self.ran, claims.taken), ([], {}))
        answer(again.session, "tool_call", {"approved": True})
        await self.read(self.host("another").prepare(copy.deepcopy(again.session)))
        self.assertEqual(self.ran, ["ask 0"])

    async def test_a_call_that_was_not_asked_about_is_then(self) -> None:
        host = self.host()
        run = host.prepare(copy.deepcopy(ASKED))
        found = await self.read(run)
        before = next(i for i, event in enumerate(found) if alias(event) == EXEC)
        old = self.folded(ASKED, found[:before])
        self.claims.expire()
        again = self.host("another").prepare(old)
        await self.read(again)
        self.assertEqual(self.ran.count("bump 0"), 1)
        self.assertEqual([i["reason"] for i in again.session["interrupts"]], ["tool_call"])

    async def test_a_call_of_which_only_the_record_is_left_is_asked_about(self) -> None:
        """The client has nothing of the run, and the record has lost its messages."""
        self.rounds = ["bump"]
        host = self.host()
        await self.read(host.prepare(copy.deepcopy(ASKED)))
        runs = self.folder / "home" / "runs"
        for path in runs.glob("*/*"):
            os.utime(path, (1, 1))
        RunRecords(runs, 1000).sweep()
        again = host.prepare(copy.deepcopy(ASKED))
        await self.read(again)
        self.assertEqual(self.ran, ["bump 0"])
        (asked,) = again.session["interrupts"]
        self.assertIn(FORGOTTEN, asked["message"])


class Back(Case):
    """A call that runs when its line is lost."""

    async def cut(self, host: BaseAgent) -> Session:
        self.gate = self.toolbox.gate = asyncio.Event()
        run = host.prepare(copy.deepcopy(ASKED))
        found: list[Event] = []
        async with aclosing(run.events()) as events:
            async for event in events:
                found.append(copy.deepcopy(event))
                if event["type"] == "ACTIVITY_SNAPSHOT":
                    break
        return self.folded(ASKED, found)

    async def test_it_outlives_its_grace_while_somebody_listens(self) -> None:
        self.rounds = ["bump"]
        host = self.host()
        client = await self.cut(host)
        run = host.prepare(client)
        reading = asyncio.create_task(self.read(run))
        await asyncio.sleep(0.05)  # five times the grace
        assert self.gate is not None
        self.gate.set()
        found = await reading
        self.assertEqual(run.session["status"], "completed")
        self.assertEqual(self.ran, ["bump 0"])
        output = [event for event in found if event["type"] == "ACTIVITY_SNAPSHOT"]
        self.assertEqual(output[0]["content"]["chunks"], ["working\n"], "what it said until then")

    async def test_its_grace_begins_anew_when_the_line_is_lost_again(self) -> None:
        self.rounds = ["bump"]
        host = self.host()
        client = await self.cut(host)
        await self.read(host.prepare(copy.deepcopy(client)), 2)
        self.assertEqual(len(host.executions.sessions), 1)
        while host.executions.sessions:
            await asyncio.sleep(0.005)
        self.assertEqual(len(self.toolbox.cancelled), 1)

    async def test_another_process_knows_of_it_until_it_ends(self) -> None:
        other, host = self.host(), self.host()
        other.executions.locks = LocksOfAnother(host.executions.locks)
        host.executions.grace_s = 3600
        await self.cut(host)
        (session,) = host.executions.sessions
        self.assertTrue(other.executions.runs_elsewhere(session))
        assert self.gate is not None
        self.gate.set()
        while host.executions.sessions:
            await asyncio.sleep(0)
        self.assertFalse(other.executions.runs_elsewhere(session))

    async def test_a_new_message_ends_it(self) -> None:
        self.rounds = ["bump"]
        host = self.host()
        client = await self.cut(host)
        client["messages"].append(user("stop that", "u2"))
        run = host.prepare(client)
        await self.read(run)
        result: Any = next(m for m in run.session["messages"] if m["role"] == "tool")
        self.assertEqual(result["result"]["status"], "stopped")
        self.assertIn("superseded by a new user message", result["content"])
        self.assertEqual(len(self.toolbox.cancelled), 1)

    async def test_stopped_while_somebody_listens(self) -> None:
        host = self.host()
        self.gate = self.toolbox.gate = asyncio.Event()
        run = host.prepare(copy.deepcopy(ASKED))
        found: list[Event] = []
        stopping: asyncio.Task[bool | None] | None = None
        async for event in run.events():
            found.append(copy.deepcopy(event))
            if event["type"] == "ACTIVITY_SNAPSHOT":
                stopping = asyncio.create_task(host.stop_session("", "s"))
        assert stopping is not None
        self.assertTrue(await stopping)
        self.assertNotIn("RUN_FINISHED", [event["type"] for event in found])
        client: Any = self.folded(ASKED, found)
        result, told = client["messages"][-2:]
        self.assertEqual(result["result"]["status"], "stopped")
        self.assertIn(STOPPED, result["content"])
        self.assertIn("working", result["content"], "what it said until then")
        self.assertEqual((found[-1]["type"], told["code"]), ("RUN_ERROR", "stopped"), "not cut")
        self.toolbox.gate = None
        again = host.prepare(client)
        await self.read(again)
        self.assertEqual(again.session["status"], "completed")
        self.assertEqual(self.ran, [f"bump {n}" for n in range(5)])

    async def test_stopped_when_nobody_listens_any_more(self) -> None:
        host = self.host()
        client = await self.cut(host)
        self.assertIs(await host.stop_session("", "s"), True)
        self.assertIsNone(await host.stop_session("", "s"), "nothing runs any more")
        self.assertEqual(len(self.toolbox.cancelled), 1)
        self.toolbox.gate = None
        run = host.prepare(client)
        await self.read(run)
        results: list[Any] = [m for m in run.session["messages"] if m["role"] == "tool"]
        self.assertEqual(results[0]["result"]["status"], "stopped")
        self.assertEqual(run.session["interrupts"], [], "nobody is asked what became of it")

    async def test_another_process_and_another_key(self) -> None:
        host, other = self.host(), self.host()
        other.executions.locks = LocksOfAnother(host.executions.locks)
        self.assertEqual(await self.stopped_elsewhere(host, other), [None, True, None])

    async def test_another_process_where_locks_do_not_work(self) -> None:
        host, other = self.host(), self.host()
        for each in (host, other):
            each.executions.locks = Locks(self.folder / "nowhere" / "claims.lock")
        self.assertEqual(await self.stopped_elsewhere(host, other), [None] * 3, "it cannot know")

    async def stopped_elsewhere(self, host: Any, other: Any) -> list[bool | None]:
        """Stop a run of ann's in `host` by `other`. Return what it says of bob's, hers and none."""
        self.gate = self.toolbox.gate = asyncio.Event()
        host.toolbox.gate = self.gate
        run = host.prepare(copy.deepcopy(ASKED), "ann", "ann")
        reading = asyncio.create_task(self.read(run))
        while not host.executions.sessions:
            await asyncio.sleep(0)
        said = [await other.stop_session("bob", "s")]
        self.assertFalse(reading.done())
        self.assertTrue(host.executions.sessions, "it is not his")
        said.append(await other.stop_session("ann", "s"))
        await reading
        said.append(await other.stop_session("ann", "s"))
        result, told = run.session["messages"][-2:]
        self.assertEqual((result["result"]["status"], told["code"]), ("stopped", "stopped"))
        later = host.prepare(copy.deepcopy(run.session), "ann", "ann")
        self.gate.set()
        await self.read(later)
        self.assertEqual(later.session["status"], "completed", "a run that began later is not hit")
        return said


class Clock(Case):
    async def test_a_clock_that_is_set_is_not_time_that_passed(self) -> None:
        for step_ms in (11 * 60_000, -3_600_000):
            self.setUp()
            host = self.host()
            host.stopwatch = ManualClock()
            document = {**copy.deepcopy(ASKED), "config": {"limits": {"max_wall_s": 600}}}
            run = host.prepare(document)
            async for event in run.events():
                if event["type"] == "ACTIVITY_SNAPSHOT":
                    self.clock.now += step_ms
            with self.subTest(step_ms):
                self.assertEqual(run.session["status"], "completed")
                self.assertEqual(run.session["run"]["wall_ms"], 0)


class Announced(Case):
    async def test_a_call_waits_until_it_is_known_of(self) -> None:
        self.rounds = ["look", "bump"]
        for arrives in (True, False):
            self.setUp()
            self.rounds = ["look", "bump"]
            waits: list[list[str]] = []

            async def arrived(known: bool = arrives, waits: Any = waits) -> bool:
                waits.append(list(self.ran))
                return known

            run = self.host().prepare(copy.deepcopy(ASKED))
            run.confirm_announcements(arrived)
            await self.read(run)
            with self.subTest(arrives):
                self.assertEqual(waits, [["look 0"]], "one that may repeat does not wait")
                self.assertEqual(self.ran, ["look 0", "bump 1"])
                codes = [each["code"] for each in run.session["run"].get("warnings", ())]
                self.assertEqual(codes, [] if arrives else ["announcement_unconfirmed"])

    async def test_cut_while_it_waits_it_has_not_begun(self) -> None:
        """Whether the client has nothing of the run, or all: a call that is `started`."""
        for has_all in (False, True):
            self.setUp()
            self.rounds = ["bump"]
            host = self.host()
            run = host.prepare(copy.deepcopy(ASKED))
            waits = asyncio.Event()

            async def never(waits: asyncio.Event = waits) -> bool:
                waits.set()
                await asyncio.Event().wait()
                return True

            run.confirm_announcements(never)
            reading = asyncio.create_task(self.read(run))
            await waits.wait()
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
            again = host.prepare(copy.deepcopy(run.session if has_all else ASKED))
            await self.read(again)
            with self.subTest(has_all=has_all):
                self.assertEqual(self.ran, ["bump 0"])
                self.assertEqual(again.session["status"], "completed")


if __name__ == "__main__":
    unittest.main()
