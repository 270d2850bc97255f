"""A conversation with tools of the page, cut everywhere: the stream after every event, with the
server ahead of what arrived, and the page between any two of its own steps.

The page is the plain rule of the documentation, as client/js/core/client-tools.js has it: it keeps
a copy, marks a call `started` in it before it runs the tool, and acts on what was sent to it when
the result is new to the copy it keeps. Whatever is cut, no call is run twice by the page on its
own account, and none that the page survived is left out.
"""

from __future__ import annotations

import json
import unittest
from collections import Counter
from contextlib import aclosing
from typing import Any

from server.agent.loop import BaseAgent
from server.json_types import Session
from server.lib.strict_json import canonical
from server.session.fold import Folder

from ..fakes import CountingToolbox, Ids, ScriptedModel, agent, answer, user
from ..tooling import turns

TOOLS = {"time": "read", "rm": "write", "title": "page", "clip": "page", "pick": "page"}
TOOLS |= {"notify": "action"}
LAG = 3
ORDERS = ("together", "page first", "person first")


class Killed(BaseException):
    """The page is gone, here and now."""


def script(messages: list[Any]) -> list[tuple[Any, ...]]:
    """Six calls at once: three of the page's, one that it is only told of, two of the server's."""
    results = [m for m in messages if m["role"] == "tool"]
    if results:
        return [("text", [f"Done: {len(results)} results."])]
    return [
        ("call", "title", ["{}"]),
        ("call", "notify", ['{"text":', ' "Hi"}']),
        ("call", "clip", ["{}"]),
        ("call", "time", ["{}"]),
        ("call", "rm", ["{}"]),
        ("call", "pick", ["{}"]),
    ]


class Page:
    """One browser. `stored` survives a kill, everything else does not."""

    def __init__(self, kill_at: int | None) -> None:
        self.stored = self.text({"id": "s1", "messages": [user("go")]})
        self.ran: Counter[str] = Counter()  # by call id: what the page did of its own accord
        self.acted: Counter[str] = Counter()
        self.steps, self.kill_at, self.seen = 0, kill_at, 0
        self.load()

    @staticmethod
    def text(session: Session) -> str:
        return json.dumps(session)

    def load(self) -> None:
        self.session: Session = json.loads(self.stored)
        self.running: set[str] = set()

    def step(self) -> None:
        """A moment at which the page may die."""
        self.steps += 1
        if self.steps == self.kill_at:
            raise Killed

    def save(self) -> None:
        self.stored = self.text(self.session)

    def sends(self) -> Session:
        """What is POSTed; in the copy that is kept, what the POST allows is `started`."""
        sent: Session = json.loads(self.text(self.session))
        for interrupt in self.session.get("interrupts", ()):
            given = (interrupt.get("answer") or {}).get("payload") or {}
            if isinstance(given, dict) and given.get("approved"):
                self.session["calls"][interrupt["call_id"]]["state"] = "started"
        self.save()
        self.step()
        return sent

    def hears(self, folder: Folder, event: Any) -> None:
        """Fold, keep, act: in this order."""
        known = {m.get("tool_call_id") for m in self.session["messages"]}
        folder.apply(event)
        folder.flush()
        ours = event.get("metadata", {}).get("yaa", {})
        if (ours.get("result") or {}).get("status") != "sent":
            return
        if event["toolCallId"] not in known:
            self.save()
            self.step()
            self.acted[event["toolCallId"]] += 1
            self.step()

    def begins(self) -> None:
        """Run what waits for the page, and was not begun."""
        for interrupt in self.waiting():
            ledger = self.session["calls"][interrupt["call_id"]]
            if ledger["state"] != "started":
                ledger |= {"state": "started", "attempt": ledger["attempt"] + 1}
                self.save()
                self.step()
                self.ran[interrupt["call_id"]] += 1
                self.running.add(interrupt["call_id"])
                self.step()

    def ends(self) -> None:
        """Give the results. Of what ran before the page was killed a person says that it failed."""
        for interrupt in self.waiting():
            if self.session["calls"][interrupt["call_id"]]["state"] != "started":
                continue
            payload: Any = {"content": f"{interrupt['tool']} did it"}
            if interrupt["call_id"] not in self.running:
                payload = {"content": "It was cut off.", "is_error": True}
            interrupt["answer"] = {"status": "resolved", "payload": payload}
            self.save()
            self.step()

    def waiting(self) -> list[Any]:
        found = self.session.get("interrupts", ())
        return [i for i in found if i["reason"] == "client_tool" and not i.get("answer")]


