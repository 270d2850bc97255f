"""The commands of docs/howto/curl.md, run by bash as they stand, print what the page says."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from ..test_docs import DOCS, fenced
from ..tooling.child import Yaa

PAGE = DOCS / "howto" / "curl.md"
MISSING = [name for name in ("bash", "curl", "jq") if not shutil.which(name)]


@unittest.skipIf(MISSING, f"needs {', '.join(MISSING)}")
class HowTo(unittest.TestCase):
    def test_every_command(self) -> None:
        folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="yaa-curl-")))
        yaa = self.enterContext(Yaa({"server": {"discover": False}}))
        script, wanted = ["set -e"], []
        for _, text in fenced(PAGE.read_text(), "console"):
            for line in text.splitlines():
                if line.startswith("$ "):
                    script.append(line.removeprefix("$ "))
                else:
                    wanted.append(line)
        script[1:3] = [f"YAA={yaa.url}", f"KEY={yaa.key}"]
        found = subprocess.run(
            ["bash", "-c", "\n".join(script)],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(found.stdout.splitlines(), wanted, found.stderr)
        self.assertEqual((found.returncode, found.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
