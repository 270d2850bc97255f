"""Files follow their document with real tools, real processes and a real folder."""

from __future__ import annotations

import copy
import json
import os
import stat
import tempfile
import unittest
from pathlib import Path
from typing import Any

from server.agent.loop import BaseAgent
from server.config import Config
from server.session.agents import Agents
from server.session.fold import Folder
from server.session.limits import LimitCeilings
from server.session.workspace_stand import stand_of
from server.tools.execution_claims import Claims, Locks
from server.tools.toolbox import Toolbox
from server.workspace.host import Workspaces

from .. import proofs
from ..fakes import DEFAULTS, Ids, ScriptedModel, answer, user
from .test_run_workspace import scripted

AUTO = {"tool": {name: {"auto_approve": True} for name in ("shell", "write_file", "python")}}


def shell(command: str) -> tuple[Any, ...]:
    return ("call", "shell", json.dumps({"command": command}))


def contents(folder: Path) -> dict[str, Any]:
    """All that is below a folder: texts with their modes, targets of links."""
    found: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = str(path.readlink())
        elif path.is_file():
            found[name] = (path.read_text(), stat.S_IMODE(path.stat().st_mode))
    return found


class Server:
    """An agent with its tools in a home folder; `mode` is that of the folder `notes`."""

    def __init__(self, home: Path, notes: Path, mode: str, script: Any) -> None:
        server = copy.deepcopy(DEFAULTS["server"])
        server["folders"] = {"notes": {"path": str(notes), "mode": mode}}
        session = copy.deepcopy(DEFAULTS["session"])
        self.config, self.home = Config(server, session, home), home
        self.model = ScriptedModel(script)
        self.files = Workspaces.of(self.config)
        self.toolbox = Toolbox(self.config, files=self.files)
        self.starts = 0

    async def open(self) -> Server:
        sandbox = self.config.server["sandbox"]
        await self.toolbox.open(proof=proofs.known(sandbox))
        proofs.keep(sandbox, self.toolbox.proof)
        self.restart()
        return self

    def restart(self) -> None:
        self.starts += 1
        limits = self.config.server["limits"]
        claims = Claims(self.home / "claims", limits["claim_ttl_s"], limits["result_ttl_s"])
        self.agent = BaseAgent(
            *(self.config, self.model, self.toolbox, claims),  # type: ignore[arg-type]
            ids=Ids(f"{self.home.name}{self.starts}-"),
            agents=Agents(limits=self.config.session["config"]["limits"]),
            ceilings=LimitCeilings(limits, {}),
            locks=Locks(self.home / "claims.lock"),
            workspaces=self.toolbox.workspaces,
        )

    async def close(self) -> None:
        await self.agent.close()
        self.agent.executions.locks.close()
        await self.toolbox.close()

    async def post(self, document: Any, most: int | None = None) -> Any:
        """POST a copy, and return what a client has after `most` events."""
        client = copy.deepcopy(document)
        client.setdefault("config", {})["tool"] = AUTO["tool"]
        folder, count = Folder(client), 0
        run = self.agent.prepare(copy.deepcopy(client))
        source = run.events()
        async for event in source:
            if most is not None and count == most:
                break
            count += 1
            folder.apply(json.loads(json.dumps(event)))
        await source.aclose()
        folder.flush()
        return client


