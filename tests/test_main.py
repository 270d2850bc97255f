"""The command line, as processes: start, stop, check, filter, talk, and every way to fail."""

from __future__ import annotations

import http.client
import itertools
import json
import os
import pty
import re
import select
import shutil
import signal
import socket
import ssl
import stat
import subprocess
import sys
import tempfile
import time
import unittest
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from server.extensions import present

from . import golden
from .extensions import needs
from .http.test_tls import pair
from .tooling import forks, patience, turns
from .tooling.api import Api
from .tooling.child import Child, Yaa

setUpModule = forks.use
ROOT = Path(__file__).resolve().parents[1]
SECONDS = 30
LINK = r"^(http://127\.0\.0\.1:\d+)/#code=([\w-]{24})$"
QUIET = {"server": {"discover": False}}


def session(text: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}]}


class Case(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.home = self.folder / "home"
        self.env = {
            name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")
        } | {"YAA_HOME": str(self.home), "YAA_SERVER__DISCOVER": "false"}

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-W", "error", "-m", "server", *arguments]

    def yaa(
        self, *arguments: str, give: str | bytes = "", env: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        variables = self.env | (env or {})
        done = forks.run(
            self.command(*arguments), variables, give, timeout=patience.seconds(SECONDS)
        )
        self.assertNotIn("Traceback", done.stderr)
        return done

    def config(self, value: Any) -> Path:
        file = self.folder / "config.json"
        file.write_text(value if isinstance(value, str) else json.dumps(value))
        return file


class Checking(Case):
    def test_a_good_configuration(self) -> None:
        done = self.yaa("--check")
        self.assertEqual(done.returncode, 0, done.stderr)
        for word in ("demo", "no AI", "sandbox", str(self.home), "can be used"):
            self.assertIn(word, done.stdout)

    @needs("vendors")
    def test_models_are_named_and_keys_are_not(self) -> None:
        main = {"preset": "openai", "api_key": "${SECRET}", "model_name": "gpt-x"}
        file = self.config({"server": {"providers": {"main": main}}})
        done = self.yaa("--check", "--config", str(file), env={"SECRET": "canary-key"})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("main: gpt-x, the default", done.stdout)
        self.assertNotIn("no AI", done.stdout)
        self.assertNotIn("canary-key", done.stdout + done.stderr)

    def test_a_tool_that_cannot_be_loaded_is_said(self) -> None:
        (self.home / "tools").mkdir(parents=True)
        (self.home / "tools" / "broken.py").write_text("def (:\n")
        (self.home / "tools" / "fine.py").write_text(
            "from yaa import tool\n\n\n@tool\ndef double(n: int) -> int:\n"
            '    """Twice as much."""\n    return 2 * n\n'
        )
        done = self.yaa("--check", env={"YAA_LOG_LEVEL": "error"})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("double", done.stdout)
        self.assertRegex(done.stdout, r"problem\s+tools/broken\.py: ")

    @needs("vendors")
    def test_mistakes_are_one_line_each_and_golden(self) -> None:
        file, said = self.config({"server": {"prot": 1, "host": 5}}), []
        for arguments, env in (
            (["--config", str(file)], {}),
            (["--config", str(self.folder / "none")], {}),
            ([], {"YAA_CONFIG": str(file)}),
            ([], {"YAA_PORT": "x"}),
            (["--port", "70000"], {}),
            (["--host", "0.0.0.0"], {"YAA_SERVER__AUTH_REQUIRED": "0"}),
            ([], {"YAA_SANDBOX_FORCE": "Z"}),
            ([], {"YAA_PROVIDER_PRESET": "opneai"}),
        ):
            for command in ("--check", "run"):
                if command == "run" and arguments[:1] in (["--port"], ["--host"]):
                    continue
                with self.subTest(arguments=arguments, env=env, command=command):
                    done = self.yaa(command, *arguments, env=env, give="{}")
                    self.assertEqual((done.returncode, done.stdout), (2, ""))
                    lines = done.stderr.splitlines()
                    self.assertTrue(all(line.startswith("yaa: ") for line in lines), lines)
                    typed = [*(f"{name}={value}" for name, value in env.items()), "yaa", command]
                    said += [" ".join(["$", *typed, *arguments]), *lines, ""]
        golden.hold(self, "mistakes", "\n".join(said).replace(str(self.folder), "FOLDER"))

    def test_as_a_folder_it_says_how_it_is_started(self) -> None:
        done = subprocess.run(
            [sys.executable, "server"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=patience.seconds(SECONDS),
        )
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, r"^yaa: start it with python3 -m server, [^\n]*\n$")

    def test_variables_that_end_in_a_line_break(self) -> None:
        """As in files from Windows, and in a cluster's secrets."""
        file = self.config({"server": {"log": {"level": "${LEVEL}"}}})
        env = {"LEVEL": "debug\n", "YAA_SERVER__SANDBOX__REQUIRE": "none\r\n"}
        done = self.yaa("--check", "--config", str(file), env=env)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_options_hold_before_and_after_the_command(self) -> None:
        file = self.config({"server": {"nope": 1}})
        for arguments in (["--config", str(file), "run"], ["run", "--config", str(file)]):
            self.assertEqual(self.yaa(*arguments, give="{}").returncode, 2)


@turns.tests(2)
class Serving(Case):
    def start(self, *arguments: str, env: dict[str, str] | None = None) -> Child:
        asked = ("--port", "0", "--print-link", *arguments)
        child = Child(self.command(*asked), env=self.env | (env or {}))
        self.addCleanup(child.stop)
        return child

    def test_first_start_makes_a_key_and_later_ones_use_it(self) -> None:
        links = []
        for _ in range(2):
            child = self.start()
            link = child.wait_for(LINK, SECONDS)
            child.wait_for(r"^It can be used once, within 10 minutes\. Another one: ", SECONDS)
            links.append(link)
            status, signed = Api(link[1]).request("POST", "/sign-in", {"code": link[2]})
            self.assertEqual((status, signed["name"]), (200, "home"))
            self.assertEqual((self.home / "key").read_text().strip(), signed["key"])
            self.assertEqual(child.stop(), 0)
        self.assertNotEqual(links[0][2], links[1][2])
        self.assertEqual(stat.S_IMODE((self.home / "key").stat().st_mode), 0o600)
        self.assertEqual(stat.S_IMODE(self.home.stat().st_mode), 0o700)

    def test_the_key_is_printed_only_to_a_terminal_or_when_asked_for(self) -> None:
        for workers in ("1", "2"):
            child = Child(self.command("--port", "0", "--workers", workers), env=self.env)
            self.addCleanup(child.stop)
            link = child.wait_for(r"^(http://127\.0\.0\.1:\d+)/$", SECONDS)
            child.wait_for(r"^  ready ", SECONDS)
            key = (self.home / "key").read_text().strip()
            self.assertEqual(Api(link[1], key).request("GET", "/info")[0], 200)
            self.assertEqual(child.stop(), 0)
            self.assertIn(
                "For a link that signs a browser in: python3 -m server link", child.output
            )
            self.assertNotIn(key, child.output)
            self.assertNotIn("#code=", child.output)

        with self.at_terminal(ROOT) as said:
            self.assertRegex(said, r"/#code=\S+\s")
            self.assertNotIn(key, said)
            self.assertNotIn("For a link that signs", said)

    @contextmanager
    def at_terminal(self, folder: Path) -> Iterator[str]:
        """Start a server in a folder, and yield what it has printed with its link."""
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        env = self.env | {"PYTHONPATH": str(ROOT), "HOME": str(self.folder)}
        command = [sys.executable, "-P", "-m", "server", "--port", "0", "--no-open"]
        process = subprocess.Popen(
            command, cwd=folder, env=env, stdin=theirs, stdout=theirs, stderr=theirs
        )
        os.close(theirs)
        said, deadline = "", time.monotonic() + patience.seconds(SECONDS)
        while not re.search(r"#code=\S+\s", said) and time.monotonic() < deadline:
            if select.select([ours], [], [], 1)[0]:
                said += os.read(ours, 4096).decode()
        try:
            yield said
        finally:
            process.terminate()
            process.wait(patience.seconds(SECONDS))

    def test_the_folder_that_it_is_started_in_is_offered_to_the_page(self) -> None:
        """As a copy, to a person at a terminal, whose own keys are the only ones."""
        project = self.folder / "my project"
        project.mkdir()
        project.chmod(0o777)  # if tools run as another user, changes are applied by that one
        self.home.mkdir(mode=0o700)
        other = {"providers": {}, "folders": {"my project": {"path": "/srv", "mode": "read"}}}
        keys = {"api_keys": ["canary-key-1-long"], "home_key": True}
        about = {"name": "my project", "mode": "overlay", "available": True}
        for folder, server, offered in (
            (project, {}, [about]),
            (self.folder, {}, []),  # the person's home
            (ROOT, {}, []),  # yaa itself
            (project, keys, []),  # others would have it, too
            (project, other, None),  # the name is another folder's
        ):
            (self.home / "config.json").write_text(json.dumps({"server": server}))
            with self.subTest(folder, server=server), self.at_terminal(folder) as said:
                link = re.search(r"(http://127\.0\.0\.1:\d+)/(\S*)#code=(\S+)", said)
                assert link, said
                self.assertEqual(link[2], "?folder=my%20project" if offered else "")
                _, signed = Api(link[1]).request("POST", "/sign-in", {"code": link[3]})
                _, info = Api(link[1], signed["key"]).request("GET", "/info")
                if offered is not None:
                    self.assertEqual(info["folders"], offered)
                if "settings" in present():
                    status, found = Api(link[1], signed["key"]).request("GET", "/settings/folders")
                    roots = [] if server is keys else [str(folder.resolve())]
                    self.assertEqual((status, found["folders"]), (200, roots))
                self.assertEqual(list(project.iterdir()), [])

    def test_the_command_that_prints_a_link(self) -> None:
        said = self.yaa("link")
        self.assertEqual((said.returncode, said.stdout), (1, ""))
        self.assertIn(f"no server runs with the home folder {self.home}", said.stderr)
        for workers in ("1", "2"):
            child = Child(self.command("--port", "0", "--workers", workers), env=self.env)
            self.addCleanup(child.stop)
            place = child.wait_for(r"^(http://127\.0\.0\.1:\d+)/$", SECONDS)
            child.wait_for(r"^  ready ", SECONDS)
            found = [re.search(LINK, self.yaa("link").stdout, re.M) for _ in range(2)]
            self.assertEqual([each and each[1] for each in found], [place[1]] * 2)
            codes = [each[2] for each in found if each]
            self.assertNotEqual(*codes)
            api = Api(place[1])
            for code in codes:
                self.assertEqual(api.request("POST", "/sign-in", {"code": code})[0], 200)
                self.assertEqual(api.request("POST", "/sign-in", {"code": code})[0], 410)
            child.kill()  # it cannot remove its record
        self.assertEqual(self.yaa("link").returncode, 1)
        self.assertEqual(list((self.home / "serving").iterdir()), [])

    def test_a_configured_key_is_not_printed(self) -> None:
        file = self.config(QUIET | {"server": {"api_keys": ["canary-key-1-long"]}})
        child = self.start("--config", str(file))
        link = child.wait_for(r"^(http://127\.0\.0\.1:\d+)/$", SECONDS)
        self.assertEqual(Api(link[1], "canary-key-1-long").request("GET", "/info")[0], 200)
        self.assertEqual(Api(link[1], "wrong").request("GET", "/info")[0], 401)
        child.stop()
        self.assertNotIn("canary-key-1-long", child.output)
        self.assertFalse((self.home / "key").exists())

    @unittest.skipUnless(shutil.which("openssl"), "needs openssl to make a certificate")
    def test_https(self) -> None:
        cert, key = pair(self.folder, "own")
        child = self.start("--cert", str(cert), "--key", str(key))
        link = child.wait_for(r"^https://127\.0\.0\.1:(\d+)/#code=(\S+)$", SECONDS)
        made = (self.home / "key").read_text().strip()
        context = ssl.create_default_context(cafile=str(cert))
        client = http.client.HTTPSConnection("localhost", int(link[1]), context=context)
        self.addCleanup(client.close)
        client.request("GET", "/info", headers={"Authorization": f"Bearer {made}"})
        self.assertEqual(client.getresponse().status, 200)
        self.assertEqual(child.stop(), 0)
        refused = self.yaa("--port", "0", "--cert", str(key), "--key", str(cert))
        self.assertEqual(refused.returncode, 2)
        self.assertIn("no certificate and key in PEM", refused.stderr)

    def test_no_key_on_loopback_if_the_owner_says_so(self) -> None:
        child = self.start(env={"YAA_SERVER__AUTH_REQUIRED": "false"})
        link = child.wait_for(r"^(http://127\.0\.0\.1:\d+)/$", SECONDS)
        api = Api(link[1])
        self.assertEqual(api.request("GET", "/info")[0], 200)
        child.wait_for(
            r"^No key is needed: every user and program of this machine can use", SECONDS
        )
        for origin, status in ((link[1], 200), ("https://evil.example", 403), ("null", 403)):
            with self.subTest(origin):
                peer = http.client.HTTPConnection(
                    urlsplit(link[1]).netloc, timeout=patience.seconds(SECONDS)
                )
                self.addCleanup(peer.close)
                asked = {"Origin": origin, "Content-Type": "application/json"}
                peer.request("POST", "/session", json.dumps(session("hello")), asked)
                answer = peer.getresponse()
                self.assertEqual(answer.status, status)
                self.assertIsNone(answer.getheader("Access-Control-Allow-Origin"))

    def test_on_every_address_a_key_is_needed_and_the_link_is_for_this_machine(self) -> None:
        child = self.start("--host", "0.0.0.0")
        link = child.wait_for(LINK, SECONDS)
        self.assertEqual(Api(link[1]).request("GET", "/info")[0], 401)
        key = (self.home / "key").read_text().strip()
        self.assertEqual(Api(link[1], key).request("GET", "/info")[0], 200)

    def test_what_it_is_and_what_it_has(self) -> None:
        with Yaa(QUIET) as yaa:
            self.assertEqual(Api(yaa.url).request("GET", "/health")[1]["status"], "ok")
            self.assertEqual(Api(yaa.url).request("GET", "/info")[0], 401)
            status, info = Api(yaa.url, yaa.key).request("GET", "/info")
        self.assertEqual(status, 200)
        self.assertLessEqual(
            {
                "version",
                "agents",
                "agent_problems",
                "modes",
                "tools",
                "models",
                "sandbox",
                "limits",
                "defaults",
                "demo",
            },
            set(info),
        )
        self.assertTrue(info["demo"])
        self.assertIn(info["sandbox"]["tier"], ("A", "B", "C", "none"))
        self.assertEqual(info["sandbox"]["require"], "B")
        self.assertEqual(info["models"][-1]["name"], "demo")
        self.assertIn("config", info["defaults"])
        self.assertLessEqual({"name", "description", "parameters", "policy"}, set(info["tools"][0]))

    def slow(self) -> Path:
        """The configuration of a server that opens for a long time: an MCP server says nothing."""
        command = [sys.executable, "-c", "import sys; sys.stdin.read()"]
        silent = {"command": command[0], "args": command[1:]}
        return self.config({"server": {"discover": False, "mcpServers": {"silent": silent}}})

    @needs("mcp")
    def test_the_page_can_be_opened_while_the_server_starts(self) -> None:
        child = self.start("--config", str(self.slow()))
        link = child.wait_for(LINK, SECONDS)
        status, health = Api(link[1]).request("GET", "/health")
        self.assertEqual((status, health["status"]), (200, "starting"))
        self.assertEqual(Api(link[1], "wrong").request("GET", "/info")[0], 401)
        self.assertNotIn("ready", child.output)
        self.assertEqual(child.stop(), 0, "and it can be stopped")

    def test_a_port_in_use_says_what_to_do(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as other:
            done = self.yaa("--port", str(other.getsockname()[1]))
        self.assertEqual(done.returncode, 1, "it may be free the next time")
        self.assertIn("in use", done.stderr)
        self.assertIn("--port", done.stderr)

    def test_addresses_that_cannot_be_had(self) -> None:
        for host, codes in (
            ("192.0.2.1", [1]),  # it may be that of a network which is not up yet
            ("no.such.host.invalid", [1, 2]),  # as the name server says
            ("é..x", [2]),
            ("é" * 80, [2]),
        ):
            with self.subTest(host=host):
                done = self.yaa("--port", "0", "--host", host)
                self.assertIn(done.returncode, codes)
                self.assertIn("--host", done.stderr)

    def test_a_home_that_cannot_be_made(self) -> None:
        (self.folder / "file").write_text("")
        for command in (["--port", "0"], ["--check"], ["run"]):
            with self.subTest(command=command):
                done = self.yaa(*command, "--home", str(self.folder / "file" / "x"), give="{}")
                self.assertEqual(done.returncode, 2)
                self.assertIn("choose another with --home or YAA_HOME", done.stderr)

    def test_a_folder_that_is_gone(self) -> None:
        gone = self.folder / "gone"
        line = f'mkdir {gone} && cd {gone} && rmdir {gone} && exec "$@"'
        for arguments in (("--check", "--home", "x"), ("tools", "check", "x.py")):
            with self.subTest(arguments):
                done = subprocess.run(
                    ["sh", "-c", line, "sh", *self.command(*arguments)],
                    env=self.env | {"PYTHONPATH": str(ROOT)},
                    capture_output=True,
                    text=True,
                    timeout=patience.seconds(SECONDS),
                    check=False,
                )
                said = f"yaa: {arguments[-1]}: the current folder is gone; go to another one\n"
                self.assertEqual((done.returncode, done.stderr), (2, said))

    def test_a_key_that_cannot_be_written(self) -> None:
        command = ["sh", "-c", 'ulimit -f 0; exec "$@"', "sh", *self.command("--port", "0")]
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=self.env,
            capture_output=True,
            text=True,
            timeout=patience.seconds(SECONDS),
        )
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stderr, f"yaa: {self.home}/key: File too large\n")

    def test_a_key_file_without_a_key(self) -> None:
        self.home.mkdir()
        (self.home / "key").write_text("\n")
        done = self.yaa("--port", "0")
        self.assertEqual(done.returncode, 2)
        self.assertIn("delete it", done.stderr)


class Stopping(Case):
    def test_idle(self) -> None:
        stops = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
        for number, workers in turns.share(itertools.product(stops, (1, 2)), 3):
            config = {"server": QUIET["server"] | {"workers": workers}}
            with self.subTest(number=number, workers=workers), Yaa(config) as yaa:
                assert yaa.child is not None
                os.killpg(yaa.child.process.pid, number)  # as a terminal sends it
                self.assertEqual(yaa.child.process.wait(patience.seconds(SECONDS)), 0)

    def test_every_line_of_the_log_is_written_once(self) -> None:
        """The last ones wait for others when the signal comes; a worker is a fork."""
        rows = itertools.product((signal.SIGTERM, signal.SIGINT), (1, 2))
        for number, workers in turns.share(rows, 2):
            config = {"server": QUIET["server"] | {"workers": workers}}
            with self.subTest(number=number, workers=workers), Yaa(config) as yaa:
                assert yaa.child is not None
                api = Api(yaa.url, yaa.key)
                for asked in range(10):
                    api.request("GET", f"/line{asked}")
                yaa.child.process.send_signal(number)
                self.assertEqual(yaa.child.process.wait(patience.seconds(SECONDS)), 0)
                yaa.child.stop()  # has read all of its output
                said = yaa.child.output
                self.assertEqual([said.count(f'"/line{each}"') for each in range(10)], [1] * 10)

    def test_an_answer_is_cut_so_that_its_client_goes_on(self) -> None:
        with Yaa(QUIET) as yaa:
            assert yaa.child is not None
            with Api(yaa.url, yaa.key).stream(session("stream 1000000")) as stream:
                events = stream.events()
                for event in events:
                    if event["type"] == "TEXT_MESSAGE_CONTENT":
                        break
                yaa.child.process.send_signal(signal.SIGTERM)
                kinds = {event["type"] for event in events}
            self.assertLessEqual(kinds, {"TEXT_MESSAGE_CONTENT"}, "cut, so that its client goes on")
            self.assertEqual(yaa.child.process.wait(patience.seconds(SECONDS)), 0)

    def test_a_model_that_says_nothing_is_not_waited_for(self) -> None:
        """The document comes back as far as it came, whole frames or whole JSON."""
        with socket.create_server(("127.0.0.1", 0)) as silent:
            url = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
            main = {"api_url": url, "api_key": "k", "model_name": "m"}
            limits = {"disconnect_grace_s": 1000}
            server = {"discover": False, "providers": {"main": main}, "limits": limits}
            with Yaa({"server": server}) as yaa, ThreadPoolExecutor() as pool:
                assert yaa.child is not None
                api = Api(yaa.url, yaa.key)
                whole = pool.submit(api.run, session("hello"))
                peers = [silent.accept()[0]]
                with api.stream(session("hello")) as stream:
                    events = stream.events()
                    peers.append(silent.accept()[0])
                    yaa.child.process.send_signal(signal.SIGTERM)
                    kinds = [event["type"] for event in events]
                    self.assertEqual(stream.text[-2:], "\n\n")
                self.assertNotIn("RUN_FINISHED", kinds)
                found = whole.result(patience.seconds(SECONDS))
                self.assertEqual((found["status"], len(found["messages"])), ("in_progress", 1))
                self.assertEqual(yaa.child.process.wait(patience.seconds(SECONDS)), 0)
                for peer in peers:
                    peer.close()

    def test_under_nohup_the_end_of_the_terminal_is_nothing(self) -> None:
        for workers in ("1", "2"):
            with self.subTest(workers=workers):
                command = self.command("--port", "0", "--home", str(self.home))
                yaa = Child(["nohup", *command, "--workers", workers], env=self.env)
                self.addCleanup(yaa.kill)
                yaa.wait_for(r"ready ", SECONDS)
                os.killpg(yaa.process.pid, signal.SIGHUP)
                with self.assertRaises(subprocess.TimeoutExpired):
                    yaa.process.wait(0.5)
                yaa.process.send_signal(signal.SIGTERM)
                self.assertEqual(yaa.process.wait(patience.seconds(SECONDS)), 0)

    def test_a_second_signal_does_not_wait(self) -> None:
        slow = {"server": {"discover": False, "limits": {"disconnect_grace_s": 1000}}}
        ask = {"config": {"tool": {"shell": {"auto_approve": True}}}}
        with Yaa(slow) as yaa:
            assert yaa.child is not None
            with Api(yaa.url, yaa.key).stream(session("shell sleep 1000") | ask) as stream:
                for event in stream.events():
                    if "exec" in event.get("metadata", {}).get("yaa", {}):
                        break
                for _ in range(2):  # of a closed terminal the system tells, and then the shell
                    yaa.child.process.send_signal(signal.SIGHUP)
                    with self.assertRaises(subprocess.TimeoutExpired):
                        yaa.child.process.wait(0.5)
                yaa.child.process.send_signal(signal.SIGTERM)
                self.assertEqual(yaa.child.process.wait(patience.seconds(SECONDS)), 0)


@turns.tests(2)
class Filter(Case):
    def test_a_completed_session(self) -> None:
        done = self.yaa("run", give=json.dumps(session("calc 6*7")))
        self.assertEqual(done.returncode, 0, done.stderr)
        updated = json.loads(done.stdout)
        self.assertEqual(updated["status"], "completed")
        self.assertIn("42", json.dumps(updated["messages"]))
        again = self.yaa("run", give=done.stdout)  # nothing left to do, and nothing changes
        self.assertEqual(again.returncode, 0)
        self.assertEqual(json.loads(again.stdout)["messages"], updated["messages"])

    def test_what_is_piped_in_beside_a_question_goes_along(self) -> None:
        code = "; ".join(
            (
                "import json, sys",
                "from server.cli.console import to_run, what_to_run",
                "print(json.dumps(to_run(*what_to_run('why?', None)[:2])))",
            )
        )
        piped = '<file name="standard input">\na <\\/file> of mine\n</file>'
        parts = [{"type": "text", "text": text} for text in ("why?", piped)]
        for give, content in (("a </file> of mine\n", parts), ("", "why?")):
            with self.subTest(give):
                done = subprocess.run(
                    [sys.executable, "-c", code],
                    cwd=ROOT,
                    input=give,
                    text=True,
                    capture_output=True,
                    timeout=patience.seconds(SECONDS),
                    check=True,
                )
                (message,) = json.loads(done.stdout)["messages"]
                self.assertEqual(message["content"], content)
        done = self.yaa("run", "calc 6*7", give="a file")
        self.assertIn("standard input", done.stdout, "what the model was sent")

    def test_an_approval_answered_with_an_editor(self) -> None:
        file = self.folder / "session.json"
        file.write_text(json.dumps(session("shell echo from-the-shell")))
        waiting = self.yaa("run", str(file))
        self.assertEqual(waiting.returncode, 3, waiting.stderr)
        document = json.loads(waiting.stdout)
        (interrupt,) = document["interrupts"]
        interrupt["answer"] = {"status": "resolved", "payload": {"approved": True}}
        again = self.yaa("run", give=json.dumps(document))
        self.assertEqual(again.returncode, 3, "it may be somebody else's answer")
        self.assertIn("/interrupts/0 gives an answer in your place", again.stderr)
        self.assertEqual(json.loads(again.stdout)["calls"], document["calls"])
        done = self.yaa("run", "--trust", give=json.dumps(document))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("from-the-shell", done.stdout)

    def test_what_a_session_permits_is_left_out_and_told(self) -> None:
        file = self.folder / "session.json"
        grant = {"tool": "shell", "decision": "allow"}
        file.write_text(json.dumps({**session("shell echo from-the-shell"), "grants": [grant]}))
        for options, code, grants in (((), 3, []), (("--trust",), 0, [grant])):
            with self.subTest(options):
                done = self.yaa("run", str(file), *options)
                self.assertEqual(done.returncode, code, done.stderr)
                kept = json.loads(done.stdout)["grants"]
                for each in kept:  # noted at the first call that it let run
                    self.assertEqual(each.pop("declaration"), {"arguments": ["command"]})
                self.assertEqual(kept, grants)
                self.assertEqual("(--trust keeps it)" in done.stderr, not options)
                self.assertEqual("/grants/0" in done.stderr, not options)
        for options in ((), ("--trust",)):
            with self.subTest(options, command="chat"):
                talked = self.yaa("chat", str(file), *options, give="/exit\n")
                self.assertEqual(talked.returncode, 0, talked.stderr)
                self.assertEqual("/grants/0 runs a tool" in talked.stdout, not options)

    def test_a_failed_session(self) -> None:
        done = self.yaa("run", give=json.dumps(session("fail")))
        self.assertEqual(done.returncode, 1)
        self.assertEqual(json.loads(done.stdout)["status"], "failed")

    def test_input_that_cannot_be_used(self) -> None:
        for give, said in (
            ("", "standard input:1:1: "),
            ("{", "standard input:1:2: "),
            ('{"messages": [\n  {},\n]}', "standard input:3:1: a comma before the closing ]"),
            ("[]", "one JSON object"),
            (b"\xff", "UTF-8"),
            ('{"messages": [{"role": "wizard", "content": ""}]}', "/messages/0/role"),
            ('{"messages": 5}', "/messages"),
            ("[" * 100_000, "nested"),
        ):
            with self.subTest(give=give[:40]):
                done = self.yaa("run", give=give)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn(said, done.stderr)
        self.assertIn("No such file", self.yaa("run", str(self.folder / "none")).stderr)

    def test_one_message_one_answer(self) -> None:
        done = self.yaa("run", "--say", "calc 6*7", "--text")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("42", done.stdout)
        self.assertNotIn("{", done.stdout)
        waiting = self.yaa("run", "--say", "shell echo x", "--text")
        self.assertEqual(waiting.returncode, 3)
        self.assertIn("waits for you: Allow shell?", waiting.stderr)
        failed = self.yaa("run", "--say", "fail", "--text")
        self.assertEqual((failed.returncode, failed.stdout), (1, ""))
        self.assertTrue(failed.stderr.startswith("yaa: "), failed.stderr)

    def test_a_message_is_put_behind_a_session(self) -> None:
        file = self.folder / "session.json"
        file.write_text(self.yaa("run", "--say", "calc 6*7").stdout)
        again = self.yaa("run", str(file), "--say", "calc 2*50")
        self.assertEqual(again.returncode, 0, again.stderr)
        said = [m["content"] for m in json.loads(again.stdout)["messages"] if m["role"] == "user"]
        self.assertEqual(said, ["calc 6*7", "calc 2*50"])
        self.assertEqual(json.loads(file.read_text())["rev"], 1, "the file stays as it was")
        file.write_text('{"messages": 5}')
        refused = self.yaa("run", str(file), "--say", "hello")
        self.assertEqual((refused.returncode, refused.stdout), (2, ""))
        self.assertIn("/messages", refused.stderr)

    def test_events(self) -> None:
        done = self.yaa("run", "--events", give=json.dumps(session("stream 5")))
        self.assertEqual(done.returncode, 0, done.stderr)
        frames = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(frames[0]["event"], "run.start")
        self.assertEqual(frames[-1]["event"], "run.end")
        self.assertEqual(frames[-1]["data"]["type"], "RUN_FINISHED")
        self.assertEqual([int(frame["id"].split("/")[1]) for frame in frames],
                         list(range(1, len(frames) + 1)))  # fmt: skip

    def test_stopped_it_still_gives_the_session_as_far_as_it_came(self) -> None:
        file = self.folder / "session.json"
        file.write_text(json.dumps(session("stream 1000000")))
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number=number):
                command = self.command("run", str(file), "--home", str(self.home))
                process = forks.popen(command, self.env)
                self._wait_for_run(process)
                process.send_signal(number)
                out, err = process.communicate(timeout=patience.seconds(SECONDS))
                self.assertEqual(process.returncode, 3, err)
                self.assertEqual(err, b"")
                self.assertEqual(json.loads(out)["messages"][0]["content"], "stream 1000000")

    def test_in_the_background_of_a_shell_it_can_be_stopped(self) -> None:
        """A script's `&` starts it with SIGINT ignored; SIGTERM is what is left."""
        file = self.folder / "session.json"
        file.write_text(json.dumps(session("stream 1000000")))
        command = self.command("run", str(file), "--home", str(self.home))
        process = subprocess.Popen(
            ["sh", "-c", "trap '' INT; exec \"$@\"", "sh", *command],
            cwd=ROOT,
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self._wait_for_run(process)
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=patience.seconds(SECONDS))
        self.assertEqual((process.returncode, err), (3, b""))
        self.assertEqual(json.loads(out)["messages"][0]["content"], "stream 1000000")

    def _wait_for_run(self, process: subprocess.Popen[bytes] | forks.Fork) -> None:
        """Until it has a handler for SIGTERM: before that it is only being loaded."""
        status = Path(f"/proc/{process.pid}/status")
        if not status.exists():
            self.skipTest("needs /proc")
        caught = 0
        while process.poll() is None and not caught & 1 << (signal.SIGTERM - 1):
            time.sleep(0.005)
            line = next(x for x in status.read_text().splitlines() if x.startswith("SigCgt"))
            caught = int(line.split()[1], 16)

    def test_a_reader_that_leaves(self) -> None:
        give = json.dumps(session("stream 20000"))
        done = subprocess.run(
            ["sh", "-c", f"{' '.join(self.command('run', '--events'))} | head -n 1"],
            cwd=ROOT,
            env=self.env,
            input=give.encode(),
            capture_output=True,
            timeout=patience.seconds(SECONDS),
            check=False,
        )
        self.assertIn(b"run.start", done.stdout)
        self.assertEqual(done.stderr, b"")


