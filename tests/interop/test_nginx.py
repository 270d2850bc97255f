"""docs/deploy/nginx.conf, run by a real nginx before three servers, one of which is killed and one
told to stop in the middle of runs: every conversation ends well, and nothing runs twice."""

from __future__ import annotations

import contextlib
import copy
import http.client
import json
import os
import re
import shutil
import signal
import ssl
import tempfile
import threading
import time
import unittest
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

from server.lib.http.sse import Decoder
from server.session.fold import Folder, digest
from server.tools.runner import ToolRunner

from ..agent.test_loop import Client, complete
from ..chaos.test_kill import OWNED, PAGE_TOOL, Model
from ..http.test_tls import pair
from ..tooling import patience, ports, tools, turns
from ..tooling.child import Child, Yaa

SITE = tools.ROOT / "docs" / "deploy" / "nginx.conf"
NAME = "yaa.example.org"
KEY, OWNER = "one-key-for-all-three", "ann"
TALKS = 12
KILLED, DRAINED = 3, 7  # the conversations that this happens to
SECONDS = 120
PASSING = (409, 429, 502, 503, 504)


class Waiting(Model):
    """Its command takes until the test has seen that it was begun, and has struck its server if
    that is to be: nothing else of the run has begun then."""

    runs = f"{Model.runs}; for _ in {{1..500}}; do [ -e seen ] && break; sleep 0.02; done"


