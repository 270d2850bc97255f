"""The files of docs/deploy, as far as they can be tried without their hosts.

The unit by systemd's own judgement, and a start as in the container: no root, a root that cannot
be written, no privileges.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from tests.tooling import tools
from tests.tooling.api import Api
from tests.tooling.child import Child

DEPLOY = tools.ROOT / "docs" / "deploy"
SYSTEM_PYTHON = Path("/usr/bin/python3")
MOST_EXPOSED = 3.5

# A mount namespace in which nothing but the home can be written, and a user without any privilege.
AS_IN_A_CONTAINER = """
set -e
mount --make-rprivate /
mount --bind "$1" "$1"
mount -o remount,ro,bind /
mount -o remount,ro,bind /tmp 2>/dev/null || true
cd "$2"
exec setpriv --reuid=10001 --regid=10001 --clear-groups --no-new-privs --bounding-set=-all \\
  env -i PATH="$PATH" YAA_HOME="$1" PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 \\
  /usr/bin/python3 -m server --port 0
"""


def new_enough(python: Path) -> bool:
    command = [str(python), "-c", "import sys; sys.exit(sys.version_info < (3, 11))"]
    return python.exists() and subprocess.run(command, check=False).returncode == 0


class Unit(unittest.TestCase):
    @unittest.skipUnless(shutil.which("systemd-analyze"), "needs systemd-analyze")
    def test_the_unit_is_hardened(self) -> None:
        unit = DEPLOY / "yaa.service"
        command = ["systemd-analyze", "security", "--offline=true", "--no-pager", str(unit)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        found = re.search(r"exposure level for yaa\.service: ([0-9.]+)", done.stdout)
        if found is None:
            self.skipTest(f"this systemd-analyze rates no files: {done.stderr.strip()[:200]}")
        self.assertLessEqual(float(found[1]), MOST_EXPOSED)

    def test_the_unit_leaves_the_server_time_to_drain(self) -> None:
        text = (DEPLOY / "yaa.service").read_text()
        settings = dict(re.findall(r"^(\w+)=(.*)$", text, re.M))
        self.assertGreater(int(settings["TimeoutStopSec"]), 10 + 15 + 5)
        self.assertEqual(
            settings["KillMode"], "mixed", "tools are ended by the server, not with it"
        )


class Container(unittest.TestCase):
    def test_what_is_copied_exists_and_nobody_is_root(self) -> None:
        text = (DEPLOY / "Dockerfile").read_text()
        for line in re.findall(r"^COPY (.*)$", text, re.M):
            for name in line.split()[:-1]:
                self.assertTrue((tools.ROOT / name).exists(), name)
        users = re.findall(r"^USER (.*)$", text, re.M)
        self.assertEqual(users, ["10001"])

    @unittest.skipUnless(os.geteuid() == 0, "needs root to make a read-only root")
    @unittest.skipUnless(shutil.which("unshare") and shutil.which("setpriv"), "needs util-linux")
    @unittest.skipUnless(new_enough(SYSTEM_PYTHON), "needs a Python 3.11 that everybody may run")
    def test_it_serves_without_root_on_a_read_only_root(self) -> None:
        with tempfile.TemporaryDirectory(prefix="yaa-container-") as name:
            folder = Path(name)
            folder.chmod(0o755)
            for part in ("server", "client"):
                shutil.copytree(tools.ROOT / part, folder / part)
            shutil.copy(tools.ROOT / "config.default.json", folder)
            home = folder / "data"
            home.mkdir(mode=0o700)
            os.chown(home, 10001, 10001)
            script = ["sh", "-c", AS_IN_A_CONTAINER, "sh", str(home), str(folder)]
            child = Child(["unshare", "--mount", *script])
            try:
                found = child.wait_for(r"(http://[^/\s]+)/#key=(\S+)", 60)
                status, told = Api(found[1], found[2]).request("GET", "/info")
                self.assertEqual(status, 200)
                self.assertNotEqual(told["sandbox"]["tier"], "none")
            finally:
                self.assertEqual(child.stop(30), 0, child.output)
            self.assertEqual({path.stat().st_uid for path in home.iterdir()}, {10001})


if __name__ == "__main__":
    unittest.main()
