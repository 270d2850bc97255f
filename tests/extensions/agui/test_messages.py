"""Messages of every role of AG-UI, ours as they come back from its client, and cut ones."""

from __future__ import annotations

import unittest
from typing import Any

from server.extensions.agui.request import MESSAGES, session_messages
from server.lib.json_schema.field_types import misfits
from server.session import events, snapshot

Json = dict[str, Any]


def made(*messages: Json) -> list[Json]:
    assert not misfits(list(messages), MESSAGES)
    return session_messages(list(messages))[0]


def call(call_id: str, **more: Any) -> Json:
    return {"id": call_id, "type": "function", "function": {"name": "f", "arguments": "{}"}, **more}


def ours(**marks: Any) -> Json:
    return {"metadata": {"theirs": 1, "yaa": marks}}


class Strangers(unittest.TestCase):
    """Messages that were not made by us: any client's, any server's."""

    def test_roles(self) -> None:
        for message, wanted in (
            (
                {"id": "1", "role": "developer", "content": "Be kind."},
                {"id": "1", "role": "system", "content": "Be kind."},
            ),
            (
                {"id": "1", "role": "system", "content": "Be kind.", "metadata": {"x": 1}},
                {"id": "1", "role": "system", "content": "Be kind."},
            ),
            (
                {"id": "1", "role": "user", "content": "ü", "name": "Zoë"},
                {"id": "1", "role": "user", "content": "ü", "name": "Zoë"},
            ),
            (
                {"id": "1", "role": "user", "content": [{"type": "text", "text": "a"}]},
                {"id": "1", "role": "user", "content": [{"type": "text", "text": "a"}]},
            ),
            (
                {"role": "user", "content": ""},
                {"role": "user", "content": ""},
            ),
            (
                {"id": "1", "role": "assistant"},
                {"id": "1", "role": "assistant", "content": ""},
            ),
            (
                {"id": "1", "role": "assistant", "content": None, "toolCalls": [call("c")]},
                {"id": "1", "role": "assistant", "content": "", "tool_calls": [call("c")]},
            ),
        ):
            with self.subTest(message=message):
                self.assertEqual(made(message), [wanted])

    def test_results(self) -> None:
        asked = {"id": "1", "role": "assistant", "toolCalls": [call("c", encryptedValue="x")]}
        base = {"id": "2", "role": "tool", "tool_call_id": "c", "name": "f"}
        for fields, wanted in (
            ({"content": "ok"}, {"content": "ok"}),
            ({}, {"content": ""}),
            ({"content": "", "error": "no"}, {"content": "Error: no", "is_error": True}),
            ({"content": "broken", "error": "no"}, {"content": "broken", "is_error": True}),
            ({"content": [{"type": "text", "text": "a"}]},) * 2,
        ):
            with self.subTest(fields=fields):
                found = made(asked, {"id": "2", "role": "tool", "toolCallId": "c", **fields})
                self.assertEqual(found[1], base | wanted)
                self.assertEqual(found[0]["tool_calls"], [call("c")])

    def test_a_second_result_is_dropped_and_one_without_its_call_stays(self) -> None:
        result = {"id": "2", "role": "tool", "toolCallId": "c", "content": "first"}
        found = made(result, {**result, "id": "3", "content": "second"})
        self.assertEqual([(m["id"], m["name"]) for m in found], [("2", "")])

    def test_reasoning_belongs_to_the_answer_behind_it(self) -> None:
        found = made(
            {"id": "r1", "role": "reasoning", "content": "hm "},
            {"id": "r2", "role": "reasoning", "content": "yes"},
            {"id": "1", "role": "assistant", "content": "Yes."},
            {"id": "r3", "role": "reasoning", "content": "and nothing follows"},
        )
        thought = {"text": "hm yes", "id": "r2"}
        self.assertEqual(
            found, [{"id": "1", "role": "assistant", "content": "Yes.", "reasoning": thought}]
        )

    def test_what_is_for_eyes_is_left_with_the_client(self) -> None:
        activity = {"id": "a", "role": "activity", "activityType": "plan", "content": {"x": 1}}
        user = {"id": "1", "role": "user", "content": "x"}
        self.assertEqual(session_messages([activity, user]), ([user], [1]))

    def test_misfits(self) -> None:
        for message, place in (
            ("x", "/messages/0"),
            ({"content": "x"}, "/messages/0/role"),
            ({"role": "error", "content": "x"}, "/messages/0/role"),
            ({"role": ["user"], "content": "x"}, "/messages/0/role"),
            ({"role": "user", "content": "x", "id": 1}, "/messages/0/id"),
            ({"role": "user"}, "/messages/0/content"),
            ({"role": "user", "content": {}}, "/messages/0/content"),
            ({"role": "user", "content": ["x"]}, "/messages/0/content/0"),
            ({"role": "user", "content": [{"text": "x"}]}, "/messages/0/content/0"),
            ({"role": "reasoning", "content": []}, "/messages/0/content"),
            ({"role": "tool", "content": "x"}, "/messages/0/toolCallId"),
            ({"role": "assistant", "toolCalls": {}}, "/messages/0/toolCalls"),
            ({"role": "assistant", "toolCalls": [{}]}, "/messages/0/toolCalls/0"),
            (
                {"role": "assistant", "toolCalls": [call("c"), call("d") | {"id": []}]},
                "/messages/0/toolCalls/1",
            ),
        ):
            with self.subTest(message=message):
                found = [each.error()["pointer"] for each in misfits([message], MESSAGES)]
                self.assertEqual([f"/messages{each}" for each in found], [place])


