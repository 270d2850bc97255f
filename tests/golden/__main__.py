"""`python3 -m tests.golden`: writes the texts of this folder anew, by the tests that hold them."""

from __future__ import annotations

import os
import subprocess
import sys

from ..tooling import tools
from . import WRITE


def main() -> int:
    """Run the test modules that hold a text; return their exit code."""
    files = [
        file
        for file in sorted((tools.ROOT / "tests").rglob("test_*.py"))
        if "node_modules" not in file.parts and "golden.hold(" in file.read_text()
    ]
    names = [".".join(file.relative_to(tools.ROOT).with_suffix("").parts) for file in files]
    command = [sys.executable, "-m", "unittest", "-q", "-k", "golden", *names]
    return subprocess.run(command, cwd=tools.ROOT, env={**os.environ, WRITE: "1"}).returncode


if __name__ == "__main__":
    sys.exit(main())
