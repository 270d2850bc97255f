"""Several people, each with sessions of their own, in one real folder of the mode `write`.

Nobody waits for another person, nobody's words are lost, who goes back is asked about what others
did, and a key that is gone in the middle leaves the folder free.
"""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import tempfile
import threading
import unittest
from contextlib import ExitStack
from pathlib import Path
from typing import Any, ClassVar

from ..bench.peers import config, start
from ..chaos.processes import below, named, until
from ..extensions import needs
from ..fakes import DEFAULTS, answer, user
from ..tooling import patience
from ..tooling.api import Api
from ..tooling.child import Child

Json = dict[str, Any]

SHORT = "bench tokens=3 delay_us=0"
KEYS = {who: f"the-key-of-{who.replace(' ', '-')}-1234" for who in ("ann", "bob", "bob again")}
OWNER = "the-key-of-carol-1234"
TIMES = 6


class SharedFolder(unittest.TestCase):
    site: Path
    pid: int
    apis: ClassVar[dict[str, Api]] = {}

    @classmethod
    def setUpClass(cls) -> None:
        stack = cls.enterClassContext(ExitStack())
        base = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        base.chmod(0o711)
        cls.site = base / "site"
        cls.site.mkdir()
        if os.geteuid() == 0:
            run_as = DEFAULTS["server"]["sandbox"]["run_as"]
            subprocess.run(["chown", f"{run_as}:{run_as}", str(cls.site)], check=True)
        settings: Json = config(start(stack, "tests.bench.provider"))
        entries = [{"name": who.split()[0], "key": key} for who, key in KEYS.items()]
        settings["server"] |= {
            "api_keys": [*entries, {"name": "carol", "key": OWNER, "owner": True}],
            "folders": {"site": {"path": str(cls.site), "mode": "write"}},
            "sandbox": {"require": "none"},
        }
        # What is left of a run whose client is gone does not end by itself.
        settings["server"].setdefault("limits", {})["disconnect_grace_s"] = 600
        settings["session"] = {"config": {"tool": {"shell": {"auto_approve": True}}}}
        home = base / "home"
        home.mkdir()
        (home / "config.json").write_text(json.dumps(settings))
        child = Child([sys.executable, "-m", "server", "--home", str(home), "--port", "0"])
        stack.callback(child.stop)
        cls.pid = child.process.pid
        url = child.wait_for(r"^(http://127\.0\.0\.1:\d+)/$", patience.seconds(60))[1]
        child.wait_for(r"^  ready ", patience.seconds(60))
        cls.apis = {who: Api(url, key) for who, key in (KEYS | {"carol": OWNER}).items()}

    def setUp(self) -> None:
        for path in self.site.iterdir():
            path.unlink()

    def say(self, who: str, session: Json, *commands: str) -> Json:
        """The session after a turn with one call for each command."""
        calls = "".join(f" tool=shell{json.dumps({'command': each})}" for each in commands)
        said = user(SHORT + calls, f"u{len(session['messages'])}")
        return self.apis[who].run({**session, "messages": [*session["messages"], said]})

    def new(self, session_id: str) -> Json:
        return {"id": session_id, "messages": [], "workspace": {"folder": "site"}}

    def runs(self, words: str) -> bool:
        """Whether a process of the server has these words in its command."""
        return any(words in named(pid) for pid in below(self.pid))

    def file(self, name: str) -> str:
        path = self.site / name
        return path.read_text() if path.exists() else ""

    def test_work_side_by_side(self) -> None:
        """Two people with two sessions each, and two calls at a time: all is there, once."""
        done: list[Json] = []

        def work(who: str, name: str) -> None:
            session = self.new(name)
            for number in range(TIMES):
                word = f"{name}-{number}"
                one = f"echo {word} >> all; echo {word} >> {name}"
                session = self.say(who, session, one, f"echo {word} > {name}-last; cat {name}")
            done.append(session)

        people = [(who, f"{who}-{n}") for who in ("ann", "bob") for n in range(2)]
        threads = [threading.Thread(target=work, args=each) for each in people]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        self.assertEqual([each["status"] for each in done], ["completed"] * len(people))
        words = [f"{name}-{number}" for _, name in people for number in range(TIMES)]
        self.assertEqual(sorted(self.file("all").split()), sorted(words))
        for _, name in people:
            self.assertEqual(self.file(name).split(), [w for w in words if w.startswith(name)])
            self.assertEqual(self.file(f"{name}-last"), f"{name}-{TIMES - 1}\n")
        for session in done:
            results = [m["result"] for m in session["messages"] if m["role"] == "tool"]
            self.assertEqual({each["status"] for each in results}, {"ok"})
            self.assertEqual([each for each in results if "unrecorded" in each], [])
            self.assertEqual(session["interrupts"], [], "nobody is asked who did not go back")

    def test_what_the_other_did_is_told(self) -> None:
        ann = self.say("ann", self.new("told"), "echo ann > a")
        self.say("bob", self.new("told"), "echo bob > b; echo bob >> a")
        ann = self.say("ann", ann, "cat a")
        told = {each["path"]: each["change"] for each in ann["workspace"]["changed_outside"]}
        self.assertEqual(told, {"a": "modified", "b": "added"})
        self.assertIn("ann\\nbob", json.dumps(ann["messages"]), "and it is what tools see")

    def test_who_goes_back_is_asked_about_the_work_of_others(self) -> None:
        """The answer is for what was shown: what changes then is asked about anew."""
        first = self.say("ann", self.new("back"), "echo 1 > a")
        self.say("ann", first, "echo 2 > a")
        self.say("bob", self.new("back"), "echo bob > b")
        asked: Any = self.say("ann", first)
        (question,) = asked["interrupts"]
        shown = {each["path"] for each in question["differences"]}
        self.assertEqual((question["reason"], shown), ("workspace_restore", {"a", "b"}))
        self.assertEqual((self.file("a"), self.file("b")), ("2\n", "bob\n"), "nothing is done")
        self.say("bob", self.new("back again"), "echo more >> b; echo bob > c")
        answer(asked, "workspace_restore", {"action": "restore"})
        again: Any = self.apis["ann"].run(asked)
        (question,) = again["interrupts"]
        self.assertEqual({each["path"] for each in question["differences"]}, {"a", "b", "c"})
        self.assertEqual(self.file("b"), "bob\nmore\n")
        answer(again, "workspace_restore", {"action": "restore"})
        done = self.apis["ann"].run(again)
        self.assertEqual(done["status"], "completed")
        self.assertEqual(sorted(path.name for path in self.site.iterdir()), ["a"])
        self.assertEqual(self.file("a"), "1\n")
        path = (
            f"/workspaces/back/file?path=b&folder=site&tree={done['workspace']['restored']['from']}"
        )
        self.assertEqual(self.apis["ann"].request("GET", path), (200, "bob\nmore\n"), "it is kept")

    def test_going_back_under_a_call_of_another_takes_nothing_of_it(self) -> None:
        """What it has written since the question is left, and it goes on."""
        first = self.say("ann", self.new("under"), "echo 1 > a")
        self.say("ann", first, "echo 2 > a")
        order = "echo begun > b; until [ -e go ]; do sleep 0.05; done; rm go; echo on > c"
        bob: list[Json] = []
        thread = threading.Thread(
            target=lambda: bob.append(self.say("bob", self.new("under"), order))
        )
        thread.start()
        self.assertTrue(until(lambda: self.file("b") == "begun\n", 60))
        asked: Any = self.say("ann", first)
        (question,) = asked["interrupts"]
        self.assertEqual({each["path"] for each in question["differences"]}, {"a", "b"})
        answer(asked, "workspace_restore", {"action": "keep"})
        kept = self.apis["ann"].run(asked)
        self.assertEqual((kept["status"], self.file("a")), ("completed", "2\n"))
        (self.site / "go").touch(mode=0o666)
        thread.join()
        self.assertEqual(bob[0]["status"], "completed")
        self.assertEqual((self.file("b"), self.file("c")), ("begun\n", "on\n"))

    @needs("settings")
    @unittest.skipUnless(Path("/proc/self").exists(), "looks for a process by its command")
    def test_a_key_that_is_gone_in_the_middle(self) -> None:
        """Its call ends, its other key goes on, and the folder is free for both people."""
        status, told = self.apis["carol"].request("POST", "/settings/keys", {"name": "dan"})
        self.assertEqual(status, 201, told)
        dan = self.apis["dan"] = Api(self.apis["ann"].url, told["key"])
        self.assertTrue(until(lambda: dan.request("GET", "/info")[0] == 200, 60))
        ended: list[object] = []

        def run() -> None:
            try:
                ended.append(self.say("dan", self.new("gone"), "while echo on >> dans; do :; done"))
            except (OSError, http.client.HTTPException, RuntimeError) as error:
                ended.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        self.assertTrue(until(lambda: self.file("dans") != "", 60))
        ann = self.say("ann", self.new("gone"), "echo ann > a")
        self.assertEqual(self.apis["carol"].request("DELETE", "/settings/keys/dan")[0], 200)
        thread.join()
        self.assertNotIsInstance(ended[0], dict, "it was cut")
        self.assertEqual(dan.request("GET", "/info")[0], 401)
        self.assertTrue(until(lambda: not self.runs("echo on >> dans"), 60))
        for who in ("ann", "bob", "bob again"):
            done = self.say(who, self.new(f"after {who}"), f"echo {who} > a")
            self.assertEqual((done["status"], self.file("a")), ("completed", f"{who}\n"))
        again = self.say("ann", ann)
        self.assertEqual(again["status"], "completed", "she did not go back")


if __name__ == "__main__":
    unittest.main()
