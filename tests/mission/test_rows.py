"""Every promise that did not simply hold has a test, or a reason why it differs."""

from __future__ import annotations

import importlib
import re
import unittest
from importlib.util import find_spec
from pathlib import Path

from server.extensions import present

ROOT = Path(__file__).resolve().parents[2]
MODULES = [
    importlib.import_module(f"{__package__}.{path.stem}")
    for path in sorted(Path(__file__).parent.glob("test_*.py"))
    if path.stem != "test_rows"
]
_OF_EXTENSIONS = [f"tests.extensions.{name}.test_mission" for name in present()]
MODULES += [importlib.import_module(name) for name in _OF_EXTENSIONS if find_spec(name)]
# The rows of an audit of the five source systems, by its numbers; those of a protocol are beside
# their tests, under the same names.
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
    83: "model adapters",
    84: "registries of tools",
    90: "archiving, deleting and counting sessions",
    91: "what a host keeps expires",
    103: "the engine in a program",
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
# What stays different: words of docs/reference that give the reason.
DIFFERENT = {
    136: "most of these are slips in spelling, which it mends itself",
    157: "The server is more than a thin one",
    162: "Files that tools made stay in a workspace on the host that ran them",
}


class Rows(unittest.TestCase):
    def test_each_row_has_a_test(self) -> None:
        tested = set(TESTED).union(*(getattr(each, "TESTED", ()) for each in MODULES))
        found: set[int] = set()
        for module in MODULES:
            text = Path(module.__file__ or "").read_text()
            for numbers in re.findall(r"def test_(\d+(?:_\d+)*)_", text):
                found |= {int(number) for number in numbers.split("_")}
        walk = (ROOT / "tests" / "browser" / "session-settings.mjs").read_text()
        for numbers in re.findall(r'walk\.step\("([\d, ]+):', walk):
            found |= {int(number) for number in numbers.split(",")}
        self.assertEqual(tested - found, set())
        documents = {0, 1, 4}  # the source documents' own examples, by their numbers
        self.assertEqual(found - tested - documents, set(), "rows that TESTED lacks")

    def test_what_differs_says_why(self) -> None:
        pages = (ROOT / "docs" / "reference").glob("*.md")
        text = " ".join(" ".join(page.read_text().split()) for page in pages)
        reasons = [DIFFERENT, *(getattr(each, "DIFFERENT", {}) for each in MODULES)]
        said = [(row, words) for each in reasons for row, words in each.items()]
        self.assertEqual([row for row, words in said if words not in text], [])


if __name__ == "__main__":
    unittest.main()
