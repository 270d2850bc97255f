"""Random event sequences, legal and not, for holding the two folds together.

`python3 -m tests.session.sequences COUNT SEED` prints one JSON line a sequence:
{"session", "events", "expected"}: canonical text of what server/session/fold.py makes of it.
"""

from __future__ import annotations

import copy
import json
import random
import sys
from collections.abc import Callable
from typing import Any

from server.lib.strict_json import canonical, pointer
from server.session import events as e
from server.session.fold import Folder

TEXTS = [
    "",
    " ",
    "\n",
    "a",
    "héllo",
    "你好",
    "😀",
    '"quoted"',
    "\\",
    "</script>",
    "\u2028",
    "x" * 50,
]
NAMES = ["shell", "read_file", "__proto__", "constructor", "a/b~c"]
JUNK: list[Any] = [None, True, 0, -1, 1.5, "", "x", [], {}, [1], {"a": 1}]


def sequence(random_: random.Random) -> tuple[Any, list[Any]]:
    """A session and up to 60 events: mostly a plausible run, partly out of order or broken."""
    session: Any = {"id": "s", "rev": 0, "calls": {}, "interrupts": [], "grants": []}
    if random_.random() < 0.9:
        session["messages"] = [{"id": "u1", "role": "user", "content": random_.choice(TEXTS)}]
        if random_.random() < 0.2:
            session["messages"].insert(0, {"role": "user", "content": random_.choice(TEXTS)})
        if random_.random() < 0.2:  # nothing that a server would have made
            keys = ("content", "tool_calls", "reasoning")
            odd = {key: copy.deepcopy(random_.choice(JUNK)) for key in keys}
            session["messages"].append({"id": _id("m", random_), "role": "assistant", **odd})
    found: list[Any] = [e.run_started("s", {"id": "r", "step": 0}, 1)]
    for _ in range(random_.randrange(5, 60)):
        found.append(random_.choice(MAKERS)(random_))
    if random_.random() < 0.3:
        random_.shuffle(found)
    return session, [broken(item, random_) for item in found]


def broken(event: Any, random_: random.Random) -> Any:
    """Now and then an event with a field missing, of another kind, or a type nobody knows."""
    if random_.random() > 0.06:
        return event
    event = copy.deepcopy(event)
    key = random_.choice(list(event))
    if random_.random() < 0.5:
        del event[key]
    else:
        event[key] = random_.choice(JUNK)
    return event


def _id(kind: str, random_: random.Random) -> str:
    return f"{kind}{random_.randrange(4)}"


def _path(random_: random.Random) -> str:
    first = random_.choice(
        ["calls", "interrupts", "usage", "grants", "title", "messages", "run", "workspace"]
    )
    rest = [
        random_.choice([*NAMES, "0", "1", "-", "01", "c0"]) for _ in range(random_.randrange(3))
    ]
    return pointer("yaa", first, *rest)


def _delta(random_: random.Random) -> Any:
    op = random_.choice(["add", "replace", "remove", "test", "move"])
    operation: Any = {"op": op, "path": _path(random_)}
    if random_.random() < 0.9:
        operation["value"] = random_.choice([*JUNK, {"name": "n", "state": "started"}])
    return e.state_delta(operation)


def _filled(random_: random.Random) -> Any:
    path = pointer(random_.randrange(4), random_.choice(["id", "role", "note", "__proto__"]))
    return e.messages_filled(
        [{"op": random_.choice(["add", "replace"]), "path": path, "value": "z"}]
    )


def _result(random_: random.Random) -> Any:
    state = random_.choice(["done", "failed", "denied"])
    tree = {"before": "a" * 64, "after": random_.choice(["b" * 64, "c" * 64, "x", 5])}
    recorded: Any = {"status": "ok", "tree": random_.choice([tree, tree, [], None])}
    envelope: Any = random_.choice([None, {"status": "ok", "result": 1.0}, recorded])
    return e.tool_result(
        _id("c", random_), "shell", random_.choice(TEXTS), 7, state=state, result=envelope
    )


def _snapshot(random_: random.Random) -> Any:
    names = random_.choice([["id", "role", "content"], ["__proto__", 1, "id"], "id", []])
    metadata = {"yaa.snapshot": names, "yaa": random_.choice([{"note": 1, "__proto__": 2}, 5])}
    message = {"id": _id("m", random_), "role": "assistant", "content": random_.choice(TEXTS)}
    found = [{**message, "metadata": random_.choice([metadata, metadata, 5])}]
    return e.messages_snapshot([*found, *random_.sample(JUNK, 2)])


MAKERS: list[Callable[[random.Random], Any]] = [
    lambda r: e.text_start(_id("m", r), 2),
    lambda r: e.text_delta(_id("m", r), r.choice(TEXTS)),
    lambda r: e.text_delta("m0", r.choice(TEXTS)),
    lambda r: e.text_end(_id("m", r), {"model": "x", "usage": {"total_tokens": 3}}, 3),
    lambda r: e.text_end(_id("m", r), {}, 3, details=[{"type": "opaque"}]),
    lambda r: e.think_start(_id("t", r), _id("m", r), "reasoning_content", 1)[r.randrange(2)],
    lambda r: e.think_delta(_id("t", r), r.choice(TEXTS)),
    lambda r: e.think_end(_id("t", r))[r.randrange(2)],
    lambda r: e.tool_start(_id("c", r), r.choice(NAMES), _id("m", r)),
    lambda r: e.tool_args(_id("c", r), r.choice(TEXTS)),
    lambda r: e.tool_end(_id("c", r), r.choice([None, {"sig": "x"}])),
    lambda r: e.tool_exec("c0", [e.put("calls", "c0", value={"name": "n", "state": "started"})], 4),
    lambda r: e.tool_output("c0", r.choice(TEXTS), first=r.random() < 0.5),
    _result,
    _result,
    _delta,
    _delta,
    _filled,
    lambda r: e.ids_filled("z"),
    lambda r: e.step_started(1, 5),
    lambda r: {"type": r.choice(["NEW_THING", "toString", "__proto__", "constructor"])},
    lambda r: e.run_error(r.choice(TEXTS), "upstream_error", message_id=_id("e", r), rev=2),
    lambda r: {"type": "RUN_FINISHED", "result": {"status": "completed", "rev": r.randrange(3)}},
    lambda r: _snapshot(r) if r.random() < 0.3 else e.step_started(1, 5),
    lambda r: e.state_snapshot({"calls": {}, "interrupts": [{"id": "i", "call_id": "c1"}]}),
]


def main() -> None:
    count, seed = int(sys.argv[1]), int(sys.argv[2])
    for number in range(count):
        session, found = sequence(random.Random(seed * 1_000_003 + number))
        line = json.dumps({"session": session, "events": found})
        folder = Folder(session)
        for event in found:
            folder.apply(event)
        folder.flush()
        print(line[:-1] + f', "expected": {json.dumps(canonical(session))}}}')


if __name__ == "__main__":
    main()
