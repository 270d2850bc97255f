"""What the doctor finds: on this machine as a process, and on machines that lack things."""

from __future__ import annotations

import socket
import subprocess
import sys
import tempfile
import unittest
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from server.extensions import present
from server.extensions.doctor import checks as doctor
from server.extensions.parts import MISSING, NOTE, OFF, OK, CheckResult

from ...http.test_tls import pair
from ...test_main import SECONDS, Case
from ...tooling import forks
from ...tooling.child import Child

setUpModule = forks.use


class Healthy(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"status": "ok", "version": "7"}')

    def log_message(self, *args: object) -> None:
        pass


class Here(Case):
    def test_a_language_that_lacks_the_words(self) -> None:
        said = self.yaa("doctor", env={"PYTHONIOENCODING": "latin-1"})
        self.assertIn("\\u2192", said.stdout)

    def test_it_is_named_to_act(self) -> None:
        done = self.yaa("--bare", "doctor")
        text = "yaa: doctor needs the extension doctor, which server.extensions leaves out\n"
        self.assertEqual((done.returncode, done.stdout, done.stderr), (2, "", text))

    def test_a_newcomer_learns_what_to_do(self) -> None:
        self.home.mkdir(mode=0o700)
        for file, text in (("agents/odd.json", '{"tools": ["shel"]}'), ("hooks/odd.py", "x x")):
            (self.home / file).parent.mkdir(mode=0o700)
            (self.home / file).write_text(text)
        with socket.create_server(("127.0.0.1", 0)) as other:
            port = str(other.getsockname()[1])
            done = self.yaa("doctor", env={"YAA_PORT": port})
        self.assertEqual((done.returncode, done.stderr), (1, ""))
        odd = r"missing +agents +agents/odd\.json: /tools: there is no tool 'shel'"
        for pattern in (
            r"ok +python +3\.",
            r"ok +home",
            r"missing +model +none found",
            r"Connect a model in its page, set OPENAI_API_KEY",
            rf"missing +address +127\.0\.0\.1, port {port}: Address already in use",
            r"→ another port",
            r"ok +disk +\d+(\.\d GB| MB) free",
            r"ok +disk +0 MB taken by the workspaces of sessions",
            r"(ok|note|missing) +sandbox",
            *([odd] if "agents" in present() else []),
            r"missing +hooks +hooks/odd\.py: ",
            r"4 missing" if "agents" in present() else "3 missing",
        ):
            self.assertRegex(done.stdout, pattern)

    def test_nothing_is_missing(self) -> None:
        self.home.mkdir(mode=0o755)
        env = {"YAA_PROVIDER_API_URL": "http://127.0.0.1:9/v1", "YAA_PROVIDER_MODEL_NAME": "m"}
        env |= {"YAA_PORT": "0", "YAA_HOST": "0.0.0.0", "YAA_SERVER__SANDBOX__REQUIRE": "none"}
        env["YAA_PROVIDER_API_KEY"] = "canary-of-doctor"
        done = self.yaa("doctor", env=env)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"ok +model +main: m, the default")
        self.assertRegex(done.stdout, rf"note +home +{self.home} is open to other users")
        self.assertRegex(done.stdout, r"note +https +off")
        self.assertIn("Everything works; the notes", done.stdout)
        self.assertNotIn("canary-of-doctor", done.stdout)

    def test_workspaces_that_cannot_be_measured(self) -> None:
        (self.home / "workspaces").mkdir(parents=True)
        empty = self.folder / "programs"
        empty.mkdir()
        done = self.yaa("doctor", env={"PATH": str(empty), "YAA_PORT": "0"})
        self.assertRegex(done.stdout, r"note +disk +the workspaces in .* could not be measured")

    def test_where_yaa_serves_already_nothing_is_missing(self) -> None:
        cert, key = pair(self.folder, "own")
        env = {"YAA_PROVIDER_API_URL": "http://127.0.0.1:9/v1", "YAA_PROVIDER_MODEL_NAME": "m"}
        env |= {"YAA_SERVER__SANDBOX__REQUIRE": "none"}
        for tls in ((), ("--cert", str(cert), "--key", str(key))):
            with self.subTest(tls=tls):
                command = self.command("--host", "0.0.0.0", "--port", "0", *tls)
                yaa = Child(command, env=self.env | env)
                self.addCleanup(yaa.kill)
                port = yaa.wait_for(r"127\.0\.0\.1:(\d+)/$", SECONDS)[1]
                env |= {"YAA_PORT": port, "YAA_HOST": "0.0.0.0"}
                if tls:
                    env |= {"YAA_SERVER__TLS__CERT": str(cert), "YAA_SERVER__TLS__KEY": str(key)}
                done = self.yaa("doctor", env=env)
                self.assertEqual(done.returncode, 0, done.stdout)
                self.assertRegex(done.stdout, rf"ok +address +0\.0\.0\.0, port {port}: yaa \d")

    def test_another_program_with_a_version_serves_there(self) -> None:
        with HTTPServer(("127.0.0.1", 0), Healthy) as other:
            answering = Thread(target=other.handle_request)
            answering.start()
            done = self.yaa("doctor", env={"YAA_PORT": str(other.server_port)})
            answering.join()
        self.assertRegex(done.stdout, r"missing +address +.*: Address already in use")

    def test_a_configuration_that_cannot_be_used(self) -> None:
        done = self.yaa("doctor", env={"YAA_SERVER__TLS__CERT": "/nowhere"})
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("/nowhere: No such file", done.stderr)


