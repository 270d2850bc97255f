"""Pictures of results in a request: as parts while they are new, as words when room is needed."""

from __future__ import annotations

import base64
import copy
import unittest
from typing import Any

from server.context.budget import (
    ANY,
    LEAST_PICTURE,
    Budget,
    Measure,
    Request,
    costs_of,
    media_tokens,
    of_message,
)
from server.context.compact import plan_compaction
from server.context.pictures import FEWER, MOST, in_words, shown_media
from server.context.view import apply_op
from server.session import media

from ..fakes import DEFAULTS
from ..tooling import pictures


def picture(number: int = 0, width: int = 640, height: int = 480, **more: Any) -> dict[str, Any]:
    data = base64.b64encode(pictures.png(width, height, noise=b"%d" % number)).decode()
    made = {"media_type": "image/png", "name": f"{number}.png", "bytes": 100, "data": data}
    return {**made, "width": width, "height": height, "path": f"{number}.png", **more}


def result(number: int, *items: dict[str, Any], text: str = "drawn") -> Any:
    about = {"status": "ok", "media": [*items]}
    message = {"role": "tool", "tool_call_id": f"c{number}", "id": f"t{number}", "name": "draw"}
    return {**message, "content": text, "result": about}


def call(number: int) -> Any:
    function = {"name": "draw", "arguments": "{}"}
    calls = [{"id": f"c{number}", "type": "function", "function": function}]
    return {"role": "assistant", "id": f"a{number}", "content": None, "tool_calls": calls}


def session(*results: Any) -> Any:
    messages: list[Any] = [{"role": "user", "id": "u1", "content": "Draw"}]
    for number, each in enumerate(results):
        messages += call(number), each
    config = copy.deepcopy(DEFAULTS["session"]["config"])
    return {"id": "s", "messages": messages, "config": config, "context": {}}


def kinds(message: Any) -> list[str]:
    content = message["content"]
    return [p["type"] for p in content] if isinstance(content, list) else ["string"]


class Shown(unittest.TestCase):
    def test_a_picture_is_a_part_after_the_text(self) -> None:
        one = picture()
        made = session(result(0, one))
        before = copy.deepcopy(made)
        sent = Request(made).messages()
        self.assertEqual(
            sent[3]["content"], [{"type": "text", "text": "drawn"}, media.part_of(one)]
        )
        self.assertEqual(made, before, "the session is not changed")
        self.assertEqual(sent[3]["result"], {"status": "ok"})

    def test_without_pictures_the_messages_are_the_same_objects(self) -> None:
        messages = session(result(0))["messages"]
        self.assertIs(shown_media(messages), messages)

    def test_a_picture_is_sent_once(self) -> None:
        one, other = picture(1), picture(2)
        made = session(result(0, one), result(1, one, other))
        first, second = (m for m in Request(made).messages() if m["role"] == "tool")
        self.assertEqual(kinds(first), ["text", "image_url"])
        self.assertEqual(kinds(second), ["text", "text", "image_url"])
        self.assertIn("1.png", str(second["content"][1]))

    def test_of_many_the_oldest_are_words_and_the_prefix_changes_rarely(self) -> None:
        changes, last = 0, list[list[str]]()
        for number in range(1, 3 * MOST):
            made = session(*(result(n, picture(n)) for n in range(number)))
            sent = [kinds(m) for m in Request(made).messages() if m["role"] == "tool"]
            shown = sum("image_url" in each for each in sent)
            self.assertLessEqual(shown, MOST)
            self.assertGreaterEqual(shown, min(number, MOST - FEWER + 1))
            changes += sent[: len(last)] != last
            last = sent
        self.assertEqual(changes, 4)

    def test_words_say_how_to_see_it_again(self) -> None:
        for item, words in (
            (picture(1), 'read_file("1.png") shows it again.]'),
            (picture(1, path='a "b".png'), r'read_file("a \"b\".png") shows'),
            (picture(1, path=""), "Call the tool again to see it.]"),
        ):
            found = in_words(result(0, item))
            self.assertIn("drawn\n[picture 1.png: image/png, 640 x 480 pixels", found["content"])
            self.assertIn(words, found["content"])
            self.assertEqual(found["result"], {"status": "ok"})

    def test_a_users_picture_in_words(self) -> None:
        part = media.part_of(picture())
        message: Any = {"role": "user", "content": [{"type": "text", "text": "see"}, part, 5]}
        found = in_words(message)["content"]
        self.assertEqual((found[0], found[2]), ({"type": "text", "text": "see"}, 5))
        self.assertIn("[image of 640 x 480 pixels; left out here", found[1]["text"])

    def test_hostile_documents(self) -> None:
        given: Any
        for given in (None, 5, {}, [5], [{"media_type": [], "data": "a"}], [{"data": "a"}]):
            made = result(0)
            made["result"]["media"] = given
            self.assertEqual(shown_media([made]), [made])
            self.assertEqual(of_message(made), of_message(result(0)))
        odd: dict[str, Any] = {"width": "x", "height": -1, "name": 5, "path": 7, "bytes": "y"}
        wrong = result(0, picture() | odd)
        self.assertIn("image_url", kinds(shown_media([wrong])[0]))


