"""An MCP server over stdio that misbehaves as its caller asks.

    python tests/tools/mcp_liar.py <notes file> <how it lists its tools>

Its one tool `do` takes `what`, the name of a function below. It notes its process id.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

NOTES, MANNER = sys.argv[1:3] if __name__ == "__main__" else ("", "")
SCHEMA: Any = {"type": "object", "properties": {"what": {"type": "string"}}}
DO: Any = {"name": "do", "inputSchema": SCHEMA}
finished: list[int] = []


def write(data: bytes) -> None:
    while data:
        data = data[os.write(1, data) :]


def send(message: Any) -> None:
    write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


def done(request: Any) -> dict[str, Any]:
    return {"id": request["id"], "result": {"content": [{"type": "text", "text": "fine"}]}}


def for_ever(data: bytes) -> None:
    while True:
        write(data)


# -- calls ----------------------------------------------------------------------------------------


def behave(request: Any) -> None:
    send(done(request))
    finished.append(request["id"])


def die(request: Any) -> None:
    os._exit(3)


def die_in_a_line(request: Any) -> None:
    write(b'{"jsonrpc": "2.0", "id":')
    os._exit(0)


def answer_and_die(request: Any) -> None:
    write(json.dumps(done(request)).encode())  # no end of line
    os._exit(0)


def say_nothing(request: Any) -> None:
    pass


def be_slow(request: Any) -> None:
    time.sleep(1.5)
    behave(request)


def stop_reading(request: Any) -> None:
    time.sleep(600)


def close_output(request: Any) -> None:
    os.close(1)
    time.sleep(600)


def close_input(request: Any) -> None:
    os.close(0)
    time.sleep(600)


def flood_of_garbage(request: Any) -> None:
    for_ever(b"this is a log line on the wrong stream\n" * 1000)


def flood_of_empty_lines(request: Any) -> None:
    for_ever(b"\n" * 60_000)


def flood_without_lines(request: Any) -> None:
    for_ever(b"x" * 60_000)


def flood_of_notices(request: Any) -> None:
    notice = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
    for_ever((json.dumps(notice) + "\n").encode() * 500)


def flood_of_progress(request: Any) -> None:
    params = {"progressToken": request["id"], "progress": 1, "message": "x" * 500}
    notice = {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}
    for_ever((json.dumps(notice) + "\n").encode() * 50)


def flood_of_requests(request: Any) -> None:
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    for_ever((json.dumps(ping) + "\n").encode() * 500)


def flood_of_deep_json(request: Any) -> None:
    for_ever(b"[" * 50_000 + b"\n")


def no_json(request: Any) -> None:
    write(b'{"jsonrpc": "2.0", "id": 1, "result": {}\n\xff\xfe\x00\n{]\nnull\n[]\n5\n"x"\n')


def other_id(request: Any) -> None:
    wrong: Any
    for wrong in (request["id"] + 1000, f"{request['id']}x", [request["id"]], None, True, 1.5, {}):
        send({**done(request), "id": wrong})


def finished_id(request: Any) -> None:
    for old in finished:
        send({**done(request), "id": old})


def twice(request: Any) -> None:
    send({"id": request["id"], "error": {"code": 1, "message": "first"}})
    send(done(request))


def no_result(request: Any) -> None:
    send({"id": request["id"]})


def odd_result(request: Any) -> None:
    send({"id": request["id"], "result": ["content"]})


def odd_error(request: Any) -> None:
    send({"id": request["id"], "error": "just words"})


def odd_content(request: Any) -> None:
    send({"id": request["id"], "result": {"isError": True, "content": {"a": [None]}}})


def deep_result(request: Any) -> None:
    deep = b'{"a":' * 500 + b"1" + b"}" * 500
    write(b'{"jsonrpc":"2.0","id":%d,"result":%s}\n' % (request["id"], deep))


def unknown_kind(request: Any) -> None:
    send({"id": request["id"], "result": {"resultType": ["?"]}})


def odd_question(request: Any) -> None:
    asked = {"resultType": "input_required", "inputRequests": {"a": {"method": 5}}}
    send({"id": request["id"], "result": asked})


CALLS: dict[str, Callable[[Any], None]] = {
    name: value for name, value in globals().items() if getattr(value, "__module__", "") == __name__
}


# -- lists ----------------------------------------------------------------------------------------


def nested(levels: int) -> Any:
    schema: Any = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


HOSTILE_SCHEMAS: list[Any] = [
    {"type": "object", "properties": {"a": {"type": "string", "pattern": "(a+)+$"}}},
    {"type": "object", "$ref": "#"},
    {"type": "object", "properties": {"a": {"$ref": "#/$defs/b"}}, "$defs": {"b": {"$ref": "#"}}},
    {"type": "object", "properties": {"a": {"$ref": "file:///etc/passwd"}}},
    {"type": "object", "properties": {"a": {"$ref": "http://169.254.169.254/"}}},
    {"type": "object", "properties": {"a": {"type": "nonsense"}}},
    {"type": "object", "properties": 5},
    {"type": "object", "properties": {"a": {"enum": ["x" * 100_000]}}},
    {"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(10_000)}},
    {"type": "object", "required": "a"},
    {"type": "object", "minProperties": 1e400},
    {"type": "array"},
    nested(25),
    "object",
    None,
]
HOSTILE_NAMES: list[Any] = [
    *("", " ", "a\nb", "\x00", "\x1b[2J", "../../etc/passwd", "x" * 100_000, "a\ud800b", "名前"),
    *("do", "do", "mcp__good__echo", "__proto__", "a__b", "_", 5, None, ["do"], {"a": 1}, True),
]


def listed(request: Any) -> dict[str, Any]:
    cursor = (request.get("params") or {}).get("cursor", "0")
    page = int(cursor.partition(" ")[0])
    match MANNER:
        case "many":
            return {"tools": [DO] + [{**DO, "name": f"t{n}"} for n in range(10_000)]}
        case "many pages":
            tools = [{**DO, "name": f"t{page}_{n}"} for n in range(100)]
            return {"tools": [DO, *tools], "nextCursor": f"{page + 1} {'x' * 10_000}"}
        case "large schemas":
            part = {f"p{n}": {"type": "string", "description": "x" * 20} for n in range(900)}
            schema = {"type": "object", "properties": part}
            return {"tools": [{"name": f"t{n}", "inputSchema": schema} for n in range(100)]}
        case "schemas":
            made = [{"name": f"s{n}", "inputSchema": s} for n, s in enumerate(HOSTILE_SCHEMAS)]
            return {"tools": [DO, *made]}
        case "names":
            return {"tools": [{**DO, "name": name} for name in HOSTILE_NAMES]}
        case "descriptions":
            odd: list[Any] = ["x" * 1_000_000, 5, ["a"], {"a": "b"}, None, "\x00\x1b", "\ud800"]
            about = [{**DO, "name": f"d{n}", "description": d} for n, d in enumerate(odd)]
            return {"tools": [DO, *about]}
        case "no list":
            return {"tools": {"do": DO}}
        case "nothing":
            return {}
        case "odd cursor":
            return {"tools": [DO], "nextCursor": {"a": 1}}
    return {"tools": [DO]}


def main() -> None:
    with Path(NOTES).open("a") as file:
        file.write(f"{os.getpid()}\n")
    if MANNER == "die at start":
        os._exit(1)
    if MANNER == "flood at start":
        flood_of_garbage(None)
    for line in sys.stdin:
        request = json.loads(line)
        match request.get("method"):
            case "server/discover":
                send({"id": request["id"], "result": {"supportedVersions": ["2026-07-28"]}})
            case "tools/list" if MANNER == "silent list":
                pass
            case "tools/list" if MANNER == "slow list":
                for page in itertools.count():
                    time.sleep(0.05)
                    send({"method": "notifications/message", "params": {"data": page}})
            case "tools/list":
                send({"id": request["id"], "result": listed(request)})
                if MANNER == "die after":
                    os._exit(0)
            case "tools/call":
                CALLS[request["params"]["arguments"]["what"]](request)


if __name__ == "__main__":
    main()
