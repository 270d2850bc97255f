"""`python3 -m tests.bench.opcodes TREE [--rows NAME …] [--shown N]`: this checkout beside another.

Counts the instructions of the interpreter for one request of each kind, in both, and prints their
ratio. A busy machine changes them by one percent, where processor time changes by a fifth. What C
code and the system do is not in them. `--shown` lists the functions that differ most.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ..tooling import tools
from ..tooling.child import Child
from .peers import START_S, Peer, ask, config, let_go, start

ORDER = "bench tokens=1 delay_us=0"
TOOL = "bench tokens=5 delay_us=0 tool=datetime"
WARM, PAUSE_S = 12, 0.3
# Row -> messages before, and requests.
ROWS = {
    "turn": (10, 10),
    "tool": (10, 10),
    "bare 1000": (1000, 4),
    "bare 5000": (5000, 4),
    "returned 1000": (1000, 4),
    "returned 5000": (5000, 4),
    "base 1000": (1000, 4),
    "base 5000": (5000, 4),
    "/health": (0, 20),
    "/info": (0, 5),
}
Counts = Counter[tuple[str, str]]


class Counting:
    """A server of one checkout that counts its instructions."""

    def __init__(self, stack: ExitStack, tree: Path, provider: str) -> None:
        self._tree, home = tree, Path(stack.enter_context(tempfile.TemporaryDirectory()))
        self._result, file = home / "counts", home / "config.json"
        file.write_text(json.dumps(config(provider)))
        script = Path(__file__).with_name("opcodes_server.py")
        command = [sys.executable, str(script), str(self._result), "--home", f"{home}/home"]
        options = ["--port", "0", "--config", str(file), "--print-link"]
        child = Child([*command, *options], cwd=tree, env={"PYTHONHASHSEED": "0"})
        stack.callback(child.kill)
        url = child.wait_for(r"(https?://[^/\s]+)/#\S+", START_S)[1]
        child.wait_for(r"^  ready ", START_S)
        self.pid = child.process.pid
        self.peer = Peer("yaa", url, self.pid, (home / "home/key").read_text().strip())

    async def count(self, send: Callable[[], Awaitable[object]], times: int) -> Counts:
        """Return the instructions of one request, by file and function."""
        for _ in range(WARM):
            await send()
        await asyncio.sleep(PAUSE_S)  # what these leave to do
        os.kill(self.pid, signal.SIGUSR1)
        for _ in range(times):
            await send()
        await asyncio.sleep(PAUSE_S)  # what a request leaves to do
        os.kill(self.pid, signal.SIGUSR1)
        while not self._result.exists():
            await asyncio.sleep(PAUSE_S)
        found: Counts = Counter()
        for file, name, number in json.loads(self._result.read_text()):
            found[file.removeprefix(f"{self._tree}/"), name] += number // times
        self._result.unlink()
        return found


async def request(peer: Peer, row: str, history: int) -> Callable[[], Awaitable[object]]:
    """Return what sends one request of a row."""
    if row.startswith("/"):
        return lambda: get(peer, row)
    if row.startswith("base"):
        whole, sent = peer.with_base(ORDER, history)
        await ask(peer, whole, 1)
    else:
        order = TOOL if row == "tool" else ORDER
        sent = peer.request(order, history, returned=row.startswith("returned"))
    return lambda: ask(peer, sent)


async def get(peer: Peer, path: str) -> None:
    """Read an answer to its end, on a connection of its own."""
    place = urlsplit(peer.url)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    head = f"GET {path} HTTP/1.1\r\nHost: {place.netloc}\r\nConnection: close\r\n"
    writer.write(f"{head}Authorization: Bearer {peer.key}\r\n\r\n".encode())
    answer = await reader.read(-1)
    writer.close()
    if not answer.startswith(b"HTTP/1.1 200 "):
        raise RuntimeError(f"{path}: {answer[:200]!r}")


async def measure(trees: list[Path], rows: list[str]) -> dict[str, list[Counts]]:
    """Return for each row the counts of each checkout."""
    found: dict[str, list[Counts]] = {}
    with ExitStack() as stack:
        provider = start(stack, "tests.bench.provider")
        servers = [Counting(stack, tree, provider) for tree in trees]
        for row in rows:
            history, times = ROWS[row]
            for server in servers:
                send = await request(server.peer, row, history)
                counts = [await server.count(send, times) for _ in range(2)]
                # A server may do something else beside, such as what is left of its start.
                found.setdefault(row, []).append(min(counts, key=Counts.total))
        await let_go()
    return found


def render(found: dict[str, list[Counts]], shown: int = 0) -> str:
    """Return a line for each row, and the functions that differ most."""
    lines = []
    for row, (old, new) in found.items():
        ratio = new.total() / old.total()
        lines.append(f"{row:14} {old.total():>10,} {new.total():>10,} {ratio:6.3f}")
        differ: Any = {key: new[key] - old[key] for key in old | new}
        for key in sorted(differ, key=lambda key: -abs(differ[key]))[:shown]:
            lines.append(f"    {differ[key]:+8,} {key[0]}: {key[1]}")
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python3 -m tests.bench.opcodes", description=__doc__)
    parser.add_argument("tree", type=Path, help="the folder of the other checkout")
    parser.add_argument("--rows", nargs="+", choices=ROWS, default=[*ROWS])
    parser.add_argument("--shown", type=int, default=0, help="functions of each row")
    asked = parser.parse_args()
    trees = [asked.tree.resolve(), tools.ROOT]
    print(render(asyncio.run(measure(trees, asked.rows)), asked.shown))