@turns.tests(2)
class Streams(Case):
    """Standard input and output as whoever starts it leaves them; `yaa` sees to it that there is
    no trace."""

    def shell(self, line: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """`"$@"` in the line is the command."""
        command = ["sh", "-c", line, "sh", *self.command(*arguments)]
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=self.env,
            capture_output=True,
            timeout=patience.seconds(SECONDS),
            check=False,
        )
        out, err = done.stdout.decode(), done.stderr.decode()
        self.assertNotIn("Traceback", err)
        return subprocess.CompletedProcess(done.args, done.returncode, out, err)

    def test_closed_ones(self) -> None:
        say = ("run", "--say", "calc 6*7")
        rows: tuple[tuple[str, tuple[str, ...], int, str], ...] = (
            ('exec "$@" <&-', ("run",), 2, "yaa: standard input:1:1: "),
            ('exec "$@" <&-', say, 0, ""),
            ('exec "$@" <&-', ("chat",), 0, ""),
            ('exec "$@" >&-', say, 0, ""),
            ('exec "$@" >&- 2>&-', say, 0, ""),
            ('exec "$@" <&- >&- 2>&-', ("--check",), 0, ""),
            ('exec "$@" </dev/null >&-', ("chat",), 0, ""),
        )
        for line, arguments, code, said in turns.share(rows, 3):
            with self.subTest(line=line, arguments=arguments):
                done = self.shell(line, *arguments)
                self.assertEqual(done.returncode, code)
                self.assertTrue(done.stderr.startswith(said), done.stderr)

    def test_what_is_closed_is_not_missing_to_the_sandbox(self) -> None:
        whole = self.shell('exec "$@"', "--check").stdout
        self.assertEqual(self.shell('exec "$@" 2>&-', "--check").stdout, whole)

    @unittest.skipUnless(Path("/dev/full").exists(), "needs /dev/full")
    def test_a_full_disk_and_a_reader_that_leaves_are_no_mistake_of_ours(self) -> None:
        for arguments in turns.share((("run", "--say", "calc 6*7"), ("--check",)), 2):
            with self.subTest(arguments=arguments):
                done = self.shell('exec "$@" > /dev/full', *arguments)
                said = "yaa: standard output: No space left on device\n"
                self.assertEqual((done.returncode, done.stderr), (1, said))
                done = self.shell('"$@" | true', *arguments)
                self.assertEqual(done.stderr, "")

    def test_a_language_that_lacks_the_words(self) -> None:
        language = {"PYTHONIOENCODING": "latin-1"}
        for form in ([], ["--events"]):  # JSON is UTF-8
            done = self.yaa("run", "--say", "讲 → é", *form, env=language)
            self.assertEqual((done.returncode, done.stderr), (3, ""))
            self.assertIn("讲 → é", done.stdout)
        self.assertIn("\\u", self.yaa("run", "--say", "讲", "--text", env=language).stdout)

    def test_bytes_that_are_no_text(self) -> None:
        command = [os.fsencode(each) for each in self.command("run", "--say")] + [b"calc 6*7 \xff"]
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=self.env,
            capture_output=True,
            timeout=patience.seconds(SECONDS),
            check=False,
        )
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertEqual(json.loads(done.stdout)["messages"][0]["content"], "calc 6*7 \ufffd")
        saved = self.folder / "saved.json"
        ascii = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C"}
        for strict in ({}, {"PYTHONIOENCODING": "utf-8:strict"}, ascii):
            give = b"calc 6*7 \xe9\n/save " + os.fsencode(saved) + b"\n"
            talked = self.yaa("chat", give=give, env=strict)
            with self.subTest(strict):
                self.assertEqual((talked.returncode, talked.stderr), (0, ""))
                self.assertEqual(json.loads(saved.read_bytes())["status"], "completed")

    def test_interrupted_before_anything_has_begun(self) -> None:
        pipe = self.folder / "session.json"
        os.mkfifo(pipe)
        process = subprocess.Popen(
            [sys.executable, "-m", "server", "run", str(pipe)],
            cwd=ROOT,
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.addCleanup(process.kill)
        with pipe.open("w"):  # it reads now
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.communicate(timeout=patience.seconds(SECONDS)), (b"", b""))
        self.assertEqual(process.returncode, 128 + signal.SIGINT)


