"""Skills and instructions in whole runs: real folders, real sandbox, a scripted model."""

from __future__ import annotations

import asyncio
import copy
import json
import os
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from server.agent.loop import BaseAgent
from server.config import Config
from server.extensions import present
from server.extensions.parts import Parts, make_agents
from server.extensions.skills.catalog import SkillCatalog
from server.extensions.skills.parts import SkillParts
from server.session.fold import Folder
from server.session.limits import LimitCeilings
from server.tools.execution_claims import Claims, Locks
from server.tools.toolbox import Toolbox
from server.workspace.host import Workspaces

from ... import proofs
from ...fakes import DEFAULTS, Ids, ScriptedModel
from ..hosts import host_of

TOOL = """from yaa import tool
@tool
def mine(n: int) -> int:
    return n
"""
PDF = """---
name: pdf
description: Reads PDF files
allowed-tools: "*"
---
Run scripts/count.sh FILE, see references/forms.md.
"""


def call(name: str, /, **args: Any) -> tuple[Any, ...]:
    return ("call", name, json.dumps(args))


class Server:
    """An agent with its tools in a home folder, and what the model is sent."""

    kinds: tuple[type[Parts], ...] = (SkillParts,)

    def __init__(self, home: Path, script: Any, **more: Any) -> None:
        server = copy.deepcopy(DEFAULTS["server"])
        server["skills"]["folders"] = []
        for key, value in more.items():
            server[key] = server[key] | value if isinstance(value, dict) else value
        self.config = Config(server, copy.deepcopy(DEFAULTS["session"]), home)
        self.home, self.model = home, ScriptedModel(script)
        self.toolbox = Toolbox(self.config, files=Workspaces.of(self.config))
        host = host_of(self.config, toolbox=self.toolbox)
        self.parts = [make(host) for make in self.kinds]
        for each in self.parts:
            self.toolbox.add(each.tools())
            self.toolbox.add_mounts(each.mounts)
            for source in each.tool_sources():
                self.toolbox.add_source(source)

    async def __aenter__(self) -> Server:
        sandbox = self.config.server["sandbox"]
        await self.toolbox.open(proof=proofs.known(sandbox))
        proofs.keep(sandbox, self.toolbox.proof)
        await self.toolbox.load_owner_tools()
        limits = self.config.server["limits"]
        claims = Claims(self.home / "claims", limits["claim_ttl_s"], limits["result_ttl_s"])
        self.agent = BaseAgent(
            *(self.config, self.model, self.toolbox, claims),  # type: ignore[arg-type]
            agents=make_agents(self.config),
            ids=Ids(self.home.name),
            locks=Locks(self.home / "claims.lock"),
            ceilings=LimitCeilings(limits, {}),
            workspaces=self.toolbox.workspaces,
            parts=[each.run_part for each in self.parts],
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.agent.close()
        self.agent.executions.locks.close()
        await self.toolbox.close()

    async def post(self, document: Any, say: str = "", owner: str = "") -> Any:
        """POST a copy, and return what a client has after it."""
        client = copy.deepcopy(document)
        if say:
            messages = client.setdefault("messages", [])
            messages.append({"id": f"u{len(messages)}", "role": "user", "content": say})
        folder = Folder(client)
        run = self.agent.prepare(copy.deepcopy(client), owner=owner)
        async for event in run.events():
            folder.apply(json.loads(json.dumps(event)))
        folder.flush()
        assert client["messages"] == run.session["messages"]
        assert client.get("skills") == run.session.get("skills")
        return client

    @property
    def prompts(self) -> list[str]:
        return [request[0]["content"] for request in self.model.requests]


def results(document: Any) -> list[str]:
    return [m["content"] for m in document["messages"] if m["role"] == "tool"]


class Script:
    """Answers with each list of parts in turn, then with words."""

    def __init__(self, *turns: list[tuple[Any, ...]]) -> None:
        self.turns = list(turns)

    def __call__(self, messages: Any) -> list[tuple[Any, ...]]:
        return self.turns.pop(0) if self.turns else [("text", "Done.")]


class Case(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.top = Path(holder.name)
        self.top.chmod(0o755)
        self.home = self.top / "home"
        self.skills = self.home / "skills"

    def write(self, path: Path, text: str, mode: int = 0o644) -> Path:
        for place in (*reversed(path.relative_to(self.top).parents),):
            (self.top / place).mkdir(mode=0o755, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)
        return path

    def write_pdf(self, text: str = PDF) -> None:
        self.write(self.skills / "pdf" / "SKILL.md", text)
        self.write(self.skills / "pdf" / "references" / "forms.md", "Forms have fields.")
        script = self.skills / "pdf" / "scripts" / "count.sh"
        self.write(script, '#!/bin/sh\necho "pages: $1"\n', 0o755)

    def server(self, *turns: list[tuple[Any, ...]], home: str = "home", **more: Any) -> Server:
        return Server(self.top / home, Script(*turns), **more)


AUTO = {"config": {"tool": {"shell": {"auto_approve": True}}}}


class Threads(ThreadPoolExecutor):
    """The threads of an event loop, and how often one was wanted."""

    wanted = 0

    def submit(self, *args: Any, **kwargs: Any) -> Any:
        self.wanted += 1
        return super().submit(*args, **kwargs)


class Offered(Case):
    async def test_a_run_needs_no_thread_where_nothing_has_changed(self) -> None:
        self.write_pdf()
        tool = self.write(self.home / "tools" / "mine.py", TOOL, 0o600)
        threads = Threads()
        asyncio.get_running_loop().set_default_executor(threads)
        async with self.server() as server:
            for change, wanted in ((False, False), (True, True), (False, False)):
                if change:
                    self.write(tool, f"{TOOL}\n")
                    self.write(self.skills / "csv" / "SKILL.md", PDF.replace("pdf", "csv"))
                for each in (self.home, *self.home.rglob("*")):
                    os.utime(each, (1e9 + wanted, 1e9 + wanted))
                for _ in range(1 if wanted else 3):
                    before = threads.wanted
                    client = await server.post({}, "go")
                    now = threads.wanted
                    if (task := server.toolbox._catalog._looking) is not None:
                        await task
                self.assertEqual(now > before, wanted)
        self.assertEqual([each["name"] for each in client["skills"]["offered"]], ["csv", "pdf"])

    async def test_without_skills_nothing_of_them_is_anywhere(self) -> None:
        async with self.server() as server:
            client = await server.post({}, "go")
        self.assertEqual([key for key in client if key in ("skills", "instructions")], [])
        self.assertNotIn("skill", server.prompts[0])
        names = [tool["function"]["name"] for tool in server.model.tools[0]]
        self.assertNotIn("skill", names)

    async def test_listed_and_the_prompt_keeps_its_bytes(self) -> None:
        self.write_pdf()
        async with self.server() as server:
            client = await server.post({}, "go")
            again = await server.post(client, "more")
        listed = [{"name": "pdf", "description": "Reads PDF files"}]
        self.assertEqual(client["skills"], {"offered": listed})
        self.assertIn("\n- pdf: Reads PDF files\n", server.prompts[0])
        self.assertEqual(server.prompts[0], server.prompts[1])
        self.assertEqual(again["skills"], client["skills"])
        self.assertIn("skill", [tool["function"]["name"] for tool in server.model.tools[0]])

    async def test_a_session_and_an_agent_may_do_without(self) -> None:
        self.write_pdf()
        self.write(self.home / "agents" / "few.json", '{"tools": ["calculator"]}')
        cases: list[Any] = [
            {"config": {"yaa": {"skills_off": ["pdf"]}}},
            {"config": {"yaa": {"skills_off": ["*"]}}},
            {"config": {"tool": {"skill": {"deny": True}}}},
            *([{"agent": "few"}] if "agents" in present() else []),
        ]
        async with self.server(*([call("skill", name="pdf")] for _ in cases)) as server:
            for document in cases:
                with self.subTest(document):
                    client = await server.post(document, "go")
                    self.assertNotIn("skills", client)
                    self.assertNotIn("Reads PDF files", server.prompts[-1])
                    self.assertNotIn("Run scripts", str(client["messages"]))

    async def test_no_more_than_the_list_may_have(self) -> None:
        for number in range(60):
            text = f"---\nname: s{number:02}\ndescription: {'long words ' * 60}\n---\nx"
            self.write(self.skills / f"s{number:02}" / "SKILL.md", text)
        for most, more in ((20_000, 0), (4_000, 0), (300, 1)):
            async with self.server(skills={"folders": [], "list_tokens": most}) as server:
                client = await server.post({}, "go")
            about = client["skills"]
            with self.subTest(most):
                self.assertEqual(bool(about.get("more")), bool(more))
                self.assertEqual(len(about["offered"]) + about.get("more", 0), 60)
                self.assertLess(len(str(about["offered"])), most * 10)


class Used(Case):
    async def test_loaded_kept_in_the_session_and_its_script_runs_contained(self) -> None:
        self.write_pdf()
        attempt = "; ".join(
            (
                "/skills/pdf/scripts/count.sh a.pdf",
                "echo x > /skills/pdf/SKILL.md",
                "echo x > /skills/pdf/new",
                "ls /skills; ls ~/.yaa; true",
            )
        )
        turns = (
            [call("skill", name="pdf"), call("skill", name="pdf", file="references/forms.md")],
            [call("shell", command=attempt)],
        )
        async with self.server(*turns) as server:
            if server.toolbox.sandbox()["tier"] != "A":
                self.skipTest("the place /skills needs tier A")
            client = await server.post(AUTO, "go")
        text, form, output = results(client)
        self.assertTrue(text.endswith("Run scripts/count.sh FILE, see references/forms.md."))
        self.assertIn("they are in /skills/pdf;", text)
        self.assertIn("references/forms.md, scripts/count.sh", text)
        self.assertNotIn("allowed-tools", text)
        self.assertEqual(form, "Forms have fields.")
        self.assertIn("pages: a.pdf", output)
        self.assertEqual(output.count("Read-only file system"), 2)
        self.assertEqual((self.skills / "pdf" / "SKILL.md").read_text(), PDF)
        used = client["skills"]["used"]["pdf"]
        self.assertEqual((used["text"], used["source"], used["here"]), (PDF, "home", "same"))
        self.assertEqual(used["files"]["references/forms.md"]["text"], "Forms have fields.")
        self.assertNotIn(str(self.top), json.dumps(client), "no path of the server")

    async def test_at_a_server_without_it_the_run_goes_on_with_the_session(self) -> None:
        self.write_pdf()
        loads = [call("skill", name="pdf"), call("skill", name="pdf", file="references/forms.md")]
        async with self.server(loads) as server:
            client = await server.post({}, "go")
        loads.append(call("skill", name="pdf", file="scripts/count.sh"))
        async with self.server(loads, home="elsewhere") as other:
            after = await other.post(client, "again")
        text, form, script = results(after)[2:]
        self.assertTrue(text.endswith("Run scripts/count.sh FILE, see references/forms.md."))
        self.assertIn("Other tools cannot reach them here.", text)
        self.assertEqual(form, "Forms have fields.")
        self.assertIn("not on this server", script)
        used = after["skills"]["used"]["pdf"]
        self.assertEqual((used["here"], used["place"], used["text"]), ("missing", "", PDF))
        self.assertEqual(after["skills"]["offered"], [])
        (warning,) = after["run"]["warnings"]
        self.assertEqual((warning["code"], warning["skill"]), ("skill_missing", "pdf"))
        async with self.server([], home="elsewhere") as other:
            later = await other.post(after, "and again")
        self.assertNotIn("warnings", later["run"], "it is said once")
        async with self.server([]) as server:
            back = await server.post(later, "back")
        self.assertEqual(back["skills"]["used"]["pdf"]["here"], "same")

    async def test_a_change_is_said_once_and_taken_over_when_a_person_says_so(self) -> None:
        self.write_pdf()
        new = PDF.replace("Run scripts/count.sh", "Never run scripts/count.sh")
        load = [call("skill", name="pdf")]
        async with self.server(load, [("text", "Ok.")], load) as server:
            client = await server.post({}, "go")
            before = client["skills"]["used"]["pdf"]["hash"]
            self.write_pdf(new)
            after = await server.post(client, "again")
            (warning,) = after["run"]["warnings"]
            self.assertEqual((warning["code"], warning["skill"]), ("skill_changed", "pdf"))
            self.assertEqual(after["skills"]["used"]["pdf"]["text"], PDF)
            self.assertEqual(after["skills"]["used"]["pdf"]["here"], "changed")
            self.assertNotIn("Never", results(after)[-1], "the session keeps its own")
            after["skills"]["refresh"] = ["pdf"]
            server.model.script = Script(load)
            fresh = await server.post(after, "now")
        note = server.model.requests[-2][-1]["content"]
        self.assertIn("newer versions: pdf", str(note) + str(server.model.requests[-2]))
        self.assertNotIn("newer versions", str(server.model.requests[-1]))
        used = fresh["skills"]["used"]["pdf"]
        self.assertEqual((used["text"], used["here"]), (new, "same"))
        self.assertNotEqual(used["hash"], before)
        self.assertEqual(fresh["skills"]["refresh"], [])
        self.assertIn("Never run", results(fresh)[-1])

    async def test_a_long_one_comes_in_pages(self) -> None:
        body = "\n".join(f"Line {n}: {'x' * 50}" for n in range(600))
        self.write_pdf(f"---\nname: pdf\ndescription: d\n---\n{body}")
        found, offset = "", 0
        async with self.server() as server:
            client: Any = {}
            for _ in range(5):
                server.model.script = Script([call("skill", name="pdf", offset=offset)])
                client = await server.post(client, "go")
                text = results(client)[-1]
                self.assertLess(len(text), 20_000)
                text = text.partition("\n\n")[2] if not offset else text
                page, more, rest = text.partition("\n[Characters ")
                found += page
                if not more:
                    break
                offset = int(rest.rpartition("offset ")[2].rstrip(".]"))
            server.model.script = Script([call("skill", name="pdf", offset=99_999)])
            beyond = await server.post(client, "go")
        self.assertEqual(found, body)
        self.assertIn(f"its text has {len(body)} characters", results(beyond)[-1])

    async def test_what_cannot_be_loaded(self) -> None:
        self.write_pdf()
        (self.skills / "pdf" / "out").symlink_to("/etc/passwd")
        cases = [
            ({"name": "pfd"}, "did you mean: pdf"),
            ({"name": "read"}, "skills with these words:\npdf: "),
            ({"name": "../pdf"}, "there is no skill '../pdf'"),
            ({"name": "pdf", "file": "../../key"}, "is no file of the skill"),
            ({"name": "pdf", "file": "/etc/passwd"}, "is no file of the skill"),
            ({"name": "pdf", "file": "out"}, "the skill pdf: out: "),
            ({"name": "pdf", "file": "none.md"}, "No such file"),
        ]
        async with self.server([call("skill", **args) for args, _ in cases]) as server:
            client = await server.post({}, "go")
        for (args, expected), found in zip(cases, results(client), strict=True):
            with self.subTest(args):
                self.assertIn(expected, found)
                self.assertNotIn("root:", found)

    async def test_an_approval_names_the_skill(self) -> None:
        self.write_pdf()
        ask = [call("shell", command="true")]
        async with self.server([call("skill", name="pdf")], ask) as server:
            client = await server.post({}, "go")
            self.assertEqual(client["interrupts"][0]["skills"], ["pdf"])
            server.model.script = Script(ask)
            later = await server.post(client, "something else")
            self.assertNotIn("skills", later["interrupts"][0])
            server.model.script = Script([call("shell", command="/skills/pdf/scripts/count.sh")])
            named = await server.post(later, "and now")
            self.assertEqual(named["interrupts"][0]["skills"], ["pdf"])
            answer = {"status": "resolved", "payload": {"approved": True}}
            named["interrupts"][0]["answer"] = answer
            done = await server.post(named)
        self.assertEqual(done["status"], "completed")
        self.assertIn("pages:", results(done)[-1])

    async def test_where_no_grant_helps_the_interrupt_says_so(self) -> None:
        self.write_pdf()
        saved = call("skill_save", name="x", description="d", instructions="i")
        cases: list[tuple[Any, dict[str, Any], bool]] = [
            (saved, {}, True),
            (call("shell", command="ls"), {}, False),
            (call("shell", command="ls"), {"tools": {"shell": {"ceiling": "ask"}}}, True),
        ]
        for made, more, always in cases:
            async with self.server([made], **more) as server:
                client = await server.post({}, "go")
            with self.subTest(made=made, more=more):
                [asked] = client["interrupts"]
                self.assertEqual(asked.get("always", False), always)

    async def test_allowed_tools_permits_nothing(self) -> None:
        self.write_pdf()
        turns = [call("skill", name="pdf")], [call("shell", command="touch x")]
        async with self.server(*turns) as server:
            client = await server.post({}, "go")
        self.assertEqual(client["interrupts"][0]["reason"], "tool_call")

    async def test_a_document_cannot_name_what_is_not_its_own(self) -> None:
        """A hash of another key's skill gets no files, and a name is never a path."""
        own = SkillCatalog(self.home).sources("me")[0].folder
        self.write(own / "pdf" / "SKILL.md", PDF)
        async with self.server([call("skill", name="pdf")]) as server:
            client = await server.post({}, "go", owner="me")
            entry = client["skills"]["used"]["pdf"]
            forged = {"skills": {"used": {name: entry for name in ("pdf", "../x", "/etc", "a b")}}}
            server.model.script = Script([call("shell", command="ls -R /skills")])
            found = await server.post({**forged, **AUTO}, "go", owner="you")
        self.assertNotIn("SKILL.md", results(found)[0])


class Trusted(Case):
    def folder(self, mode: str = "read", **more: Any) -> dict[str, Any]:
        about = {"path": str(self.top / "site"), "mode": mode, **more}
        return {"folders": {"site": about}}

    def write_site(self) -> None:
        site = self.top / "site"
        self.write(site / "AGENTS.md", "Use tabs.")
        self.write(site / "CLAUDE.md", "Use spaces.")
        self.write(site / "api" / "CLAUDE.md", "Be terse.")
        self.write(site / "node_modules" / "x" / "AGENTS.md", "Obey.")
        text = "---\nname: deploy\ndescription: Deploys the site\n---\nPush it."
        self.write(site / ".agents" / "skills" / "deploy" / "SKILL.md", text)
        self.write(site / ".agents" / "skills" / "deploy" / "hosts.md", "one.example")

    async def test_only_where_the_owner_trusts_the_folder(self) -> None:
        self.write_site()
        for trusted in (False, True):
            async with self.server(**self.folder(trusted=trusted)) as server:
                client = await server.post({"workspace": {"folder": "site"}}, "go")
                own = await server.post({}, "go")
            with self.subTest(trusted):
                self.assertEqual("instructions" in client, trusted)
                self.assertEqual("skills" in client, trusted)
                self.assertEqual("Use tabs." in server.prompts[0], trusted)
                self.assertNotIn("Use spaces.", server.prompts[0])
                self.assertNotIn("Obey.", server.prompts[0])
                self.assertNotIn("instructions", own)

    async def test_what_it_says_is_in_the_session_and_changes_with_the_file(self) -> None:
        self.write_site()
        async with self.server(**self.folder(trusted=True)) as server:
            client = await server.post({"workspace": {"folder": "site"}}, "go")
            again = await server.post(client, "more")
            self.assertEqual(server.prompts[0], server.prompts[1])
            self.write(self.top / "site" / "AGENTS.md", "Use commas.")
            changed = await server.post(again, "more")
            (self.top / "site" / "AGENTS.md").unlink()
            (self.top / "site" / "CLAUDE.md").unlink()
            (self.top / "site" / "api" / "CLAUDE.md").unlink()
            gone = await server.post(changed, "more")
        told = {"path": "AGENTS.md", "text": "Use tabs.", "nested": ["api/CLAUDE.md"]}
        self.assertEqual(client["instructions"], {**told, "nested_count": 1})
        self.assertIn("for a file the nearest ones hold", server.prompts[0])
        self.assertEqual(changed["instructions"]["text"], "Use commas.")
        self.assertIn("Use commas.", server.prompts[2])
        self.assertNotIn("instructions", gone)

    async def test_its_skills(self) -> None:
        self.write_site()
        loads = [
            call("skill", name="deploy"),
            call("skill", name="deploy", file="hosts.md"),
            call("skill", name="deploy", file="../../../AGENTS.md"),
            call("read_file", path=".agents/skills/deploy/hosts.md"),
        ]
        async with self.server(loads, **self.folder(trusted=True)) as server:
            client = await server.post({"workspace": {"folder": "site"}}, "go")
        text, hosts, outside, read = results(client)
        self.assertIn("at .agents/skills/deploy; paths", text)
        self.assertTrue(text.endswith("Push it."))
        self.assertEqual(hosts, "one.example")
        self.assertIn("is no file of the skill", outside)
        self.assertIn("one.example", read)
        self.assertEqual(client["skills"]["used"]["deploy"]["source"], "workspace")

    async def test_the_owners_skill_comes_first(self) -> None:
        self.write_site()
        text = "---\nname: deploy\ndescription: The owner's\n---\nAsk first."
        self.write(self.skills / "deploy" / "SKILL.md", text)
        load = [call("skill", name="deploy")]
        async with self.server(load, **self.folder(trusted=True)) as server:
            client = await server.post({"workspace": {"folder": "site"}}, "go")
        self.assertTrue(results(client)[0].endswith("Ask first."))

    async def test_what_a_model_writes_into_its_copy_says_nothing(self) -> None:
        self.write_site()
        if not os.geteuid():  # else nothing could be applied to it
            user = int(DEFAULTS["server"]["sandbox"]["run_as"])
            os.chown(self.top / "site", user, user)
        write = [call("shell", command="echo Obey me > AGENTS.md; ls -a")]
        async with self.server(write, **self.folder("overlay", trusted=True)) as server:
            client = await server.post({"workspace": {"folder": "site"}, **AUTO}, "go")
            self.assertIn("AGENTS.md", results(client)[0])
            after = await server.post(client, "again")
        self.assertEqual(after["instructions"]["text"], "Use tabs.")
        self.assertNotIn("Obey me", server.prompts[-1])

    async def test_hostile_folders(self) -> None:
        site, secret = self.top / "site", self.write(self.top / "secret.md", "root:secret")
        self.write(site / "AGENTS.md", "x" * 100_000)
        places = site / ".agents" / "skills"
        for name in ("fine", "linked", "broken", "large"):
            text = f"---\nname: {name}\ndescription: d\n---\nText."
            self.write(places / name / "SKILL.md", text)
        (places / "linked" / "SKILL.md").unlink()
        (places / "linked" / "SKILL.md").symlink_to(secret)
        (places / "out").symlink_to(self.top)
        (places / "broken" / "SKILL.md").write_text("no front matter")
        (places / "large" / "SKILL.md").write_text("---\n" + "x" * 300_000)
        (site / "loop").symlink_to(".")
        self.write(site / "deep" / "AGENTS.md\n- obey", "x")
        async with self.server(**self.folder(trusted=True)) as server:
            client = await server.post({"workspace": {"folder": "site"}}, "go")
        self.assertEqual([each["name"] for each in client["skills"]["offered"]], ["fine"])
        self.assertTrue(client["instructions"]["cut"])
        self.assertEqual(len(client["instructions"]["text"]), 32 * 1024)
        self.assertNotIn("nested", client["instructions"])
        self.assertNotIn("secret", json.dumps(client))


if __name__ == "__main__":
    unittest.main()
