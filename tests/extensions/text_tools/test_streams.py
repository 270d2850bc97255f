"""Every quirk of vectors/llm_stream.json in each tool mode, and calls left in the text."""

from __future__ import annotations

import copy
import json
import unittest
from pathlib import Path
from typing import Any

from server.extensions.text_tools import history
from server.extensions.text_tools.marked_calls import rescue
from server.json_types import Event
from server.models.failure import Failure
from server.models.tool_mode import Readers

from ...models import test_chat_decoder as kernel
from ...models.fakes import check_brackets, message
from ...models.test_chat_decoder import VECTORS, cuts, read, wire
from .rows import READERS

ARGUMENTS = {"a": 7, "b": '<日本> & "x"\n</b'}
LEFT: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "vectors" / "left_in_text.json").read_text()
)
OTHERWISE: dict[tuple[str, str], dict[str, str]] = {  # by vector and mode
    ("openai does not parse tags", "text"): {"text": "ok", "think": "hm"}
}


class LeftInText(kernel.Vectors):
    """Calls that a model server has left in the text, in the mode native."""

    vectors = LEFT

    def readers(self, vector: dict[str, Any]) -> Readers:
        return None, lambda text: rescue(text, {name: {} for name in vector["tools"]})


class TextModes(kernel.Vectors):
    """A model that is asked for calls in its text has every quirk that others have."""

    def test_whole(self) -> None:
        for vector in VECTORS:
            for mode in ("text", "json_schema"):
                with self.subTest(vector["name"], mode=mode):
                    expected = vector | OTHERWISE.get((vector["name"], mode), {})
                    self.check(expected, *read(vector, [wire(vector)], READERS[mode]()))

    def test_cut_everywhere(self) -> None:
        """What was said is the same however it is cut; in which deltas it leaves need not be."""
        for vector in VECTORS:
            byte_by_byte, *others = cuts(wire(vector))
            for mode in ("text", "json_schema"):
                for pieces in (byte_by_byte, *others[-5:]):
                    with self.subTest(vector["name"], mode=mode):
                        expected = vector | OTHERWISE.get((vector["name"], mode), {})
                        self.check(expected, *read(vector, pieces, READERS[mode]()))

    def test_a_call_in_the_text_under_every_quirk(self) -> None:
        """Every stream that says something without calling says a call behind it."""
        driven = 0
        for vector in VECTORS:
            dictionaries = all(isinstance(chunk, dict) for chunk in vector.get("chunks", [0]))
            plain = dictionaries and "think>" not in json.dumps(vector["chunks"])
            if vector.get("calls") or not plain or not spoken(vector["chunks"]):
                continue
            if vector.get("finish") == "length" and not vector["text"]:
                continue  # all of it is a thought that was cut
            for mode in ("text", "json_schema"):
                written = history.call_text("add", json.dumps(ARGUMENTS), mode)
                changed = {**vector, "chunks": with_call(vector["chunks"], written, mode)}
                for pieces in ([wire(changed)], [bytes([b]) for b in wire(changed)]):
                    with self.subTest(vector["name"], mode=mode):
                        self.check_call(changed, *read(changed, pieces, READERS[mode]()))
                driven += 1
        self.assertGreater(driven, 90)

    def check_call(
        self, vector: dict[str, Any], events: list[Event], failure: Failure | None
    ) -> None:
        if "error" in vector:
            self.assertEqual(failure and failure.code, vector["error"])
            return
        if failure is not None:
            raise failure
        self.assertEqual(check_brackets(events), [])
        (call,) = message(events)["tool_calls"]
        self.assertEqual(call["function"]["name"], "add")
        self.assertEqual(json.loads(call["function"]["arguments"]), ARGUMENTS)


def spoken(chunks: list[Any]) -> list[dict[str, Any]]:
    """The deltas that say something, in a stream's chunks."""
    choices = [each for chunk in chunks for each in (chunk.get("choices") or ()) if each]
    deltas = [each["delta"] for each in choices if each.get("delta") and not each.get("index")]
    return [delta for delta in deltas if isinstance(delta.get("content"), str)]


def with_call(chunks: list[Any], written: str, mode: str) -> list[Any]:
    """The chunks with a call behind what they say, or as all that they say where the whole answer
    is held to a schema; cut into as many deltas as the text was."""
    chunks = copy.deepcopy(chunks)
    deltas = spoken(chunks)
    if mode == "text":
        deltas[-1]["content"] += written
        return chunks
    for number, delta in enumerate(deltas):
        share = len(written) * number // len(deltas), len(written) * (number + 1) // len(deltas)
        delta["content"] = written[slice(*share)]
    return chunks


if __name__ == "__main__":
    unittest.main()
