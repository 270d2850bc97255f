"""`python3 -m tests.chaos.crowd`: ten people on one server for minutes, honest, careless, hostile.

Seven work: turns, calls, streams, files that are written and read back. Two are careless: they hang
up, ask twice, stop what does not run and send rubbish. One is hostile: an attacker of
`tests.bench.people` at a time, chosen by the seed. What must hold: no request of an honest person
is lost or answered wrongly, however often it must be asked again; and when all have gone, after
half of the time and at its end, the server is as it was after a warm-up: what Python has in use,
descriptors, threads, processes, files of its home, and in the second half the memory that it has
of the system.
"""

from __future__ import annotations

import argparse
import http.client
import json
import random
import signal
import socket
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ..bench.peers import config, start
from ..bench.people import FREE, SHORT, Target, attacks, beside, document, files
from ..http.test_tls import pair
from ..tooling.child import Child
from . import processes

HONEST, CARELESS, HOSTILE = 7, 2, "mal"
SESSIONS = 4  # of one person, used again and again: folders of sessions stay, as documented
AGAIN = (429, 503, 409)  # asked again after a pause
PATIENCE_S = 240.0  # until an honest request must have been served, on a loaded machine
ATTACK_S = 15.0
# Beside each attacker as long as later: Python keeps what its objects took at their peak, since an
# arena of 1 MiB goes back to the system only when nothing in it is in use.
WARM_UP_S = ATTACK_S
SETTLED_S = 180.0
IDLE_S = 5.0  # of the processes that a server keeps
RESULTS_S, CLAIMS_S = 30, 300  # a call that waits longer than its claim is asked about
# A server collects garbage and gives memory back every RESULTS_S: before that it does not rest.
QUIET_S = RESULTS_S * 1.5
MORE_KIB, SLACK = 32 << 10, 8  # of memory; of descriptors, threads and processes
FALLS_KIB = 512  # in a second: less is no fall
MORE_FILES, MORE_BYTES = 400, 8 << 20  # of the home, without LASTING
FILES, LARGEST = 5, 500_000  # of each session; bytes of a file
SMALL, SHARES = 50_000, 4  # bytes of a file, and parts of the attackers, where it is tiny
KEPT_MB = 1  # of sessions for their next requests: few enough that their number adds nothing
LIMITS = {"claim_ttl_s": CLAIMS_S, "result_ttl_s": RESULTS_S, "kept_sessions_mb": KEPT_MB}
# What is bounded by an hour or by bytes, and not by what runs.
LASTING = ("objects", "runs")


@dataclass
class Held:
    """What a server with its processes has."""

    kib: int
    descriptors: int
    threads: int
    processes: int
    files: int
    bytes: int
    blocks: int = 0  # that Python has in use: of one that rests
    folders: dict[str, int] = field(default_factory=dict)  # MiB of the larger ones


@dataclass
class Tally:
    """What happened. `wrong`: in words."""

    done: Counter[str] = field(default_factory=Counter)
    again: Counter[int] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    worst_s: float = 0.0


class Lost(Exception):
    """A request was not served in time, or wrongly."""