@turns.tests(2)
class Chatting(Case):
    def test_what_is_taken_back_gives_its_files_back(self) -> None:
        lines = ("shell echo one > a.txt", "y", "shell echo two > a.txt; echo > b.txt", "y")
        again = ("/undo", "shell echo there is $(cat *.txt)", "y")
        done = self.yaa("chat", "--temporary", give="\n".join([*lines, *again, ""]))
        self.assertIn("taken back: shell echo two", done.stdout)
        self.assertIn("there is one\n", done.stdout)
        self.assertNotIn("there is two", done.stdout)

    def test_a_conversation_from_a_pipe(self) -> None:
        saved = self.folder / "saved.json"
        lines = ["calc 6*7", "shell echo from-the-shell", "?", "y", f"/save {saved}", "/exit"]
        done = self.yaa("chat", give="\n".join(lines) + "\n")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("no AI", done.stdout)
        self.assertIn("42", done.stdout)
        self.assertIn("from-the-shell", done.stdout)
        self.assertNotIn("\x1b", done.stdout)
        document = json.loads(saved.read_text())
        self.assertEqual(document["status"], "completed")
        self.assertEqual(self.yaa("run", str(saved)).returncode, 0)

    def test_ctrl_c_stops_the_run_and_not_the_program(self) -> None:
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        process = subprocess.Popen(
            self.command("chat"), cwd=ROOT, env=self.env, stdin=theirs, stdout=theirs, stderr=theirs
        )
        os.close(theirs)
        said = ""

        def until(text: str, number: int = 0) -> None:
            """Read on to `text`; `number` is a signal that is to bring it about. A signal in the
            moment between the prompt and the read that follows is seen only with the next one."""
            nonlocal said
            deadline = time.monotonic() + patience.seconds(SECONDS)
            if number:
                process.send_signal(number)
            while text not in said:
                self.assertLess(time.monotonic(), deadline, said)
                if select.select([ours], [], [], 2)[0]:
                    said += os.read(ours, 4096).decode(errors="replace")
                elif number:
                    process.send_signal(number)
            said = said.partition(text)[2]

        try:
            until("> ")
            until("/exit or Ctrl-D", signal.SIGINT)
            os.write(ours, b"slow\n")
            until("demo, no AI")
            until("stopped", signal.SIGINT)
            os.write(ours, b"calc 6*7\n")
            until("42")
            os.write(ours, b"/nonsense\n")
            until("/help")
            until("> ")
            os.write(ours, b"/exit\n")
            self.assertEqual(process.wait(patience.seconds(SECONDS)), 0)
        finally:
            process.kill()
            process.wait()

    def test_the_end_of_input_is_the_end(self) -> None:
        self.assertEqual(self.yaa("chat", give="").returncode, 0)


if __name__ == "__main__":
    unittest.main()
