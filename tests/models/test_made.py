"""Pictures and sounds that a model makes are parts of its message, in every form they come in."""

from __future__ import annotations

import base64
import json
import unittest
from collections.abc import Callable
from typing import Any

from server.context.pictures import in_words, shown_media
from server.models.chat_request import ModelRequest, ToolNameMap
from server.models.decoder import ANSWER_UNREAD
from server.models.failure import Failure
from server.models.tool_mode import NATIVE
from server.session import media

from ..extensions import needs
from ..tooling import pictures
from . import whole
from .fakes import APIS, message, options, provider
from .speakers import frame

Shape = Callable[[str], Any]  # of the base64


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def url(data: str) -> str:
    return f"data:image/png;base64,{data}"


def part(data: str) -> Any:
    return {"type": "image_url", "image_url": {"url": url(data)}}


def part_of(address: str) -> Any:
    return {"type": "image_url", "image_url": {"url": address}}


def call(data: str) -> Any:
    return {"type": "image_generation_call", "id": "i", "status": "completed", "result": data}


def block(data: str) -> Any:
    source = {"type": "base64", "media_type": "image/png", "data": data}
    return {"type": "image", "source": source}


TEXT = {"type": "message", "id": "m", "content": [{"type": "output_text", "text": "ok"}]}
# API, name of the item, and the shape: each beside the text "ok", or without one.
SHAPES: dict[str, tuple[str, str, Shape]] = {
    "OpenRouter, LiteLLM": ("chat", "image", lambda data: {"images": [part(data)]}),
    "LiteLLM before": ("chat", "image", lambda data: {"image": {"url": url(data)}}),
    "OpenAI's sound": ("chat", "audio", lambda data: {"audio": {"id": "a", "data": data}}),
    "a part": ("chat", "file", lambda data: {"content": [part(data)]}),
    "Gemini's part": (
        "chat",
        "file",
        lambda data: {"content": [{"inlineData": {"mimeType": "image/png", "data": data}}]},
    ),
    "OpenAI's call": ("responses", "image", call),
    "a block": ("messages", "file", block),
}
SHAPES = {what: shape for what, shape in SHAPES.items() if shape[0] in APIS}
PICTURE, OTHER = pictures.png(3, 2), pictures.jpeg(5, 4)


def body(api: str, *made: Any, text: bool = True) -> bytes:
    """A whole answer with what was made."""
    if api == "responses":
        output = [*made, *([TEXT] if text else [])]
        return json.dumps({"object": "response", "status": "completed", "output": output}).encode()
    if api == "messages":
        content = [*made, *([{"type": "text", "text": "ok"}] if text else [])]
        return json.dumps({"content": content, "stop_reason": "end_turn"}).encode()
    said: Any = {"role": "assistant", "content": "ok" if text else None}
    for each in made:
        for name, value in each.items():
            if name == "content":
                words = [{"type": "text", "text": "ok"}] if text else []
                before = said["content"] if isinstance(said["content"], list) else words
                said["content"] = [*before, *value]
            elif isinstance(value, list):
                said[name] = [*said.get(name, ()), *value]
            else:
                said[name] = value
    return json.dumps({"choices": [{"message": said, "finish_reason": "stop"}]}).encode()


def shown(made: Any) -> list[Any]:
    return [(each["media_type"], each["name"], each["data"]) for each in made.get("media", ())]


def codes(made: Any) -> list[str]:
    return [each["code"] for each in made["meta"].get("warnings", ())]


class EveryShape(unittest.TestCase):
    def test_beside_a_text_and_alone(self) -> None:
        for what, (api, name, shape) in SHAPES.items():
            for text in (True, False):
                with self.subTest(what, text=text):
                    made = message(whole.read(api, body(api, shape(b64(PICTURE)), text=text)))
                    wanted = ("image/png", f"{name}-1.png", b64(PICTURE))
                    self.assertEqual(shown(made), [wanted])
                    self.assertEqual(
                        (made["media"][0]["width"], made["media"][0]["height"]), (3, 2)
                    )
                    self.assertEqual((made["content"], codes(made)), ("ok" if text else "", []))

    def test_half_or_empty(self) -> None:
        """It is said beside a text, and an answer of nothing else is a failure."""
        for what, (api, _, shape) in SHAPES.items():
            for data in (b64(PICTURE)[:-8], b64(PICTURE)[:-7], "", b64(b"none")):
                with self.subTest(what, data=data):
                    made = message(whole.read(api, body(api, shape(data))))
                    self.assertEqual((made["content"], codes(made)), ("ok", [ANSWER_UNREAD]))
                    self.assertNotIn("media", made)
                    with self.assertRaises(Failure) as caught:
                        whole.read(api, body(api, shape(data), text=False))
                    self.assertEqual(caught.exception.code, "upstream_error")

    def test_twice_is_once_and_two_are_two(self) -> None:
        for what, (api, name, shape) in SHAPES.items():
            if isinstance(next(iter(shape("").values())), dict):  # a member for one
                continue
            with self.subTest(what):
                same = body(api, shape(b64(PICTURE)), shape(b64(PICTURE)))
                self.assertEqual(len(shown(message(whole.read(api, same)))), 1)
                both = message(whole.read(api, body(api, *map(shape, map(b64, (PICTURE, OTHER))))))
                names = [each["name"] for each in both["media"]]
                self.assertEqual(names, [f"{name}-1.png", f"{name}-2.jpeg"])

    def test_one_good_and_one_lost(self) -> None:
        for what, (api, _, shape) in SHAPES.items():
            if isinstance(next(iter(shape("").values())), dict):
                continue
            with self.subTest(what):
                made = message(whole.read(api, body(api, shape(b64(PICTURE)), shape(b64(b"none")))))
                self.assertEqual((len(shown(made)), codes(made)), (1, [ANSWER_UNREAD]))

    def test_what_is_too_large_is_said(self) -> None:
        big = PICTURE[:-12] + pictures.chunk(b"teXt", b"x" * media.MAX_BYTES) + PICTURE[-12:]
        for what, (api, _, shape) in SHAPES.items():
            with self.subTest(what):
                made = message(whole.read(api, body(api, shape(b64(big)))))
                self.assertRegex(made["meta"]["warnings"][0]["message"], "MB")
                self.assertNotIn("media", made)

    def test_a_deep_part(self) -> None:
        """Nothing that a model's server sends ends the run."""
        deep: Any = b64(PICTURE)
        for _ in range(900):
            deep = {"data": deep}
        self.assertEqual(list(media.made_in(deep)), [b64(PICTURE)])


