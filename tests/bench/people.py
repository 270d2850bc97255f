"""What one person's work does to another's turns: `python3 -m tests.bench.people [NAMES] [--s 3]`.

Prints a row for each attacker: how long a plain turn of another person takes, and one with a shell
call, alone and beside the attacker, as medians and as ratios, how many were refused, and whether
the goal is met: three times for a plain turn, four for one with a tool, nobody refused. The last
line says beside how many it is missed; then it fails. A row of three rounds of a second takes half
a minute on a machine at rest. The server is one worker with its default configuration. Alone and
beside are measured in turns, since other work on the machine changes both: more rounds of fewer
seconds are steadier. An attacker has opened what it holds before the measurement begins.
"""

from __future__ import annotations

import argparse
import functools
import gzip
import http.client
import json
import multiprocessing
import socket
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from ..tooling.api import Api, connect, trusting
from ..tooling.child import Child
from .peers import config, start

KEYS = {name: f"the-key-of-{name}-1234" for name in ("ann", "mal", "gil")}
SHORT = "bench tokens=3 delay_us=0"
TURN = f"{SHORT}", f'{SHORT} tool=shell{{"command":"true"}}'
OTHER = "other"  # a second provider: 500 streams keep one busy that the turns would wait for
FREE = {"tool": {"shell": {"auto_approve": True}}}
MOST = 3.0, 4.0  # times as long as alone: a plain turn, one with a tool
PAUSE_S = 0.05  # between two bursts
BURN = "python3 -c 'while True: pass' & sleep 2; kill $!"
TREE = "for n in $(seq 20); do cp big big$n; done"


class Target(NamedTuple):
    """Where an attacker sends its requests. `key`: whose. `cert`: of a server with TLS."""

    host: str
    port: int
    key: str
    cert: str = ""

    def head(self, method: str, path: str, size: int, *, packed: bool = False) -> bytes:
        coding = "Content-Encoding: gzip\r\n" if packed else ""
        return (
            f"{method} {path} HTTP/1.1\r\nHost: {self.host}\r\nAuthorization: Bearer {self.key}\r\n"
            f"Content-Type: application/json\r\nAccept: text/event-stream\r\n{coding}"
            f"Content-Length: {size}\r\n\r\n"
        ).encode()

    def ask(self, method: str, path: str, body: bytes = b"", **more: Any) -> int:
        """The status of an answer that is read to its end."""
        connection = self.connect(60)
        try:
            headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
            connection.request(method, path, body, headers | more)
            answer = connection.getresponse()
            while answer.read(1 << 20):
                pass
            return answer.status
        finally:
            connection.close()

    def connect(self, timeout: float) -> http.client.HTTPConnection:
        return connect(self.host, self.port, timeout, self.cert)

    def open(self, data: bytes) -> socket.socket:
        """A connection on which this was sent, and nothing is read."""
        one = socket.create_connection((self.host, self.port), timeout=30)
        if self.cert:
            one = trusting(self.cert).wrap_socket(one)
        one.sendall(data)
        return one


def document(order: str, *, count: int = 0, pictures: int = 0, **more: Any) -> bytes:
    messages: list[Any] = [
        {"id": f"m{n}", "role": "user" if n % 2 == 0 else "assistant", "content": "word " * 40}
        for n in range(count)
    ]
    url = "data:image/png;base64," + "A" * 500_000
    for message in messages[: 2 * pictures : 2]:
        message["content"] = [{"type": "image_url", "image_url": {"url": url}}]
    messages.append({"id": "last", "role": "user", "content": order})
    return json.dumps({"messages": messages, **more}).encode()


Attack = Callable[[Target, Event, Event], None]  # where, set once it goes on, set to end it


def in_loops(number: int, *work: Callable[[Target], object]) -> Attack:
    """So many threads, each doing its work again and again."""

    def attack(target: Target, ready: Event, stop: Event) -> None:
        def repeat(one: Callable[[Target], object]) -> None:
            while not stop.is_set():
                try:
                    one(target)
                except (OSError, http.client.HTTPException):
                    stop.wait(0.05)

        for n in range(number):
            threading.Thread(target=repeat, args=(work[n % len(work)],), daemon=True).start()
        ready.set()
        stop.wait()

    return attack


def in_bursts(number: int, *work: Callable[[Target], object]) -> Attack:
    """So many at once, and once all are answered a pause: nobody asks twice at a time."""

    def attack(target: Target, ready: Event, stop: Event) -> None:
        def try_once(one: Callable[[Target], object]) -> None:
            with suppress(OSError, http.client.HTTPException):
                one(target)

        ready.set()
        while not stop.wait(PAUSE_S):
            threads = [
                threading.Thread(target=try_once, args=(work[n % len(work)],), daemon=True)
                for n in range(number)
            ]
            for each in threads:
                each.start()
            for each in threads:
                each.join()

    return attack


def posting(path: str, body: bytes, **headers: str) -> Callable[[Target], object]:
    return lambda target: target.ask("POST", path, body, **headers)


