"""The unit of docs/deploy, installed by the words of the how-to and run by a real systemd."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import time
import unittest
from contextlib import ExitStack
from pathlib import Path
from typing import Any, ClassVar

from ..tooling import tools
from . import machine
from .test_deploy import MOST_EXPOSED, SYSTEM_PYTHON, new_enough

Json = dict[str, Any]
HOWTO = tools.ROOT / "docs" / "howto" / "deploy.md"
UNIT = tools.ROOT / "docs" / "deploy" / "yaa.service"
PATIENCE_S = 60.0

ASK = """
import json, sys, urllib.request
key, path, body = sys.argv[1:]
url = "http://127.0.0.1:12345" + path
headers = {"Authorization": "Bearer " + key, "Accept": "application/json"}
headers["Content-Type"] = "application/json"
data = body.encode() or None
with urllib.request.urlopen(urllib.request.Request(url, data, headers), timeout=60) as answer:
    print(answer.read().decode())
"""


def steps(heading: str) -> list[str]:
    """The commands of the how-to's section, as root types them."""
    section = HOWTO.read_text().partition(f"## {heading}\n")[2].partition("\n## ")[0]
    (block,) = re.findall(r"```console\n(.*?)```", section, re.S)
    found = re.findall(r"^\$ sudo (.*)$", block, re.M)
    assert len(found) == block.count("$ "), block
    return found


