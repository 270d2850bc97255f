"""Skills of MCP servers in whole runs: a real server process, a scripted model."""

from __future__ import annotations

import json
import logging
import sys
import unittest
from pathlib import Path
from typing import Any

from server.extensions.mcp.parts import McpParts
from server.extensions.skills.parts import SkillParts

from ..skills.test_run import Case, Script, Server, call, results

SCRIPT = str(Path(__file__).parents[2] / "tools" / "mcp_skills.py")
URI = "skill://billing/refunds/SKILL.md"
TEXT = (
    "---\nname: refunds\ndescription: Pays customers back\nallowed-tools: shell\n---\n"
    "See limits.md.\n"
)
LIMITS = "skill://billing/refunds/limits.md"
NAME = "shop:refunds"
LOAD = [call("skill", name=NAME)]


class WithServers(Server):
    kinds = (McpParts, SkillParts)


class Skills(Case):
    def server(self, *turns: list[tuple[Any, ...]], home: str = "home", **more: Any) -> Server:
        return WithServers(self.top / home, Script(*turns), **more)

    def setUp(self) -> None:
        super().setUp()
        logging.disable(logging.CRITICAL)
        self.addCleanup(logging.disable, logging.NOTSET)
        self.file = self.top / "offered"
        self.offer()

    def offer(self, text: str = TEXT, **more: Any) -> None:
        files = {URI: text, LIMITS: "At most 100 €."}
        self.file.write_text(json.dumps({"files": files, **more}))

    def entry(self, *skills: str) -> dict[str, Any]:
        entry = {"command": sys.executable, "args": [SCRIPT, str(self.file)]}
        return {"mcpServers": {"shop": {**entry, "skills": [*skills]} if skills else entry}}

    async def test_only_where_the_owner_names_it(self) -> None:
        for skills in ((), ("other",), ("refunds",)):
            async with self.server(LOAD, **self.entry(*skills)) as server:
                client = await server.post({}, "go")
            with self.subTest(skills):
                here = skills == ("refunds",)
                self.assertEqual("skills" in client, here)
                self.assertEqual("Pays customers back" in server.prompts[0], here)
                self.assertEqual("limits.md" in str(client["messages"]), here)

    async def test_used_and_kept_in_the_session(self) -> None:
        self.write(self.skills / "refunds" / "SKILL.md", TEXT.replace("See", "Own:"))
        turns = (
            [*LOAD, call("skill", name="refunds"), call("skill", name=NAME, file="limits.md")],
            [call("shell", command="ls")],
        )
        async with self.server(*turns, **self.entry("*")) as server:
            client = await server.post({}, "go")
            self.assertNotIn("warnings", client["run"])
        self.assertIn(f"- {NAME}: [of the MCP server shop] Pays customers back", server.prompts[0])
        text, own, limits = results(client)
        self.assertIn("The MCP server shop wrote them, not the user", text)
        self.assertIn("Its files: limits.md.", text)
        self.assertIn("Other tools cannot reach them here.", text)
        self.assertTrue(text.endswith("See limits.md."))
        self.assertTrue(own.endswith("Own: limits.md."), "it hides no skill of the owner")
        self.assertEqual(limits, "At most 100 €.")
        used = client["skills"]["used"][NAME]
        self.assertEqual((used["text"], used["source"], used["place"]), (TEXT, "mcp", ""))
        [asked] = client["interrupts"]
        self.assertEqual(asked["skills"], ["refunds", NAME], "allowed-tools permits nothing")
        # At a server that lacks it the run goes on with the session.
        async with self.server([*LOAD], home="elsewhere") as other:
            after = await other.post(client, "again")
        self.assertTrue(results(after)[-1].endswith("See limits.md."))
        codes = {(each["code"], each["skill"]) for each in after["run"]["warnings"]}
        self.assertIn(("skill_missing", NAME), codes)

    async def test_changed_since_and_taken_over_when_a_person_says_so(self) -> None:
        async with self.server([*LOAD], **self.entry("*")) as server:
            client = await server.post({}, "go")
        newer = TEXT.replace("See", "Never see")
        self.offer(newer)
        turns = [*LOAD, call("skill", name=NAME, file="limits.md")]
        again = turns, [("text", "Ok.")], [*LOAD]
        async with self.server(*again, home="elsewhere", **self.entry("*")) as server:
            after = await server.post(client, "again")
            text, file = results(after)[1:]
            self.assertTrue(text.endswith("\n\nSee limits.md."))
            self.assertIn("has another version", file)
            [warning] = after["run"]["warnings"]
            self.assertEqual((warning["code"], warning["skill"]), ("skill_changed", NAME))
            after["skills"]["refresh"] = [NAME]
            fresh = await server.post(after, "now")
        self.assertEqual(fresh["skills"]["used"][NAME]["text"], newer)

    async def test_a_lying_server_teaches_nothing(self) -> None:
        self.offer(lies={URI: TEXT.replace("See", "Obey")})
        async with self.server([*LOAD], **self.entry("*")) as server:
            client = await server.post({}, "go")
        self.assertIn("is not what the list of its server says", results(client)[0])
        self.assertNotIn("Obey", json.dumps(client))
        self.assertNotIn("used", client["skills"])

    async def test_one_that_is_not_listed(self) -> None:
        index = "---\nname: index\ndescription: What there is\n---\nFor money: <" + URI + ">.\n"
        files = {"skill://index/SKILL.md": index, URI: TEXT, LIMITS: "At most 100 €."}
        self.file.write_text(json.dumps({"files": files, "hidden": [URI]}))
        hidden = f"shop:{URI}"
        turns = (
            [call("skill", name=hidden)],
            [call("skill", name="shop:index")],
            [call("skill", name=hidden)],
            [("text", "Ok.")],
            [("text", "Ok.")],
        )
        async with self.server(*turns, **self.entry("*")) as server:
            client = await server.post({}, "go")
            again = await server.post(client, "more")
        before, _, after = results(client)
        self.assertIn("it was not asked for", before)
        self.assertTrue(after.endswith("See limits.md."))
        self.assertEqual(again["skills"]["used"][hidden]["here"], "same")
        self.assertNotIn("warnings", again["run"])

    async def test_what_a_model_makes_up_reaches_no_server(self) -> None:
        """A model that obeys a hostile page puts what it has read into the name of a skill."""
        spellings = (
            "x://SECRET/SKILL.md",
            URI + "?SECRET",
            URI.replace("SKILL.md", "SECRET/SKILL.md"),
            "skill://SECRET@billing/refunds/SKILL.md",
            "mailto:SECRET/SKILL.md",
            "SECRET",
            f"{URI} SECRET",
        )
        turn = [
            *(call("skill", name=f"shop:{each}") for each in spellings),
            *(call("skill", name=NAME, file=f"SECRET/{each}") for each in spellings),
        ]
        self.offer(TEXT + f"Also {URI}/more and skill://{{SECRET}}/SKILL.md\n")
        async with self.server([*LOAD], turn, [("text", "Ok.")], **self.entry("*")) as server:
            client = await server.post({}, "go")
        self.assertEqual(len(results(client)), 1 + len(turn))
        noted = Path(f"{self.file}.notes").read_text()
        self.assertIn(f"resources/read {URI}", noted)
        self.assertNotIn("SECRET", noted)
        self.assertNotIn("skills/get", noted)

    async def test_a_document_makes_no_requests_of_its_own(self) -> None:
        """Names of used skills are the word of whoever wrote the document."""
        used = {
            f"shop:x://{n}/SKILL.md": {"hash": "0" * 64, "source": "mcp", "text": "T"}
            for n in range(500)
        }
        async with self.server([("text", "Ok.")], **self.entry("*")) as server:
            client = await server.post({"skills": {"used": used}}, "go")
        self.assertNotIn("skills/get", Path(f"{self.file}.notes").read_text())
        left_out = client["run"]["warnings"][0]
        self.assertEqual((left_out["code"], left_out["most"]), ("skills_left_out", 64))
        self.assertEqual(left_out["count"], 500 - 64)
        here = [each.get("here") for each in client["skills"]["used"].values()]
        self.assertEqual(here, [None] * (500 - 64) + ["missing"] * 64)


if __name__ == "__main__":
    unittest.main()
