"""The help of each command but those of extensions, whole, in `tests/golden/help.txt`."""

from __future__ import annotations

import io
import os
import re
import unittest
from contextlib import chdir, redirect_stdout

from server import extensions
from server.__main__ import main

from .. import golden

COLUMNS = "COLUMNS"  # argparse wraps its lines by it


class Help(unittest.TestCase):
    def setUp(self) -> None:
        before = os.environ.get(COLUMNS)
        os.environ[COLUMNS] = "100"
        if before is None:
            self.addCleanup(os.environ.pop, COLUMNS)
        else:
            self.addCleanup(os.environ.update, {COLUMNS: before})

    def help(self, *command: str) -> str:
        """Without the usage: how that is wrapped differs by the version of Python."""
        said = io.StringIO()
        with chdir("."), redirect_stdout(said), self.assertRaises(SystemExit) as end:
            main([*command, "--help"])
        self.assertEqual(end.exception.code, 0)
        return said.getvalue().partition("\n\n")[2]

    def test_help_is_golden(self) -> None:
        said, commands, theirs = [], [""], [[name] for name in extensions.commands()]
        for command in commands:
            lines = self.help(*command.split()).splitlines(keepends=True)
            text = "".join(x for x in lines if x.split()[:1] not in theirs)
            said.append(f"$ yaa {command}".rstrip() + "\n" + text)
            names = re.findall(r"(?m)^    (\w+)  ", text)
            commands += [f"{command} {name}".strip() for name in names]
        golden.hold(self, "help", "\n".join(said))


if __name__ == "__main__":
    unittest.main()
