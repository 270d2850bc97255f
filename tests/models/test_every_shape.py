"""Every shape of answer that the decoders know: half of it, parts of it empty, and twice."""

from __future__ import annotations

import copy
import json
import unittest
from collections.abc import Iterator
from functools import reduce
from operator import getitem
from typing import Any

from server.json_types import Event
from server.models.failure import Failure
from server.models.tool_call_assembler import is_object

from ..tooling.pictures import wav
from . import whole
from .fakes import APIS, check_brackets, message
from .speakers import SPEAKERS, Messages, Part, Responses, frame
from .test_chat_decoder import VECTORS, read, wire
from .test_made import PICTURE, b64, part_of
from .test_made import block as made_block
from .test_made import call as made_call
from .test_made import part as made_part

Json = dict[str, Any]
Shape = tuple[str, str, list[Json], Json]  # API, name, events, the vector

EMPTY: tuple[Any, ...] = ("", None, [], {})
CITED = {"type": "web_search_result_location", "url": "https://a.test/", "cited_text": "x"}
RESULT = {"type": "web_search_tool_result", "tool_use_id": "s", "content": []}
URL = {"type": "url_citation", "url": "https://a.test/", "start_index": 0, "end_index": 1}


def frames_of(speaker: Any, parts: list[Part], stop: str = "") -> list[Json]:
    found = [each.split(b"data: ", 1)[1] for each in speaker.frames(parts, stop)]
    return [json.loads(each) for each in found if not each.startswith(b"[")]


