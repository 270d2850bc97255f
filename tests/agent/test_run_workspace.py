"""The files of a session follow its document: recorded, restored, asked about, cut anywhere."""

from __future__ import annotations

import asyncio
import copy
import itertools
import json
import unittest
from contextlib import aclosing
from typing import Any

from server.agent.loop import BaseAgent
from server.errors import Problem
from server.lib.strict_json import canonical
from server.session.fold import Folder
from server.session.sanitize import sanitize
from server.session.workspace_stand import stand_of
from server.workspace.errors import WorkspaceError

from ..fakes import (
    DEFAULTS,
    CountingToolbox,
    FakeWorkspace,
    FakeWorkspaces,
    Ids,
    MemoryClaims,
    ScriptedModel,
    agent,
    answer,
    user,
)
from ..tooling import turns

TOOLS = {"put": "auto writes", "side": "auto safe writes slow", "look": "read reads"}
TOOLS |= {"again": "auto again writes", "ask": "write writes", "time": "read"}


def call(name: str, **files: str | None) -> tuple[Any, ...]:
    """A call that writes these files; None deletes one."""
    return ("call", name, json.dumps({"files": files}))


def scripted(*answers: list[tuple[Any, ...]]) -> Any:
    """A script that answers the n-th request of a conversation with the n-th of `answers`."""

    def script(messages: list[Any]) -> list[tuple[Any, ...]]:
        done = sum(message["role"] == "assistant" for message in messages)
        return answers[done] if done < len(answers) else [("text", ["ok"])]

    return script


class Server:
    """One server: an agent with workspaces and claims, which survive `restart`."""

    def __init__(self, script: Any, workspaces: FakeWorkspaces, name: str = "") -> None:
        self.workspaces, self.claims, self.name = workspaces, MemoryClaims(), name
        self.model, self.counts, self.starts = ScriptedModel(script), dict[Any, int](), 0
        self.restart()

    def restart(self) -> None:
        self.starts += 1
        self.toolbox = CountingToolbox(TOOLS, self.counts)
        self.toolbox.effect = self.effect
        self.agent: BaseAgent = agent(
            *(self.model, self.toolbox),
            claims=self.claims,
            ids=Ids(f"{self.name}{self.starts}-"),
            workspaces=self.workspaces,
        )

    def effect(self, session: Any, args: Any, owner: str) -> None:
        folder = session.get("workspace", {}).get("folder")
        files = self.workspaces.get(owner, session["id"], folder).files
        for path, text in args.get("files", {}).items():
            if text is None:
                files.pop(path, None)
            else:
                files[path] = text

    def workspace(self, folder: str | None = None, session: str = "s") -> FakeWorkspace:
        return self.workspaces.get("", session, folder)

    async def post(self, document: Any, most: int | None = None) -> tuple[Any, list[Any]]:
        """POST a copy; return what the client has folded, and the events, `most` at the most."""
        text = json.dumps(document)
        client = json.loads(text)
        folder, found = Folder(client), list[Any]()
        run = self.agent.prepare(json.loads(text))
        async with aclosing(run.events()) as source:
            async for event in source:
                if most is not None and len(found) == most:
                    break
                found.append(json.loads(json.dumps(event)))
                folder.apply(found[-1])
        folder.flush()
        if most is None:
            assert canonical(client) == canonical(run.session)
        return client, found


class Case(unittest.IsolatedAsyncioTestCase):
    def server(self, *answers: list[tuple[Any, ...]], **folders: str) -> Server:
        return Server(scripted(*answers), FakeWorkspaces(folders))

    def results(self, session: Any) -> list[Any]:
        return [m["result"] for m in session["messages"] if m["role"] == "tool"]


