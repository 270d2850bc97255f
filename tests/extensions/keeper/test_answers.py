"""Answers that are put to the stored session, by any device, without a branch."""

from __future__ import annotations

import asyncio
import json
import tempfile
import unittest
from pathlib import Path
from typing import Any

from server.errors import Problem
from server.extensions.keeper.answers import find_question, with_answers
from server.extensions.keeper.changes import Changes, remove
from server.extensions.keeper.folder import KeptFolder, Room
from server.extensions.keeper.marks import Mark, Marks
from server.session.fold import Folder
from server.tools.runner import ToolRunner

from . import test_runs
from .test_links import asking

GATED = """
import os, time
from yaa import tool

@tool(destructive=False)
def mark(name: str) -> str:
    "Leave a mark, and wait for a file."
    with open(".gitignore", "w") as file:
        file.write("*")
    with open(name, "a") as file:
        file.write("ran ")
    while not os.path.exists("gate"):
        time.sleep(0.02)
    return name
"""
YES: Any = {"status": "resolved", "payload": {"approved": True}}
NO: Any = {"status": "resolved", "payload": {"approved": False, "reason": "not now"}}


def session() -> Any:
    """A session that asks about a call, and has the call in a message."""
    call = {"id": "c1", "type": "function", "function": {"name": "shell", "arguments": "{}"}}
    messages = [{"role": "user", "content": "go"}, {"role": "assistant", "tool_calls": [call]}]
    made = asking(messages=messages)
    made["calls"]["c1"] |= {"name": "shell", "attempt": 0}
    made["interrupts"][0]["message"] = "?"
    return made


class Found(unittest.TestCase):
    def refusal(self, entry: Any, there: Any = None) -> str:
        with self.assertRaises(Problem) as caught:
            find_question(there or session(), entry)
        self.assertEqual(caught.exception.code, "question_closed")
        return caught.exception.detail

    def test_what_an_entry_has_of_the_question_is_compared(self) -> None:
        question = session()["interrupts"][0]
        for entry in (
            {"id": "int-c1"},
            {"id": "int-c1", "fingerprint": session()["calls"]["c1"]["fingerprint"]},
            {**question, "answer": YES},
        ):
            self.assertEqual(find_question(session(), entry), question)
        for entry in (
            {"id": "int-c1", "fingerprint": "sha256:0"},
            {**question, "args": {"command": "ls"}},
        ):
            self.assertIn("something else now", self.refusal(entry))
        other = session()
        other["calls"]["c1"]["state"] = "started"
        fingerprint = other["calls"]["c1"]["fingerprint"]
        self.assertIn("else", self.refusal({"id": "int-c1", "fingerprint": fingerprint}, other))

    def test_an_answered_one_and_one_that_is_gone_are_told_apart(self) -> None:
        answered = session()
        answered["interrupts"][0]["answer"] = NO
        self.assertIn("answered already", self.refusal({"id": "int-c1"}, answered))
        self.assertIn("not there any more", self.refusal({"id": "int-c2"}))
        self.assertIn("not there any more", self.refusal({"id": "x"}, {"interrupts": [3, {}]}))

    def test_an_answer_that_does_not_fit_names_its_place(self) -> None:
        entry = {"id": "int-c1", "answer": {"status": "resolved", "payload": {"approved": 1}}}
        with self.assertRaises(Problem) as caught:
            with_answers(session(), [entry])
        self.assertEqual(caught.exception.code, "answer_invalid")
        places = [each["pointer"] for each in caught.exception.errors]
        self.assertEqual(places, ["/resume/0/answer/payload/approved"])


class Asking(test_runs.Served):
    def setUp(self) -> None:
        super().setUp()
        self.model.calls = 2

    def asked(self) -> Any:
        """The question that the session waits with."""
        session = self.rest(self.yaa, self.name)
        self.assertEqual(session["status"], "interrupted")
        return session["interrupts"][-1]

    def begin(self) -> Any:
        self.keep(self.yaa, self.name)
        self.ask(self.yaa, "POST", f"{self.name}/run")
        return self.asked()

    def give(self, question: Any, answer: Any, **headers: str) -> tuple[int, Any]:
        body = {"resume": [{"id": question["id"], "answer": answer}]}
        response = self.open(self.yaa, "POST", f"{self.name}/answers", body, **headers)
        return response.status, json.loads(response.read())