class Addresses(unittest.TestCase):
    """A picture or sound of which only an address comes is a link in the text."""

    web = "https://made.test/a.png?x=1"

    def test_beside_a_text_and_alone(self) -> None:
        sound = {"type": "audio_url", "audio_url": {"url": self.web}}
        shapes: dict[str, tuple[str, Any, str]] = {
            "OpenRouter": ("chat", {"images": [part_of(self.web)]}, "!"),
            "LiteLLM before": ("chat", {"image": {"url": self.web}}, "!"),
            "a part": ("chat", {"content": [part_of(self.web)]}, "!"),
            "a sound": ("chat", {"content": [sound]}, ""),
            "a call": ("responses", call(self.web), "!"),
            "a block": ("messages", {"type": "image", "source": {"url": self.web}}, "!"),
        }
        for what, (api, shape, mark) in shapes.items():
            if api not in APIS:
                continue
            for text in (True, False):
                with self.subTest(what, text=text):
                    made = message(whole.read(api, body(api, shape, shape, text=text)))
                    link = f"{mark}[{'image' if mark else 'audio'}]({self.web})"
                    self.assertEqual(made["content"], f"ok\n\n{link}" if text else link)
                    self.assertEqual((shown(made), codes(made)), ([], []))

    def test_an_address_of_something_else_is_none(self) -> None:
        for api, shape in (
            ("chat", {"content": [{"type": "reference", "url": self.web}]}),
            ("messages", {"type": "mcp_tool_result", "content": [{"url": self.web}]}),
            ("chat", {"images": [part_of("https://made.test/a) [b](javascript:1")]}),
            ("chat", {"images": [part_of("file:///etc/passwd")]}),
        ):
            if api not in APIS:
                continue
            with self.subTest(api, shape=shape):
                made = message(whole.read(api, body(api, shape)))
                self.assertEqual((made["content"], codes(made)), ("ok", [ANSWER_UNREAD]))

    def test_a_picture_and_an_address(self) -> None:
        made = message(
            whole.read("chat", body("chat", {"images": [part(b64(PICTURE)), part_of(self.web)]}))
        )
        self.assertEqual((len(shown(made)), made["content"]), (1, f"ok\n\n![image]({self.web})"))