class Elsewhere(unittest.TestCase):
    def sandbox(self, setting: dict[str, str], **told: Any) -> list[CheckResult]:
        known = {"tier": "A", "require": "B", "withheld": [], "tried": {}} | told
        return list(doctor._sandbox(known, lambda name: setting.get(name, "")))

    def test_sandboxes(self) -> None:
        self.assertEqual([f.mark for f in self.sandbox({})], [OK])
        poor = self.sandbox({}, tier="B", tried={"A": "no user namespace"})
        in_a_container = NOTE if poor[1].step else OFF
        self.assertEqual([f.mark for f in poor], [OK, in_a_container])
        self.assertIn("not A: no user namespace", poor[1].text)
        none = self.sandbox({}, tier="C", withheld=["shell"])
        self.assertEqual(none[0].mark, MISSING)
        for setting, value, step in (
            ("kernel/apparmor_restrict_unprivileged_userns", "1", "userns=0"),
            ("kernel/unprivileged_userns_clone", "0", "unprivileged_userns_clone=1"),
            ("user/max_user_namespaces", "0", "max_user_namespaces=15000"),
        ):
            with self.subTest(setting=setting):
                found = self.sandbox({setting: value}, tier="B", tried={"A": "EPERM"})
                self.assertEqual(found[1].mark, NOTE)
                self.assertIn(f"sysctl -w {setting.split('/')[0]}.", found[1].step)
                self.assertTrue(found[1].step.endswith(step), found[1].step)

    def test_the_room_that_workspaces_take(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            inner = Path(folder, "a b", "deep")
            inner.mkdir(parents=True)
            (inner / "file").write_bytes(bytes(3 << 20))
            (inner / "link").symlink_to("/")
            text = "3 MB taken by the workspaces of sessions, which have no limit together"
            (found,) = doctor._workspaces(Path(folder))
            self.assertEqual((found.mark, found.text), (OK, text))
            (found,) = doctor._workspaces(Path(folder), much=1 << 20)
            self.assertEqual((found.mark, found.text), (NOTE, text))
            self.assertIn(f"find {folder} -mindepth 1 ", found.step)

    def test_files_that_can_still_be_made(self) -> None:
        for free, most, said in ((10**7, 10**8, ""), (300_000, 10**8, "300000 more"), (0, 0, "")):
            with self.subTest(free=free, most=most):
                found = [each.text for each in doctor._files_left(free, most)]
                self.assertTrue(found[0].startswith(said) if said else not found, found)

    def test_a_workspace_as_deep_as_a_tool_likes(self) -> None:
        """Deeper than Python's stack, and longer than any path may be."""
        with tempfile.TemporaryDirectory() as folder:
            made = 'import os\nfor _ in range(3000):\n    os.mkdir("d")\n    os.chdir("d")'
            subprocess.run([sys.executable, "-c", made], cwd=folder, check=True)
            (found,) = doctor._workspaces(Path(folder))
            self.assertEqual(found.mark, OK)
            subprocess.run(["rm", "-rf", f"{folder}/d"], check=True)

    def test_the_last_line(self) -> None:
        for marks, said in (
            ([OK], "Everything works."),
            ([OK, OFF], "Everything works."),
            ([OK, NOTE], "Everything works; the notes"),
            ([MISSING, NOTE, MISSING], "2 missing."),
        ):
            found = [CheckResult(mark, "x", "text", "step") for mark in marks]
            *_, last = doctor.lines(found)
            self.assertTrue(last.startswith(said), last)


if __name__ == "__main__":
    unittest.main()