class Devices(Asking):
    def test_two_devices_answer_and_no_branch_comes_of_it(self) -> None:
        question = self.begin()
        status, body = self.give(question, YES)
        self.assertEqual((status, body["id"], body["running"]), (200, self.name, True))
        self.assertEqual(self.give(question, NO)[1]["code"], "question_closed")
        following = self.asked()
        self.assertNotEqual(following["id"], question["id"])
        self.give(following, NO)
        session = self.rest(self.yaa, self.name)
        self.assertEqual(session["status"], "completed")
        states = [each["state"] for each in session["calls"].values()]
        self.assertEqual((states, self.executions(self.name)), (["done", "denied"], [1]))
        self.assertEqual(len(self.ask(self.yaa, "GET", "")["sessions"]), 1)

    def test_changed_arguments_run(self) -> None:
        edited = {"approved": True, "edited_args": {"name": "other"}}
        self.give(self.begin(), {"status": "resolved", "payload": edited})
        self.asked()
        folder = ToolRunner(self.home).folder(self.name)
        self.assertEqual([each.name for each in folder.glob("[a-z]*")], ["other"])

    def test_a_repeated_request_is_one_answer(self) -> None:
        question = self.begin()
        first = self.give(question, YES, Idempotency_Key="k")
        self.assertEqual(self.give(question, YES, Idempotency_Key="k"), first)
        self.asked()
        self.assertEqual(self.executions(self.name), [1])

    def test_what_is_wrong_changes_nothing(self) -> None:
        question = self.begin()
        before = self.open(self.yaa, "GET", self.name).headers["ETag"]
        bodies: list[Any] = [
            *({}, {"resume": []}, {"resume": [{"id": "x"}]}),
            {"resume": [{"id": question["id"], "answer": {"status": "resolved"}}]},
            {"resume": [{"id": "x", "answer": YES}]},
            {"resume": [{"id": question["id"], "answer": YES, "fingerprint": "sha256:0"}]},
        ]
        codes = []
        for body in bodies:
            response = self.open(self.yaa, "POST", f"{self.name}/answers", body)
            codes.append(json.loads(response.read())["code"])
        wrong = ["request_invalid"] * 3 + ["answer_invalid"] + ["question_closed"] * 2
        self.assertEqual(codes, wrong)
        self.assertEqual(self.open(self.yaa, "POST", "none/answers", bodies[-1]).status, 404)
        self.assertEqual(self.open(self.yaa, "GET", self.name).headers["ETag"], before)

    def test_who_follows_sees_the_answer(self) -> None:
        question = self.begin()
        followed = self.open(self.yaa, "GET", f"{self.name}/events")
        self.give(question, NO)
        session: Any = {"messages": []}
        folder = Folder(session)
        for _, event in self.events(followed):
            folder.apply(event)
            folder.flush()
            if session.get("calls", {}).get(question["call_id"], {}).get("state") == "denied":
                break


class Pair(test_runs.Model):
    """Two calls at once, then an answer."""

    def stream(self, chunks: list[Any]) -> None:
        delta = chunks[0]["choices"][0]["delta"]
        if calls := delta.get("tool_calls"):
            calls.append({**calls[0], "index": 1, "id": "call_b"})
        test_runs.Model.stream(self, chunks)


class WhileItRuns(Asking):
    model_type = Pair

    @classmethod
    def lay_out(cls, place: Any, enter: Any, clean: Any) -> None:
        super().lay_out(place, enter, clean)
        (place.home / "tools" / "mark.py").write_text(GATED)

    def setUp(self) -> None:
        super().setUp()
        self.model.calls = 1

    def test_another_question_is_answered_while_the_first_call_runs(self) -> None:
        last = self.begin()
        first = self.ask(self.yaa, "GET", self.name)["interrupts"][0]
        self.assertEqual(self.give(first, YES)[0], 200)
        folder = ToolRunner(self.home).folder(self.name)
        self.until((folder / "mark0").exists)
        status, body = self.give(last, YES)
        self.assertEqual((status, body["running"]), (200, True))
        self.assertEqual(self.give(last, NO)[1]["code"], "question_closed")
        (folder / "gate").touch()
        self.until(lambda: self.ask(self.yaa, "GET", self.name)["status"] == "completed")
        states = [each["state"] for each in self.ask(self.yaa, "GET", self.name)["calls"].values()]
        self.assertEqual((states, self.executions(self.name)), (["done", "done"], [2]))
        self.assertEqual([*(self.home / "keeper" / ".waiting").iterdir()], [])


