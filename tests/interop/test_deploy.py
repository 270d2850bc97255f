"""The files of docs/deploy, as far as they can be tried without Docker.

The unit by systemd's own judgement (test_systemd.py has it run), and the Dockerfile step by step:
no root, a root that cannot be written, no privileges.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from ..http.test_tls import pair
from ..tooling import patience, tools
from ..tooling.child import Yaa
from . import machine

DEPLOY = tools.ROOT / "docs" / "deploy"
SYSTEM_PYTHON = Path("/usr/bin/python3")
MOST_EXPOSED = 3.5

# As it is started by `docker run --read-only --tmpfs /tmp -v yaa:/data --cap-drop ALL` with
# `--security-opt no-new-privileges`: as process 1, on a volume that is what the image has there.
RUN = """
stat -c 'image %u:%a' /data
mount -t tmpfs -o mode=0700,uid=10001,gid=10001 none /data
mount -o remount,ro /
ip link set lo up
cd {folder}
exec setpriv --reuid={user} --regid={user} --clear-groups --no-new-privs --bounding-set=-all \\
    env -i PATH="$PATH" {env} {command}
"""


def instructions(dockerfile: str) -> list[tuple[str, str]]:
    """(instruction, the rest) of each line, continued ones joined."""
    text = re.sub(r"(?m)^\s*#.*\n", "", dockerfile).replace("\\\n", "")
    return [
        (word, rest.strip())
        for word, _, rest in (ln.partition(" ") for ln in text.split("\n"))
        if word
    ]


def by_hand(dockerfile: str) -> str:
    """What `docker build` and `docker run` would do, as a script."""
    script, told = "", dict[str, str]()
    for word, rest in instructions(dockerfile):
        told[word] = rest
        if word == "COPY":
            *sources, target = rest.split()
            script += f"mkdir -p {target}\n"
            for source in sources:
                inside = "/." if (tools.ROOT / source).is_dir() else ""
                script += f"cp -r /opt/from/{source}{inside} {target}\n"
        elif word == "RUN":
            script += f"{rest}\n"
    command = shlex.join(json.loads(told["ENTRYPOINT"]))
    asked = {"folder": told["WORKDIR"], "user": told["USER"], "env": told["ENV"]}
    return script + RUN.format(**asked, command=command)


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

    @unittest.skipUnless(shutil.which("openssl"), "needs openssl to make a certificate")
    def test_it_is_found_healthy_however_it_is_served(self) -> None:
        """Docker gives containers the proxy of its own configuration."""
        told = dict(instructions((DEPLOY / "Dockerfile").read_text()))
        (check,) = re.findall(r"CMD (\[.*\])", told["HEALTHCHECK"])
        cert, key = pair(Path(self.enterContext(tempfile.TemporaryDirectory())), "own")
        for arguments in ((), ("--cert", str(cert), "--key", str(key))):
            with Yaa({"server": {"discover": False}}, arguments=arguments) as yaa:
                port = yaa.url.rpartition(":")[2]
                env = os.environ | {"http_proxy": "http://127.0.0.1:1", "YAA_PORT": port}
                asked = [sys.executable, *json.loads(check)[1:]]
                with self.subTest(arguments=arguments):
                    subprocess.run(asked, env=env, check=True)
        with self.assertRaises(subprocess.CalledProcessError):  # it has ended
            subprocess.run(asked, env=env, check=True, capture_output=True)

    @unittest.skipUnless(new_enough(SYSTEM_PYTHON), "needs a Python 3.11 that everybody may run")
    def test_built_and_run_by_hand(self) -> None:
        """Every step of the file, on this machine's files in place of the image's."""
        machine.needed()
        files = Path(self.enterContext(tempfile.TemporaryDirectory()))
        scratch = Path(self.enterContext(tempfile.TemporaryDirectory()))
        text = (DEPLOY / "Dockerfile").read_text()
        for word, rest in instructions(text):
            for source in rest.split()[:-1] if word == "COPY" else ():
                copy = shutil.copytree if (tools.ROOT / source).is_dir() else shutil.copy
                copy(tools.ROOT / source, files / source)
        container = self.enterContext(machine.Machine(scratch, files, by_hand(text)))
        child = container.child
        child.wait_for("image 10001:700", 60)
        child.wait_for("^For a link that signs a browser in: ", 60)
        child.wait_for("  ready ", 60)
        key = container.run("cat /data/key").strip()
        (check,) = re.findall(r"CMD (\[.*\])", dict(instructions(text))["HEALTHCHECK"])
        done = container.enter(*json.loads(check))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        said = container.run(f"{ASK} {key}")
        self.assertNotIn('"tier":"none"', said)
        self.assertIn('"tier":', said)
        self.assertIn("Read-only", container.run("touch /opt/yaa/x /x 2>&1 || true"))
        self.assertEqual(container.run("find /data -mindepth 1 -not -user 10001"), "")
        self.assertNotEqual(container.run("ls /data"), "")
        os.kill(container.pid, signal.SIGTERM)
        self.assertEqual(child.process.wait(patience.seconds(30)), 0, child.output)


ASK = (
    "python3 -c 'import sys, urllib.request as r;"
    ' ask = r.Request("http://127.0.0.1:12345/info", headers={"YAA-API-KEY": sys.argv[1]});'
    " print(r.urlopen(ask, timeout=9).read().decode())'"
)


if __name__ == "__main__":
    unittest.main()
