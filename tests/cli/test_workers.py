"""Workers as processes: one port, one start, one end; killed ones come back; none outlives its
parent; and a session or a call that runs in one of them is known to the others."""

from __future__ import annotations

import copy
import os
import signal
import subprocess
import sys
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from server.cli.serve import _Place
from server.session.fold import Folder

from ..api.test_session_bases import with_base
from ..test_main import Case
from ..tooling import forks, patience
from ..tooling.api import Api
from ..tooling.child import Child, Yaa
from ..tooling.tools import ROOT

# A parent that can have no child. Root could: its limit is no limit.
setUpModule = forks.use
ALONE = """
import os, resource
from server.telemetry import log
from server.cli.serve import Workers
log.setup("warning")
if not os.geteuid():
    os.setuid(64123)
_, most = resource.getrlimit(resource.RLIMIT_NPROC)
resource.setrlimit(resource.RLIMIT_NPROC, (1, most))
raise SystemExit(Workers(2, [], 1).run(lambda worker: 0))
"""
# A parent that is told to stop before it has any. It prints its code and where signals are written.
STOPPED = """
import os, signal
from server.cli.serve import Workers

class Told(Workers):
    def _watch(self, work):
        os.kill(os.getpid(), signal.SIGTERM)
        return super()._watch(work)

print(Told(0, [], 1).run(lambda worker: 1), signal.set_wakeup_fd(-1))
"""
QUIET = {"server": {"discover": False}}
SECONDS = 60