class InUse(unittest.IsolatedAsyncioTestCase):
    async def test_a_file_that_is_in_use_for_a_moment_is_waited_for(self) -> None:
        home = Path(self.enterContext(tempfile.TemporaryDirectory()))
        folder = KeptFolder(home, "ann", Room(100, 1 << 30, 1 << 20))
        folder.put("s", session(), "")
        held = folder.open("s")
        refused, looks = asyncio.Event(), [0]

        def try_it(owner: str) -> KeptFolder:
            looks[0] += 1
            if looks[0] == 2:  # the first one was refused
                loop.call_soon_threadsafe(refused.set)
            return folder

        loop = asyncio.get_running_loop()
        changes = Changes(home, try_it, Marks(home))
        message = {"id": "webhook-1", "role": "user", "content": "x"}
        changes.queue(("ann", "s"), "delivery", message)
        change = asyncio.create_task(changes.answer(("ann", "s"), [{"id": "int-c1", "answer": NO}]))
        second = asyncio.create_task(refused.wait())
        await asyncio.wait((change, second), return_when=asyncio.FIRST_COMPLETED)
        second.cancel()
        held.close()
        self.assertFalse(await change, "it does not wait")
        stored: Any = folder.read("s").session
        self.assertEqual(stored["interrupts"][0]["answer"], NO)
        self.assertEqual(stored["ext"]["keeper"]["waiting"], [message])
        self.assertEqual(changes.keys(), set())

    async def test_one_that_comes_while_it_runs_waits_and_the_first_counts(self) -> None:
        home = Path(self.enterContext(tempfile.TemporaryDirectory()))
        folder = KeptFolder(home, "ann", Room(100, 1 << 30, 1 << 20))
        folder.put("s", session(), "")
        changes = Changes(home, lambda owner: folder, Marks(home))
        changes.marks.set(Mark("ann", "s"))
        key = ("ann", "s")
        with folder.lock("s") as running:
            running.open()
            self.assertTrue(await changes.answer(key, [{"id": "int-c1", "answer": NO}]))
            for late in (YES, {"status": "resolved"}):
                with self.assertRaises(Problem) as caught:
                    await changes.answer(key, [{"id": "int-c1", "answer": late}])
                self.assertEqual(caught.exception.code, "question_closed")
            self.assertEqual(await self.of_another_process(changes, key), "question_closed")
        with self.assertRaises(Problem):  # it is free, and nothing has taken the first one yet
            await changes.answer(key, [{"id": "int-c1", "answer": YES}])
        again = Changes(home, lambda owner: folder, Marks(home))  # another process, after a kill
        self.assertEqual(again.keys(), {key})
        (home / ".waiting" / ".DS_Store").touch()  # other programs look into folders, too
        self.assertEqual(again.count("ann", ["s"]), {"s": 0})
        for _ in range(2):  # it may be killed before the file is removed
            made, files = again.apply(key, folder.read("s").session)
            self.assertEqual(made["interrupts"][0]["answer"], NO)
        remove(files)
        self.assertEqual(again.keys(), set())

    async def of_another_process(self, changes: Changes, key: Any) -> str:
        """Why an answer is refused that another process has looked for before the first came."""

        class Late(Changes):
            def look(self, key: Any) -> Any:
                return self._folder(key[0]).read(key[1]).session

        late = Late(changes._path.parent, changes._folder, changes.marks)
        with self.assertRaises(Problem) as caught:
            await late.answer(key, [{"id": "int-c1", "answer": YES}])
        return caught.exception.code


if __name__ == "__main__":
    unittest.main()
