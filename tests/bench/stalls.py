"""Prints how long one request keeps others waiting: `python3 -m tests.bench.stalls [--mb N]`.

Each row is one authenticated POST of about N megabytes to a server in its default configuration.
A process beside it asks `/health` all the time; its longest wait, without the longest that it has
when nothing else is asked, is the row's stall. A ratio to the size, in the order of the worst.
With `--cpu` it is the processor time between two rounds of the event loop (rounds.py), which a busy
machine does not change.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from .. import growing
from ..tooling.child import Yaa
from .beside import Beside
from .rounds import FILE, Rounds

IDLE_S = 1.0
Row = tuple[str, str, bytes]  # name, path, body


def main() -> None:
    parser = argparse.ArgumentParser(prog="python3 -m tests.bench.stalls", description=__doc__)
    parser.add_argument("--mb", type=float, default=1.0, help="size of a body")
    parser.add_argument("--only", default="", help="rows whose name has this text")
    parser.add_argument("--worst", type=int, default=40, help="how many rows to print")
    parser.add_argument("--cpu", action="store_true", help="processor time, not waits")
    options = parser.parse_args()
    found = []
    with started(cpu=options.cpu) as (yaa, beside):
        idle_s = beside.longest(lambda: time.sleep(IDLE_S))
        for name, path, body in rows(round(options.mb * 1e6)):
            if options.only in name:
                found.append(measure(yaa, beside, name, path, body))
    found.sort(reverse=True)
    print(f"longest wait when nothing is asked: {idle_s * 1000:.1f} ms\n")
    print("| input | MB | answer | seconds | stall, ms | ms/MB |\n|---|---|---|---|---|---|")
    for stall_s, size, name, status, seconds in found[: options.worst]:
        each = stall_s * 1000 / max(size / 1e6, 0.05)
        cells = f"{size / 1e6:.2f} | {status} | {seconds:.2f} | {stall_s * 1000:.0f} | {each:.0f}"
        print(f"| {name} | {cells} |")
    print(f"\n{len(found)} rows, load {os.getloadavg()[0]:.1f} at the end")


@contextmanager
def started(*, cpu: bool) -> Iterator[tuple[Yaa, Beside | Rounds]]:
    """A server, and what tells how long it stands still."""
    config = {"server": {"discover": False, "log": {"level": "warning"}}}
    if not cpu:
        with Yaa(config) as yaa, Beside(yaa.url) as beside:
            yield yaa, beside
        return
    command = [sys.executable, "-m", "tests.bench.rounds"]
    with tempfile.TemporaryDirectory(prefix="yaa-rounds-") as folder:
        file = Path(folder) / "longest"
        with Yaa(config, command=command, env={FILE: str(file)}) as yaa:
            assert yaa.child is not None
            yield yaa, Rounds(yaa.child.process.pid, file)


def measure(
    yaa: Yaa, beside: Beside | Rounds, name: str, path: str, body: bytes
) -> tuple[float, int, str, int, float]:
    status, began = 0, time.monotonic()

    def post() -> None:
        nonlocal status
        status = ask(yaa, path, body)

    stall_s = beside.longest(post)
    return stall_s, len(body), name, status, time.monotonic() - began


def ask(yaa: Yaa, path: str, body: bytes) -> int:
    """POST it and read the answer to its end; the status."""
    place = urlsplit(yaa.url)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=600)
    headers = {"Authorization": f"Bearer {yaa.key}", "Content-Type": "application/json"}
    try:
        connection.request("POST", path, body, {**headers, "Accept": "application/json"})
        answer = connection.getresponse()
        while answer.read(1 << 16):
            pass
        return answer.status
    finally:
        connection.close()


def rows(size: int) -> Iterator[Row]:
    """Every body that a stranger's size can be of, then those that no table of keys makes."""
    for make in (growing.rows, growing.routed, growing.keys):
        for each in make():
            yield each.name, each.path, _sized(each, size)
    for name, text in _texts(size):
        yield name, growing.SESSION, text.encode()


def _sized(each: growing.Growing, size: int) -> bytes:
    """A body of about that size, or of as many entries as are accepted."""
    n = 64
    while True:
        n = min(n, each.most)
        body = json.dumps(each.body(n)).encode()
        if len(body) >= size or n == each.most:
            return body
        n = max(round(n * min(size / len(body), 8) * 1.02), n + 1)


def _texts(size: int) -> Iterator[tuple[str, str]]:
    """Documents as texts, with what Python's own dictionaries cannot hold."""
    yield (
        "duplicate keys",
        '{"messages": [], "ext": {' + ",".join(['"k":1'] * (size // 6)) + "}}",
    )
    names = ",".join(f'"k{number}":1' for number in range(size // 12))
    yield "duplicate keys, the last of many", '{"messages": [], "ext": {' + names + ',"k1":1}}'
    yield "nested arrays", '{"messages": [], "ext": ' + "[" * (size // 2) + "]" * (size // 2) + "}"
    yield "empty arrays", '{"messages": [], "ext": [' + ",".join(["[]"] * (size // 3)) + "]}"
    schemas: dict[str, Callable[[int], Any]] = {
        "properties": lambda n: {
            "type": "object",
            "properties": {f"p{m}": {"type": "string"} for m in range(n)},
        },
        "patterns": lambda n: {
            "type": "object",
            "properties": {f"p{m}": {"type": "string", "pattern": f"^a{m}.*b$"} for m in range(n)},
        },
        "enum": lambda n: {"enum": [f"value {m}" for m in range(n)]},
        "references": lambda n: {
            "$defs": {f"d{m}": {"$ref": f"#/$defs/d{m + 1}"} for m in range(n)} | {f"d{n}": {}},
            "$ref": "#/$defs/d0",
        },
    }
    for name, made in schemas.items():
        for count in (8, 64, 512, size // 40):
            config = {"yaa": {"output_schema": made(count)}}
            body = {"messages": [{"role": "user", "content": "x"}], "config": config}
            yield f"output_schema: {count} {name}", json.dumps(body)
    wide = r"\p{L}" * 400
    yield (
        "pattern of letters",
        json.dumps(
            {
                "messages": [{"role": "user", "content": "x"}],
                "config": {"yaa": {"output_schema": {"type": "string", "pattern": wide}}},
            }
        ),
    )
    for name, text in (
        ("token-like", "eyJ" + "a-" * (size // 2)),
        ("words", "word " * (size // 5)),
    ):
        body = {"messages": [{"role": "user", "content": text}]}
        yield f"one text: {name}", json.dumps(body)


if __name__ == "__main__":
    main()