class Recorded(Case):
    async def test_a_session_that_only_talks_costs_the_workspace_nothing(self) -> None:
        server = self.server([call("time")], [call("look")])
        server.workspaces.refuse = dict.fromkeys(("state", "record"), WorkspaceError("x", "x"))
        session, _ = await server.post({"id": "s", "messages": [user("go")]})
        self.assertEqual(session["status"], "completed")
        self.assertEqual(server.workspaces.log, [])
        self.assertNotIn("workspace", session)

    async def test_each_run_tells_the_model_where_its_tools_work(self) -> None:
        server = self.server([call("time")], [call("look")])
        for place in ("In a folder.", ""):
            server.workspaces.place = place
            session, _ = await server.post({"id": "s", "messages": [user("go")]})
            self.assertEqual(session["run"].get("place", ""), place)

    async def test_each_call_that_may_write_says_what_it_left(self) -> None:
        server = self.server([call("put", a="1")], [call("look"), call("put", b="2", a=None)])
        session, _ = await server.post({"id": "s", "messages": [user("go")]})
        first, seen, second = self.results(session)
        self.assertEqual(first["changed"], [{"path": "a", "change": "added"}])
        self.assertNotIn("tree", seen)
        self.assertEqual(second["changed_count"], 2)
        self.assertEqual(first["tree"]["after"], second["tree"]["before"])
        self.assertEqual(session["workspace"], {"start": first["tree"]["before"]})
        self.assertEqual(stand_of(session), second["tree"]["after"])
        self.assertEqual(stand_of(session), server.workspace().tree)
        self.assertEqual(server.workspaces.log, ["state", "record", "record", "record"])

    async def test_the_model_is_told_what_the_result_does_not_name(self) -> None:
        files = {f"file {n}": "x" for n in range(7)}
        server = self.server([call("put", **files, **{"li\nne": "x"})], [("text", ["ok"])])
        server.toolbox.tools = {**TOOLS}
        session, _ = await server.post({"id": "s", "messages": [user("go")]})
        text = session["messages"][2]["content"]  # which repeats its arguments
        self.assertIn('[changed: "li\\nne"]', text)
        self.assertNotIn("file 1,", text)
        self.assertEqual(self.results(session)[0]["changed_count"], 8)

    async def test_side_by_side_they_say_the_same(self) -> None:
        server = self.server([call("side", a="1"), call("time"), call("side", b="1")])
        session, _ = await server.post({"id": "s", "messages": [user("go")]})
        one, _, two = self.results(session)
        self.assertEqual(server.toolbox.most, 1, "only what stands beside each other")
        server = self.server([call("side", a="1"), call("side", b="1"), call("side", c="1")])
        session, _ = await server.post({"id": "s", "messages": [user("go")]})
        self.assertEqual(server.toolbox.most, 3)
        one, two, three = self.results(session)
        self.assertEqual(one["tree"], two["tree"])
        self.assertEqual(three["tree"], two["tree"])
        self.assertEqual([each["path"] for each in one["changed"]], ["a", "b", "c"])
        self.assertEqual(server.workspaces.log.count("record"), 2, "the start, and all three")

    async def test_where_nothing_can_be_recorded_the_result_says_so(self) -> None:
        server = self.server([call("put", a="1")])
        for name in ("state", "record"):
            with self.subTest(name):
                server.workspaces.refuse = {name: WorkspaceError("unavailable", "no process")}
                session, _ = await server.post({"id": "s", "messages": [user("go")]})
                (result,) = self.results(session)
                self.assertEqual((result["status"], result["unrecorded"]), ("ok", "no process"))
                self.assertNotIn("tree", result)
                self.assertEqual(session["status"], "completed")

    async def test_recorded_again_once_that_is_possible(self) -> None:
        """Not brought back to where the document stands: the call's own changes are there."""
        server = self.server([call("put", a="1")], [("text", ["ok"])], [call("put", b="1")])
        here = server.workspace()
        record = here.record

        async def late(session: str = "", call: str = "", began_ms: int | None = None) -> Any:
            found = await record(session, call, began_ms)
            if call:
                raise WorkspaceError("timeout", "too slow")
            return found

        here.record = late  # type: ignore[method-assign]
        session, _ = await server.post({"id": "s", "messages": [user("go")]})
        self.assertEqual(self.results(session)[0]["unrecorded"], "too slow")
        del here.record
        session["messages"].append(user("on", "u2"))
        session, _ = await server.post(session)
        self.assertEqual(here.files, {"a": "1", "b": "1"})
        self.assertEqual(stand_of(session), here.now())
        self.assertEqual([f["path"] for f in self.results(session)[1]["changed"]], ["b"])

    async def test_a_folder_that_is_read_only_is_not_recorded(self) -> None:
        server = self.server([call("put", a="1")], docs="read")
        about: Any = {"id": "s", "messages": [user("go")], "workspace": {"folder": "docs"}}
        session, _ = await server.post(about)
        self.assertEqual(session["workspace"], {"folder": "docs", "mode": "read"})
        self.assertEqual(server.workspaces.log, [])

    async def test_a_folder_nobody_knows(self) -> None:
        about: Any = {"messages": [user("go")], "workspace": {"folder": "nots"}}
        none = agent(ScriptedModel(scripted()), CountingToolbox(TOOLS, {}))
        for host in (self.server(notes="write").agent, none):
            with self.assertRaises(Problem) as raised:
                host.prepare(copy.deepcopy(about))
            self.assertEqual(
                (raised.exception.code, raised.exception.status), ("folder_unknown", 422)
            )

    async def test_a_stopped_call_is_recorded(self) -> None:
        server = self.server([call("put", a="1")])
        server.toolbox.gate = asyncio.Event()
        run = server.agent.prepare({"id": "s", "messages": [user("go")]})
        stopping = None
        async for event in run.events():
            if event["type"] == "ACTIVITY_SNAPSHOT":
                stopping = asyncio.create_task(server.agent.stop_session("", "s"))
        assert stopping is not None
        await stopping
        (result,) = self.results(run.session)
        self.assertEqual((result["status"], result["changed_count"]), ("stopped", 1))
        self.assertEqual(stand_of(run.session), server.workspace().now())