class Processes(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.base = Path(os.path.realpath(holder.name))
        self.base.chmod(0o711)
        self.notes = self.base / "notes"
        self.notes.mkdir()
        self.notes.chmod(0o777)

    async def server(self, *answers: Any, name: str = "home", mode: str = "write") -> Server:
        home = self.base / name
        for folder in ("", "workspaces", "workspace_state", "objects"):
            (home / folder).mkdir(mode=0o711, exist_ok=True)
        made = await Server(home, self.notes, mode, scripted(*answers)).open()
        self.addAsyncCleanup(made.close)
        if made.toolbox.workspaces.info().get("recorded") is not True:
            self.skipTest("no workspace process can be had here")
        return made

    def own(self, server: Server, folder: str | None = None) -> Path:
        return server.files.get("", "s", folder).place.files

    TURNS = (
        [shell("echo 1 > a; ln -s a link; mkdir -p d; echo x > d/run; chmod 755 d/run")],
        [("text", ["one"])],
        [shell("echo 2 > a; rm link; chmod 644 d/run; echo new > 'b\n c'")],
        [("text", ["two"])],
    )

    async def two_turns(self, server: Server, **about: Any) -> tuple[Any, Any]:
        first = await server.post({"id": "s", "messages": [user("one")], **about})
        folder = about.get("workspace", {}).get("folder")
        self.middle = contents(self.own(server, folder))
        second = await server.post({**first, "messages": [*first["messages"], user("two", "u2")]})
        self.assertEqual(second["status"], "completed", second["messages"][-1])
        return first, second

    async def test_back_and_forth(self) -> None:
        server = await self.server(*self.TURNS)
        first, second = await self.two_turns(server)
        here = self.own(server)
        after = contents(here)
        self.assertEqual(sorted(after), ["a", "b\n c", "d/run"])
        result = second["messages"][-2]["result"]
        self.assertEqual(result["changed_count"], 4)
        self.assertIn("[changed: d/run, link (deleted)]", second["messages"][-2]["content"])
        server.model.script = scripted()
        back = await server.post({**second, "messages": [*first["messages"], user("x", "u3")]})
        self.assertEqual(back["status"], "completed")
        self.assertEqual(contents(here), self.middle)
        self.assertEqual(self.middle["d/run"], ("x\n", 0o755))
        self.assertEqual(back["workspace"]["restored"]["to"], stand_of(first))
        forth = await server.post({**second, "messages": [*second["messages"], user("y", "u4")]})
        self.assertEqual((forth["status"], contents(here)), ("completed", after))

    async def test_at_another_server(self) -> None:
        server = await self.server(*self.TURNS)
        _, second = await self.two_turns(server)
        other = await self.server(name="other")
        waits = await other.post({**second, "messages": [*second["messages"], user("on", "u3")]})
        (interrupt,) = waits["interrupts"]
        self.assertEqual(interrupt["reason"], "workspace_missing")
        answer(waits, "workspace_missing", {"action": "uploaded"})
        theirs, ours = (each.files.places.find("", "").objects for each in (server, other))
        for _ in range(10):  # folders name further objects, which are asked for next
            if not waits["interrupts"]:
                break
            for each in waits["interrupts"][0]["objects"]:
                name = each["sha256"]
                (ours / name[:2]).mkdir(parents=True, exist_ok=True)
                (ours / name[:2] / name[2:]).write_bytes(
                    (theirs / name[:2] / name[2:]).read_bytes()
                )
            answer(waits, "workspace_missing", {"action": "uploaded"})
            waits = await other.post(waits)
        self.assertEqual(waits["status"], "completed")
        self.assertEqual(contents(self.own(other)), contents(self.own(server)))

    async def test_a_real_folder_is_asked_about_and_others_are_told(self) -> None:
        server = await self.server(*self.TURNS)
        (self.notes / "mine").write_text("by hand")
        about = {"workspace": {"folder": "notes"}}
        first, second = await self.two_turns(server, **about)
        server.model.script = scripted()
        asked = await server.post({**second, "messages": [*first["messages"], user("x", "u3")]})
        self.assertEqual(asked["interrupts"][0]["count"], 4)
        answer(asked, "workspace_restore", {"action": "restore"})
        done = await server.post(asked)
        self.assertEqual(done["status"], "completed")
        self.assertEqual(sorted(contents(self.notes)), ["a", "d/run", "link", "mine"])
        (self.notes / "mine").write_text("by hand again")
        told = await server.post({**done, "messages": [*done["messages"], user("y", "u4")]})
        self.assertEqual(told["status"], "completed")
        self.assertEqual([f["path"] for f in told["workspace"]["changed_outside"]], ["mine"])
        self.assertEqual((self.notes / "mine").read_text(), "by hand again")

    async def test_an_overlay_leaves_the_folder_alone(self) -> None:
        (self.notes / "mine").write_text("by hand")
        server = await self.server(*self.TURNS, mode="overlay")
        about = {"workspace": {"folder": "notes"}}
        first, second = await self.two_turns(server, **about)
        self.assertEqual(contents(self.notes), {"mine": ("by hand", 0o644)})
        (self.notes / "more").write_text("by hand")
        server.model.script = scripted()
        on = await server.post({**second, "messages": [*second["messages"], user("x", "u3")]})
        self.assertEqual([f["path"] for f in on["workspace"]["changed_outside"]], ["more"])
        self.assertEqual(
            sorted(contents(self.own(server, "notes"))), ["a", "b\n c", "d/run", "mine", "more"]
        )
        back = await server.post({**second, "messages": [*first["messages"], user("y", "u4")]})
        self.assertEqual(back["status"], "completed")
        self.assertEqual(
            sorted(contents(self.own(server, "notes"))), ["a", "d/run", "link", "mine", "more"]
        )

    async def test_cut_after_each_event(self) -> None:
        """The agent dies with each cut; its claims and files stay. Each cut has a session."""
        answers = ([shell("echo 1 >> log"), shell("echo 2 > b")], [("text", ["ok"])])
        document: Any = {"id": "s", "messages": [user("go")]}
        server = await self.server()
        for cut in range(4, 200, 5):
            with self.subTest(cut=cut):
                document["id"] = f"s{cut}"
                server.model.script = scripted(*answers)
                client = await server.post(document, cut)
                ended = client["status"] == "completed"
                await server.agent.close()
                server.agent.executions.locks.close()
                server.restart()
                for _ in range(6):
                    if client["status"] == "completed":
                        break
                    answer(client, "indeterminate", {"action": "skip"})
                    client = await server.post(client)
                self.assertEqual(client["status"], "completed")
                place = server.toolbox.workspaces.get("", document["id"])
                found = await place.request("record")
                self.assertEqual(stand_of(client), found["after"])
                files = server.files.get("", document["id"]).place.files
                self.assertLessEqual(len(contents(files)["log"][0].split()), 1)
                if ended:
                    return
        self.fail("it never came to its end")


if __name__ == "__main__":
    unittest.main()