def held(number: int, size: int, sent: int, path: str = "/session") -> Attack:
    """Connections whose bodies come slowly."""

    def attack(target: Target, ready: Event, stop: Event) -> None:
        ones = []
        for _ in range(number):
            with suppress(OSError):
                ones.append(target.open(target.head("POST", path, size) + b" " * sent))
        ready.set()
        while not stop.wait(1):
            for one in ones:
                with suppress(OSError):
                    one.sendall(b" " * 1_500)
        close(ones)

    return attack


def close(ones: list[socket.socket]) -> None:
    for one in ones:
        one.close()


def streams(target: Target, ready: Event, stop: Event) -> None:
    there = {"llm_api": {"provider": {"name": OTHER}}}
    body = document("bench tokens=100000 delay_us=20000", config=there)
    ones = []
    for _ in range(500):
        with suppress(OSError):
            ones.append(target.open(target.head("POST", "/session", len(body)) + body))
    ready.set()
    stop.wait()
    close(ones)


def handshakes(target: Target, ready: Event, stop: Event) -> None:
    """Connections on which TLS begins, and nothing follows."""
    plain = target._replace(cert="")
    ones: list[socket.socket] = []
    while not stop.is_set():
        if len(ones) < 1_030:
            with suppress(OSError):
                ones.append(plain.open(b"\x16\x03\x01\x02\x00\x01"))
                continue
        ready.set()
        stop.wait(1)
        ones = [one for one in ones if not ended(one)]
    close(ones)


def ended(one: socket.socket) -> bool:
    """Whether the server has closed a connection, which is then closed here."""
    with suppress(BlockingIOError):
        one.setblocking(False)
        with suppress(ConnectionError):
            if one.recv(1_000):
                return False
        one.close()
        return True
    return False


def hurry(target: Target) -> None:
    """Connect, and leave in the middle of the head."""
    target.open(b"POST /session HTTP/1.1\r\n").close()


def files(target: Target) -> None:
    target.ask("PUT", "/workspaces/mal/file?path=large", b"x" * 24_000_000)
    target.ask("GET", "/workspaces/mal/file?path=large")


def archives(target: Target, ready: Event, stop: Event) -> None:
    """The same tree as that of many sessions: each has a process of its own."""
    api = Api(f"http://{target.host}:{target.port}", target.key, cert=target.cert)
    tree = api.request("GET", "/workspaces/mal/state")[1]["tree"]
    paths = [f"/workspaces/mal{n}/archive?tree={tree}" for n in range(20)]
    work = [functools.partial(Target.ask, method="GET", path=path) for path in paths]
    in_loops(len(work), *work)(target, ready, stop)