class Followed(Case):
    """What a run does with files that are not at the tree of its document."""

    ANSWERS = ([call("put", a="1")], [("text", ["one"])], [call("put", a="2", b="2")])

    async def two_turns(self, **folders: str) -> tuple[Server, Any, Any]:
        """A server, the session after one turn, and after two."""
        server = self.server(*self.ANSWERS, **folders)
        document: Any = {"id": "s", "messages": [user("one")]}
        if folders:
            document["workspace"] = {"folder": next(iter(folders))}
        first, _ = await server.post(document)
        second = copy.deepcopy(first)
        second["messages"].append(user("two", "u2"))
        second, _ = await server.post(second)
        return server, first, second

    def back(self, document: Any, length: int, text: str) -> Any:
        """The document as of an earlier message, and another question."""
        found = copy.deepcopy(document)
        found["messages"] = [*found["messages"][:length], user(text, f"u-{text}")]
        return found

    async def test_going_back_brings_the_files_back(self) -> None:
        for folders in ({}, {"notes": "overlay"}):
            with self.subTest(folders):
                server, _, second = await self.two_turns(**folders)
                here = server.workspace(next(iter(folders), None))
                self.assertEqual(here.files, {"a": "2", "b": "2"})
                server.model.script = scripted()
                after, _ = await server.post(self.back(second, 4, "else"))
                self.assertEqual(here.files, {"a": "1"})
                self.assertEqual(after["workspace"]["restored"]["changed_count"], 1)
                again, _ = await server.post(self.back(after, 5, "more"))
                self.assertNotIn("restored", again["workspace"], "told once")
                await server.post(self.back(second, 1, "all"))
                self.assertEqual(here.files, {}, "before the first change")
                await server.post({**second, "messages": [*second["messages"], user("x", "x")]})
                self.assertEqual(here.files, {"a": "2", "b": "2"}, "the other branch")

    async def test_before_a_call_that_goes_on_after_an_approval(self) -> None:
        server, first, second = await self.two_turns()
        server.model.script = scripted(*self.ANSWERS[:2], [call("ask", c="3")])
        asked, _ = await server.post(self.back(second, 4, "ask"))
        self.assertEqual(asked["interrupts"][0]["reason"], "tool_call")
        await server.post({**second, "messages": [*second["messages"], user("x", "x")]})
        answer(asked, "tool_call", {"approved": True})
        done, _ = await server.post(asked)
        self.assertEqual(server.workspace().files, {"a": "1", "c": "3"})
        self.assertEqual(stand_of(done), server.workspace().tree)

    async def test_another_server_asks_for_what_it_lacks(self) -> None:
        server, first, second = await self.two_turns()
        for action in ("uploaded", "go_on"):
            with self.subTest(action):
                other = Server(scripted(), FakeWorkspaces(), "other")
                other.workspace().files["own"] = "1"
                moved = {**second, "messages": [*second["messages"], user("on", "u3")]}
                waits, _ = await other.post(moved)
                (interrupt,) = waits["interrupts"]
                self.assertEqual(interrupt["reason"], "workspace_missing")
                self.assertEqual(interrupt["objects"][0]["sha256"], stand_of(second))
                self.assertEqual(waits["finish_reason"], "awaiting")
                self.assertEqual(other.model.requests, [], "not before the files are there")
                if action == "uploaded":
                    other.workspaces.objects |= server.workspaces.objects
                answer(waits, "workspace_missing", {"action": action})
                done, _ = await other.post(waits)
                self.assertEqual(done["status"], "completed")
                self.assertEqual(stand_of(done), other.workspace().tree)
                self.assertNotIn("changed_outside_count", done["workspace"], "nobody knows it")
                expected = {"a": "2", "b": "2"} if action == "uploaded" else {"own": "1"}
                self.assertEqual(other.workspace().files, expected)

    async def test_an_overlay_is_filled_before_the_first_call(self) -> None:
        server = self.server([call("look")], [call("put", a="mine")], notes="overlay")
        here = server.workspace("notes")
        here.real = {"a": "real", "b": "real"}
        document: Any = {"id": "s", "messages": [user("go")], "workspace": {"folder": "notes"}}
        session, _ = await server.post(document)
        self.assertEqual(here.files, {"a": "mine", "b": "real"})
        self.assertEqual(here.load(session["workspace"]["start"]), here.real)
        self.assertEqual([f["path"] for f in self.results(session)[1]["changed"]], ["a"])

    async def test_an_overlay_takes_over_what_changed_below(self) -> None:
        server = self.server([call("put", a="mine")], notes="overlay")
        here = server.workspace("notes")
        here.real = {"a": "real", "b": "real"}
        document: Any = {"id": "s", "messages": [user("go")], "workspace": {"folder": "notes"}}
        first, _ = await server.post(document)
        here.real = {"a": "changed", "b": "changed", "c": "new"}
        on = {**first, "messages": [*first["messages"], user("on", "u2")]}
        second, _ = await server.post(on)
        self.assertEqual(here.files, {"a": "mine", "b": "changed", "c": "new"})
        self.assertEqual(stand_of(second), here.now())
        self.assertIn("b (modified)", server.model.requests[-1][-1]["content"])
        again, _ = await server.post(on)  # the answer was lost
        self.assertEqual(stand_of(again), here.now())
        self.assertEqual(here.files, {"a": "mine", "b": "changed", "c": "new"})
        start = {**second, "messages": [user("other", "u3")]}
        server.model.script = scripted()
        await server.post(start)
        self.assertEqual(here.files, here.real, "the layer is empty again")

    async def test_an_overlay_that_cannot_be_filled_ends_the_run(self) -> None:
        server = self.server([call("look")], notes="overlay")
        server.workspaces.refuse = {"refresh": WorkspaceError("too_large", "2 GB of files")}
        document: Any = {"id": "s", "messages": [user("go")], "workspace": {"folder": "notes"}}
        session, found = await server.post(document)
        self.assertEqual((found[-1]["type"], found[-1]["code"]), ("RUN_ERROR", "workspace_failed"))
        self.assertIn("2 GB", found[-1]["message"])
        self.assertEqual(server.counts, {})

    async def test_what_blocks_a_restore_is_said_and_kept(self) -> None:
        server, _, second = await self.two_turns()
        here = server.workspace()
        here.blocked = {"ignored": "1"}
        server.model.script = scripted()
        done, _ = await server.post(self.back(second, 4, "else"))
        self.assertEqual(done["status"], "completed")
        restored = done["workspace"]["restored"]
        self.assertEqual(restored["blocked"], ["ignored"])
        self.assertNotEqual(restored["goal"], restored["to"])
        self.assertEqual(stand_of(done), here.tree)
        self.assertEqual(server.workspaces.log.count("restore"), 1)

    async def test_uploaded_is_not_believed(self) -> None:
        _, _, second = await self.two_turns()
        other = Server(scripted(), FakeWorkspaces(), "other")
        waits, _ = await other.post({**second, "messages": [*second["messages"], user("on", "u3")]})
        answer(waits, "workspace_missing", {"action": "uploaded"})
        again, _ = await other.post(waits)
        self.assertEqual([i["reason"] for i in again["interrupts"]], ["workspace_missing"])

    async def test_in_a_real_folder_a_person_decides(self) -> None:
        for action, files in (("restore", {"a": "1"}), ("keep", {"a": "2", "b": "2"})):
            with self.subTest(action):
                server, _, second = await self.two_turns(notes="write")
                here = server.workspace("notes")
                server.model.script = scripted()
                asked, _ = await server.post(self.back(second, 4, "else"))
                (interrupt,) = asked["interrupts"]
                self.assertEqual(interrupt["reason"], "workspace_restore")
                differences = [(each["path"], each["change"]) for each in interrupt["differences"]]
                self.assertEqual(differences, [("a", "modified"), ("b", "added")])
                self.assertEqual(here.files, {"a": "2", "b": "2"}, "nothing was changed")
                unanswered, _ = await server.post(asked)
                self.assertEqual(len(unanswered["interrupts"]), 1)
                answer(asked, "workspace_restore", {"action": action})
                done, _ = await server.post(asked)
                self.assertEqual((done["status"], here.files), ("completed", files))
                self.assertEqual(stand_of(done), here.tree)
                self.assertNotIn("files", done["run"])

    async def test_an_answer_is_for_what_was_shown(self) -> None:
        server, _, second = await self.two_turns(notes="write")
        here = server.workspace("notes")
        asked, _ = await server.post(self.back(second, 4, "else"))
        here.files["late"] = "work of a person"
        answer(asked, "workspace_restore", {"action": "restore"})
        again, _ = await server.post(asked)
        (interrupt,) = again["interrupts"]
        self.assertIn("late", [each["path"] for each in interrupt["differences"]])
        self.assertIn("late", here.files)

    async def test_a_folder_elsewhere_that_does_not_differ_is_not_asked_about(self) -> None:
        _, _, second = await self.two_turns(notes="write")
        other = Server(scripted(), FakeWorkspaces({"notes": "write"}), "other")
        other.workspace("notes").files |= {"a": "2", "b": "2"}
        done, _ = await other.post({**second, "messages": [*second["messages"], user("on", "u3")]})
        self.assertEqual((done["status"], done["interrupts"]), ("completed", []))
        self.assertEqual(stand_of(done), stand_of(second))

    async def test_of_a_folder_that_was_never_recorded_an_answer_is_for_what_was_shown(
        self,
    ) -> None:
        server, _, second = await self.two_turns(notes="write")
        other = Server(scripted(), FakeWorkspaces({"notes": "write"}), "other")
        other.workspaces.objects |= server.workspaces.objects
        here = other.workspace("notes")
        here.files["a"] = "2"
        on = {**second, "messages": [*second["messages"], user("on", "u3")]}
        asked, _ = await other.post(on)
        self.assertEqual([each["count"] for each in asked["interrupts"]], [1])
        here.files["late"] = "work of a person"
        answer(asked, "workspace_restore", {"action": "restore"})
        again, _ = await other.post(asked)
        self.assertEqual([each["count"] for each in again["interrupts"]], [2])
        self.assertIn("late", here.files)

    async def test_a_restore_to_another_tree_that_was_cut_is_compared_as_it_ends(self) -> None:
        server, first, second = await self.two_turns(notes="write")
        here = server.workspace("notes")
        here.restoring, here.files = stand_of(first) or "", {"a": "1", "b": "2"}
        here.seen.clear()
        on = {**second, "messages": [*second["messages"], user("on", "u3")]}
        asked, _ = await server.post(on)
        (interrupt,) = asked["interrupts"]
        self.assertEqual((interrupt["start"], interrupt["count"]), (stand_of(first), 2))
        answer(asked, "workspace_restore", {"action": "restore"})
        server.model.script = scripted()
        done, _ = await server.post(asked)
        self.assertEqual((done["status"], here.files), ("completed", {"a": "2", "b": "2"}))

    async def test_a_document_from_elsewhere_replaces_nothing_unasked(self) -> None:
        """Wherever it says the tree, in the session's own folder and in an overlay."""
        for folders in ({}, {"notes": "overlay"}):
            for action, files in (("restore", {}), ("keep", {"a": "2", "b": "2"})):
                for place in ("workspace", "message"):
                    with self.subTest(folders=folders, action=action, place=place):
                        await self.from_elsewhere(folders, action, files, place)

    async def from_elsewhere(
        self, folders: Any, action: str, files: dict[str, str], place: str
    ) -> None:
        server, _, second = await self.two_turns(**folders)
        here = server.workspace("notes" if folders else None)
        at = stand_of(second)
        empty = second["workspace"]["start"]
        strange = {**second, "messages": [*second["messages"], user("on", "u3")]}
        if place == "message":
            strange["messages"][-1]["tree"] = empty
        else:
            strange["workspace"] = {**second["workspace"], "tree": empty, "message": "u3"}
        document, _ = sanitize(strange, DEFAULTS["session"])
        if folders:
            document["workspace"]["folder"] = "notes"
        server.model.script = scripted()
        asked, _ = await server.post(document)
        self.assertEqual(here.files, {"a": "2", "b": "2"})
        (interrupt,) = asked["interrupts"]
        self.assertEqual((interrupt["reason"], interrupt["foreign"]), ("workspace_restore", True))
        self.assertEqual((interrupt["count"], interrupt["start"]), (2, at))
        self.assertIn(str(at)[:12], interrupt["message"])
        answer(asked, "workspace_restore", {"action": action})
        done, _ = await server.post(asked)
        self.assertEqual((done["status"], here.files), ("completed", files))
        self.assertNotIn("foreign", done["workspace"], "it is of this host now")

    async def test_nobody_to_ask_keeps_a_real_folder(self) -> None:
        server, _, second = await self.two_turns(notes="write")
        alone = self.back(second, 4, "else")
        alone["config"]["yaa"]["unattended"] = True
        server.model.script = scripted()
        done, _ = await server.post(alone)
        self.assertEqual(done["status"], "completed")
        self.assertEqual(server.workspace("notes").files, {"a": "2", "b": "2"})

    async def test_an_approval_waits_beside_the_question_about_files(self) -> None:
        server, _, second = await self.two_turns(notes="write")
        server.model.script = scripted(*self.ANSWERS[:2], [call("ask", c="3")])
        here = server.workspace("notes")
        kept = self.back(second, 4, "ask")
        asked, _ = await server.post(kept)
        answer(asked, "workspace_restore", {"action": "restore"})
        asked, _ = await server.post(asked)
        self.assertEqual([i["reason"] for i in asked["interrupts"]], ["tool_call"])
        await server.workspace("notes").restore("s", stand_of(second) or "")
        answer(asked, "tool_call", {"approved": True})
        both, _ = await server.post(asked)
        reasons = [i["reason"] for i in both["interrupts"]]
        self.assertEqual(reasons, ["tool_call", "workspace_restore"])
        self.assertEqual(server.counts.get(("ask", both["interrupts"][0]["call_id"])), None)
        answer(both, "workspace_restore", {"action": "restore"})
        done, _ = await server.post(both)
        self.assertEqual((done["status"], here.files), ("completed", {"a": "1", "c": "3"}))

    async def test_what_others_changed_in_a_real_folder_is_told(self) -> None:
        """Another session, and a person with an editor."""
        server, first, _ = await self.two_turns(notes="write")
        here = server.workspace("notes")
        asked, _ = await server.post(self.back(first, 4, "back"))
        answer(asked, "workspace_restore", {"action": "restore"})
        first, _ = await server.post(asked)
        server.model.script = scripted([call("put", other="1")])
        other: Any = {"id": "t", "messages": [user("hi")], "workspace": {"folder": "notes"}}
        await server.post(other)
        here.files["a"] = "by hand"
        server.model.script = scripted()
        told, _ = await server.post({**first, "messages": [*first["messages"], user("on", "u9")]})
        self.assertEqual(told["status"], "completed")
        self.assertEqual(told["workspace"]["changed_outside_count"], 2)
        note = server.model.requests[-1][-1]["content"]
        self.assertIn("other (added)", note)
        self.assertIn("a (modified)", note)
        self.assertEqual(here.files["a"], "by hand")
        after, _ = await server.post({**told, "messages": [*told["messages"], user("x", "u10")]})
        self.assertNotIn("changed_outside", after["workspace"])
        self.assertNotIn("others", server.model.requests[-1][-1]["content"])

    async def test_what_others_change_meanwhile_is_not_this_calls(self) -> None:
        server = self.server([call("put", a="1")], [call("put", b="1")], notes="write")
        here = server.workspace("notes")
        effect = server.toolbox.effect

        def beside(session: Any, args: Any, owner: str) -> None:
            effect(session, args, owner)
            if "b" in args["files"]:
                mine = dict(here.files)
                here.files = {"a": "1", "theirs": "1"}
                here.tree = here.now()  # another session's call was recorded
                here.files |= mine

        server.toolbox.effect = beside
        document: Any = {"id": "s", "messages": [user("go")], "workspace": {"folder": "notes"}}
        session, _ = await server.post(document)
        result = self.results(session)[1]
        self.assertEqual([each["path"] for each in result["changed"]], ["b"])
        self.assertEqual([each["path"] for each in result["changed_outside"]], ["theirs"])
        self.assertIn("[changed by others meanwhile: theirs]", session["messages"][4]["content"])
        here.files = {}
        server.workspaces.refuse = {"diff": WorkspaceError("missing_objects", "a tree is gone")}
        again, _ = await server.post({**document, "id": "t"})
        self.assertEqual(again["status"], "completed")
        self.assertNotIn("changed_outside_count", self.results(again)[1], "nobody knows it")

    async def test_files_that_cannot_be_brought_back_end_the_run(self) -> None:
        for code, expected in (
            ("busy", "workspace_busy"),
            ("disk_full", "disk_full"),
            ("failed", "workspace_failed"),
        ):
            with self.subTest(code):
                server, _, second = await self.two_turns()
                server.workspaces.refuse = {"restore": WorkspaceError(code, "why")}
                went_back = self.back(second, 4, "else")
                failed, found = await server.post(went_back)
                self.assertEqual((found[-1]["type"], found[-1]["code"]), ("RUN_ERROR", expected))
                server.workspaces.refuse = {}
                server.model.script = scripted()
                await server.post(went_back)
                self.assertEqual(server.workspace().files, {"a": "1"})

    async def test_without_a_process_the_session_goes_on_with_a_warning(self) -> None:
        server, first, _ = await self.two_turns()
        server.workspaces.refuse = {"state": WorkspaceError("unavailable", "no process")}
        server.model.script = scripted()
        on, _ = await server.post({**first, "messages": [*first["messages"], user("x", "u5")]})
        self.assertEqual(on["status"], "completed")
        self.assertEqual([w["code"] for w in on["run"]["warnings"]], ["workspace_unrecorded"])

    async def test_what_is_not_recorded_after_a_call_is_said(self) -> None:
        """Once in a run, and in the result of each call."""
        more = ([call("put", a="2"), call("put", b="2")], [call("put", c="2")])
        server = self.server([call("put", a="1")], [("text", ["ok"])], *more)
        first, _ = await server.post({"id": "s", "messages": [user("one")]})
        server.workspaces.refuse = {"record": WorkspaceError("busy", "no process is free")}
        on, _ = await server.post({**first, "messages": [*first["messages"], user("x", "u5")]})
        self.assertEqual(on["status"], "completed")
        (warning,) = on["run"]["warnings"]
        self.assertEqual(warning["code"], "workspace_unrecorded")
        self.assertIn("no process is free", warning["message"])
        unrecorded = [each["unrecorded"] for each in self.results(on)[1:]]
        self.assertEqual(unrecorded, ["no process is free"] * 3)


