"""Configurations that change under a running server: by the page, by hand, wrong ones, two at once.

Real processes; their models are scripted providers.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import threading
import unittest
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from typing import Any

from server.cli.live_config import config_in_force
from server.config import Config, load

from ..chaos.test_kill import Provider
from ..extensions import needs
from ..fakes import NOWHERE, user
from ..tooling import forks, patience
from ..tooling.child import Yaa

setUpModule = forks.use
HELLO = {"id": "a", "messages": [user("hello", "u1")]}
USED = r"the changed configuration is used"
REFUSED = r"the changed configuration is not used: (.*)"


class Model(Provider):
    """Says `name`. Where `gate` is set, the second half comes only when that is."""

    name = "one"
    gate: threading.Event | None = None

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.say({"delta": {"content": f"{self.name} begins"}})
        if self.gate is not None:
            self.gate.wait()
        self.say({"delta": {"content": f", {self.name} ends"}})
        self.say({"delta": {}, "finish_reason": "stop"})

    def say(self, choice: Any) -> None:
        chunk = {"choices": [{"index": 0, **choice}]}
        with contextlib.suppress(OSError):  # its run was stopped
            self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
            self.wfile.flush()


@contextmanager
def model(name: str, gate: threading.Event | None = None) -> Iterator[dict[str, Any]]:
    """Serve a scripted model; give its entry of `server.providers`."""
    kind = type("Named", (Model,), {"name": name, "gate": gate})
    with ThreadingHTTPServer(("127.0.0.1", 0), kind) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            url = f"http://127.0.0.1:{server.server_port}/v1"
            yield {"api_url": url, "api_key": f"key of {name}", "model_name": name}
        finally:
            if gate is not None:
                gate.set()
            server.shutdown()
            thread.join()


def serves(entry: Any, **more: Any) -> Any:
    providers = {"main": entry} if entry else {}
    sandbox = {"require": "none"}
    return {"server": {"discover": False, "providers": providers, "sandbox": sandbox, **more}}


@needs("settings")
class Live(unittest.TestCase):
    def serve(self, config: Any, *arguments: str) -> Yaa:
        self.yaa = self.enterContext(Yaa(config, arguments=arguments))
        return self.yaa

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        connection = self.open(method, path, body)
        try:
            response = connection.getresponse()
            return response.status, json.loads(response.read())
        finally:
            connection.close()

    def open(self, method: str, path: str, body: Any = None, **more: str) -> Any:
        place = self.yaa.url.removeprefix("http://")
        connection = http.client.HTTPConnection(place, timeout=patience.seconds(120))
        headers = {"Authorization": f"Bearer {self.yaa.key}", "Accept": "application/json", **more}
        data = None if body is None else json.dumps(body)
        connection.request(method, path, data, headers | {"Content-Type": "application/json"})
        return connection

    def change(self, path: str, value: Any) -> Any:
        revision = self.ask("GET", "/settings")[1]["revision"]
        change = {"path": path.split("."), "value": value}
        return self.ask("PATCH", "/settings", {"revision": revision, "changes": [change]})

    def say(self, session: str) -> str:
        document = {"id": session, "messages": [user("hello", "u1")]}
        status, told = self.ask("POST", "/session", document)
        self.assertEqual(status, 200, told)
        return str(told["messages"][-1]["content"])

    def begin(self, document: Any) -> Any:
        """Return the stream of a run that has half of its answer from the first model."""
        running = self.open("POST", "/session", document, Accept="text/event-stream")
        self.addCleanup(running.close)
        stream = running.getresponse()
        while b"one begins" not in stream.readline():
            pass
        return stream

    def edit(self, config: Any) -> None:
        """Replace the file: one that is written in place may be read half of the way."""
        new = self.yaa.file.with_name("new.json")
        new.write_text(json.dumps(config))
        new.replace(self.yaa.file)

    def wait_for(self, pattern: str) -> str:
        assert self.yaa.child is not None
        return self.yaa.child.wait_for(pattern, 120)[0]

    def test_runs_that_began_go_on_with_theirs(self) -> None:
        gate = threading.Event()
        with model("one", gate) as one, model("two") as two:
            self.serve(serves(one))
            stream = self.begin(HELLO)
            self.assertEqual(self.change("server.providers.main", two)[0], 200)
            self.wait_for(USED)  # the answer waits for that, and not for ever
            self.assertEqual(self.say("b"), "two begins, two ends")
            status, told = self.ask("POST", "/session", HELLO)
            self.assertEqual((status, told["code"]), (409, "run_active"))
            gate.set()
            rest = stream.read()
            self.assertIn(b"one ends", rest)
            self.assertIn(b"RUN_FINISHED", rest)
            self.wait_for(r"an earlier configuration is needed no more")
            self.assertEqual(self.say("a"), "two begins, two ends")

    def test_a_run_of_before_can_be_stopped(self) -> None:
        with model("one", threading.Event()) as one, model("two") as two:
            self.serve(serves(one))
            stream = self.begin(HELLO)
            self.assertEqual(self.change("server.providers.main", two)[0], 200)
            status, told = self.ask("POST", "/session/stop", {"id": "a"})
            self.assertEqual((status, told.get("stopped", True)), (200, True), told)
            stream.read()
            self.assertEqual(self.say("a"), "two begins, two ends")

    def test_a_file_that_is_edited_by_hand(self) -> None:
        with model("one") as one, model("two") as two:
            yaa = self.serve(serves(one))
            self.assertEqual(self.say("a"), "one begins, one ends")
            self.edit(serves(two, keep_days=-1))
            self.assertIn("keep_days", self.wait_for(REFUSED))
            self.assertEqual(self.say("b"), "one begins, one ends")
            told = self.ask("GET", "/settings")[1]["reload"]
            self.assertEqual(told["state"], "failed")
            self.assertIn("keep_days", told["detail"][0])
            self.assertNotIn(str(yaa.file), json.dumps(told))
            self.edit(serves(two))
            self.wait_for(USED)
            self.assertEqual(self.say("c"), "two begins, two ends")
            self.assertEqual(self.ask("GET", "/settings")[1]["reload"]["state"], "ready")

    def test_every_worker_uses_it(self) -> None:
        with model("one") as one, model("two") as two:
            self.serve(serves(one), "--workers", "2")
            self.assertEqual(self.change("server.providers.main", two)[0], 200)
            said = threading.Semaphore(0)
            assert self.yaa.child is not None
            while self.yaa.child.output.count("the changed configuration is used") < 2:
                said.acquire(timeout=0.1)
            for number in range(8):
                self.assertEqual(self.say(f"s{number}"), "two begins, two ends")

    def test_many_changes_at_once(self) -> None:
        self.serve(serves(None))
        revision = self.ask("GET", "/settings")[1]["revision"]
        statuses = []

        def change(days: int) -> None:
            changes = [{"path": ["server", "keep_days"], "value": days}]
            body = {"revision": revision, "changes": changes}
            statuses.append(self.ask("PATCH", "/settings", body)[0])

        threads = [threading.Thread(target=change, args=(days,)) for days in range(1, 7)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(statuses), [200, *[409] * 5])
        told = self.ask("GET", "/settings")[1]
        self.assertEqual(told["file"]["server"]["keep_days"], told["effective"]["keep_days"])

    def test_what_waits_for_the_next_start(self) -> None:
        self.serve(serves(None))
        status, told = self.change("server.log", {"level": "debug"})
        self.assertEqual((status, told["reload"]["later"]), (200, ["server.log"]))
        self.assertEqual(told["file"]["server"]["log"], {"level": "debug"})
        status, told = self.change("server.keep_days", 3)
        self.assertEqual(told["reload"]["later"], ["server.log"])
        self.assertEqual(told["effective"]["keep_days"], 3)
        self.assertEqual(self.ask("GET", "/health")[0], 200)

    def test_the_key_of_before_is_not_valid_any_more(self) -> None:
        self.serve(serves(None))
        ann = {"name": "ann", "key": "a" * 20, "owner": True}
        status, _ = self.change("server.api_keys", [ann])
        self.assertEqual(status, 200, "the reply goes to the key that asked")
        self.assertEqual(self.ask("GET", "/info")[0], 401)
        self.yaa.key = "a" * 20
        self.assertEqual(self.ask("GET", "/info")[1]["owner"], True)
        self.assertEqual(self.change("server.home_key", True)[0], 200)


class Settled(unittest.TestCase):
    def test_what_is_needed_to_listen_stays(self) -> None:
        first = load(NOWHERE, None, {}, {})
        flags = {"server.port": 5, "server.limits.max_connections": 7, "server.keep_days": 2}
        given: Config = load(NOWHERE, None, {}, flags)
        found, later = config_in_force(first, given)
        self.assertEqual(later, ["server.port", "server.limits.max_connections"])
        self.assertEqual(found.server["port"], first.server["port"])
        self.assertEqual(found.server["limits"], first.server["limits"])
        self.assertEqual(found.server["keep_days"], 2)
        self.assertEqual(config_in_force(first, first)[1], [])