class Tokens(unittest.TestCase):
    def test_by_pixels_and_provider(self) -> None:
        for model, width, height, wanted in (
            ("claude-sonnet-5", 1000, 750, 1_000),
            ("claude-sonnet-5", 8000, 8000, 1_600),
            ("claude-sonnet-5", 3, 2, LEAST_PICTURE),
            ("gpt-4o", 512, 512, 255),
            ("gpt-4o", 4000, 4000, 1_105),
            ("qwen2.5-vl", 784, 100, 100),
            ("gemini-3", 768, 768, 258),
        ):
            with self.subTest(model, width=width):
                one = result(0, picture(0, width, height))
                costs = costs_of(model)
                self.assertEqual(media_tokens(one, costs), wanted)
                self.assertEqual(media_tokens(shown_media([one])[0], costs), wanted)

    def test_other_files(self) -> None:
        data = "a" * 4_000_000
        for kind in ("application/pdf", "audio/wav"):
            one = result(0, {"media_type": kind, "data": data, "name": "x", "bytes": 3_000_000})
            self.assertGreater(media_tokens(one, ANY), 5_000)
        for kind in media.PLAYED:  # it is a few words
            one = result(0, {"media_type": kind, "data": data, "name": "x", "bytes": 3_000_000})
            self.assertEqual(media_tokens(one, ANY), 0)
            *_, part = shown_media([one])[0]["content"]
            self.assertEqual(part["type"], "text")
            self.assertIn(f"x: {kind}, 3,000,000 bytes. Make it a WAV or MP3", part["text"])


class Dropped(unittest.TestCase):
    def plan(self, made: Any, high: int) -> Any:
        size = sum(map(of_message, made["messages"]))
        budget = Budget(high, high // 2, None, 500)
        return plan_compaction(made, budget, Measure(0, size, 1.0))

    def test_old_pictures_go_first_and_texts_stay(self) -> None:
        made = session(*(result(n, picture(n, 1000, 750), text="t" * 300) for n in range(6)))
        found = self.plan(made, 6_000)
        self.assertTrue(found)
        self.assertEqual({op["op"] for op in found.ops}, {"preview"})
        gone = [op["id"] for op in found.ops]
        self.assertEqual(gone, [f"t{n}" for n in range(len(gone))], "the oldest")
        self.assertNotIn("t5", gone, "the model has not seen it")
        places = {m["id"]: n for n, m in enumerate(made["messages"])}
        for op in found.ops:
            message = made["messages"][places[op["id"]]]
            short = apply_op(message, op, places[op["id"]])
            self.assertTrue(short["content"].startswith("t" * 300))
            self.assertIn("shows it again", short["content"])
        made["context"]["ops"] = list(found.ops)
        shown = [m["id"] for m in Request(made).messages() if "image_url" in kinds(m)]
        self.assertEqual(shown, [f"t{n}" for n in range(len(gone), 6)])

    def test_a_new_picture_is_not_previewed_for_its_size(self) -> None:
        made = session(result(0, picture(0, 1500, 1500)))
        self.assertIsNone(self.plan(made, 4_000))

    def test_a_large_text_comes_in_short_with_its_picture(self) -> None:
        made = session(result(0, picture(0), text="word " * 4_000))
        (op,) = self.plan(made, 100_000).ops
        self.assertEqual(op["pictures"], True)
        made["context"]["ops"] = [op]
        self.assertEqual(kinds(Request(made).messages()[3]), ["text", "image_url"])

    def test_a_stub_names_it(self) -> None:
        found = apply_op(result(0, picture(4)), {"op": "stub", "ids": ["t0"]}, 2)
        self.assertIn("It had a picture 4.png: image/png", found["content"])
        self.assertEqual(media_tokens(found), 0)
