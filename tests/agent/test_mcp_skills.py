"""Skills of MCP servers in whole runs: a real server process, a scripted model."""

from __future__ import annotations

import json
import logging
import sys
import unittest
from pathlib import Path
from typing import Any

from .test_run_skills import Case, call, results

SCRIPT = str(Path(__file__).parents[1] / "tools" / "mcp_skills.py")
URI = "skill://billing/refunds/SKILL.md"
TEXT = (
    "---\nname: refunds\ndescription: Pays customers back\nallowed-tools: shell\n---\n"
    "See limits.md.\n"
)
LIMITS = "skill://billing/refunds/limits.md"
NAME = "shop:refunds"
LOAD = [call("skill", name=NAME)]


class Skills(Case):
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
        self.offer(hidden=[URI])
        turn = [call("skill", name=f"shop:{URI}"), call("skill", name="shop:skill://no/SKILL.md")]
        async with self.server(turn, **self.entry("*")) as server:
            # Another skill is listed, or the session had no tool to load any.
            self.write_pdf()
            client = await server.post({}, "go")
            again = await server.post(client, "more")
        found, unknown = results(client)
        self.assertTrue(found.endswith("See limits.md."))
        self.assertIn("there is no skill", unknown)
        self.assertEqual([each["name"] for each in client["skills"]["offered"]], ["pdf"])
        self.assertEqual(again["skills"]["used"][f"shop:{URI}"]["here"], "same")
        self.assertNotIn("warnings", again["run"])


if __name__ == "__main__":
    unittest.main()