class Lost(Case):
    """Calls whose result is lost: what they changed belongs to them."""

    async def killed(self, name: str, *, recorded: bool) -> tuple[Server, Any]:
        """A server that died while `name` had changed a file, before or after it was recorded."""
        server = self.server([call("put", a="1")], [call(name, b="1")], [("text", ["ok"])])
        here, gate = server.workspace(), asyncio.Event()
        record = here.record

        async def dies(session: str = "", call: str = "", began_ms: int | None = None) -> Any:
            if "b" in here.files:
                if recorded:
                    await record(session, call, began_ms)
                gate.set()
                await asyncio.Event().wait()
            return await record(session, call, began_ms)

        here.record = dies  # type: ignore[method-assign]
        client: Any = {"id": "s", "messages": [user("go")]}
        folder = Folder(client)
        run = server.agent.prepare(copy.deepcopy(client))

        async def listen() -> None:
            async for event in run.events():
                folder.apply(copy.deepcopy(event))

        listening = asyncio.create_task(listen())
        await gate.wait()
        await server.agent.close()
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)
        folder.flush()
        del here.record
        server.restart()
        return server, client

    async def test_nothing_is_restored_underneath_it(self) -> None:
        for recorded in (False, True):
            for payload, text in (
                ({"action": "skip"}, {"a": "1", "b": "1"}),
                ({"action": "result", "content": "done"}, {"a": "1", "b": "1"}),
                ({"action": "retry"}, {"a": "1", "b": "1"}),
            ):
                with self.subTest(recorded=recorded, action=payload["action"]):
                    server, client = await self.killed("put", recorded=recorded)
                    here = server.workspace()
                    asked, _ = await server.post(client)
                    self.assertEqual([i["reason"] for i in asked["interrupts"]], ["indeterminate"])
                    self.assertEqual(here.files, {"a": "1", "b": "1"})
                    answer(asked, "indeterminate", payload)
                    done, _ = await server.post(asked)
                    self.assertEqual(here.files, text)
                    self.assertEqual(stand_of(done), here.now())
                    first, lost = self.results(done)
                    self.assertEqual(lost["tree"]["before"], first["tree"]["after"])
                    self.assertEqual([each["path"] for each in lost["changed"]], ["b"])

    async def test_several_at_once_are_recorded_once(self) -> None:
        server, client = await self.killed("put", recorded=False)
        (call,) = client["messages"][-1]["tool_calls"]
        more = [{**call, "id": f"more{number}"} for number in range(20)]
        client["messages"][-1]["tool_calls"] += more
        for each in more:
            client["calls"][each["id"]] = {**client["calls"][call["id"]]}
        client["messages"].append(user("never mind", "u2"))
        server.workspaces.log.clear()
        done, _ = await server.post(client)
        self.assertEqual(server.workspaces.log.count("record"), 1)
        trees = [result["tree"] for result in self.results(done)[1:]]
        self.assertEqual(len(trees), 21)
        self.assertEqual({tree["after"] for tree in trees}, {server.workspace().now()})
        self.assertEqual(sum(tree["before"] != tree["after"] for tree in trees), 1)

    async def test_a_new_message_leaves_its_changes_recorded(self) -> None:
        for recorded in (False, True):
            server, client = await self.killed("put", recorded=recorded)
            client["messages"].append(user("never mind", "u2"))
            done, _ = await server.post(client)
            self.assertEqual(done["status"], "completed")
            self.assertEqual(stand_of(done), server.workspace().now())
            self.assertEqual(server.workspace().files, {"a": "1", "b": "1"})

    async def test_one_that_may_run_twice_does(self) -> None:
        for recorded in (False, True):
            server, client = await self.killed("again", recorded=recorded)
            done, _ = await server.post(client)
            self.assertEqual(done["status"], "completed")
            self.assertEqual(stand_of(done), server.workspace().now())
            first, lost = self.results(done)
            self.assertEqual(lost["tree"]["before"], first["tree"]["after"])
            self.assertEqual([each["path"] for each in lost["changed"]], ["b"])

    async def test_a_kept_result_has_its_tree(self) -> None:
        """The client left while the call ran; meanwhile another branch used the workspace."""
        for moved in (False, True):
            with self.subTest(moved=moved):
                server = self.server([call("put", a="1")], [call("put", b="1")], [("text", ["ok"])])
                client, found = await server.post({"id": "s", "messages": [user("go")]})
                where = [e["type"] for e in found].index("TOOL_CALL_RESULT")
                server = self.server([call("put", a="1")], [call("put", b="1")], [("text", ["ok"])])
                client, _ = await server.post({"id": "s", "messages": [user("go")]}, most=where)
                for _ in range(20):
                    await asyncio.sleep(0)  # the call ends, and its result is kept
                if moved:
                    server.workspace().files = {"else": "1"}
                    await server.workspace().record("s")
                done, _ = await server.post(client)
                self.assertEqual(server.counts[("put", "call_1-4")], 1)
                self.assertEqual(stand_of(done), server.workspace().now())
                self.assertEqual(server.workspace().files, {"a": "1", "b": "1"})