class PageTools(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        self.counts: dict[tuple[str, str], int] = {}
        self.hosts = 0

    def host(self) -> BaseAgent:
        """A server that never heard of the session."""
        self.hosts += 1
        toolbox = CountingToolbox(TOOLS, self.counts)
        return agent(ScriptedModel(script), toolbox, ids=Ids(f"h{self.hosts}-"))

    async def drive(self, cut: int | None, kill_at: int | None, order: str = "together") -> Page:
        """To the end. `cut`: events until the stream is lost once, `kill_at`: the page's step at
        which it dies and is opened again, `order`: whose answers are POSTed first."""
        self.counts.clear()
        page, first = Page(kill_at), order != "together"
        for _ in range(12):
            try:
                whole, cut = await self.post(page, cut)
                if not whole:
                    continue
                if page.session["status"] == "completed":
                    return page
                page.begins()
                if not (first and order == "person first"):
                    page.ends()
                if not (first and order == "page first"):
                    answer(page.session, "tool_call", {"approved": True})
                answer(page.session, "indeterminate", {"action": "skip"})
                first = False
            except Killed:
                page.load()
        raise AssertionError("the conversation does not come to an end")

    async def post(self, page: Page, cut: int | None) -> tuple[bool, int | None]:
        """(whether the stream came to its end, what is left of `cut`)."""
        run = self.host().prepare(page.sends())
        folder, lost = Folder(page.session), 0
        async with aclosing(run.events()) as stream:
            async for event in stream:
                if cut == 0:
                    lost += 1
                    if lost > LAG:
                        break
                    continue
                page.seen += 1
                cut = cut - 1 if cut else cut
                page.hears(folder, json.loads(json.dumps(event)))
        page.save()
        if lost:
            return False, None
        self.assertEqual(canonical(page.session), canonical(run.session))
        return True, cut

    def check(self, page: Page, *, survived: bool) -> None:
        session = page.session
        self.assertEqual(session["messages"][-1]["content"], "Done: 6 results.")
        self.assertEqual(session["interrupts"], [])
        whole = [m for m in session["messages"] if not m.get("open")]
        calls = [c for m in whole for c in m.get("tool_calls") or ()]
        results = {m["tool_call_id"]: m for m in whole if m["role"] == "tool"}
        self.assertEqual(sorted(c["id"] for c in calls), sorted(results))
        self.assertEqual(max(page.ran.values()), 1, "the page ran a call twice")
        self.assertLessEqual(max(page.acted.values(), default=0), 1, "the page acted twice")
        twice = [key for key, n in self.counts.items() if n > 1 and key[0] == "rm"]
        self.assertEqual(twice, [])
        for call in calls:
            name, call_id = call["function"]["name"], call["id"]
            if TOOLS[name] == "page" and survived:
                self.assertEqual((page.ran[call_id], results[call_id].get("is_error")), (1, None))
                self.assertEqual(results[call_id]["content"], f"{name} did it")
            elif TOOLS[name] == "action" and survived:
                self.assertEqual(page.acted[call_id], 1)

    async def test_the_stream_cut_after_every_event(self) -> None:
        for order in ORDERS:
            total = (await self.drive(None, None, order)).seen
            self.assertGreaterEqual(total, 35)
            for cut in turns.share(range(1, total), 4):
                with self.subTest(cut=cut, order=order):
                    self.check(await self.drive(cut, None, order), survived=True)

    async def test_the_page_killed_at_every_step(self) -> None:
        for order in ORDERS:
            steps = (await self.drive(None, None, order)).steps
            self.assertGreaterEqual(steps, 12)
            for kill_at in turns.share(range(1, steps + 1), 4):
                with self.subTest(kill_at=kill_at, order=order):
                    self.check(await self.drive(None, kill_at, order), survived=False)

    async def test_both(self) -> None:
        for kill_at in range(1, 14):
            for cut in turns.share(range(1, 40, 3), 4):
                with self.subTest(kill_at=kill_at, cut=cut):
                    self.check(await self.drive(cut, kill_at, ORDERS[cut % 3]), survived=False)


if __name__ == "__main__":
    unittest.main()