class Person:
    """A client in a thread. `chance`: of its own."""

    def __init__(
        self, name: str, target: Target, chance: random.Random, tally: Tally, largest: int = LARGEST
    ) -> None:
        self.name, self.target, self.chance, self.tally = name, target, chance, tally
        self.largest = largest

    def send(
        self, method: str, path: str, body: bytes = b"", accept: str = "application/json"
    ) -> tuple[int, bytes]:
        """Ask once. Raises OSError, http.client.HTTPException."""
        connection = self.target.connect(120)
        try:
            headers = {"Authorization": f"Bearer {self.target.key}", "Accept": accept}
            connection.request(method, path, body, headers | {"Content-Type": "application/json"})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def insist(self, what: str, method: str, path: str, body: bytes = b"", **more: str) -> bytes:
        """Ask until it is served. Raises Lost."""
        began = time.monotonic()
        while True:
            try:
                status, told = self.send(method, path, body, **more)
            except (OSError, http.client.HTTPException) as error:
                status, told = 0, repr(error).encode()
            took = time.monotonic() - began
            if status == 200:
                self.tally.worst_s = max(self.tally.worst_s, took)
                return told
            if status not in (0, *AGAIN) or took > PATIENCE_S:
                raise Lost(f"{what} of {self.name}: {status} after {took:.0f} s: {told[:200]!r}")
            self.tally.again[status] += 1
            time.sleep(self.chance.uniform(0.2, 1.0))

    # -- the honest

    def work(self, stop: threading.Event) -> None:
        number = 0
        while not stop.is_set():
            number += 1
            kind = self.chance.choice((self.turn, self.call, self.stream, self.file))
            try:
                kind(number)
                self.tally.done[kind.__name__] += 1
            except Lost as lost:
                self.tally.wrong.append(str(lost))
            stop.wait(self.chance.uniform(0.05, 0.6))

    def session(self) -> str:
        return f"{self.name}-{self.chance.randrange(SESSIONS)}"

    def turn(self, _number: int) -> None:
        body = document(SHORT, count=self.chance.choice((0, 20, 200)), id=self.session())
        self.check("turn", json.loads(self.insist("turn", "POST", "/session", body)))

    def call(self, number: int) -> None:
        # The same words in the same session are the same call, asked about once that is old.
        word = f"{self.name}-{self.chance.randrange(1 << 32):x}-{number}"
        order = f"{SHORT} tool=shell" + json.dumps({"command": f"echo {word} | tee last"})
        body = document(order, id=self.session(), config=FREE)
        found = json.loads(self.insist("call", "POST", "/session", body))
        self.check("call", found)
        results = [each for each in found["messages"] if each["role"] == "tool"]
        if len(results) != 1 or word not in results[0]["content"]:
            raise Lost(f"call of {self.name}: {results} without {word}")

    def check(self, what: str, found: Any) -> None:
        if found["status"] != "completed":
            last = found["interrupts"] or found["messages"][-1]
            raise Lost(f"{what} of {self.name}: {found['status']} {last}")

    def stream(self, _number: int) -> None:
        order = f"bench tokens={self.chance.randrange(3, 40)} delay_us=20000"
        body = document(order, id=self.session())
        told = self.insist("stream", "POST", "/session", body, accept="text/event-stream")
        if b"RUN_FINISHED" not in told:
            raise Lost(f"stream of {self.name} ends with {told[-200:]!r}")

    def file(self, number: int) -> None:
        self.keep_file(self.session(), number, self.chance.choice((10, 10_000, self.largest)))

    def keep_file(self, session: str, number: int, size: int) -> None:
        path = f"/workspaces/{session}/file?path=f{number % FILES}"
        data = (f"{self.name} {number} ".encode() * size)[:size]
        self.insist("upload", "PUT", path, data)
        if self.insist("download", "GET", path) != data:
            raise Lost(f"file of {self.name}: it is not what was written")

    def fill(self) -> None:
        """Write all files of all sessions at their largest."""
        for number in range(SESSIONS * FILES):
            self.keep_file(f"{self.name}-{number // FILES}", number, self.largest)

    # -- the careless

    def fumble(self, stop: threading.Event) -> None:
        while not stop.is_set():
            kind = self.chance.choice((self.hang_up, self.twice, self.stops, self.rubbish))
            with suppress(OSError, http.client.HTTPException):
                kind()
            self.tally.done["careless"] += 1
            stop.wait(self.chance.uniform(0.05, 0.4))

    def hang_up(self) -> None:
        order = f'{SHORT} tool=shell{{"command":"sleep 1"}}'
        body = document(order, id=self.session(), config=FREE)
        cut = self.chance.randrange(1, len(body) * 2)  # beyond the body: while it runs
        one: socket.socket
        with self.target.open(self.target.head("POST", "/session", len(body)) + body[:cut]) as one:
            one.settimeout(5)
            if cut > len(body):
                one.recv(self.chance.randrange(1, 2_000))

    def twice(self) -> None:
        body = document("bench tokens=5 delay_us=10000", id=self.session())
        pair = [threading.Thread(target=self.quietly, args=("/session", body)) for _ in range(2)]
        for each in pair:
            each.start()
        for each in pair:
            each.join()

    def quietly(self, path: str, body: bytes) -> None:
        with suppress(OSError, http.client.HTTPException):
            self.send("POST", path, body)

    def stops(self) -> None:
        for _ in range(20):
            self.send("POST", "/session/stop", json.dumps({"id": self.session()}).encode())

    def rubbish(self) -> None:
        path = self.chance.choice(("/session", "/v1/chat/completions", "/agui/default", "/files"))
        self.send("POST", path, self.chance.randbytes(self.chance.randrange(1, 20_000)))
        self.send("DELETE", f"/workspaces/{self.session()}/file?path=nothing")