@unittest.skipUnless(machine.SYSTEMD.exists(), "needs systemd")
@unittest.skipUnless(new_enough(SYSTEM_PYTHON), "needs a Python 3.11 that everybody may run")
class Systemd(unittest.TestCase):
    """One machine, on which the tests follow each other in the order of their names."""

    there: ClassVar[machine.Booted]
    key: ClassVar[str]

    @classmethod
    def setUpClass(cls) -> None:
        machine.needed()
        stack = cls.enterClassContext(ExitStack())
        files = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        scratch = stack.enter_context(tempfile.TemporaryDirectory())
        (files / "docs" / "deploy").mkdir(parents=True)
        (files / "docs" / "deploy" / "yaa.service").write_bytes(UNIT.read_bytes())
        command = [sys.executable, "-m", "server", "pack", str(files / "yaa.pyz")]
        subprocess.run(command, cwd=tools.ROOT, capture_output=True, check=True)
        try:
            cls.there = stack.enter_context(machine.Booted(Path(scratch), files))
        except RuntimeError as error:
            raise unittest.SkipTest(f"systemd does not start here: {error}") from None
        cls.there.run("cd /opt/from\n" + "\n".join(f"{step} >&2" for step in steps("systemd")))
        cls.waits(r"^For a link that signs a browser in: ")
        cls.waits(r"  ready ")
        cls.key = cls.there.run("cat /var/lib/yaa/key").strip()

    @classmethod
    def waits(cls, pattern: str, times: int = 1) -> re.Match[str]:
        """For a line of the journal."""
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            said = cls.there.run("journalctl -u yaa --no-pager -o cat")
            if len(found := list(re.finditer(pattern, said, re.M))) >= times:
                return found[-1]
            time.sleep(0.2)
        raise AssertionError(f"no {pattern} in {said}")

    def ask(self, path: str, body: Json | None = None) -> Json:
        data = json.dumps(body) if body else ""
        done = self.there.run(f"python3 -c '{ASK}' '{self.key}' {path} '{data}'")
        found: Json = json.loads(done)
        return found

    def tool(self, session: str, command: str) -> str:
        """What the shell of a session prints."""
        user = {"role": "user", "content": f"shell {command}"}
        config = {"tool": {"shell": {"auto_approve": True}}}
        found = self.ask("/session", {"id": session, "messages": [user], "config": config})
        self.assertEqual(found["status"], "completed")
        (result,) = [m["content"] for m in found["messages"] if m["role"] == "tool"]
        return str(result)

    def shown(self, name: str) -> str:
        return self.there.run(f"systemctl show yaa --property {name} --value").strip()

    def test_1_it_serves_with_the_strongest_sandbox(self) -> None:
        self.assertEqual(self.ask("/info")["sandbox"]["tier"], "A")
        self.assertIn("8 9", self.tool("s1", "seq 8 9 | xargs echo"))
        self.assertIn("denied", self.tool("s2", "cat /var/lib/yaa/api_key 2>&1 || echo denied"))

    def test_2_it_runs_as_its_user_who_may_change_nothing_else(self) -> None:
        pid = self.shown("MainPID")
        uid = self.there.run("id -u yaa").strip()
        status = self.there.run(f"cat /proc/{pid}/status")
        self.assertRegex(status, rf"Uid:\t{uid}\t{uid}\t{uid}")
        for name, wanted in (("NoNewPrivs", "1"), ("CapEff", "0" * 16), ("CapBnd", "0" * 16)):
            self.assertRegex(status, rf"{name}:\t{wanted}\n")
        # In its own mount namespace, with root's rights: what is read-only is so for everybody.
        for place in ("/etc", "/usr", "/opt/yaa", "/var/log"):
            done = self.there.run(
                f"nsenter -t {pid} -m touch {place}/x 2>&1 && echo written || echo kept out"
            )
            self.assertIn("Read-only", done)
        self.assertEqual(self.there.run("stat -c %U:%a /var/lib/yaa").strip(), "yaa:700")
        rated = self.there.run("systemd-analyze security yaa --no-pager")
        found = re.search(r"exposure level for yaa\.service: ([0-9.]+)", rated)
        assert found, rated
        self.assertLessEqual(float(found[1]), MOST_EXPOSED)

    def test_3_killed_it_comes_back_with_its_key(self) -> None:
        self.there.run(f"kill -9 {self.shown('MainPID')}")
        self.waits(r"  ready ", times=2)
        self.assertEqual(self.shown("NRestarts"), "1")
        self.assertEqual(self.ask("/info")["sandbox"]["tier"], "A")

    def test_4_stopped_it_leaves_nothing_behind(self) -> None:
        """Not even half of a call: a tool that has begun may end."""
        body = json.dumps(
            {
                "id": "s4",
                "messages": [{"role": "user", "content": "shell sleep 2; echo done > ended"}],
                "config": {"tool": {"shell": {"auto_approve": True}}},
            }
        )
        self.there.run(
            f"python3 -c '{ASK}' '{self.key}' /session '{body}' > /tmp/answer 2>&1 &\n"
            "until pgrep -f '^sleep 2' > /dev/null; do sleep 0.1; done\n"
            "systemctl stop yaa"
        )
        self.assertEqual((self.shown("ActiveState"), self.shown("Result")), ("inactive", "success"))
        self.assertEqual(self.there.run("cat /var/lib/yaa/workspaces/*/ended"), "done\n")
        self.assertEqual(self.there.run("pgrep -u yaa || echo nobody").strip(), "nobody")

    def test_5_what_cannot_be_used_is_not_tried_again_and_again(self) -> None:
        config = "/var/lib/yaa/config.json"
        self.there.run(
            f'echo \'{{"server": {{"port": "x"}}}}\' > {config}\nsystemctl start yaa\n'
            "until systemctl is-failed yaa > /dev/null; do sleep 0.1; done"
        )
        self.waits('server.port is "x"')
        self.assertEqual((self.shown("ExecMainStatus"), self.shown("NRestarts")), ("2", "0"))
        self.there.run(
            f"rm {config}\nsystemctl reset-failed yaa\n"
            "python3 -m http.server --bind 127.0.0.1 12345 > /dev/null 2>&1 &\n"
            "echo $! > /tmp/other\n"
            "until bash -c '< /dev/tcp/127.0.0.1/12345' 2> /dev/null; do sleep 0.1; done\n"
            "systemctl start yaa"
        )
        self.waits("is in use", times=2)  # another program may give it back
        self.there.run("kill $(cat /tmp/other)")
        self.waits("  ready ", times=3)

    def test_6_a_new_version_is_tried_with_the_settings_there_are(self) -> None:
        main = {"preset": "openai", "api_key": "${SOME_KEY}", "model_name": "gpt-x"}
        config = {"server": {"providers": {"main": main}}}
        said = self.there.run(
            f"echo '{json.dumps(config)}' > /var/lib/yaa/config.json\n"
            "echo SOME_KEY=canary > /etc/yaa/env\ncd /opt/from\n"
            + "\n".join(f"{step} 2>&1" for step in steps("A new version"))
        )
        self.assertIn("main: gpt-x, the default", said)
        self.assertIn("The configuration can be used.", said)
        self.waits("  ready ", times=4)


if __name__ == "__main__":
    unittest.main()
