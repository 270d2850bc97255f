"""What other programs read about yaa: llms.txt of the documentation and of a server, a skill."""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

from server.config import Config
from server.extensions import present
from server.tools.toolbox import Toolbox

from .fakes import events_of
from .test_docs import DOCS, ROOT, anchors, fenced, first_column, links, method_and_path
from .tooling import forks, patience

OF_DOCS = DOCS / "llms.txt"
OF_SERVER = ROOT / "client" / "llms.txt"
SKILL = DOCS / "examples" / "skills" / "add-a-yaa-tool"


class LlmsTxt(unittest.TestCase):
    def test_they_are_what_llmstxt_org_describes(self) -> None:
        for file in (OF_DOCS, OF_SERVER):
            with self.subTest(file.parent.name):
                head, empty, summary = file.read_text().splitlines()[:3]
                self.assertEqual((head, empty, summary[:2]), ("# yaa", "", "> "))
                self.assertGreater(len(re.findall(r"^## ", file.read_text(), re.M)), 2)

    def test_links_lead_to_pages_and_no_page_of_the_core_is_left_out(self) -> None:
        found = set()
        for line, link in links(OF_DOCS.read_text()):
            target, _, anchor = link.partition("#")
            with self.subTest(link, line=line):
                self.assertTrue((DOCS / target).is_file())
                self.assertIn(anchor, {"", *(anchors(DOCS / target) if anchor else ())})
            found.add(target)
        self.assertLessEqual({"index.md", "contributing.md", "design/architecture.md"}, found)
        self.assertLessEqual({"reference/session.md", "howto/add-a-tool.md"}, found)

    def test_a_servers_file_names_routes_that_it_has(self) -> None:
        fronts = {"openai", "agui"} & present().keys()
        files = ["app", *(f"extensions/{name}/routes" for name in fronts)]
        routes = {route for file in files for route in method_and_path(f"server/{file}.py")}
        named = re.findall(r"`((?:GET|POST|PUT|DELETE) /[^`\s]*)`", OF_SERVER.read_text())
        self.assertGreater(len(named), 6)
        self.assertEqual({*named} - routes, set())
        self.assertNotIn("](", OF_SERVER.read_text(), "a server has no documentation to link to")

    def test_a_servers_file_says_what_a_session_is(self) -> None:
        keys = set(first_column((DOCS / "reference" / "session.md").read_text(), "Key"))
        for word in ("messages", "status", "interrupts"):
            self.assertIn(f"`{word}`", OF_SERVER.read_text())
            self.assertIn(word, keys)


class Skill(unittest.IsolatedAsyncioTestCase):
    source: str

    @classmethod
    def setUpClass(cls) -> None:
        _, cls.source = next(fenced((SKILL / "SKILL.md").read_text(), "python"))

    def test_the_commands_that_it_names(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            file = Path(name) / "reading_time.py"
            file.write_text(self.source)
            checks = [["tools", "check", str(file)]]
            if "skills" in present():
                checks.append(["skills", "check", str(SKILL)])
            for words in checks:
                command = [sys.executable, "-m", "server", *words, "--home", f"{name}/home"]
                with self.subTest(words[0]):
                    done = forks.run(command, os.environ, timeout=patience.seconds(60))
                    self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
                    self.assertRegex(done.stdout, "add-a-yaa-tool|reading_time")

    async def test_its_example_is_a_tool(self) -> None:
        default = json.loads((ROOT / "config.default.json").read_text())
        with tempfile.TemporaryDirectory() as name:
            (Path(name) / "tools").mkdir()
            (Path(name) / "tools" / "reading_time.py").write_text(self.source)
            toolbox = Toolbox(Config(default["server"], default["session"], Path(name)))
            await toolbox.open()
            self.addAsyncCleanup(toolbox.close)
            await toolbox.load_owner_tools()
            self.assertEqual(toolbox.problems, [])
            config = default["session"]["config"]
            session: Any = {"id": "s", "messages": [], "config": config, "grants": []}
            for arguments, wanted in (
                ({"text": "word " * 440}, {"words": 440, "minutes": 2.0}),
                ({"text": "", "words_per_minute": 0}, "words_per_minute must be above 0"),
            ):
                words = json.dumps(arguments)
                call: Any = {"id": "c", "function": {"name": "reading_time", "arguments": words}}
                verdict = toolbox.verdict(session, call)
                self.assertEqual(verdict.action, "run")
                assert verdict.args is not None
                content = (await events_of(toolbox, session, call, verdict.args, {}))[-1]["content"]
                with self.subTest(wanted):
                    if isinstance(wanted, str):
                        self.assertIn(wanted, content)
                    else:
                        self.assertEqual(json.loads(content), wanted)


if __name__ == "__main__":
    unittest.main()