class Crowd:
    """The server and its people. `tls`: they speak by HTTPS."""

    def __init__(self, stack: ExitStack, seed: int, *, tls: bool, largest: int = LARGEST) -> None:
        self.seed, self.tally, self.plays, self.largest = seed, Tally(), 0, largest
        self.home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="yaa-crowd-")))
        names = [*(f"h{n}" for n in range(HONEST)), *(f"c{n}" for n in range(CARELESS)), HOSTILE]
        keys = {name: f"the-key-of-{name}-1234" for name in names}
        settings: Any = config(start(stack, "tests.bench.provider"))
        server = settings["server"]
        server["limits"] = LIMITS
        server["api_keys"] = [{"name": name, "key": key} for name, key in keys.items()]
        server.setdefault("sandbox", {})["idle_s"] = IDLE_S
        server.setdefault("workspace", {})["idle_s"] = IDLE_S
        cert = ""
        if tls:
            cert, key = map(str, pair(self.home, "own"))
            server["tls"] = {"cert": cert, "key": key}
        (self.home / "config.json").write_text(json.dumps(settings))
        self.told = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "blocks"
        command = [sys.executable, "-m", "tests.chaos.counted_server", str(self.told)]
        child = Child([*command, "--home", str(self.home), "--port", "0"])
        stack.callback(child.stop)
        parts = urlsplit(child.wait_for(r"^(https?://127\.0\.0\.1:\d+)/$", 120)[1])
        child.wait_for(r"^  ready ", 120)
        self.child, self.pid = child, child.process.pid
        host, port = str(parts.hostname), parts.port or 0
        self.targets = {name: Target(host, port, key, cert) for name, key in keys.items()}

    def held(self) -> Held:
        """Return what the server has now, with all its processes."""
        found = Held(0, 0, 0, 0, 0, 0)
        for pid in {self.pid, *processes.below(self.pid)}:
            with suppress(OSError):
                status = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
                found.kib += sum(int(line.split()[1]) for line in status if line[:4] == "Pss:")
                found.descriptors += len(list(Path(f"/proc/{pid}/fd").iterdir()))
                found.threads += len(list(Path(f"/proc/{pid}/task").iterdir()))
                found.processes += 1
        sizes: Counter[str] = Counter()
        for path in self.home.rglob("*"):
            folder = path.relative_to(self.home).parts[0]
            if folder not in LASTING:
                with suppress(OSError):
                    size = path.lstat().st_size
                    found.files, found.bytes = found.files + 1, found.bytes + size
                    sizes[folder] += size
        found.folders = {name: size >> 20 for name, size in sizes.items() if size >> 20}
        return found

    def play(self, seconds: float, each_s: float, names: list[str]) -> None:
        """Let all work for so long, beside one attacker after the other."""
        stop = threading.Event()
        self.plays += 1
        threads = []
        for number, (name, target) in enumerate(self.targets.items()):
            chance = random.Random(f"{self.seed} {name} {self.plays}")
            person = Person(name, target, chance, self.tally, self.largest)
            work: Callable[[threading.Event], None] = person.work
            if number >= HONEST:
                work = person.fumble
            if name != HOSTILE:
                threads.append(threading.Thread(target=work, args=(stop,), name=name))
        for each in threads:
            each.start()
        ends = time.monotonic() + seconds
        for name in names:
            if (left := ends - time.monotonic()) > 0:
                with beside(name, self.targets[HOSTILE]):
                    time.sleep(min(each_s, left))
                print(f"{left:4.0f} s left, {name}: {self.held()}", flush=True)
        stop.set()
        for each in threads:
            each.join(PATIENCE_S + 60)
            if each.is_alive():
                self.tally.wrong.append(f"{each.name} waits for ever")

    def settled(self, before: Held | None = None) -> Held:
        """Return what it has after a rest: its memory falls no more, and it is as small as before.

        The workspaces are filled first, so that their size does not hang on the last uploads.
        """
        for name, target in [*self.targets.items()][:HONEST]:
            Person(name, target, random.Random(self.seed), self.tally, self.largest).fill()
        files(self.targets[HOSTILE])
        began = fell = time.monotonic()
        now = self.held()
        while True:
            time.sleep(1)
            last, now, at = now, self.held(), time.monotonic()
            if now.kib < last.kib - FALLS_KIB:
                fell = at
            rests = at - fell > QUIET_S and not (before and self.grown(before, now))
            if rests or at - began > SETTLED_S:
                now.blocks = self.blocks()
                return now

    def blocks(self) -> int:
        """Return how many blocks of memory Python has in use."""
        before = self.told.read_text() if self.told.exists() else ""
        self.child.process.send_signal(signal.SIGUSR2)
        processes.until(lambda: self.told.exists() and self.told.read_text() != before, 60)
        return int(self.told.read_text().split()[-1])

    def grown(self, before: Held, now: Held) -> list[str]:
        """Return what has grown beyond its bound, in words."""
        bounds = {"kib": before.kib + max(MORE_KIB, before.kib // 4)}
        if now.blocks:
            bounds["blocks"] = before.blocks + before.blocks // 4
        for name in ("descriptors", "threads", "processes"):
            bounds[name] = getattr(before, name) + SLACK
        bounds |= {"files": before.files + MORE_FILES, "bytes": before.bytes + MORE_BYTES}
        return [
            f"{name}: {getattr(before, name)} before, {getattr(now, name)} after"
            for name, most in bounds.items()
            if getattr(now, name) > most
        ]


def tracebacks(output: str) -> list[str]:
    """Return the lines of a log that hold a traceback: the server writes a record as one line."""
    return [line for line in output.splitlines() if "Traceback (most recent call last)" in line]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python3 -m tests.chaos.crowd", description=__doc__)
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--tls", action="store_true", help="by HTTPS")
    text = "show that it runs: one half, a quarter of the attackers, small files"
    parser.add_argument("--tiny", action="store_true", help=text)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    options = parser.parse_args()
    print(f"{options.minutes:g} minutes, --seed {options.seed}", flush=True)
    with ExitStack() as stack:
        largest = SMALL if options.tiny else LARGEST
        crowd = Crowd(stack, options.seed, tls=options.tls, largest=largest)
        chance, names, seconds = (
            random.Random(options.seed),
            sorted(attacks(tls=options.tls)),
            options.minutes * 60,
        )
        if options.tiny:  # those that come later are among those of the warm-up
            names = names[options.seed % SHARES :: SHARES]
        crowd.play(len(names) * 60.0, min(WARM_UP_S, seconds / 20), names)
        rests = [crowd.settled()]
        halves = 1 if options.tiny else 2
        for _ in range(halves):
            print(f"at rest: {rests[-1]}", flush=True)
            some = chance.choices(names, k=round(seconds / halves / ATTACK_S) + 1)
            crowd.play(seconds / halves, ATTACK_S, some)
            rests.append(crowd.settled(rests[-1]))
        first, after = rests[0], rests[-1]
        print(f"at rest: {after}")
        # Memory and files of the second half: in the first the system's memory may still reach its
        # highest peak, and the workspaces that are kept get their files.
        wrong = crowd.tally.wrong + (crowd.grown(rests[1], after) if halves == 2 else [])
        first.kib, first.files = after.kib, after.files
        wrong += crowd.grown(first, after)
        if crowd.child.process.poll() is not None:
            wrong.append(f"the server has ended: {crowd.child.output[-2000:]}")
        wrong += [f"the log has {line[:1500]}" for line in tracebacks(crowd.child.output)]
    print(f"{dict(crowd.tally.done)}, asked again {dict(crowd.tally.again)}", end=", ")
    print(f"the longest {crowd.tally.worst_s:.1f} s")
    print("\n".join(wrong[:20]))
    print(f"{len(wrong)} wrong")
    return min(len(wrong), 1)


if __name__ == "__main__":
    sys.exit(main())