@tools.needs(tools.nginx())
@unittest.skipUnless(shutil.which("openssl"), "needs openssl to make a certificate")
@turns.tests(2)
class Balanced(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="yaa-nginx-")))
        model = ThreadingHTTPServer(("127.0.0.1", 0), Waiting)
        threading.Thread(target=model.serve_forever, daemon=True).start()
        self.addCleanup(model.server_close)
        self.addCleanup(model.shutdown)
        url = f"http://127.0.0.1:{model.server_port}/v1"
        provider = {"api_url": url, "api_key": "k", "model_name": "m"}
        server = {"discover": False, "providers": {"main": provider}, "hosts": [NAME]}
        self.config = {"server": server | {"api_keys": [{"name": OWNER, "key": KEY}]}}
        self.servers = [self.enterContext(self.server(number)) for number in range(3)]
        self.trusted, key = pair(self.folder, "site")
        self.port = self.start_nginx(self.trusted, key)
        self.struck = {KILLED: threading.Event(), DRAINED: threading.Event()}
        self.lost: set[int] = set()  # conversations of which an answer did not come whole

    def server(self, number: int) -> Yaa:
        home = self.folder / f"home-{number}"
        (home / "tools").mkdir(parents=True)
        (home / "tools" / "mark.py").write_text(OWNED)
        return Plain(self.config, home=home)

    def start_nginx(self, cert: Path, key: Path) -> int:
        """The file as it is shipped, with the ports and certificates of this test in it."""
        (port,) = self.enterContext(ports.held(1))
        site = SITE.read_text()
        for old, new in (
            ("listen 443 ssl;", f"listen 127.0.0.1:{port} ssl;"),
            ("/etc/ssl/yaa/fullchain.pem", str(cert)),
            ("/etc/ssl/yaa/privkey.pem", str(key)),
            *(
                (f"127.0.0.1:{12345 + n}", server.url.removeprefix("http://"))
                for n, server in enumerate(self.servers)
            ),
        ):
            self.assertEqual(site.count(old), 1, old)
            site = site.replace(old, new)
        (self.folder / "site.conf").write_text(site)
        kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        temporary = "".join(f"{kind}_temp_path {self.folder}/{kind};\n" for kind in kinds)
        user = "user root;\n" if os.geteuid() == 0 else ""
        (self.folder / "nginx.conf").write_text(
            f"{user}daemon off;\npid {self.folder}/nginx.pid;\nerror_log stderr notice;\n"
            f"events {{ worker_connections 512; }}\n"
            f"http {{ access_log off;\n{temporary}include {self.folder}/site.conf; }}\n"
        )
        nginx = str(tools.nginx().path)
        child = Child([nginx, "-p", str(self.folder), "-c", str(self.folder / "nginx.conf")])
        self.addCleanup(child.stop)
        child.wait_for("start worker process", 30)
        return port

    @contextlib.contextmanager
    def post(self, path: str, body: bytes) -> Iterator[http.client.HTTPResponse]:
        context = ssl.create_default_context(cafile=str(self.trusted))
        place = ("localhost", self.port)
        connection = http.client.HTTPSConnection(
            *place, timeout=patience.seconds(60), context=context
        )
        headers = {"Host": NAME, "Authorization": f"Bearer {KEY}", "Accept": "text/event-stream"}
        with contextlib.closing(connection):
            connection.request("POST", path, body, headers | {"Content-Type": "application/json"})
            with connection.getresponse() as answer:
                yield answer

    # -- what is tried ----------------------------------------------------------------------------

    def test_a_stream_passes_event_by_event(self) -> None:
        """What announces a call is here long before the call is done."""
        asked = {
            "messages": [{"role": "user", "content": "shell sleep 1000"}],
            "config": {
                "llm_api": {"provider": {"name": "demo"}},
                "tool": {"shell": {"auto_approve": True}},
            },
        }
        decoder, names = Decoder(), list[str]()
        with self.post("/session", json.dumps(asked).encode()) as answer:
            self.assertEqual(answer.status, 200)
            while "tool.exec" not in names and (data := answer.read1()):
                names += [frame.event for frame in decoder.feed(data)]
        self.assertIn("tool.exec", names)

    def test_what_a_server_refuses_comes_through(self) -> None:
        for path, body, status in (
            ("/session", b"{", 400),
            ("/session", b" " * (33 << 20), 413),
            ("/nothing", b"{}", 404),
        ):
            with self.subTest(status=status):
                with self.post(path, body) as answer:
                    found = answer.status, json.loads(answer.read())["status"]
                self.assertEqual(found, (status, status))

    def test_conversations_survive_a_kill_and_a_drain(self) -> None:
        with ThreadPoolExecutor(4) as pool:
            ended = list(pool.map(self.converse, range(TALKS)))
        self.assertTrue(all(event.is_set() for event in self.struck.values()))
        self.assertEqual(
            [s["messages"][-1]["content"] for s in ended], ["Done: 6 results."] * TALKS
        )
        for number in range(TALKS):
            self.assertLessEqual(
                max(self.executions(number)), 1, f"something ran twice in {number}"
            )
        whole = {number for number in range(TALKS) if self.executions(number) == [1, 1, 1]}
        self.assertLessEqual({*range(TALKS)} - whole, self.lost, "only what was cut is skipped")
        self.assertGreaterEqual(len(whole), 3)
        self.assertGreaterEqual(len(self.lost), 2, "no run was cut: nothing was tried")
        held = [len(re.findall(r"run run_\w+ of session", self.said(n))) for n in range(3)]
        self.assertGreater(min(held), 0, f"runs by server: {held}")

    def converse(self, number: int) -> Any:
        client, ends = Client(), time.monotonic() + patience.seconds(SECONDS)
        client.kept |= {"id": f"talk-{number}", "tools": [PAGE_TOOL]}
        while time.monotonic() < ends:
            before = copy.deepcopy(client.kept)
            with self.post("/session", json.dumps(client.sends()).encode()) as answer:
                came = answer.status == 200 and self.follow(answer, client, number)
            if answer.status != 200:
                self.assertIn(answer.status, PASSING)
                if answer.status in (409, 429, 503):  # refused: nothing has run
                    client.kept = before
                else:
                    self.lost.add(number)
                time.sleep(0.1)  # as a client does: DELAYS of client/js/io/run-stream.js
            elif not came:
                self.lost.add(number)
            elif client.kept["status"] == "completed":
                return client.kept
            else:
                complete(client.kept)
        raise AssertionError(f"{number} did not come to its end: {client.kept['status']}")

    def follow(self, answer: http.client.HTTPResponse, client: Client, number: int) -> bool:
        """Fold what comes; whether it came to its end."""
        folder, decoder = Folder(client.kept), Decoder()
        end: dict[str, Any] = {}
        try:
            while data := answer.read1():
                for frame in decoder.feed(data):
                    event = json.loads(frame.data)
                    folder.apply(event)
                    if event["type"] in ("RUN_FINISHED", "RUN_ERROR"):
                        end = event["metadata"]["yaa"]
                    call = event.get("metadata", {}).get("yaa", {}).get("exec")
                    if call and client.kept["calls"][call]["name"] == "shell":
                        if self.strike(number, client.kept["run"]["id"]) != signal.SIGKILL:
                            self.seen(number)
        except (OSError, http.client.HTTPException):
            pass  # cut
        folder.flush()
        if end:
            self.assertEqual(digest(client.kept, end["since"]), end["digest"])
        return bool(end)

    def strike(self, number: int, run: str) -> signal.Signals | None:
        """Once, in the middle of a run that may not be repeated: end the server that has it."""
        event = self.struck.get(number)
        if event is None or event.is_set():
            return None
        ends = time.monotonic() + patience.seconds(10)
        while not (having := [n for n in range(3) if f"run {run} of" in self.said(n)]):
            self.assertLess(time.monotonic(), ends, "no server speaks of the run")
            time.sleep(0.01)  # its line of the log is on the way
        child = self.servers[having[0]].child
        assert child is not None
        how = signal.SIGKILL if number == KILLED else signal.SIGTERM
        child.process.send_signal(how)
        event.set()
        return how

    def seen(self, number: int) -> None:
        """Let the command end. Its folder is made before it is announced or right behind."""
        ends = time.monotonic() + patience.seconds(10)
        while not (there := [each for each in self.folders(number) if each.exists()]):
            self.assertLess(time.monotonic(), ends, "the command has no folder")
            time.sleep(0.01)
        for folder in there:
            (folder / "seen").touch()

    def folders(self, number: int) -> list[Path]:
        return [
            ToolRunner(self.folder / f"home-{n}").folder(f"talk-{number}", OWNER) for n in range(3)
        ]

    def said(self, index: int) -> str:
        child = self.servers[index].child
        assert child is not None
        return child.output

    def executions(self, number: int) -> list[int]:
        """How often the command and each mark of a conversation ran, on all servers together."""
        folders = self.folders(number)
        files = [[folder / name for folder in folders] for name in ("shell", "one", "two")]
        return [sum(len(f.read_text().split()) for f in each if f.exists()) for each in files]


class Plain(Yaa):
    """A server with a configured key, which it does not print."""

    def __enter__(self) -> Yaa:
        self.child = Child(self._command, cwd=self._cwd)
        self.url = self.child.wait_for(r"^(http://127\.0\.0\.1:\d+)/$", 30)[1]
        return self


if __name__ == "__main__":
    unittest.main()