def attacks(*, tls: bool = False) -> dict[str, Attack]:
    """The attackers by name. Made in the attacker's process."""
    long = document(SHORT, count=5_000, pictures=8)
    calls = " ".join(f"tool=shell{json.dumps({'command': BURN})}" for _ in range(4))
    burning = document(f"{SHORT} {calls}", config=FREE)
    schema = {"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(20)}}
    tools = [
        {"name": f"tool_{n}", "description": "about " * 100, "parameters": schema}
        for n in range(250)
    ]
    return {
        "long sessions": in_loops(4, posting("/session", long)),
        "their events": in_loops(8, posting("/session/events", long)),
        "calls that burn": in_loops(16, posting("/session", burning)),
        "unread streams": streams,
        "files of 24 MB": in_loops(6, files),
        "tools of the page": in_loops(4, posting("/session", document(SHORT, tools=tools))),
        "bad bodies": in_loops(
            6,
            posting("/session", b"[" * 15_000_000),
            posting("/session", b'{"messages": [' + b"[]," * 300_000),
            posting("/session", gzip.compress(b"[" * 5_000_000), **{"Content-Encoding": "gzip"}),
            posting("/session", ('{"messages": "' + "\\u00fc" * 2_000_000 + '"').encode()),
        ),
        "archives": archives,
        "slow large bodies": held(17, 32_000_000, 31_000_000),
        "slow connections": held(1_030, 1_000_000, 100),
        "stops": in_loops(8, posting("/session/stop", b'{"id": "s-no"}')),
        "bursts of turns": in_bursts(64, posting("/session", document(SHORT))),
        "bursts of calls": in_bursts(
            32,
            *(  # sessions that are used again: each has a folder, which stays
                posting("/session", document(TURN[1], config=FREE, id=f"burst {n}"))
                for n in range(32)
            ),
        ),
        "bursts of long sessions": in_bursts(16, posting("/session", long)),
        "bursts of connections": in_bursts(256, hurry),
        **({"handshakes": handshakes} if tls else {}),
    }


def run_attack(name: str, target: Target, ready: Event, stop: Event) -> None:
    attacks(tls=bool(target.cert))[name](target, ready, stop)


@contextmanager
def beside(name: str, target: Target) -> Iterator[None]:
    """An attacker at work, in a process of its own."""
    ready, stop = multiprocessing.Event(), multiprocessing.Event()
    process = multiprocessing.Process(target=run_attack, args=(name, target, ready, stop))
    process.start()
    try:
        ready.wait(60)
        time.sleep(0.5)
        yield
    finally:
        stop.set()
        process.join(2)
        process.kill()
        process.join()


class Turns:
    """The turns of one person: milliseconds of those that were answered, and who was refused."""

    def __init__(self, target: Target) -> None:
        self._target, self.refused = target, 0

    def measure(self, order: str, seconds: float) -> list[float]:
        ends = time.monotonic() + seconds
        found: list[float] = []
        body = document(order, config=FREE)
        while time.monotonic() < ends or not found:
            began = time.perf_counter()
            try:
                status = self._target.ask("POST", "/session", body, Accept="text/event-stream")
            except (OSError, http.client.HTTPException):
                status = 0
            if status == 200:
                found.append((time.perf_counter() - began) * 1000)
            else:
                self.refused += 1
            if not found and time.monotonic() > ends + 5:
                return [float("inf")]
        return found


def row(name: str, mal: Target, gil: Target, seconds: float, rounds: int) -> list[float]:
    """[plain alone, beside, tool alone, beside, first beside, worst plain beside, refused], in ms.

    The first four are medians. The first turn beside an attacker waits until all that it has opened
    is accepted.
    """
    turns = Turns(gil)
    found: list[list[float]] = [[] for _ in range(5)]
    for _ in range(rounds):
        for n, order in enumerate(TURN):
            found[2 * n].extend(turns.measure(order, seconds))
        with beside(name, mal):
            found[4].extend(turns.measure(TURN[0], 0))
            for n, order in enumerate(TURN):
                found[2 * n + 1].extend(turns.measure(order, seconds))
        time.sleep(1)
    return [*map(statistics.median, found), max(found[1]), turns.refused]


@contextmanager
def server(*, tree: bool = True) -> Iterator[tuple[Target, Target]]:
    """A server with keys of three people: where mal and gil ask. `tree`: with files to archive."""
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        settings: Any = config(start(stack, "tests.bench.provider"))
        providers = settings["server"]["providers"]
        providers[OTHER] = {
            **providers["main"],
            "api_url": f"{start(stack, 'tests.bench.provider')}/v1",
        }
        del settings["server"]["limits"]
        settings["server"]["api_keys"] = [
            {"name": name, "key": key, **({"owner": True} if name == "ann" else {})}
            for name, key in KEYS.items()
        ]
        (home / "config.json").write_text(json.dumps(settings))
        child = Child([sys.executable, "-m", "server", "--home", str(home), "--port", "0"])
        stack.callback(child.stop)
        parts = urlsplit(child.wait_for(r"^(http://127\.0\.0\.1:\d+)/$", 60)[1])
        child.wait_for(r"^  ready ", 60)
        made = [Target(str(parts.hostname), parts.port or 0, KEYS[name]) for name in ("mal", "gil")]
        if tree:
            made[0].ask("PUT", "/workspaces/mal/file?path=big", b"x" * 30_000_000)
            order = f"{SHORT} tool=shell{json.dumps({'command': TREE})}"
            made[0].ask("POST", "/session", document(order, id="mal", config=FREE))
        yield made[0], made[1]


def missed(plain: float, tool: float, refused: int) -> str:
    """What of the goal is missed, in words, by the ratios and how many were refused."""
    said = [
        f"{what} {ratio:.1f} > {most:g}"
        for what, ratio, most in zip(("plain", "tool"), (plain, tool), MOST, strict=True)
        if not ratio <= most
    ]
    return ", ".join([*said, *([f"{refused} refused"] if refused else [])])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python3 -m tests.bench.people", description=__doc__)
    parser.add_argument("names", nargs="*", help="of attackers; all without one")
    parser.add_argument("--s", type=float, default=1.0, help="seconds for each figure")
    parser.add_argument("--rounds", type=int, default=3)
    options, failed = parser.parse_args(), 0
    names = options.names or [*attacks()]
    titles = "beside|plain alone|beside|×|tool alone|beside|×|first plain|worst plain|refused|goal"
    print(f"| {titles.replace('|', ' | ')} |")
    print(f"|---|{9 * '---:|'}---|", flush=True)
    with server() as (mal, gil):
        for name in names:
            found = row(name, mal, gil, options.s, options.rounds)
            plain, plain_beside, tool, tool_beside, first, worst, refused = found
            ratios = plain_beside / plain, tool_beside / tool
            wrong = missed(*ratios, int(refused))
            failed += bool(wrong)
            cells = f"{plain:.0f} {plain_beside:.0f} {ratios[0]:.1f} {tool:.0f} {tool_beside:.0f}"
            cells += f" {ratios[1]:.1f} {first:.0f} {worst:.0f} {refused:.0f}"
            print(f"| {name} | {cells.replace(' ', ' | ')} | {wrong or 'met'} |", flush=True)
    print(f"\nThe goal is missed beside {failed} of {len(names)}.")
    sys.exit(min(failed, 1))


if __name__ == "__main__":
    main()
