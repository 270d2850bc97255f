"""An MCP server over stdio that repeats its credential in every text it sends.

    SERVICE_TOKEN=… python tests/tools/mcp_parrot.py

Its tool `say` answers in the way that `how` names: result, structured, error, refusal, question.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from typing import Any

T = os.environ["SERVICE_TOKEN"]
TEXT = f"---\nname: parrot\ndescription: Says {T}\n---\nUse {T}.\n"
URI = "skill://parrot/SKILL.md"
SCHEMA = {
    "type": "object",
    "title": T,
    "properties": {
        "how": {"type": "string", "description": f"not {T}"},
        T: {"type": "string", "enum": [T], "default": T, "examples": [T]},
    },
    "$defs": {T: {"description": T}},
}


def tools() -> list[Any]:
    said = {"description": f"Says {T}", "title": T, "inputSchema": SCHEMA}
    return [{"name": "say", **said}, {"name": f"say_{T}", "inputSchema": {"type": "object"}}]


def entry(key: str, value: str) -> dict[str, Any]:
    return {key: value, "name": f"n {T}", "title": T, "description": f"d {T}", "mimeType": T}


def called(how: Any) -> dict[str, Any]:
    text = {"type": "text", "text": f"It is {T}"}
    link = {"type": "resource_link", "uri": f"x://{T}", "name": T}
    if how == "error":
        return {"content": [text], "isError": True}
    if how == "structured":
        return {"structuredContent": {T: [T]}}
    if how == "question":
        schema = {"type": "object", "properties": {"a": {"type": "string", "description": T}}}
        asked = {"message": f"Is it {T}?", "requestedSchema": schema}
        request = {"method": "elicitation/create", "params": asked}
        return {"resultType": "input_required", "inputRequests": {"q": request}}
    return {"content": [text, link, {"type": "image", "mimeType": T, "data": "aGk="}]}


def answer(method: str, params: Any) -> Any:
    if method == "server/discover":
        offers = ("tools", "resources", "prompts", "completions")
        offered: dict[str, Any] = {name: {} for name in offers}
        offered["extensions"] = {"io.modelcontextprotocol/skills": {}}
        told = {"capabilities": offered, "serverInfo": {"name": T, "version": T}}
        return {**told, "supportedVersions": ["2026-07-28"], "instructions": f"Use {T}"}
    if method == "skills/list":
        data = TEXT.encode()
        digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
        file = {"uri": URI, "digest": digest, "size": len(data)}
        said = {"name": "parrot", "description": f"Says {T}"}
        bad = {"uri": f"skill://{T}/SKILL.md", "frontmatter": {"name": T}}
        return {"skills": [{"uri": URI, "frontmatter": said, "resources": [file]}, bad]}
    if method == "resources/read" and params["uri"] == URI:
        return {"contents": [{"uri": URI, "text": TEXT}]}
    if method == "resources/read" and params["uri"] == "note:///it":
        return {"contents": [{"uri": f"note:///{T}", "text": f"It is {T}"}]}
    if method == "prompts/get" and params["name"] == "p":
        content = {"type": "text", "text": f"Say {T}"}
        return {"description": T, "messages": [{"role": "user", "content": content}]}
    if method == "tools/call" and params["arguments"].get("how") != "refusal":
        return called(params["arguments"].get("how"))
    if method == "completion/complete" and params["argument"]["value"] != "refusal":
        return {"completion": {"values": [f"v {T}", T]}}
    return {
        "tools/list": {"tools": tools()},
        "resources/list": {"resources": [entry("uri", f"note:///{T}")]},
        "resources/templates/list": {
            "resourceTemplates": [entry("uriTemplate", f"note:///{{id}}/{T}")]
        },
        "prompts/list": {
            "prompts": [{**entry("x", ""), "arguments": [{"name": T, "description": T}]}]
        },
    }.get(method)


for line in sys.stdin.buffer:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    told: dict[str, Any] = {"jsonrpc": "2.0", "id": asked["id"]}
    result = answer(asked["method"], asked.get("params"))
    if result is None:
        told["error"] = {"code": -32602, "message": f"no, by {T}"}
    else:
        told["result"] = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", **result}
    if asked["method"] == "tools/call":
        token = asked["params"].get("_meta", {}).get("progressToken")
        params = {"progressToken": token, "progress": 1, "message": f"on {T}"}
        news = {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}
        os.write(1, json.dumps(news).encode() + b"\n")
    os.write(1, json.dumps(told).encode() + b"\n")