def block(index: int, start: Json, *deltas: Json) -> list[Json]:
    return [
        {"type": "content_block_start", "index": index, "content_block": start},
        *({"type": "content_block_delta", "index": index, "delta": each} for each in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def messages(*blocks: list[Json]) -> list[Json]:
    first, *_, last, stop = frames_of(Messages(), [("text", ["."])])
    return [first, *(each for inner in blocks for each in inner), last, stop]


def items(*output: Json) -> list[Json]:
    first, *_, last = frames_of(Responses(), [])
    added = [
        {"type": "response.output_item.added", "output_index": n, "item": {**each, "content": []}}
        for n, each in enumerate(output)
    ]
    done = [
        {"type": "response.output_item.done", "output_index": n, "item": each}
        for n, each in enumerate(output)
    ]
    return [first, *added, *done, {**last, "response": {**last["response"], "output": [*output]}}]


def shapes() -> Iterator[Shape]:
    for vector in VECTORS:
        if "raw" not in vector and "error" not in vector:
            yield "chat", vector["name"], vector["chunks"], vector
    for speaker in SPEAKERS:
        yield speaker.api, "each part", frames_of(speaker, whole.PARTS), {}
        for stop in ("length", "refusal"):
            yield speaker.api, stop, frames_of(speaker, [("text", ["Hey"])], stop), {}
    text = {"type": "text", "text": ""}
    say = {"type": "text_delta", "text": "Hey"}
    sealed = {"type": "redacted_thinking", "data": "xx"}
    use = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    query = {"type": "input_json_delta", "partial_json": '{"query": "a"}'}
    cite = {"type": "citations_delta", "citation": CITED}
    yield (
        "messages",
        "search",
        messages(block(0, use, query), block(1, RESULT), block(2, text, say, cite)),
        {},
    )
    yield "messages", "sealed", messages(block(0, sealed), block(1, text, say)), {}
    yield (
        "messages",
        "whole blocks",
        messages(
            block(0, {"type": "text", "text": "Hey"}),
            block(1, {"type": "tool_use", "id": "c", "name": "f", "input": {"a": 1}}),
        ),
        {},
    )
    part = {"type": "output_text", "text": "Hey", "annotations": [URL]}
    open_thought = {
        "type": "reasoning",
        "id": "r",
        "summary": [],
        "content": [{"type": "reasoning_text", "text": "Hm"}],
    }
    said = {"type": "message", "id": "m", "phase": "final_answer", "content": [part]}
    search = {
        "type": "web_search_call",
        "id": "w",
        "status": "completed",
        "action": {"type": "search", "query": "a"},
    }
    yield "responses", "search", items(search, said), {}
    yield "responses", "open thought", items(open_thought, said), {}
    picture = b64(PICTURE)
    yield "responses", "picture", items(made_call(picture), said), {}
    yield "messages", "picture", messages(block(0, text, say), block(1, made_block(picture))), {}
    end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    web = "https://a.test/b.png"
    yield "responses", "address", items(made_call(web), said), {}
    source = {"type": "image", "source": {"type": "url", "url": web}}
    yield "messages", "address", messages(block(0, text, say), block(1, source)), {}
    for name, delta in (
        ("pictures", {"images": [made_part(picture)]}),
        ("picture part", {"content": [made_part(picture)]}),
        ("address", {"images": [part_of(web)]}),
        ("address part", {"content": [part_of(web)]}),
        ("sources", {"content": "Hey", "annotations": [{"url_citation": URL}]}),
        ("sound", {"audio": {"id": "a", "data": b64(wav()), "transcript": "Hey"}}),
    ):
        chunks: list[Json] = [{"choices": [{"index": 0, "delta": delta}]}, end]
        yield "chat", name, chunks, {"name": name, "chunks": chunks}
    yield (
        "responses",
        "refusal part",
        items({"type": "message", "id": "m", "content": [{"type": "refusal", "refusal": "No."}]}),
        {},
    )


SHAPES = [shape for shape in shapes() if shape[0] in APIS]
TEXTS = ("Hm", "Hey", '{"a":1}')


def documents() -> Iterator[tuple[str, Json]]:
    """Whole answers with a thought, a text, a picture and a call each."""
    picture, (thought, words, arguments) = b64(PICTURE), TEXTS
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": arguments}}
    said: Json = {"role": "assistant", "content": words, "reasoning_content": thought}
    said |= {"images": [made_part(picture)], "tool_calls": [call]}
    usage = {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18}
    choice = {"index": 0, "message": said, "finish_reason": "tool_calls"}
    yield "chat", {"choices": [choice], "usage": usage}
    blocks: list[Json] = [
        {"type": "thinking", "thinking": thought, "signature": "s"},
        {"type": "text", "text": words},
        made_block(picture),
        {"type": "tool_use", "id": "c", "name": "f", "input": json.loads(arguments)},
    ]
    used = {"input_tokens": 9, "output_tokens": 9}
    yield "messages", {"content": blocks, "stop_reason": "tool_use", "usage": used}
    output: list[Json] = [
        {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": thought}]},
        {"type": "message", "id": "m", "content": [{"type": "output_text", "text": words}]},
        made_call(picture),
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": arguments},
    ]
    yield "responses", {"status": "completed", "output": output, "usage": used}


def outcome(shape: Shape, events: list[Json], half: bool = False) -> Any:
    """(text, calls, thoughts, codes of warnings, media) of an answer, or its failure's code."""
    api, _, _, vector = shape
    found: list[Event] = []
    failure: Failure | None = None
    if api == "chat":
        given = {**vector, "chunks": events} | ({"done": False} if half else {})
        found, failure = read(given, [wire(given)])
    else:
        try:
            found = whole.read(api, *(frame(each, named=False) for each in events))
        except Failure as error:
            failure = error
    return summary(found) if failure is None else failure.code


def summary(found: list[Event]) -> Any:
    assert check_brackets(found) == []
    made = message(found)
    calls = [tuple(call["function"].values()) for call in made.get("tool_calls", ())]
    codes = [each["code"] for each in made["meta"].get("warnings", ())]
    shown = [item["data"] for item in made.get("media", ())]
    return made["content"], calls, made.get("reasoning", {}).get("text", ""), codes, shown


def outcome_of_document(api: str, body: bytes) -> Any:
    """The same of an unstreamed answer."""
    try:
        return summary(whole.read(api, body))
    except Failure as error:
        return error.code


def whole_calls(found: Any) -> list[Any]:
    return [call for call in found[1] if is_object(call[1])]


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if at:
        yield at
    keys = range(len(value)) if isinstance(value, list) else value
    for key in keys if isinstance(value, dict | list) else ():
        yield from places(value[key], (*at, key))


def replaced(event: Json, at: tuple[Any, ...], value: Any) -> Json:
    event = copy.deepcopy(event)
    inner: Any = event
    for key in at[:-1]:
        inner = inner[key]
    inner[at[-1]] = value
    return event


class EveryShape(unittest.TestCase):
    def test_half(self) -> None:
        """The beginning of an answer is a failure, unless only things beside it are missing."""
        for shape in SHAPES:
            api, name, events, _ = shape
            wanted = outcome(shape, events)
            self.assertIsInstance(wanted, tuple, name)
            for count in range(len(events)):
                with self.subTest(api, name=name, events=count):
                    found = outcome(shape, events[:count], half=True)
                    self.assertIn(found, (wanted, "upstream_truncated", "upstream_error"))

    def test_twice(self) -> None:
        """An event that is told twice may double its piece of a text, but makes no second call."""
        for shape in SHAPES:
            api, name, events, vector = shape
            if "tools" in vector:  # calls in a text, which may be there twice
                continue
            calls = whole_calls(outcome(shape, events))
            for place, event in enumerate(events):
                with self.subTest(api, name=name, event=event):
                    found = outcome(shape, [*events[: place + 1], *events[place:]])
                    self.assertLessEqual(len(whole_calls(found)), len(calls))
                    self.assertLessEqual(len(found[4]), 1)

    def test_empty(self) -> None:
        """Each part of an answer is once nothing: a failure, or what is lost is said."""
        tried = set()
        for shape in SHAPES:
            api, name, events, _ = shape
            for index, event in enumerate(events):
                for at in places(event):
                    kept = json.dumps([api, event.get("type"), at, reduce(getitem, at, event)])
                    if kept in tried:
                        continue
                    tried.add(kept)
                    for value in EMPTY:
                        changed = [*events]
                        changed[index] = replaced(event, at, value)
                        with self.subTest(api, name=name, at=at, value=value):
                            found = outcome(shape, changed)
                            said = found if isinstance(found, str) else found[:2] + found[3:]
                            self.assertTrue(any(said))

    def test_documents(self) -> None:
        """Half of a body, and one that comes twice, is a failure; what is lost of one is said."""
        for api, document in documents():
            if api not in APIS:
                continue
            body = json.dumps(document).encode()
            words, calls, thought, codes, shown = outcome_of_document(api, body)
            self.assertEqual((words, thought, codes, len(shown)), ("Hey", "Hm", [], 1), api)
            self.assertEqual([(name, json.loads(text)) for name, text in calls], [("f", {"a": 1})])
            for broken in (*(body[:count] for count in range(1, len(body), 5)), body + body):
                with self.subTest(api, size=len(broken)):
                    self.assertEqual(outcome_of_document(api, broken), "upstream_error")
            for at in places(document):
                for value in EMPTY:
                    with self.subTest(api, at=at, value=value):
                        changed = json.dumps(replaced(document, at, value)).encode()
                        found = outcome_of_document(api, changed)
                        said = found if isinstance(found, str) else found[:2] + found[3:]
                        self.assertTrue(any(said))


if __name__ == "__main__":
    unittest.main()
