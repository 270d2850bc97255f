"""What is said at start: links that lead here, and only what is so."""

from __future__ import annotations

import itertools
import json
import tempfile
import unittest
from pathlib import Path

from server.app import App
from server.cli.links import (
    Address,
    command_for,
    find_running,
    links,
    record,
    sign_in,
)
from server.cli.serve import describe
from server.config import home_folder, load

HOME = home_folder(None, {})


class Links(unittest.TestCase):
    def test_the_last_one_is_for_this_machine(self) -> None:
        for host, scheme, code, last in (
            ("127.0.0.1", "http", "k", "http://127.0.0.1:8/#code=k1"),
            ("127.0.0.1", "http", "", "http://127.0.0.1:8/"),
            ("::1", "https", "k", "https://[::1]:8/#code=k1"),
            ("example.org", "https", "", "https://example.org:8/"),
            ("0.0.0.0", "http", "k", "http://127.0.0.1:8/#code=k"),
            ("::", "http", "", "http://127.0.0.1:8/"),
            ("", "http", "", "http://127.0.0.1:8/"),
        ):
            with self.subTest(host=host, code=code):
                made = (f"{code}{number}" for number in itertools.count(1))
                found = links(Address(scheme, host, 8), made.__next__ if code else None, HOME)
                if code:
                    self.assertTrue(found.pop().endswith(": python3 -m server link"))
                self.assertEqual(found[-2], "Open this link in a browser:")
                self.assertTrue(found[-1].startswith(last), found)
                if len(found) > 2:
                    self.assertRegex(found[1], rf"^{scheme}://[0-9.]+:8/")
                    self.assertEqual(len(set(found)), len(found), "each link has its own code")

    def test_how_to_sign_in(self) -> None:
        for has_key, shown, required, said in (
            (True, True, True, ""),
            (True, False, True, "For a link that signs a browser in: python3 -m server link"),
            (False, False, True, ""),
            (False, False, False, "No key is needed: every user and program of this machine"),
        ):
            with self.subTest(has_key=has_key, shown=shown, required=required):
                found = " ".join(sign_in(HOME, has_key=has_key, shown=shown, required=required))
                self.assertTrue(found.startswith(said) if said else not found, found)

    def test_a_command_names_a_home_that_is_not_the_usual(self) -> None:
        for home, option in (
            (HOME, ""),
            (Path("/srv/yaa"), " --home /srv/yaa"),
            (Path("/srv/my yaa"), " --home '/srv/my yaa'"),
        ):
            last = links(Address("http", "h", 8), lambda: "k", home)[-1]
            told = sign_in(home, has_key=True, shown=False, required=True)[0]
            command = f"python3 -m server link{option}"
            with self.subTest(home=home):
                self.assertTrue(last.endswith(f": {command}"), last)
                self.assertIn(f": {command} (", told)
                self.assertEqual(command_for(home), f"python3 -m server{option}")

    def test_a_record_counts_as_long_as_its_process_lives(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            home, here = Path(folder), Address("http", "127.0.0.1", 8)
            self.assertEqual(find_running(home), [])
            with record(home, here), record(home, here._replace(port=9)):
                self.assertEqual([each.port for each in find_running(home)], [8, 9])
            (home / "serving" / "broken").write_text("{")
            self.assertEqual(find_running(home), [])
            self.assertEqual(list((home / "serving").iterdir()), [])


class Described(unittest.IsolatedAsyncioTestCase):
    async def test_what_is_there_and_what_is_wrong(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            home = Path(folder)
            (home / "hooks").mkdir()
            (home / "hooks" / "broken.py").write_text("def (:")
            flags = {"server.discover": False, "session.agent": "nobody"}
            async with App(load(home, None, {}, flags), {}) as app:
                said = "\n".join(describe(app))
                tier = app.toolbox.sandbox()["tier"]
        nobody = (
            r"problem  session\.agent is nobody, (and there is no such agent|which may use all)"
        )
        for pattern in (
            r"tools    calculator, ",
            r"problem  hooks/broken\.py: ",
            nobody,
            rf"sandbox  (tier )?{tier}: ",
            rf"home     {home}",
        ):
            self.assertRegex(said, pattern)
        self.assertNotIn("workers", said, "there is one process")

    async def test_a_default_model_that_is_not_there_is_a_problem(self) -> None:
        provider = {"session": {"config": {"llm_api": {"provider": {"name": "nope"}}}}}
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "config.json").write_text(json.dumps(provider))
            async with App(load(Path(folder), None, {}, {"server.discover": False}), {}) as app:
                said, found = "\n".join(describe(app)), app.problems()
        text = "session.config.llm_api.provider: This server does not have a provider named 'nope'."
        self.assertIn(f"  problem  {text} Known: demo.", said)
        self.assertEqual(found["model"], [f"{text} Known: demo."])

    async def test_a_log_that_cannot_be_written_is_a_problem(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            flags = {"server.discover": False, "server.log.file": folder}
            async with App(load(Path(folder) / "home", None, {}, flags), {}) as app:
                said, found = "\n".join(describe(app)), app.problems()
            text = f"server.log.file: {folder}: Is a directory"
            self.assertIn(f"  problem  {text}", said)
            self.assertEqual(found["logs"], [text])
            flags["server.log.file"] = "fine"
            async with App(load(Path(folder) / "home", None, {}, flags), {}) as app:
                self.assertEqual(app.problems()["logs"], [])

    async def test_what_is_withheld_is_not_among_the_tools(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            async with App(load(Path(folder), None, {}, {"server.discover": False}), {}) as app:
                await app.toolbox.close()
                await app.toolbox.open("none")
                lines = describe(app)
        said = "\n".join(lines)
        tools, withheld = said.partition("  tools")[2].split("  sandbox")
        self.assertNotIn("shell", tools)
        self.assertIn("calculator", tools)
        self.assertRegex(withheld, r"so withheld, for B is required:\n +.*\bshell\b")
        named = [line for line in lines if line.count(", ") > 1]
        self.assertGreater(len(named), 2, "names go on in further lines")
        self.assertLess(max(map(len, named)), 80)


if __name__ == "__main__":
    unittest.main()