class Streams(unittest.TestCase):
    def sound(self, *deltas: Any, **changes: Any) -> Any:
        chunks = [{"choices": [{"index": 0, "delta": {"audio": each}}]} for each in deltas]
        chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        return message(whole.read("chat", *(frame(c, named=False) for c in chunks), **changes))

    def test_sound_in_pieces(self) -> None:
        """Each piece is base64 of its own, with bare samples where the request wants them."""
        pieces: list[Any] = [{"id": "a"}, {"transcript": "Hey"}, {"data": b64(b"\1\2\3\4")}]
        pieces += [{"data": b64(b"\5\6")}, {"transcript": "!"}, {"expires_at": 1}]
        made = self.sound(*pieces, settings={"audio": {"voice": "x", "format": "pcm16"}})
        data = base64.b64decode(made["media"][0]["data"])
        self.assertEqual(shown(made)[0][:2], ("audio/wav", "audio-1.wav"))
        self.assertEqual((made["content"], codes(made)), ("Hey!", []))
        self.assertTrue(data.endswith(b"data\6\0\0\0\1\2\3\4\5\6"))
        self.assertEqual(int.from_bytes(data[4:8], "little"), len(data) - 8)

    def test_sound_of_each_format(self) -> None:
        for head, kind, name in (
            (b"fLaC", "audio/flac", "audio-1.flac"),
            (b"OggS", "audio/ogg", "audio-1.ogg"),
            (b"ID3", "audio/mpeg", "audio-1.mp3"),
        ):
            with self.subTest(kind):
                made = self.sound({"data": b64(head + b"\0" * 20)})
                self.assertEqual((shown(made)[0][:2], codes(made)), ((kind, name), []))

    def test_sound_that_is_none(self) -> None:
        for pieces in (
            [{"data": "A"}],
            [{"data": ""}],
            [{"data": b64(b"\1\2\3\4")}],
            [{"id": "a"}],
        ):
            with self.subTest(pieces):
                made = self.sound({"transcript": "Hey"}, *pieces)
                self.assertEqual((made["content"], codes(made)), ("Hey", [ANSWER_UNREAD]))

    @needs("responses_api")
    def test_a_call_that_comes_as_it_is_made(self) -> None:
        """It is told without its picture, with pieces of it, whole, and at the end once more."""
        begun, done = {**call(""), "status": "in_progress"}, call(b64(PICTURE))
        del begun["result"]
        piece = {"type": "response.image_generation_call.partial_image", "partial_image_b64": "A"}
        events: list[Any] = [
            {"type": "response.output_item.added", "output_index": 0, "item": begun},
            {**piece, "output_index": 0},
            {"type": "response.output_item.done", "output_index": 0, "item": done},
            {
                "type": "response.completed",
                "response": {"status": "completed", "output": [done]},
            },
        ]
        frames = [frame(each, named=False) for each in events]
        made = message(whole.read("responses", *frames))
        self.assertEqual(([each[1] for each in shown(made)], codes(made)), (["image-1.png"], []))
        again = message(
            whole.read("responses", *(f for each in frames[:-1] for f in (each, each)), frames[-1])
        )
        self.assertEqual(len(shown(again)), 1)
        for count in range(len(frames)):
            with self.subTest(count), self.assertRaises(Failure):
                whole.read("responses", *frames[:count])
        with self.assertRaisesRegex(Failure, "image_generation_call"):
            whole.read("responses", frames[0], frame({**events[-1], "response": {}}, named=False))

    def test_a_picture_in_a_delta_that_is_told_twice(self) -> None:
        chunk = {"choices": [{"index": 0, "delta": {"images": [part(b64(PICTURE))]}}]}
        end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
        made = message(whole.read("chat", *(frame(e, named=False) for e in (chunk, chunk, end))))
        self.assertEqual(len(shown(made)), 1)


def answered(*more: Any, **changes: Any) -> list[Any]:
    item = media.item_of(media.recognise(PICTURE), "image-1.png")
    heard = media.item_of(media.recognise(pictures.wav()), "audio-1.wav")
    said = {"role": "assistant", "content": "Here", "media": [item, heard], **changes}
    return [{"role": "user", "content": "Draw"}, said, *more]


class SentBack(unittest.TestCase):
    """A picture goes back to the model, as the user's: no API takes one in an answer."""

    def sent(self, api: str, messages: list[Any], **quirks: Any) -> list[Any]:
        source = provider(api=api, quirks=quirks)
        shown, names = shown_media(messages), ToolNameMap()
        made = APIS[api].request(ModelRequest(source, shown, [], options(), NATIVE, names))
        found: list[Any] = made["input" if api == "responses" else "messages"]
        return found

    def test_in_each_api(self) -> None:
        for api in APIS:
            with self.subTest(api):
                sent = self.sent(api, answered({"role": "user", "content": "Bluer"}))
                roles = [each["role"] for each in sent]
                joined = api == "messages"
                self.assertEqual(roles, ["user", "assistant", "user"] + ["user"] * (not joined))
                self.assertNotIn(b64(PICTURE), json.dumps(sent[1]))
                self.assertIn(b64(PICTURE), json.dumps(sent[2]))
                self.assertEqual(json.dumps(sent).count("[From your answer:]"), 1)
                self.assertNotIn(b64(pictures.wav()), json.dumps(sent))
                self.assertNotIn('"media"', json.dumps(sent))

    def test_behind_the_results_of_its_calls(self) -> None:
        calls = [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
        result = {"role": "tool", "tool_call_id": "c1", "name": "f", "content": "done"}
        for api in APIS:
            with self.subTest(api):
                sent = json.dumps(self.sent(api, answered(result, tool_calls=calls)))
                self.assertLess(sent.index('"done"'), sent.index(b64(PICTURE)))

    def test_a_model_without_eyes_is_told(self) -> None:
        sent = json.dumps(self.sent("chat", answered(), images=False))
        self.assertNotIn(b64(PICTURE), sent)
        self.assertIn("3 x 2 pixels", sent)

    def test_words_where_room_is_needed(self) -> None:
        told = in_words(answered()[1])
        self.assertNotIn("media", told)
        self.assertRegex(told["content"], r"^Here\n\[picture image-1\.png.*left out here\.\]")


if __name__ == "__main__":
    unittest.main()
