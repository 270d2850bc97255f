"""An MCP server over stdio that offers the skills of a file, and notes what it is asked.

    python tests/tools/mcp_skills.py <file> [legacy]

The file is read for each request:

    files      URI -> text
    entries    the list; without it each SKILL.md as it is, but those of `hidden`
    hidden     URIs that are not listed
    told       what a skill is said to be when it is asked for by its URI
    lies       URI -> what is sent in place of a file
    extension  false: it does not say that it offers skills

Requests are noted in `<file>.notes`, a line each.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

FILE = Path(sys.argv[1])
LEGACY = "legacy" in sys.argv[2:]


def entry_of(uri: str, files: dict[str, str]) -> dict[str, Any]:
    lines = files[uri].split("---\n")[1].splitlines()
    said = dict(line.split(": ", 1) for line in lines)
    root = uri.removesuffix("SKILL.md")
    resources = []
    for name, text in files.items():
        if name.startswith(root):
            data = text.encode()
            digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
            resources.append({"uri": name, "digest": digest, "size": len(data)})
    return {"uri": uri, "frontmatter": said, "resources": resources}


def answer(method: str, params: Any) -> Any:
    about = json.loads(FILE.read_text())
    files, hidden = about["files"], about.get("hidden", [])
    tops = [uri for uri in files if uri.endswith("/SKILL.md")]
    offered: dict[str, Any] = {
        "resources": {},
        "extensions": {"io.modelcontextprotocol/skills": {}},
    }
    if about.get("extension") is False:
        del offered["extensions"]
    if method in ("server/discover", "initialize"):
        told = {"capabilities": offered, "serverInfo": {"name": "s", "version": "1"}}
        version = {"protocolVersion": "2025-11-25"}
        return {**told, **(version if LEGACY else {"supportedVersions": ["2026-07-28"]})}
    if method == "skills/list":
        listed = [entry_of(uri, files) for uri in tops if uri not in hidden]
        return {"skills": about.get("entries", listed), "ttlMs": 0, "cacheScope": "private"}
    if method == "skills/get" and params["uri"] in tops:
        return {"skill": about.get("told") or entry_of(params["uri"], files)}
    if method == "resources/read" and params["uri"] in files:
        text = about.get("lies", {}).get(params["uri"], files[params["uri"]])
        return {"contents": [{"uri": params["uri"], "text": text}]}
    return {"tools": [], "resources": [], "resourceTemplates": []} if "list" in method else None


for line in sys.stdin.buffer:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    method = asked["method"]
    with Path(f"{FILE}.notes").open("a") as notes:
        notes.write(f"{method} {asked.get('params', {}).get('uri', '')}\n")
    told: dict[str, Any] = {"jsonrpc": "2.0", "id": asked["id"]}
    result = None if LEGACY and method == "server/discover" else answer(method, asked.get("params"))
    if result is None:
        told["error"] = {"code": -32601 if "/get" not in method else -32602, "message": "unknown"}
    else:
        told["result"] = {"resultType": "complete", **result}
    print(json.dumps(told), flush=True)
