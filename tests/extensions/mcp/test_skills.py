"""Skills that MCP servers offer: what counts, when a file is fetched, what is refused."""

from __future__ import annotations

import hashlib
import json
import logging
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

from server.extensions.mcp.library import McpLibrary
from server.extensions.mcp.servers import McpServers
from server.extensions.mcp.skills import is_same, names_uri, skill_of
from server.lib.agent_skills.folder import SkillError
from server.lib.http.client import Client

SCRIPT = str(Path(__file__).parents[2] / "tools" / "mcp_skills.py")
PDF = "skill://pdf/SKILL.md"
FORMS = "skill://pdf/references/FORMS.md"
TEXT = "---\nname: pdf\ndescription: Reads PDF files\n---\nSee references/FORMS.md.\n"
FILES = {PDF: TEXT, FORMS: "Forms have fields. Größe."}
DIGEST = "sha256:" + "0" * 64


def refunds(place: str) -> dict[str, str]:
    text = f"---\nname: refunds\ndescription: Refunds of {place}\n---\nPay {place} back.\n"
    return {f"skill://acme/{place}/refunds/SKILL.md": text}


class Case(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        logging.disable(logging.CRITICAL)
        self.addCleanup(logging.disable, logging.NOTSET)
        self.file = Path(self.enterContext(tempfile.TemporaryDirectory()), "skills")

    def offer(self, files: dict[str, str] = FILES, **more: Any) -> None:
        self.file.write_text(json.dumps({"files": files, **more}))

    async def start(self, *manners: str, **more: Any) -> None:
        client = Client()
        self.addAsyncCleanup(client.close)
        args = [SCRIPT, str(self.file), *manners]
        entry = {"command": sys.executable, "args": args, "skills": ["*"], **more}
        self.servers = McpServers({"s": {k: v for k, v in entry.items() if v is not None}}, client)
        library = McpLibrary(self.servers)
        self.addAsyncCleanup(library.close)
        await self.servers.load(lambda _, listed: None)
        self.skills = library.skills

    def asked(self, beginning: str) -> list[str]:
        lines = Path(f"{self.file}.notes").read_text().splitlines()
        return [line for line in lines if line.startswith(beginning)]

    async def refused(self, reading: Any) -> str:
        with self.assertRaises(SkillError) as caught:
            await reading
        return str(caught.exception)


class Lists(Case):
    async def test_in_both_eras_and_nothing_is_fetched_before_it_is_needed(self) -> None:
        for manners in ((), ("legacy",)):
            with self.subTest(manners):
                self.offer()
                await self.start(*manners)
                self.assertEqual(self.servers.problems, [])
                [(name, skill)] = self.skills.found().items()
                self.assertEqual((name, skill.description), ("s:pdf", "Reads PDF files"))
                self.assertEqual(self.asked("resources/read"), [])
                now, about = await self.skills.load(skill)
                self.assertEqual((now, about.text), (skill, TEXT))
                self.assertEqual(self.asked("resources/read"), [f"resources/read {PDF}"])
                text = await self.skills.read(skill, "references/FORMS.md")
                self.assertEqual(text, FILES[FORMS])
                Path(f"{self.file}.notes").unlink()

    async def test_only_what_the_entry_names(self) -> None:
        self.offer({**FILES, **refunds("billing")})
        for patterns, found in ((None, []), ([], []), (["ref*"], ["s:refunds"]), (["x"], [])):
            with self.subTest(patterns):
                await self.start(skills=patterns)
                self.assertEqual([*self.skills.found()], found)
                self.assertEqual(self.servers.problems, [])
                self.assertIsNone(await self.skills.find(f"s:{PDF}"), "by its URI neither")
                if not patterns:
                    self.assertEqual(self.asked("skills/"), [], "it is not even asked")

    async def test_a_server_without_the_extension(self) -> None:
        self.offer(extension=False)
        await self.start()
        self.assertEqual(self.skills.found(), {})
        self.assertIn("offers no skills", self.servers.problems[0])
        self.assertEqual(self.asked("skills/"), [])

    async def test_the_same_name_twice(self) -> None:
        self.offer({**refunds("billing"), **refunds("support"), **FILES})
        await self.start()
        names = ["s:acme/billing/refunds", "s:acme/support/refunds", "s:pdf"]
        self.assertEqual(sorted(self.skills.found()), names)
        _, about = await self.skills.load(self.skills.found()[names[1]])
        self.assertIn("Pay support back", about.text)

    async def test_one_that_is_not_listed(self) -> None:
        self.offer(hidden=[PDF])
        await self.start()
        self.assertEqual(self.skills.found(), {})
        self.assertIsNone(await self.skills.find(f"s:{PDF}", ["Nothing."]))
        self.assertEqual(self.asked("skills/get"), [], "the server does not learn of it")
        found = await self.skills.find(f"s:{PDF}", [f"See {PDF}."])
        assert found is not None
        self.assertEqual(found.name, f"s:{PDF}")
        self.assertEqual((await self.skills.load(found))[1].text, TEXT)
        for name in ("s:skill://none/SKILL.md", f"t:{PDF}", "s:pdf", f"s:{FORMS}", "s:a b://"):
            with self.subTest(name):
                self.assertIsNone(await self.skills.find(name, [name.partition(":")[2]]))

    async def test_a_listed_one_by_its_uri_is_not_asked_for_again(self) -> None:
        self.offer()
        await self.start()
        found = await self.skills.find(f"s:{PDF}")
        assert found is not None
        self.assertEqual((found.name, found.uri), (f"s:{PDF}", PDF))
        self.assertEqual(self.asked("skills/get"), [])


class Verification(Case):
    async def test_another_content_is_never_used(self) -> None:
        wrong = {
            "digest": TEXT.replace("See", "Saw"),
            "size": TEXT + "more\n",
            "nothing": "",
        }
        for what, text in wrong.items():
            with self.subTest(what):
                self.offer(lies={PDF: text})
                await self.start()
                said = await self.refused(self.skills.load(self.skills.found()["s:pdf"]))
                self.assertIn("SKILL.md is not what the list of its server says", said)

    async def test_the_list_says_something_else_than_the_file(self) -> None:
        self.offer()
        entry = {
            "uri": PDF,
            "resources": [
                {"uri": PDF, "digest": sha(TEXT), "size": len(TEXT.encode())},
            ],
        }
        for more in ({"description": "Harmless"}, {"license": "MIT"}, {"metadata": {"a": "b"}}):
            with self.subTest(more):
                said = {"name": "pdf", "description": "Reads PDF files", **more}
                self.offer({PDF: TEXT}, entries=[{**entry, "frontmatter": said}])
                await self.start()
                # The server describes the skill anew, and that fits what it sends.
                now, about = await self.skills.load(self.skills.found()["s:pdf"])
                self.assertEqual(now.frontmatter, {"name": "pdf", "description": "Reads PDF files"})
                self.assertEqual(about.description, "Reads PDF files")
                lie = {**entry, "frontmatter": said}
                self.offer({PDF: TEXT}, entries=[lie], told=lie)
                await self.start()
                refused = await self.refused(self.skills.load(self.skills.found()["s:pdf"]))
                self.assertIn(f"says another '{next(iter(more))}'", refused)

    async def test_a_list_that_is_too_old_is_read_anew(self) -> None:
        self.offer()
        await self.start()
        old = self.skills.found()["s:pdf"]
        newer = TEXT.replace("See", "Read")
        self.offer({**FILES, PDF: newer})
        now, about = await self.skills.load(old)
        self.assertEqual(about.text, newer)
        self.assertNotEqual(now.hash, old.hash)
        self.assertEqual(self.skills.found()["s:pdf"], now)
        self.offer({**FILES, FORMS: "Others."})
        said = await self.refused(self.skills.read(now, "references/FORMS.md"))
        self.assertIn("is not what the list of its server says", said)

    async def test_files_that_are_not_listed(self) -> None:
        self.offer({**FILES, "skill://other/SKILL.md": TEXT.replace("pdf", "other")})
        await self.start()
        skill = self.skills.found()["s:pdf"]
        for path in ("x.md", "../other/SKILL.md", "/etc/passwd", "", "references"):
            with self.subTest(path):
                self.assertIn(
                    "is no file of the skill", await self.refused(self.skills.read(skill, path))
                )
        self.assertEqual(self.asked("resources/read"), [])

    async def test_a_credential_that_it_repeats_is_removed(self) -> None:
        token = "tok-A1b2C3d4E5f6G7h8I9"
        self.offer({PDF: TEXT + token})
        await self.start(env={"SERVICE_TOKEN": token})
        _, about = await self.skills.load(self.skills.found()["s:pdf"])
        self.assertNotIn(token, about.text)

    async def test_a_server_that_has_ended(self) -> None:
        self.offer()
        await self.start()
        skill = self.skills.found()["s:pdf"]
        self.file.unlink()
        self.assertIn("MCP server s", await self.refused(self.skills.load(skill)))


def sha(text: str) -> str:
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


class Names(unittest.TestCase):
    def test_a_text_names_whole_addresses(self) -> None:
        for text in (PDF, f"See {PDF}.", f"[x]({PDF})", f"`{PDF}`,", f"<{PDF}>", f"a\n{PDF}\nb"):
            with self.subTest(text):
                self.assertTrue(names_uri(text, PDF))
        for text in ("", "SKILL.md", f"{PDF}x", f"{PDF}/x", f"x{PDF}", f"{PDF}?q={PDF}", "skill:"):
            with self.subTest(text):
                self.assertFalse(names_uri(text, PDF))


class Entries(unittest.TestCase):
    def test_entries_that_cannot_be_used(self) -> None:
        said = {"name": "pdf", "description": "Reads"}
        top = {"uri": PDF, "digest": DIGEST, "size": 3}
        good: dict[str, Any] = {"uri": PDF, "frontmatter": said, "resources": [top]}
        self.assertEqual(skill_of(good, "s").files, {"SKILL.md": (DIGEST, 3)})
        cases: list[tuple[str, Any]] = [
            ("an entry without a URI", "text"),
            ("an entry without a URI", None),
            ("not the URI", {**good, "uri": "skill://pdf/skill.md"}),
            ("not the URI", {**good, "uri": "skill://pdf\u202e/SKILL.md"}),
            ("usable name", {**good, "frontmatter": {"name": "pdf"}}),
            ("usable name", {**good, "frontmatter": {**said, "name": "../pdf"}}),
            ("usable name", {**good, "frontmatter": [1]}),
            ("no description", {**good, "frontmatter": {**said, "description": " \n"}}),
            ("URI does not end in", {**good, "frontmatter": {**said, "name": "word"}}),
            ("no list of its files", {**good, "resources": None}),
            ("without its SKILL.md", {**good, "resources": []}),
            ("more than 1000 files", {**good, "resources": [top] * 1_001}),
            ("is there twice", {**good, "resources": [top, top]}),
            ("no file of it", {**good, "resources": [top, {**top, "uri": "skill://x/a.md"}]}),
            ("no file of it", {**good, "resources": [top, {**top, "uri": "skill://pdf/../a"}]}),
            ("no file of it", {**good, "resources": [top, {**top, "uri": "skill://pdf/"}]}),
            ("no file of it", {**good, "resources": [top, 5]}),
            ("no digest", {**good, "resources": [{**top, "digest": "sha256:AA"}]}),
            ("no digest", {**good, "resources": [{**top, "digest": None}]}),
            ("no size", {**good, "resources": [{**top, "size": -1}]}),
            ("no size", {**good, "resources": [{**top, "size": True}]}),
            ("no size", {**good, "resources": [{"uri": PDF, "digest": DIGEST}]}),
            ("larger than 32 MB", {**good, "resources": [{**top, "size": 33 << 20}]}),
        ]
        for words, about in cases:
            with self.subTest(words), self.assertRaises(SkillError) as caught:
                skill_of(about, "s")
            self.assertIn(words, str(caught.exception))

    def test_values_are_compared_as_they_are_written(self) -> None:
        same: list[tuple[Any, Any]] = [
            ("a b", "a  b\n"),
            ("1", 1),
            ("1.50", 1.5),
            ("True", True),
            ("", None),
            ("~", None),
            (["a", "1"], ["a", 1]),
            ({"version": "2"}, {"version": 2}),
        ]
        other: list[tuple[Any, Any]] = [
            ("a", "b"),
            ("1", 2),
            ("x", 1),
            ("yes", True),
            (None, None),
            ("a", None),
            (["a"], ["a", "b"]),
            ({"a": "b"}, {"a": "b", "c": "d"}),
            ({"a": "b"}, {"a": {"b": "c"}}),
            ("{}", {}),
            (None, "a"),
        ]
        for read, told in same:
            with self.subTest(read=read, told=told):
                self.assertTrue(is_same(read, told))
        for read, told in other:
            with self.subTest(read=read, told=told):
                self.assertFalse(is_same(read, told))


if __name__ == "__main__":
    unittest.main()
