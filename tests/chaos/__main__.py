"""`python3 -m tests.chaos --runs 300 --seed 7`: many conversations, and in each one something dies.

Each is an ordinary client's: it folds what comes, keeps the write-ahead copy, POSTs again whatever
happens. In each, after some event, one process is killed: a server (or a worker of the one that has
two), the zygote, a process of a tool, the model's server, nginx, or the client itself. In the end
every conversation must have come to its end, nothing may have run twice, and nothing may be left.
"""

from __future__ import annotations

import argparse
import copy
import http.client
import json
import os
import random
import socket
import struct
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from server.lib.http.sse import Decoder
from server.session.fold import Folder, digest

from ..agent.test_loop import Client, complete
from ..fakes import answer
from ..tooling import tools
from . import processes
from .cluster import KEY, KINDS, Cluster
from .test_kill import PAGE_TOOL

DEADLINE_S = 240.0  # of one conversation, after which it has not come to its end
LATEST = 50  # events of a conversation; the strike comes before
REFUSED = (409, 429, 503)  # nothing has run
PASSING = (*REFUSED, 502, 504)
END = "Done: 6 results."


@dataclass
class Tally:
    lost: int = 0  # streams that were cut
    statuses: Counter[int] = field(default_factory=Counter)
    whole: int = 0  # conversations in which everything ran
    wrong: list[str] = field(default_factory=list)


def main() -> int:
    options = _options()
    processes.adopt()
    began, tally, nginx = time.monotonic(), Tally(), tools.nginx().path
    kinds = [kind for kind in KINDS if nginx or kind != "nginx"]
    print(f"{options.runs} runs, --seed {options.seed}, {'with' if nginx else 'WITHOUT'} nginx")
    with (
        Cluster(nginx, shared=options.unasked) as cluster,
        ThreadPoolExecutor(options.at_once) as pool,
    ):
        talks = [
            Talk(cluster, number, random.Random(f"{options.seed}/{number}"), kinds, tally)
            for number in range(options.runs)
        ]
        for talk in talks:
            talk.unasked = options.unasked
        for number, _ in enumerate(pool.map(Talk.hold, talks), 1):
            if number % 25 == 0:
                took = time.monotonic() - began
                print(f"  {number} runs, {took:.0f} s, {len(tally.wrong)} wrong", flush=True)
        cluster.wait()
        for port in cluster.direct:  # nothing that was left blocks who comes now
            Talk(cluster, port, random.Random(port), [], tally, port).hold()
        killed, orphans = cluster.killed, cluster.orphans
    stray = processes.below(os.getpid())
    processes.until(lambda: not processes.below(os.getpid()), 20)
    orphans += processes.left(processes.born(stray))
    tally.wrong += [f"left behind {each}" for each in orphans]
    if sum(killed.values()) < options.runs * 0.5:  # some end before their strike
        tally.wrong.append(f"only {sum(killed.values())} kills: too little was tried")
    told = ", ".join(f"{kind} {count}" for kind, count in killed.items())
    print(f"killed {sum(killed.values())}: {told}")
    print(f"streams cut: {tally.lost}; answers: {dict(sorted(tally.statuses.items()))}")
    print(f"runs in which every call ran, once: {tally.whole} of {options.runs + 3}")
    print("\n".join(tally.wrong[:50]))
    print(f"{len(tally.wrong)} wrong in {time.monotonic() - began:.0f} s")
    return min(len(tally.wrong), 1)


