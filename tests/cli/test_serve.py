"""A server whose agent is held back: what it answers meanwhile, what waits, and how it ends."""

from __future__ import annotations

import os
import pty
import select
import socket
import subprocess
import sys
import unittest
from urllib.parse import urlsplit

from server.cli.serve import connections_that_fit

from ..extensions import needs
from ..test_main import SECONDS, Case
from ..tooling.api import Api
from ..tooling.child import Child
from ..tooling.tools import ROOT

# The server, where importing its agent begins with {word}.
HELD = """
import sys
from importlib.abc import MetaPathFinder

class Held(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "server.app":
            print("the agent is wanted", flush=True)
            {word}

sys.meta_path.insert(0, Held())
from server.__main__ import main
sys.exit(main(sys.argv[1:]))
"""
TELLS, WAITS = "pass", "sys.stdin.readline()"
FAILS = "raise ImportError('half of it is missing')"
# The server, told to stop {turns} turns of its loop before its agent is open.
STOPPED = """
import asyncio, os, signal, sys
from server.__main__ import main
from server.app import App

class Opened(App):
    async def open(self):
        await super().open()
        os.kill(os.getpid(), signal.SIGTERM)
        for turn in range({turns}):
            await asyncio.sleep(0)

sys.modules["server.app"].App = Opened
sys.exit(main(sys.argv[1:]))
"""
# A browser that returns only when it is closed.
BROWSER = """#!{python}
import http.client, sys, threading
from urllib.parse import urlsplit
place = urlsplit(sys.argv[1])
peer = http.client.HTTPConnection(place.hostname, place.port, timeout=5)
peer.request("GET", place.path)
print("the browser got", peer.getresponse().status, "for", place.path, flush=True)
threading.Event().wait()
"""
LINK = r"^(http://127\.0\.0\.1:\d+)/#code=(\S+)$"


