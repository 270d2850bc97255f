"""The interpreter of a virtual environment that is reached through links, in the sandbox too."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from server.lib.sandbox.policy import MOST_LINKS, SandboxPolicy, links_to

from .test_battery import ROOT, SECONDS

CALL = """
import asyncio, json, sys
from contextlib import aclosing
from pathlib import Path

from server.tools.runner import Job, Outcome, ToolRunner
from tests.sandbox.test_tiers import OPTIONS, PYTHON
from tests.tools.test_runner import LIMITS

CODE = "import sys, ours; print(sys.executable, sys.prefix, ours.__file__, sep='\\\\n')"

async def main():
    runner = ToolRunner(Path(sys.argv[1]))
    await runner.open(OPTIONS)
    found = {"tier": runner.sandbox["tier"]}
    outcome = await runner.run(Job(PYTHON, {"code": CODE}, "s1", LIMITS))
    found |= {"result": outcome.result, "error": outcome.error}
    runner.close()
    print(json.dumps(found))

asyncio.run(main())
"""


class Links(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.top = Path(os.path.realpath(holder.name))
        self.top.chmod(0o755)

    def link(self, name: str, target: str) -> str:
        (self.top / name).symlink_to(target)
        return str(self.top / name)

    def test_those_on_the_way(self) -> None:
        top = str(self.top)
        (self.top / "real" / "bin").mkdir(parents=True)
        (self.top / "real" / "python").touch()
        plain = self.link("plain", "real")
        absolute = self.link("absolute", f"{top}/plain")
        inner = self.link("real/bin/python", "../python")
        circle = self.link("circle", "circle")
        for place, found in (
            (f"{top}/real/python", {}),
            (f"{top}/none/python", {}),
            ("", {}),
            ("/", {}),
            (f"{top}/plain/python", {plain: "real"}),
            (f"{top}//plain/./bin/../python", {plain: "real"}),
            (f"{top}/absolute/python", {absolute: f"{top}/plain", plain: "real"}),
            (f"{top}/real/bin/python", {inner: "../python"}),
            (f"{top}/plain/bin/python", {plain: "real", inner: "../python"}),
            (f"{top}/circle/python", {circle: "circle"}),
        ):
            with self.subTest(place):
                self.assertEqual(dict(links_to(place)), found)

    def test_no_more_than_so_many(self) -> None:
        for number in range(2 * MOST_LINKS):
            self.link(f"l{number}", f"l{number + 1}")
        self.assertEqual(len(links_to(f"{self.top}/l0/python")), MOST_LINKS)

    def called(self, python: str) -> dict[str, str]:
        """What the tool `python` says of its interpreter, in a server that this one runs."""
        home = self.top / "home"
        home.mkdir(exist_ok=True)
        done = subprocess.run(
            [python, "-B", "-c", CALL, str(home)],
            cwd=ROOT,
            env={"PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)
        if found["tier"] not in ("A", "B"):
            self.skipTest(f"no sandbox here: {found['tier']}")
        self.assertFalse(found["error"])
        executable, prefix, ours = found["result"]["output"].splitlines()
        return {"executable": executable, "prefix": prefix, "ours": ours}

    @unittest.skipUnless(sys.platform == "linux", "needs a sandbox")
    def test_python_runs_in_its_environment_behind_links(self) -> None:
        (self.top / "elsewhere").mkdir()
        made = self.top / "elsewhere" / "venv"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", made], check=True)
        (packages,) = made.glob("lib/python*/site-packages")
        (packages / "ours.py").touch()
        behind = f"{self.link('cache', 'elsewhere')}/venv"
        cases = {"a folder that is a link": behind, "a whole path": str(made)}
        cases["a link to the whole path"] = self.link("whole", str(made))
        for name, venv in cases.items():
            with self.subTest(name):
                found = self.called(f"{venv}/bin/python")
                self.assertEqual(found["executable"], f"{venv}/bin/python")
                self.assertTrue(made.samefile(found["prefix"]), found)
                self.assertTrue((packages / "ours.py").samefile(found["ours"]), found)
        program = made / "bin" / "python"
        base = Path(os.path.realpath(program))
        newest = self.link("newest", str(base.parents[1]))
        program.unlink()
        program.symlink_to(f"{newest}/bin/{base.name}")
        with self.subTest("its own interpreter is behind a link"):
            self.assertEqual(self.called(str(program))["executable"], str(program))


class VisiblePath(unittest.TestCase):
    def test_of_the_servers_path(self) -> None:
        """What calls cannot read would only name folders of the host."""
        for path, found in (
            ("/usr/local/bin:/usr/bin:/bin", "/usr/local/bin:/usr/bin:/bin"),
            ("/home/ada/.nvm/bin:/usr/bin:/home/ada/kit/bin", "/usr/bin:/home/ada/kit/bin"),
            ("/usr/bin:.:bin::/usr2/bin:/usr/../home/ada", "/usr/bin"),
            ("/home/ada/kit2:/home/ada", os.defpath),
        ):
            for tier in ("A", "B"):
                policy = SandboxPolicy(tier, read=("/home/ada/kit",))
                self.assertEqual(policy.visible_path(path), found, (tier, path))
            self.assertEqual(SandboxPolicy("C").visible_path(path), path)


if __name__ == "__main__":
    unittest.main()