class Talk:
    """One conversation and its one strike."""

    def __init__(
        self,
        cluster: Cluster,
        number: int,
        chance: random.Random,
        kinds: list[str],
        tally: Tally,
        port: int | None = None,
    ) -> None:
        self._cluster, self._chance, self._tally, self._port = cluster, chance, tally, port
        self._id = f"talk-{number}"
        self._kind = self._planned = chance.choice(kinds) if kinds else ""
        self._at = chance.randrange(1, LATEST)
        self._at_exec = chance.random() < 0.5  # not before the next tool begins
        self._seen = 0
        self.unasked = False  # its tools run without being asked about

    def hold(self) -> None:
        wrong = self._tally.wrong
        try:
            session = self._converse()
        except Exception as error:
            wrong.append(f"{self._id} ({self._planned} at {self._at}): {error!r:.600}")
            return
        ran = self._cluster.executions(self._id)
        if max(ran) > 1:
            wrong.append(f"{self._id} ({self._planned} at {self._at}): ran {ran}")
        self._tally.whole += ran == [1, 1, 1]
        said = [m for m in session["messages"] if not m.get("open")]
        calls = sorted(c["id"] for m in said for c in m.get("tool_calls") or ())
        results = sorted(m["tool_call_id"] for m in said if m["role"] == "tool")
        if calls != results or said[-1]["content"] != END:
            wrong.append(f"{self._id}: {calls} {results} {said[-1]!r:.200}")

    def _converse(self) -> Any:
        client, ends = Client(), time.monotonic() + DEADLINE_S
        client.kept |= {"id": self._id, "tools": [PAGE_TOOL]}
        if self.unasked:
            client.kept["config"] = {"tool": {n: {"auto_approve": True} for n in ("shell", "mark")}}
        while time.monotonic() < ends:
            before = copy.deepcopy(client.kept)
            status, came = self._post(client)
            self._tally.statuses[status] += 1
            if status in (0, *REFUSED):
                client.kept = before
            if status != 200:
                if status not in (0, -1, *PASSING):
                    raise AssertionError(f"status {status}")
                time.sleep(0.1 + self._chance.random() / 5)
            elif not came:
                self._tally.lost += 1
            elif client.kept["status"] == "completed":
                return client.kept
            else:
                complete(client.kept)
                answer(client.kept, "model_error", {"retry": True})
                answer(client.kept, "limit", {"continue": True})
        kept = {key: client.kept.get(key) for key in ("status", "calls", "interrupts")}
        raise AssertionError(f"it does not come to its end: {kept}")

    def _post(self, client: Client) -> tuple[int, bool]:
        """(the answer's status, whether the run came to its end). Status 0: nothing was sent, -1:
        nobody knows."""
        port = self._port or self._chance.choice(self._cluster.places)
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        headers = {"Authorization": f"Bearer {KEY}", "Accept": "text/event-stream"}
        headers |= {"Content-Type": "application/json", "Connection": "close"}
        try:
            connection.connect()
        except OSError:
            return 0, False
        try:
            connection.request("POST", "/session", json.dumps(client.sends()), headers)
            with connection.getresponse() as given:
                return given.status, given.status == 200 and self._follow(given, client, connection)
        except (OSError, http.client.HTTPException):
            return -1, False
        finally:
            connection.close()

    def _follow(
        self,
        given: http.client.HTTPResponse,
        client: Client,
        connection: http.client.HTTPConnection,
    ) -> bool:
        folder, decoder = Folder(client.kept), Decoder()
        end: dict[str, Any] = {}
        try:
            while not end and (data := given.read1()):
                for frame in decoder.feed(data):
                    event = json.loads(frame.data)
                    folder.apply(event)
                    if event["type"] in ("RUN_FINISHED", "RUN_ERROR"):
                        end = event["metadata"]["yaa"]
                    if self._due(event) and self._struck(client.kept["run"]["id"]):
                        reset(connection)
                        return False
        except (OSError, http.client.HTTPException):
            pass  # cut
        finally:
            folder.flush()
        if end and digest(client.kept, end["since"]) != end["digest"]:
            self._tally.wrong.append(f"{self._id}: the folds differ")
        return bool(end)

    def _due(self, event: Any) -> bool:
        self._seen += 1
        is_exec = bool(event.get("metadata", {}).get("yaa", {}).get("exec"))
        due = self._seen >= self._at and (is_exec or not self._at_exec or self._seen > LATEST)
        return due and bool(self._kind)

    def _struck(self, run: str) -> bool:
        """Kill once; whether it was this client. What is down already is tried again later."""
        if self._kind == "client":
            self._cluster.killed["client"] += 1
        elif not self._cluster.strike(self._kind, run, self._chance):
            return False
        struck, self._kind = self._kind, ""
        return struck == "client"


def reset(connection: http.client.HTTPConnection) -> None:
    """As the kernel ends the connections of a process that was killed with bytes unread."""
    if connection.sock:
        linger = struct.pack("ii", 1, 0)
        connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python3 -m tests.chaos", description=__doc__)
    parser.add_argument("--runs", type=int, default=300)
    text = "servers share one home folder, and tools run without being asked about"
    parser.add_argument("--unasked", action="store_true", help=text)
    parser.add_argument("--at-once", type=int, default=6, help="conversations in flight")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
