"""Frameworks that speak OpenAI's API, as they come, drive /v1: each in a program of its own.

The programs are in the folder frameworks; each prints {case: what came of it}. A case is the
same in all of them, `responses_…` is the same by /v1/responses:

    chat, stream     an answer, whole and in pieces         structured   one of a schema
    tools            the caller's tool, called and answered  calls        the call alone
    turns            a second turn knows the first           thoughts     the model's, once
    refused, broke   an error that must not be tried again: of the provider, and after a tool ran
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import unittest
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from ....protocols import served
from ....tooling import tools, turns

Json = dict[str, Any]
PROGRAMS = Path(__file__).with_name("frameworks")
SECONDS = 240
PYTHON = {
    "agent_framework": tools.FRAMEWORKS,
    "agno": tools.FRAMEWORKS,
    "autogen": tools.FRAMEWORKS,
    "haystack": tools.FRAMEWORKS,
    "langchain": tools.FRAMEWORKS,
    "openai_agents": tools.FRAMEWORKS,
    "pydantic_ai": tools.FRAMEWORKS,
    "smolagents": tools.FRAMEWORKS,
    "dspy": tools.FRAMEWORKS_OLDER,
    "instructor": tools.FRAMEWORKS_OLDER,
    "litellm": tools.FRAMEWORKS_OLDER,
    "llama_index": tools.FRAMEWORKS_OLDER,
    "strands": tools.FRAMEWORKS_OLDER,
}
NODE = {
    "ai_sdk": "ai",
    "langchain_js": "@langchain/openai",
    "openai_agents_js": "@openai/agents-core",
}
# Catalogues of models and telemetry: nothing leaves this machine.
ALONE = {
    **dict.fromkeys(
        ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), "http://127.0.0.1:9"
    ),
    **dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1"),
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "HAYSTACK_TELEMETRY_ENABLED": "False",
    "OTEL_SDK_DISABLED": "true",
    "HF_HUB_OFFLINE": "1",
}
WEATHER = {"city": "京", "degrees": 3}
SAID = ["user: hi", "assistant: Hé 你", "user: recall"]


def text_of(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def script(body: Json) -> list[tuple[Any, ...]]:
    """By a word of what the user said last; some programs wrap it in words of their own."""
    messages = [(each["role"], text_of(each.get("content") or "")) for each in body["messages"]]
    said = [text for role, text in messages if role == "user"][-1]
    results = [text for role, text in messages if role == "tool"]
    offered = {each["function"]["name"] for each in body.get("tools", ())} - {"count", "look"}
    if "Observation:" in said:  # smolagents' word for a result
        results.append(said.rpartition("Observation:")[2].strip())
    if "weather" in said or "Observation:" in said:
        if results:
            return answered(f"It is {results[-1]}.", offered)
        return [("think", "hm"), ("text", "I ask."), ("call", "get_weather", '{"city": "Oslo"}')]
    if "recall" in said:
        told = [f"{role}: {text}" for role, text in messages if role != "system"]
        return [("text", json.dumps(told, ensure_ascii=False))]
    if "json" in said:
        return [("text", json.dumps(WEATHER, ensure_ascii=False))]
    if "byTool" in said:
        (tool,) = offered
        return [("call", tool, json.dumps(WEATHER))]
    if "refuse" in said:
        return [("status", 400)]
    if "break" in said:
        return [("status", 500)] if results else [("call", "count", "{}")]
    return [("think", "hm"), ("text", "Hé 你")]


def answered(text: str, offered: set[str]) -> list[tuple[Any, ...]]:
    """The end of an agent's run; smolagents takes it as a call only."""
    if "final_answer" in offered:
        return [("call", "final_answer", json.dumps({"answer": text}))]
    return [("text", text)]


def is_said_once(value: Any) -> bool:
    return json.dumps(value).count("hm") == 1


def is_error(words: str) -> Callable[[Any], bool]:
    return lambda value: words in json.dumps(value) and ("raised" in value or "error" in str(value))


FITS: dict[str, Callable[[Any], bool]] = {
    "chat": lambda value: value == "Hé 你",
    "stream": lambda value: value.endswith("Hé 你") and value.count("Hé") == 1,
    "tools": lambda value: value[0].endswith("It is sunny.") and value[1:] == ["Oslo"],
    "calls": lambda value: value == ["get_weather", "Oslo"],
    "turns": lambda value: value[0] == "Hé 你" and json.loads(value[1]) == SAID,
    "structured": lambda value: value == WEATHER,
    "refused": is_error("the provider says no"),
    "broke": is_error("the provider says no"),
    "thoughts": is_said_once,
    "streamed_thoughts": is_said_once,
}
VARIANTS = ("_by_id", "_by_tool", "_as_json")


def kind_of(case: str) -> str:
    """The case that this one is another way of."""
    case = case.removeprefix("responses_")
    for ending in VARIANTS:
        case = case.removesuffix(ending)
    return case


class Case(unittest.TestCase):
    served: ClassVar[served.Served]

    @classmethod
    def setUpClass(cls) -> None:
        agents = served.AGENTS | {"gpt-4o": served.AGENTS["counter"]}
        cls.served = cls.enterClassContext(served.Served(script, agents=agents))

    def drive(self, name: str, command: list[str], places: str = "", **more: Any) -> None:
        """Run a program, and hold what came of each of its cases against what is wanted."""
        provider, before = self.served.provider, self.served.counted()
        provider.requests.clear()
        done = subprocess.run(
            command,
            input=json.dumps({"url": self.served.url, "key": self.served.key, **more}),
            env=os.environ | ALONE | {"PYTHONPATH": places},
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        found: Json = json.loads(done.stdout.splitlines()[-1])
        kinds = Counter(map(kind_of, found))
        for case, value in found.items():
            with self.subTest(f"{name}: {case}"):
                self.assertTrue(FITS[kind_of(case)](value), value)
        asked = [json.dumps(body["messages"]) for body in provider.requests]
        with self.subTest(f"{name}: model calls for what the provider refuses"):
            self.assertEqual(sum("refuse" in each for each in asked), kinds["refused"])
        with self.subTest(f"{name}: runs of the server's tool"):
            self.assertEqual(self.served.counted() - before, kinds["broke"])
        self.assertGreater(sum(kinds.values()), 3)


class Python(Case):
    def test_each(self) -> None:
        """In the interpreter of the tests, without its packages: theirs are of other versions."""
        for name, folder in turns.share(PYTHON.items(), 6):
            with self.subTest(name):
                if not folder.is_dir():
                    self.skipTest(f"{folder.name} is not installed: {tools.BY_COMMAND}")
                places = f"{folder}{os.pathsep}{tools.FRAMEWORKS_COMMON}"
                command = [sys.executable, "-S", "-W", "ignore", f"{PROGRAMS}/with_{name}.py"]
                self.drive(name, command, places)


class Node(Case):
    def test_each(self) -> None:
        node = str(tools.program_node().path)
        for name, package in turns.share(NODE.items(), 3):
            for release in (7, 6) if name == "ai_sdk" else (0,):
                with self.subTest(name, release=release):
                    if why := tools.package(package).why:
                        self.skipTest(why)
                    self.drive(name, [node, f"{PROGRAMS}/with_{name}.mjs"], release=release)


if __name__ == "__main__":
    unittest.main()
