"""A server with the kernel alone: no extension, nothing recorded, no real folders.

What the card asks for works without server/workspace: calls in the sandbox, questions, answers,
limits. What needs more is refused with a sentence.
"""

from __future__ import annotations

import json
import logging
import tempfile
import unittest
from pathlib import Path
from typing import Any

from server.api.auth import Keys
from server.app import App, routes
from server.config import load
from server.tools.session_files import SessionFiles

from .. import proofs
from ..api import fakes as wire
from ..fakes import ScriptedModel

TREE = "5" * 64


def call(name: str, **args: Any) -> list[tuple[Any, ...]]:
    return [("call", name, json.dumps(args))]


class PlainFolders(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        logging.disable(logging.CRITICAL)
        self.addCleanup(logging.disable, logging.NOTSET)
        home = Path(self.enterContext(tempfile.TemporaryDirectory())) / "home"
        config = load(home, None, {}, {"server.discover": False, "server.extensions": []})
        known = proofs.known(config.server["sandbox"])
        app = App(config, {}, proof=known, files=SessionFiles(home))
        self.turns: list[list[tuple[Any, ...]]] = []
        model = ScriptedModel(lambda _: self.turns.pop(0) if self.turns else [("text", ["Done."])])
        self.model = model
        app.agent.models = model  # type: ignore[assignment]
        self.app = await self.enterAsyncContext(app)
        proofs.keep(config.server["sandbox"], app.toolbox.proof)
        self.router = routes(app, Keys([], required=False))

    async def ask(self, method: str, path: str, body: Any = None) -> Any:
        """(status, answer)"""
        sent = b"" if body is None else json.dumps(body).encode()
        head = {"Content-Type": "application/json", "Accept": "application/json"}
        asked = wire.Call(method, path, head, sent)
        await self.router(asked.exchange)
        return asked.status, asked.json

    async def post(self, document: Any, *turns: list[tuple[Any, ...]]) -> Any:
        self.turns = [*turns]
        status, session = await self.ask("POST", "/session", document)
        self.assertEqual(status, 200, session)
        return session

    def said(self, text: str = "go", **more: Any) -> Any:
        return {"id": "s", "messages": [{"role": "user", "content": text}], **more}

    async def test_a_session_runs_asks_and_goes_on(self) -> None:
        write = call("write_file", path="a.txt", content="kept")
        asked = await self.post(self.said(), call("calculator", expression="6*7"), write)
        self.assertEqual((asked["status"], asked["finish_reason"]), ("interrupted", "awaiting"))
        [interrupt] = asked["interrupts"]
        interrupt["answer"] = {"status": "resolved", "payload": {"approved": True}}
        done = await self.post(asked, call("read_file", path="a.txt"))
        self.assertEqual((done["status"], done["run"].get("warnings")), ("completed", None))
        results = [each for each in done["messages"] if each["role"] == "tool"]
        self.assertIn("42", results[0]["content"])
        self.assertIn("kept", results[2]["content"])
        self.assertNotIn("tree", json.dumps(done), "nothing is recorded")
        other = await self.post({**self.said(), "id": "t"}, call("read_file", path="a.txt"))
        self.assertTrue(other["messages"][-2]["is_error"], "another session has another folder")

    async def test_a_limit_ends_a_run_that_can_be_continued(self) -> None:
        limited = self.said(config={"limits": {"max_steps": 1}})
        turns = [call("datetime") for _ in range(3)]
        session = await self.post(limited, *turns)
        self.assertEqual(session["finish_reason"], "limit")
        self.assertEqual(session["interrupts"][0]["reason"], "limit")

    async def test_a_document_with_recorded_files_goes_on_with_the_folder(self) -> None:
        done = await self.post(self.said(workspace={"tree": TREE, "message": "m"}))
        self.assertEqual(done["status"], "completed")
        self.assertEqual(done["workspace"]["tree"], TREE, "its own server finds it again")

    async def test_what_needs_more_is_refused_in_a_sentence(self) -> None:
        real = self.said(workspace={"folder": "notes"})
        status, problem = await self.ask("POST", "/session", real)
        self.assertEqual((status, problem["code"]), (422, "folder_unknown"))
        self.assertEqual(problem["errors"][0]["pointer"], "/workspace/folder")
        self.assertIn("no folders", problem["detail"])
        status, problem = await self.ask("GET", "/workspaces/s/files")
        self.assertEqual((status, problem["code"]), (503, "sandbox_unavailable"))
        self.assertIn("does not record the files", problem["detail"])

    async def test_nothing_is_compacted_or_hooked(self) -> None:
        """The other doors, empty: no strategy, no file of hooks."""
        self.assertEqual(self.app.hooks.info()["loaded"], [])
        turns = [("user", f"word{n} " * 40) for n in range(30)]
        messages = [{"role": role, "content": f"{text} {role}"} for role, text in turns]
        messages = [each for m in messages for each in (m, {"role": "assistant", "content": "Y"})]
        messages.append({"role": "user", "content": "go"})
        few = {"budget": 5_500, "keep_messages": 2}
        empty: list[dict[str, Any]] = [{"enabled": False}, {"strategies": []}]
        for context in (*empty, {}):
            with self.subTest(context):
                document = {"messages": messages, "config": {"context": few | context}}
                done = await self.post(document)
                self.assertEqual(bool(done.get("context", {}).get("ops")), context not in empty)

    async def test_skills_of_another_server_are_left_out(self) -> None:
        """No extension acts here, so the prompt has none of them, and a sentence says so."""
        used = {"pdf": {"hash": "h", "text": "Read.", "source": "home"}}
        offered = [{"name": "pdf", "description": "Reads PDF files"}]
        skills = {"offered": offered, "more": 2, "used": used}
        instructions = {"path": "AGENTS.md", "text": "Say please."}
        done = await self.post(self.said(skills=skills, instructions=instructions))
        self.assertEqual(done["status"], "completed")
        sent = json.dumps(self.model.requests)
        self.assertNotIn("Reads PDF files", sent)
        self.assertNotIn("Say please.", sent)
        self.assertEqual(done["skills"]["used"], used)
        self.assertEqual([each["code"] for each in done["run"]["warnings"]], ["skills_not_here"])

    async def test_info_says_so(self) -> None:
        _, info = await self.ask("GET", "/info")
        self.assertEqual((info["workspace"]["recorded"], info["folders"]), (False, []))
        self.assertIn("not recorded", info["workspace"]["reason"])
        self.assertEqual(self.app.problems()["folders"], [])
        self.app.clean()


if __name__ == "__main__":
    unittest.main()