class Ours(unittest.TestCase):
    """Messages that our events have built in a client."""

    def test_an_answer_is_what_it_was(self) -> None:
        meta = {"model": "m", "usage": {"total_tokens": 5}}
        thought = {"id": "r", "role": "reasoning", "content": "hm"}
        answer = {"id": "1", "role": "assistant", "content": "Hi"}
        signed = call("c", **ours(extra={"signature": "x"}))
        found = made(
            {**thought, **ours(message_id="1", field="reasoning_content")},
            {**answer, "toolCalls": [signed], **ours(meta=meta, at=7, reasoning_details=[{}])},
        )
        reasoning = {"text": "hm", "id": "r", "field": "reasoning_content", "details": [{}]}
        self.assertEqual(
            found,
            [
                {
                    **answer,
                    "at": 7,
                    "meta": meta,
                    "tool_calls": [call("c", extra={"signature": "x"})],
                    "reasoning": reasoning,
                }
            ],
        )

    def test_a_thought_in_the_middle_of_an_answer_finds_it(self) -> None:
        found = made(
            {"id": "1", "role": "assistant", "content": "Hi", **ours(at=1)},
            {"id": "r", "role": "reasoning", "content": "hm", **ours(message_id="1")},
        )
        self.assertEqual([m["reasoning"]["text"] for m in found], ["hm"])

    def test_a_result_is_what_it_was(self) -> None:
        envelope = {"status": "error", "error": {"type": "x", "message": "no"}}
        marks = ours(name="f", state="failed", is_error=True, result=envelope, at=9)
        found = made({"id": "2", "role": "tool", "toolCallId": "c", "content": "no", **marks})
        wanted = {"id": "2", "role": "tool", "tool_call_id": "c", "name": "f", "content": "no"}
        self.assertEqual(found, [{**wanted, "is_error": True, "result": envelope, "at": 9}])

    def test_what_has_no_words_there(self) -> None:
        """A stored session that was told to a client whole (`POST /session/events`)."""
        parts = [{"type": "input_audio", "input_audio": {"data": "aGk=", "format": "wav"}}]
        mark = [{"type": "text", "text": "[input_audio]"}]
        told = {"id": "1", "role": "user", "content": mark, **ours(content=parts, at=3, ext={})}
        self.assertEqual(made(told), [{"id": "1", "role": "user", "content": parts, "at": 3}])
        reasoning = {"id": "r", "text": "hm", "details": [1]}
        thought = {"id": "r", "role": "reasoning", "content": "hm", **ours(message_id="2")}
        answer = {"id": "2", "role": "assistant", "content": "Hi"}
        found = made(thought, {**answer, **ours(reasoning=reasoning)})
        self.assertEqual(found, [{**answer, "reasoning": reasoning}])

    def test_a_message_of_a_snapshot_is_what_it_was_to_the_last_key(self) -> None:
        message: Any = {"id": "1", "role": "assistant", "content": "Hi", "theirs": 1, "at": 5}
        message["tool_calls"] = [call("c", extra={"s": 1}, colour="red")]
        user: Any = {"role": "human", "content": None, "starred": True}
        told = snapshot.events({"messages": [message, user]})[2]["messages"]
        wanted = {**user, "id": "message-1", "role": "user"}
        self.assertEqual(made(*told), [message, wanted])

    def test_what_is_sealed(self) -> None:
        """It is ours only if it can be read so, and metadata knows better."""
        answer = {"id": "1", "role": "assistant", "content": "Hi"}
        marks = {"meta": {"model": "m"}, "reasoning_details": [1]}
        found = {**answer, "meta": {"model": "m"}, "reasoning": {"text": "", "details": [1]}}
        sealed = events.encrypted_text(**marks)
        for value, metadata, wanted in (
            (sealed, {}, found),
            (
                sealed,
                ours(meta={"model": "m", "ms": 5}),
                {**found, "meta": {"model": "m", "ms": 5}},
            ),
            *((value, {}, answer) for value in (sealed[:-1], "gAAA", "", '{"yaa":[]}', "[1]")),
            ('{"yaa":{"reasoning_details":1,"reasoning_details":2}}', {}, answer),
            ('{"yaa":' * 5000 + "1" + "}" * 5000, {}, answer),
            (None, {}, answer),
            ({"yaa": marks}, {}, answer),
        ):
            with self.subTest(str(value)[:60]):
                self.assertEqual(made({**answer, "encryptedValue": value, **metadata}), [wanted])
        for extra in ({"s": "é"}, 5):
            asked = call("c", encryptedValue=events.encrypted_text(extra=extra))
            self.assertEqual(
                made({**answer, "toolCalls": [asked]}),
                [{**answer, "tool_calls": [call("c", extra=extra)]}],
            )

    def test_what_was_cut(self) -> None:
        cut = {"id": "1", "role": "assistant", "content": "It wa", **ours(open=True, at=1)}
        self.assertEqual(made(cut)[0]["open"], True)
        for marks in (ours(open=False), ours(), {}):
            self.assertFalse(made({**cut, "metadata": {}, **marks})[0].get("open"))
        thought = {"id": "r", "role": "reasoning", "content": "hm", **ours(message_id="1")}
        wanted = {"id": "1", "role": "assistant", "content": "", "open": True}
        reasoning = {"text": "hmhm", "id": "s"}
        found = made(thought, {**thought, "id": "s"})
        self.assertEqual(found, [{**wanted, "reasoning": reasoning}])


if __name__ == "__main__":
    unittest.main()
