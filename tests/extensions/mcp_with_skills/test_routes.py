"""`GET /skills/{name}`: the texts of skills, for people with a key."""

from __future__ import annotations

import hashlib
import json
import logging
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any
from urllib.parse import quote

from server.api.auth import Keys
from server.app import App, routes
from server.config import load
from server.extensions.skills.catalog import SkillCatalog

from ...api import fakes

SCRIPT = str(Path(__file__).parents[2] / "tools" / "mcp_skills.py")
ENTRIES: list[dict[str, Any]] = [
    {"name": "ann", "key": "a" * 20, "owner": True},
    {"name": "bob", "key": "b" * 20},
]
ODD = "---\nname: odd\nallowed-tools: Bash\ndescription: Says: more\n---\nBe\u202e nice.\u200b\n"
PDF = "---\nname: pdf\ndescription: Reads PDF files\n---\nSee forms.md.\n"
URI = "skill://acme/pdf/SKILL.md"


class Texts(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        logging.disable(logging.CRITICAL)
        self.addCleanup(logging.disable, logging.NOTSET)
        self.top = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.home, self.offered = self.top / "home", self.top / "offered"
        self.write(self.home / "skills" / "odd", ODD)
        self.offer({URI: PDF, "skill://acme/pdf/forms.md": "Forms."})

    def write(self, folder: Path, text: str) -> None:
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(text)

    def offer(self, files: dict[str, str], **more: Any) -> None:
        self.offered.write_text(json.dumps({"files": files, **more}))

    async def start(self) -> None:
        shop = {"command": sys.executable, "args": [SCRIPT, str(self.offered)], "skills": ["*"]}
        flags = {
            "server.discover": False,
            "server.sandbox.require": "none",
            "server.skills.folders": [],
            "server.mcpServers": {"shop": shop},
        }
        app = await self.enterAsyncContext(App(load(self.home, None, {}, flags), {}))
        self.router = routes(app, Keys(ENTRIES))

    async def ask(self, path: str, key: str = "a") -> Any:
        """(status, answer)"""
        head = {"Authorization": f"Bearer {key * 20}"} if key else {}
        asked = fakes.Call("GET", path, head)
        await self.router(asked.exchange)
        return asked.status, asked.json

    async def test_a_text_with_what_is_hidden_in_it(self) -> None:
        (self.home / "skills" / "odd" / "a.md").write_text("A.")
        await self.start()
        status, found = await self.ask("/skills/odd")
        self.assertEqual(status, 200)
        self.assertEqual((found["name"], found["source"], found["text"]), ("odd", "home", ODD))
        self.assertEqual(found["files"], ["SKILL.md", "a.md"])
        self.assertEqual(found["allowed_tools"], "Bash")
        self.assertEqual([key[:6] for key in found["hidden"]], ["U+200B", "U+202E"])
        self.assertIn("a colon in a value", found["remarks"][0])
        self.assertRegex(found["hash"], r"\A[0-9a-f]{64}\Z")
        self.assertNotIn(str(self.top), json.dumps(found), "no path of the server")
        (self.home / "skills" / "odd" / "a.md").write_text("B.")
        _, changed = await self.ask("/skills/odd")
        self.assertNotEqual(changed["hash"], found["hash"])

    async def test_whose_skills(self) -> None:
        saved = SkillCatalog(self.home, owners=("", "ann")).sources("bob")[0].folder
        self.write(saved / "own", PDF.replace("pdf", "own"))
        await self.start()
        for path, key, status in (
            ("/skills/odd", "a", 200),
            ("/skills/odd", "b", 200),
            ("/skills/own", "b", 200),
            ("/skills/own", "a", 404),
            ("/skills/odd", "c", 401),
            ("/skills/odd", "", 401),
        ):
            with self.subTest(path=path, key=key):
                self.assertEqual((await self.ask(path, key))[0], status)

    async def test_names_that_are_none(self) -> None:
        self.write(self.top / "secret", PDF)
        await self.start()
        for name in ("none", "..", "../secret", "odd/SKILL.md", "Odd", "x" * 500, "shop:none", "*"):
            with self.subTest(name):
                status, found = await self.ask(f"/skills/{quote(name, safe='')}")
                self.assertEqual((status, found["code"]), (404, "not_found"))
                self.assertIn("has no skill", found["detail"])
                self.assertLess(len(found["detail"]), 200)

    async def test_one_that_has_gone_or_grown(self) -> None:
        await self.start()
        (self.home / "skills" / "odd" / "large").write_bytes(b"\0" * (33 << 20))
        status, found = await self.ask("/skills/odd")
        self.assertEqual(status, 404)
        self.assertIn("its files are larger than 32 MB", found["detail"])
        (self.home / "skills" / "odd" / "SKILL.md").unlink()
        status, found = await self.ask("/skills/odd")
        self.assertEqual((status, found["code"]), (404, "not_found"))

    async def test_one_of_an_mcp_server(self) -> None:
        await self.start()
        status, found = await self.ask("/skills/shop%3Apdf", "b")
        self.assertEqual(status, 200)
        self.assertEqual((found["name"], found["source"], found["text"]), ("shop:pdf", "mcp", PDF))
        self.assertEqual(found["files"], ["SKILL.md", "forms.md"])
        digests = {
            "SKILL.md": hashlib.sha256(PDF.encode()).hexdigest(),
            "forms.md": hashlib.sha256(b"Forms.").hexdigest(),
        }
        told = "".join(f"{path}\0sha256:{digest}\n" for path, digest in digests.items())
        self.assertEqual(found["hash"], hashlib.sha256(told.encode()).hexdigest())
        info = await self.ask("/info")
        listed = {each["name"]: each["source"] for each in info[1]["skills"]}
        self.assertEqual(listed, {"odd": "home", "shop:pdf": "mcp"})
        self.offer({URI: PDF}, lies={URI: PDF + "Obey."})
        status, found = await self.ask("/skills/shop%3Apdf")
        self.assertEqual((status, found["code"]), (502, "mcp_failed"))
        self.assertIn("not what the list of its server says", found["detail"])


if __name__ == "__main__":
    unittest.main()
