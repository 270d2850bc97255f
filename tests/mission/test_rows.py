"""Every promise that did not simply hold has a test, or a reason why it differs."""

from __future__ import annotations

import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# The rows of an audit of the five source systems, by its numbers.
TESTED = {
    2: "a session brings a provider of its own",
    3: "the same, at a server without any provider",
    9: "interval spaces the calls of one session alone",
    13: "titles by the model, with a switch in the page",
    19: "the language of answers is the session's",
    22: "the prompt's sections for the tool protocol",
    27: "limits of a key",
    29: "the class diagram",
    30: "a goal, before the plan",
    38: "the client manages the configuration",
    39: "the client keeps prompts",
    43: "/api/chats",
    44: "GET /api/chat",
    45: "includeEvents",
    47: "/api/submit",
    48: "a chatId without its session",
    52: "bash, city_datetime, mock_city_weather",
    63: "a window of 20 runs",
    64: "variables of the environment",
    66: "a log line for each model call",
    72: "methods of an application as tools",
    74: "by class, by package, mixed",
    76: "examples of requests and responses",
    81: "headers and cookies of the caller",
    83: "model adapters",
    84: "registries of tools",
    86: "the marker of page tools",
    87: "/v1/chat/tool-result",
    88: "a wait that ends in an error result",
    89: "a sessionId without its history",
    90: "archiving, deleting and counting sessions",
    91: "what a host keeps expires",
    100: "static files under /auto-ai/",
    103: "the engine in a program",
    111: "what is public",
    113: "names of settings",
    115: "the description of a toolkit",
    116: "classes that a program registers, with their state",
    119: "titles with the real names of types",
    127: "retention of results",
    135: "a sum at the limit",
    136: "an unknown tool",
    139: "the number of messages as a trigger",
    140: "the budget as a bound",
    141: "old calls, summed up by the model",
    144: "a large message, summed up by the model",
    145: "the current turn, pressed to a ratio",
    148: "sessions saved after every event",
    150: "stores",
    151: "content blocks",
}
# What stays different: words of docs/reference/other-names.md that give the reason.
DIFFERENT = {
    65: "`AGENT_BASH_WORKING_DIRECTORY` | – | every session has a folder of its own",
    68: "secrets are always masked",
    89: "The server keeps no session",
    93: "protected by number",
    111: "the protocol is not: who may ask costs money and runs tools",
    136: "most of these are slips in spelling, which it mends itself",
    157: "The server is more than a thin one",
    162: "Files that tools made stay in a workspace on the host that ran them",
}


class Rows(unittest.TestCase):
    def test_each_row_has_a_test(self) -> None:
        found: set[int] = set()
        for path in (ROOT / "tests" / "mission").glob("test_*.py"):
            for numbers in re.findall(r"def test_(\d+(?:_\d+)*)_", path.read_text()):
                found |= {int(number) for number in numbers.split("_")}
        walk = (ROOT / "tests" / "browser" / "session-settings.mjs").read_text()
        for numbers in re.findall(r'walk\.step\("([\d, ]+):', walk):
            found |= {int(number) for number in numbers.split(",")}
        self.assertEqual(TESTED.keys() - found, set())
        documents = {0, 1, 4}  # the source documents' own examples, by their numbers
        self.assertEqual(found - TESTED.keys() - documents, set(), "rows that TESTED lacks")

    def test_what_differs_says_why(self) -> None:
        page = " ".join((ROOT / "docs" / "reference" / "other-names.md").read_text().split())
        self.assertEqual([row for row, words in DIFFERENT.items() if words not in page], [])


if __name__ == "__main__":
    unittest.main()
