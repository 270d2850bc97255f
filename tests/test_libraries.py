"""The libraries know nothing of yaa: a copy of server/lib loads and works alone."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from .tooling.source import paths
from .tooling.tools import ROOT

LIBRARIES = ROOT / "server" / "lib"
SAID = {  # what the example of each package prints
    "agent_skills": "Reads PDF files\n['SKILL.md']\n",
    "http": "200 b'hello'\n",
    "json_schema": '/age: expected integer, got string ("4")\n/name: missing\n',
    "runtime": "True\nFalse\n",
    "sandbox": "ok\n",
}


def example(package: str) -> str:
    """The program in the docstring of a package: what is indented from its first import on."""
    text = ast.get_docstring(ast.parse((LIBRARIES / package / "__init__.py").read_text())) or ""
    lines = iter(
        text[text.index("\n    import" if "\n    import" in text else "\n    from") :].split("\n")
    )
    next(lines)
    program = []
    for line in lines:
        if line and not line.startswith("    "):
            break
        program.append(line[4:])
    return "\n".join(program)


class Alone(unittest.TestCase):
    def setUp(self) -> None:
        self.top = self.enterContext(tempfile.TemporaryDirectory())
        shutil.copytree(LIBRARIES, Path(self.top, "lib"))

    def run_program(self, program: str) -> tuple[int, str, str]:
        """Run it where there is no yaa, and return (exit code, output, errors)."""
        command = [sys.executable, "-I", "-B", "-W", "error", "-c"]
        place = f"import sys; sys.path.insert(0, {self.top!r})\n"
        done = subprocess.run([*command, place + program], capture_output=True, text=True)
        return done.returncode, done.stdout, done.stderr

    def test_every_module_loads(self) -> None:
        names = [name.removeprefix("server.") for name in paths() if ".lib." in name]
        self.assertGreater(len(names), 40)
        self.assertEqual(self.run_program(f"import {', '.join(names)}"), (0, "", ""))

    def test_first_pages_say_how_to_use_them(self) -> None:
        packages = {path.parent.name for path in LIBRARIES.glob("*/__init__.py")}
        self.assertEqual(packages, set(SAID))
        for package, said in SAID.items():
            with self.subTest(package):
                self.assertEqual(self.run_program(example(package)), (0, said, ""))


if __name__ == "__main__":
    unittest.main()