class BeforeTheAgent(Case):
    def held(self, word: str, *arguments: str) -> Child:
        command = [sys.executable, "-W", "error", "-c", HELD.format(word=word), "--port", "0"]
        child = Child([*command, "--print-link", *arguments], keep_input=True, env=self.env)
        self.addCleanup(child.kill)
        return child

    def key(self) -> str:
        return (self.home / "key").read_text().strip()

    def asked(self, url: str, path: str, key: str) -> socket.socket:
        """A connection on which a request was sent."""
        place = urlsplit(url)
        peer = socket.create_connection((place.hostname, place.port), SECONDS)
        self.addCleanup(peer.close)
        head = f"GET {path} HTTP/1.1\r\nHost: {place.netloc}\r\nConnection: close\r\n"
        peer.sendall(f"{head}Authorization: Bearer {key}\r\n\r\n".encode())
        return peer

    def test_the_page_is_there_and_the_rest_waits(self) -> None:
        child = self.held(WAITS)
        link = child.wait_for(LINK, SECONDS)
        child.wait_for("the agent is wanted", SECONDS)
        waiting = {
            (path, status): self.asked(link[1], path, key)
            for path, key, status in (
                ("/info", self.key(), b"200"),
                ("/info", "wrong", b"401"),
                ("/no/such/file.js", self.key(), b"404"),
            )
        }
        for path, word in (("/health", b"starting"), ("/", b"<html"), ("/js/kernel.js", b"yaa")):
            with self.subTest(path):
                with self.asked(link[1], path, "").makefile("rb") as answer:
                    self.assertIn(b" 200 ", answer.readline())
                    self.assertIn(word, answer.read())
        self.assertEqual(select.select(list(waiting.values()), [], [], 0)[0], [])
        assert child.process.stdin is not None
        child.process.stdin.write("\n")
        child.process.stdin.flush()
        for (path, status), peer in waiting.items():
            with self.subTest(path, status=status), peer.makefile("rb") as answer:
                self.assertIn(status, answer.readline())
        child.wait_for(r"^  ready ", SECONDS)
        self.assertEqual(Api(link[1]).request("GET", "/health")[1]["status"], "ok")
        self.assertEqual(child.stop(), 0)

    def test_workers_get_it_from_their_parent(self) -> None:
        child = self.held(TELLS, "--workers", "2")
        child.wait_for(r"^  ready ", SECONDS)
        self.assertEqual(child.stop(), 0)
        self.assertEqual(child.output.count("the agent is wanted"), 1)

    def test_a_stop_is_heard_in_whatever_turn_it_comes(self) -> None:
        for turns in (2, 4):
            with self.subTest(turns=turns):
                program = STOPPED.format(turns=turns)
                command = [sys.executable, "-W", "error", "-c", program, "--port", "0"]
                child = Child(command, env=self.env)
                self.addCleanup(child.kill)
                self.assertEqual(child.process.wait(SECONDS), 0)

    def test_an_agent_that_cannot_be_imported_ends_it(self) -> None:
        child = self.held(FAILS)
        child.wait_for(LINK, SECONDS)
        child.wait_for("ImportError: half of it is missing", SECONDS)
        self.assertEqual(child.process.wait(SECONDS), 1)

    def test_a_mistake_that_only_the_agent_sees_is_one_line(self) -> None:
        for env, said in (
            ({"YAA_SANDBOX_FORCE": "Z"}, "YAA_SANDBOX_FORCE is Z"),
            ({"YAA_PROVIDER_PRESET": "opneai"}, "did you mean openai?"),
        ):
            for workers in ("1", "2"):
                with self.subTest(said, workers=workers):
                    done = self.yaa("--port", "0", "--workers", workers, env=env)
                    self.assertEqual(done.returncode, 2)
                    self.assertIn(said, done.stderr)

    def test_a_browser_that_holds_on_gets_the_page(self) -> None:
        """As one on the terminal does, and a first window that ends with its program."""
        browser = self.folder / "browser"
        browser.write_text(BROWSER.format(python=sys.executable))
        browser.chmod(0o755)
        command = [sys.executable, "-W", "error", "-m", "server", "--port", "0", "--open"]
        child = Child(command, env=self.env | {"BROWSER": str(browser)})
        self.addCleanup(child.kill)
        child.wait_for("the browser got 200 for /", SECONDS)
        child.wait_for(r"^  ready ", SECONDS)
        self.assertEqual(child.stop(), 0)

    def test_a_browser_is_opened_where_a_person_sits(self) -> None:
        environments: list[tuple[dict[str, str], bool]] = [
            ({"DISPLAY": ":0"}, True),
            ({"WAYLAND_DISPLAY": "wayland-0"}, True),
            ({}, sys.platform == "darwin"),
            ({"DISPLAY": ":0", "SSH_CONNECTION": "a 1 b 2"}, False),
            ({"DISPLAY": ":0", "SSH_TTY": "/dev/pts/1"}, False),
            ({"DISPLAY": ":0", "CI": "true"}, False),
        ]
        asked = [env for env, _ in environments]
        program = (
            "import sys; from server.cli.serve import is_desk;"
            f"print(*(is_desk(env) for env in {asked!r}))"
        )
        command = [sys.executable, "-c", program]
        ours, theirs = pty.openpty()
        with os.fdopen(ours, "rb", buffering=0) as terminal:
            subprocess.run(command, cwd=ROOT, check=True, stdin=theirs, stdout=theirs)
            said = terminal.read(1000).decode().split()
            os.close(theirs)
        self.assertEqual(said, [str(wanted) for _, wanted in environments])
        piped = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
        self.assertEqual(set(piped.stdout.split()), {"False"})

    @needs("mcp")
    def test_who_waits_for_an_agent_is_not_waited_for(self) -> None:
        command = [sys.executable, "-c", "import sys; sys.stdin.read()"]
        silent = {"command": command[0], "args": command[1:]}
        server = {"mcpServers": {"silent": silent}, "limits": {"disconnect_grace_s": 1000}}
        file = self.config({"server": server})
        command = [sys.executable, "-W", "error", "-m", "server", "--port", "0"]
        child = Child([*command, "--print-link", "--config", str(file)], env=self.env)
        self.addCleanup(child.kill)
        link = child.wait_for(LINK, SECONDS)
        waiting = self.asked(link[1], "/info", self.key())
        self.assertEqual(Api(link[1]).request("GET", "/health")[0], 200)
        child.process.terminate()
        with waiting.makefile("rb") as answer:
            self.assertIn(b" 503 ", answer.readline())
        self.assertEqual(child.process.wait(SECONDS), 0)

    def test_the_door_opens_without_what_an_agent_is_made_of(self) -> None:
        program = "import sys, server.__main__; print(*sys.modules)"
        command = [sys.executable, "-c", program]
        said = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
        loaded = set(said.split())
        self.assertIn("server.cli.serve", loaded)
        for name in (
            *("app", "agent", "cli.commands", "context", "models", "tools", "extensions.parts"),
            *("session.schema", "session.accept", "session.fold", "schema.validate"),
        ):
            self.assertNotIn(f"server.{name}", loaded)

    def test_an_agent_is_made_without_what_is_slow_to_import_and_rarely_used(self) -> None:
        program = (
            "import sys, server.app; from server.extensions import load_each;"
            " load_each('parts'); print(*sys.modules)"
        )
        command = [sys.executable, "-c", program]
        said = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
        loaded = set(said.split())
        self.assertIn("server.extensions.parts", loaded)
        slow = {"email.message", "smtplib", "unittest", "uuid", "webbrowser", "xml", "zoneinfo"}
        self.assertEqual(slow & loaded, set())


class OpenFiles(unittest.TestCase):
    def test_the_soft_limit_is_raised_as_far_as_it_may(self) -> None:
        program = (
            "import resource, sys; from server.cli.serve import allow_files;"
            " resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[1]), 1000));"
            " allow_files({'max_connections': int(sys.argv[2])});"
            " print(resource.getrlimit(resource.RLIMIT_NOFILE))"
        )
        for soft, connections, now in ((200, 100, 456), (200, 5000, 1000), (900, 100, 900)):
            with self.subTest(soft=soft, connections=connections):
                command = [sys.executable, "-c", program, str(soft), str(connections)]
                said = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
                self.assertEqual(said.stdout.strip(), f"({now}, 1000)")

    def test_connections_and_tools_fit_below_what_was_got(self) -> None:
        for wanted, files, most in (
            *((1024, 2304, 1024), (1024, 1024, 384), (1024, 256, 64), (1024, 4, 1)),
            *((100, 1024, 100), (1, 3, 1), (1_000_000, 1_048_576, 524_160)),
        ):
            with self.subTest(wanted=wanted, files=files):
                fit = connections_that_fit({"max_connections": wanted}, files)
                self.assertEqual(fit, most)
                self.assertLess(fit, max(files, 2))


if __name__ == "__main__":
    unittest.main()
