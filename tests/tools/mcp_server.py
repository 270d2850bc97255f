"""A small MCP server over stdio, with the manners named on its command line.

    python tests/tools/mcp_server.py <notes file> <manner>…

It writes a line to the notes file for whatever a test may want to know afterwards. Manners: modern,
legacy (refuses the question), silent (does not answer it, and ends when it is asked more), dead,
nonsense, chatty (asks and notifies before it answers), endless (list), circle (list), stubborn
(ignores end of input and SIGTERM), late (is fetched first), flood, parent (leaves a child behind),
stuck, growing (has a tool that makes another), deaf (has a tool that closes its input).
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

NOTES, MANNERS = Path(sys.argv[1]), set(sys.argv[2:])
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}}
ASKED = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
TOOLS: list[Any] = [
    {"name": name, "description": f"It is {name}.", "inputSchema": TEXT}
    for name in ("echo", "ask", "die", "slow", "fail", "flood", "progress", "odd.name", "again")
]
TOOLS[0]["annotations"] = {"readOnlyHint": True}
BROKEN = [
    {"name": "remote", "inputSchema": {"type": "object", "$ref": "https://example.org/s.json"}},
    {"name": "shapeless"},
    {"name": "task_only", "inputSchema": TEXT, "execution": {"taskSupport": "required"}},
    {"inputSchema": TEXT},
    "no tool",
]


def note(text: str) -> None:
    with NOTES.open("a") as file:
        file.write(text + "\n")


def send(message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def text(said: str, **more: Any) -> Any:
    return {"content": [{"type": "text", "text": said}], **more}


def call(request: Any) -> Any:
    params = request["params"]
    args = params.get("arguments", {})
    if "traceparent" in params.get("_meta", {}):
        note(f"trace {params['_meta']['traceparent']}")
    match params["name"]:
        case "echo" if str(args.get("text")).startswith("png:"):
            picture = {"type": "image", "mimeType": "image/png", "data": args["text"][4:]}
            return {"content": [{"type": "text", "text": "see"}, picture]}
        case "echo" | "odd.name":
            return text(args.get("text", "") + f" by {os.getpid()}")
        case "grow":
            TOOLS.append({"name": "grown", "inputSchema": TEXT})
            send({"method": "notifications/tools/list_changed"})
            return text("there is more now")
        case "deafen":
            os.close(0)
            send({"id": request["id"], "result": text("not a word more")})
            threading.Event().wait()
        case "fail":
            return text("it failed on purpose", isError=True)
        case "ask":
            return asked(params)
        case "again":
            return {"resultType": "input_required", "requestState": "x"}
        case "die":
            sys.stderr.write("goodbye, token=abcdefghijkl\n")
            sys.stderr.flush()
            os._exit(3)
        case "flood":
            sys.stdout.write("x" * (9 * 1024 * 1024) + "\n")
        case "progress":
            token = params["_meta"]["progressToken"]
            said = args.get("text", "step")
            for done in range(1, 3 if said != "steady" else 16):
                time.sleep(0.1 if said == "steady" else 0)
                about = {"progressToken": token, "progress": done, "total": 2, "message": said}
                send({"method": "notifications/progress", "params": about})
            send({"method": "notifications/progress", "params": {"progressToken": -1}})
            return text("both steps")
    return None  # slow: never


def asked(params: Any) -> Any:
    if params.get("requestState") == f"state of {os.getpid()}":
        answer = params["inputResponses"]["who"]
        note(f"answer {answer['action']}")
        if answer["action"] != "accept":
            return text("hello stranger")
        return text(f"hello {answer['content']['name']}")
    if "requestState" in params:
        raise LookupError("unknown requestState")
    form = {"mode": "form", "message": "Your name?", "requestedSchema": ASKED}
    return {
        "resultType": "input_required",
        "inputRequests": {"who": {"method": "elicitation/create", "params": form}},
        "requestState": f"state of {os.getpid()}",
    }


def listed(params: Any) -> Any:
    page = int(params.get("cursor", 0))
    if "endless" in MANNERS:
        tool = {"name": f"t{page}", "inputSchema": TEXT}
        return {"tools": [tool], "nextCursor": str(page + 1)}
    if "circle" in MANNERS:
        return {"tools": [], "nextCursor": "1"}
    if page == 0:
        return {"tools": TOOLS[:5], "nextCursor": "1"}
    return {"tools": TOOLS[5:] + BROKEN}


def result_of(request: Any) -> Any:
    method = request["method"]
    if method == "server/discover" and "modern" in MANNERS:
        return {"supportedVersions": ["2026-07-28"], "resultType": "complete"}
    if method == "initialize":
        return {"protocolVersion": "2025-11-25", "capabilities": {}}
    if method == "tools/list":
        return listed(request.get("params") or {})
    if method == "tools/call":
        return call(request)
    raise LookupError("Method not found")


def answer(request: Any) -> None:
    if "chatty" in MANNERS:
        send({"method": "notifications/tools/list_changed"})
        send({"id": request["id"], "method": "ping"})
        send({"id": request["id"], "method": "roots/list"})
    if "nonsense" in MANNERS:
        sys.stdout.write('not JSON\n[1]\n{"id":\n\n' + "[" * 5000 + "\n")
        send({"id": "another", "result": {}})
    try:
        result = result_of(request)
    except LookupError as error:
        send({"id": request["id"], "error": {"code": -32601, "message": str(error)}})
        return
    if result is not None:
        send({"id": request["id"], "result": result})


def main() -> None:
    note(f"start {os.getpid()}")
    note("env " + " ".join(f"{name}={os.environ[name]}" for name in sorted(os.environ)))
    if "late" in MANNERS:
        sys.stdout.write("fetching\n")
        sys.stdout.flush()
        time.sleep(1)
    if "growing" in MANNERS:
        TOOLS.append({"name": "grow", "inputSchema": TEXT})
    if "deaf" in MANNERS:
        TOOLS.append({"name": "deafen", "inputSchema": TEXT})
    if "dead" in MANNERS:
        sys.exit("no configuration found")
    if "stubborn" in MANNERS:
        signal.signal(signal.SIGTERM, lambda *_: note("SIGTERM"))
    if "parent" in MANNERS:
        child = subprocess.Popen(["sleep", "600"], stdout=subprocess.DEVNULL)
        note(f"child {child.pid}")
    for line in sys.stdin:
        message = json.loads(line)
        note(f"got {message.get('method', 'reply ' + json.dumps(message))}")
        if "method" not in message or "id" not in message or "stuck" in MANNERS:
            continue
        if message["method"] == "server/discover" and "silent" in MANNERS:
            sys.stdin.readline()
            os._exit(1)
        answer(message)
    note("end of input")
    if "stubborn" in MANNERS:
        threading.Event().wait()


if __name__ == "__main__":
    main()