def children(pid: int) -> list[int]:
    """Of the server's workers, whose zygotes are sessions of their own."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = stat.read_text().rpartition(")")[2].split()[1]
        except OSError:  # gone since
            continue
        if int(parent) == pid:
            found.append(int(stat.parent.name))
    return sorted(found)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def until(what: Any) -> Any:
    """The first true value of `what()`."""
    ends = time.monotonic() + patience.seconds(SECONDS)
    while not (found := what()):
        assert time.monotonic() < ends, "it did not come to that"
        time.sleep(0.02)
    return found


@unittest.skipUnless(Path("/proc/self/stat").exists(), "needs /proc to see processes")
class Together(unittest.TestCase):
    yaa: Yaa
    api: Api

    def start(self, count: int = 2, **server: Any) -> Child:
        config = {"server": QUIET["server"] | server}
        self.yaa = self.enterContext(Yaa(config, arguments=("--workers", str(count))))
        self.api = Api(self.yaa.url, self.yaa.key)
        assert self.yaa.child is not None
        return self.yaa.child

    def test_they_start_come_back_and_end_as_one(self) -> None:
        child = self.start()
        pid = child.process.pid
        first = until(lambda: len(found := children(pid)) == 2 and found)
        os.kill(first[0], signal.SIGKILL)
        child.wait_for(rf"worker \d \({first[0]}\) ended by SIGKILL; it is started again", SECONDS)
        for _ in range(20):  # whoever of them answers
            self.assertEqual(self.api.request("GET", "/info")[0], 200)
        second = until(lambda: len(found := children(pid)) == 2 and found)
        self.assertIn(first[1], second, "the other one was left alone")
        self.assertEqual(child.stop(patience.seconds(SECONDS)), 0)
        self.assertEqual([pid for pid in {*first, *second} if alive(pid)], [])
        self.assertEqual(child.output.count("#code="), 1, "one of them speaks for all")

    def test_they_end_with_their_parent_however_it_ends(self) -> None:
        child = self.start()
        pid = child.process.pid
        workers = until(lambda: len(found := children(pid)) == 2 and found)
        until(lambda: [self.api.request("GET", "/health") for _ in range(9)])
        os.kill(pid, signal.SIGKILL)
        until(lambda: not any(map(alive, workers)))

    def test_a_session_runs_in_one_of_them_at_a_time(self) -> None:
        self.start()
        asked = {"id": "s", "messages": [{"role": "user", "content": "stream 1000000"}]}
        with self.api.stream(asked) as stream:
            next(stream.events())
            found = [self.api.request("POST", "/session", asked) for _ in range(12)]
        self.assertEqual({body["code"] for _, body in found}, {"run_active"})

    def test_a_base_is_taken_by_the_one_that_keeps_it(self) -> None:
        """Any other says so, and takes the whole session."""
        self.start()
        session: Any = {
            "id": "s",
            "messages": [{"id": "u0", "role": "user", "content": "stream 3"}],
        }
        taken = 0

        def turn() -> bool:
            nonlocal session, taken
            count = len(session["messages"]) - 1
            if count:
                status, found = self.api.request("POST", "/session", with_base(session, count))
                taken += status == 200
            if not count or status == 409:
                self.assertIn(found["code"] if count else "", ("", "base_unknown"))
                status, found = self.api.request("POST", "/session", session)
            self.assertEqual((status, found["status"]), (200, "completed"))
            self.assertEqual(found["messages"][: count + 1], session["messages"])
            session = found
            message_id = f"u{len(session['messages'])}"
            session["messages"].append({"id": message_id, "role": "user", "content": "stream 3"})
            return taken > 2

        until(turn)

    def test_a_call_that_another_one_finishes_is_waited_for(self) -> None:
        """The listener leaves while a command runs that may not run twice: whichever worker gets
        the session next, its result is found and nothing runs again."""
        self.start()
        command = "sleep 1; echo ran >> count; cat count"
        asked: Any = {
            "messages": [{"id": "u1", "role": "user", "content": f"shell {command}"}],
            "config": {"tool": {"shell": {"auto_approve": True}}},
        }
        for number in range(3):
            with self.subTest(number=number):
                asked["id"] = f"s{number}"
                folded: Any = {}
                with self.api.stream(asked) as stream:
                    folded = cut_at_exec(stream.events(), asked)
                found = until(lambda sent=folded: self.posted(sent))
                results = [m["content"] for m in found["messages"] if m["role"] == "tool"]
                self.assertEqual((found["status"], len(results)), ("completed", 1), found)
                self.assertEqual(results[0].count("ran"), 1)

    def posted(self, session: Any) -> Any | None:
        status, body = self.api.request("POST", "/session", session)
        self.assertIn(status, (200, 409), body)
        return dict(body) if status == 200 else None

    def test_many_at_once(self) -> None:
        self.start(2)
        asked = {"messages": [{"role": "user", "content": "calc 6*7"}]}
        with ThreadPoolExecutor(16) as pool:
            found = list(pool.map(lambda _: self.api.run(asked)["status"], range(48)))
        self.assertEqual(set(found), {"completed"})


class Failing(Case):
    def test_where_no_process_can_be_had_the_parent_goes_on(self) -> None:
        child = Child([sys.executable, "-W", "error", "-c", ALONE], env=self.env)
        self.addCleanup(child.kill)
        for number in range(2):
            said = rf"worker {number} cannot be started \(.+\); it is started again in 0\.5 s"
            child.wait_for(said, SECONDS)
        child.wait_for(r"worker 0 cannot be started .* again in 1 s", SECONDS)
        self.assertEqual(child.stop(patience.seconds(SECONDS)), 0)

    def test_once_it_has_ended_no_signal_is_written_anywhere(self) -> None:
        command = [sys.executable, "-W", "error", "-c", STOPPED]
        done = subprocess.run(command, cwd=ROOT, env=self.env, capture_output=True, text=True)
        self.assertEqual((done.stdout, done.stderr), ("0 -1\n", ""))

    def test_however_often_one_dies(self) -> None:
        place = _Place(0)
        with self.assertLogs("yaa.workers") as said:
            for _ in range(3000):
                place.rest(100.0, "ended", young=True)
        self.assertEqual(place.due, 130.0)
        self.assertIn("in 0.5 s", said.output[0])
        with self.assertLogs("yaa.workers"):
            place.rest(100.0, "ended", young=False)
        self.assertEqual(place.due, 100.0)

    def test_what_no_start_can_mend_ends_them_all(self) -> None:
        done = self.yaa("--port", "0", "--workers", "3", env={"YAA_SANDBOX_FORCE": "Z"})
        self.assertEqual(done.returncode, 2)
        self.assertIn("YAA_SANDBOX_FORCE is Z", done.stderr)


def cut_at_exec(events: Any, session: Any) -> Any:
    """The session as its client holds it at the moment its call begins to run."""
    folder = Folder(copy.deepcopy(session))
    for event in events:
        folder.apply(event)
        if event.get("metadata", {}).get("yaa", {}).get("exec"):
            break
    folder.flush()
    return folder.session


if __name__ == "__main__":
    unittest.main()