class CutEverywhere(Case):
    """Cut or killed after any event, and POSTed to the same or to another server."""

    SCRIPT = (
        [call("put", a="1"), call("side", b="1"), call("side", c="1"), call("look")],
        [call("again", a="2"), call("ask", d="1")],
        [call("put", b=None, e="1")],
        [("text", ["done"])],
    )
    END = {"a": "2", "c": "1", "d": "1", "e": "1"}

    async def drive(self, cut: int | None, how: str) -> tuple[Any, Server, int]:
        """Return the session at its end, the server that it ended at, how many events came."""
        shared = FakeWorkspaces()
        servers = [Server(scripted(*self.SCRIPT), shared, "a")]
        client: Any = {"id": "s", "messages": [user("go")]}
        seen = 0
        for _ in range(12):
            server = servers[-1]
            most = None if cut is None else cut - seen
            client, found = await server.post(client, most)
            seen += len(found)
            if cut is not None and seen >= cut and len(found) == most:
                cut = None
                if how == "killed":
                    await server.agent.close()
                    server.restart()
                elif how == "elsewhere":
                    there = FakeWorkspaces()
                    there.objects = shared.objects  # what the page uploads
                    servers.append(Server(scripted(*self.SCRIPT), there, "b"))
                continue
            if client["status"] == "completed":
                return client, servers[-1], seen
            answer(client, "tool_call", {"approved": True})
            answer(client, "indeterminate", {"action": "retry"})
            answer(client, "workspace_missing", {"action": "uploaded"})
        raise AssertionError("the conversation does not come to an end")

    async def test_document_and_files_agree_at_the_end(self) -> None:
        _, server, total = await self.drive(None, "")
        self.assertEqual(server.workspace().files, self.END)
        self.assertGreater(total, 40)
        rows = itertools.product(("cut", "killed", "elsewhere"), range(1, total))
        for how, cut in turns.share(rows, 4):
            with self.subTest(how=how, cut=cut):
                session, server, _ = await self.drive(cut, how)
                self.assertEqual(server.workspace().files, self.END)
                self.assertEqual(stand_of(session), server.workspace().now())
                if how == "cut":  # nothing was lost, so nothing ran twice
                    twice = {k for k, n in server.counts.items() if n > 1}
                    self.assertEqual({name for name, _ in twice} - {"again", "look"}, set())

    async def test_every_prefix_restores_what_was_there(self) -> None:
        """After each result the document, cut there, brings back the files of that moment."""
        session, server, _ = await self.drive(None, "")
        here, then = server.workspace(), server.workspaces.objects
        server.model.script = scripted(*[[("text", ["ok"])]] * 9)
        ends = [n for n, m in enumerate(session["messages"], 1) if m["role"] == "tool"]
        for end in [*ends, *reversed(ends)]:
            if session["messages"][end : end + 1] and session["messages"][end]["role"] == "tool":
                continue  # in the middle of the results of one message
            back = [*session["messages"][:end], user("back", f"u{end}")]
            cut: Any = {**session, "messages": back}
            await server.post(cut)
            self.assertEqual(here.files, then[stand_of(cut) or ""])


if __name__ == "__main__":
    unittest.main()
