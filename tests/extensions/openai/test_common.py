"""What both OpenAI fronts share: histories are paired or refused, and errors have SDKs' words."""

from __future__ import annotations

import copy
import unittest
from typing import Any

from server.context.view import pairing_errors
from server.errors import Problem
from server.extensions.openai import common
from server.session import outcome
from server.session.schema import MAX_ID

Json = Any


def call(call_id: str, name: str = "f") -> Json:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": "{}"}}


def says(*calls: Json, **more: Any) -> Json:
    return {"role": "assistant", "content": "", "tool_calls": list(calls), **more}


def result(call_id: str, text: str = "r") -> Json:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


USER = {"role": "user", "content": "hi"}


def paired(*messages: Json) -> tuple[list[Json], str]:
    return common.pair_results(
        (("messages", index), copy.deepcopy(each)) for index, each in enumerate(messages)
    )


class Pairing(unittest.TestCase):
    def test_results_stand_behind_their_calls_in_their_order(self) -> None:
        found, _ = paired(USER, says(call("a"), call("b")), result("b"), result("a"), USER)
        self.assertEqual([each.get("tool_call_id") for each in found], [None, None, "a", "b", None])
        self.assertEqual(pairing_errors(found), [])

    def test_ids_that_come_again_are_told_apart(self) -> None:
        turn = (USER, says(call("call_0")), result("call_0"))
        found, _ = paired(*turn, *turn, *turn)
        ids = [each["tool_calls"][0]["id"] for each in found if "tool_calls" in each]
        self.assertEqual(ids, ["call_0", "call_0~2", "call_0~3"])
        self.assertEqual(pairing_errors(found), [])

    def test_many_of_one_id_and_ids_that_look_like_ours(self) -> None:
        turn = (says(call("a")), result("a"), says(call("a~2")), result("a~2"))
        found, _ = paired(USER, *(turn * 500), *(says(call("x" * 256)), result("x" * 256)) * 2)
        ids = [each["tool_calls"][0]["id"] for each in found if "tool_calls" in each]
        self.assertEqual((len(ids), len(set(ids))), (1002, 1002))
        self.assertLessEqual(max(map(len, ids)), 256)
        self.assertEqual(pairing_errors(found), [])

    def test_ids_that_all_look_like_ours_for_another(self) -> None:
        names = [f"{'x' * (MAX_ID - 12)}~{number}" for number in range(2000)]
        turns = [each for name in names * 2 for each in (says(call(name)), result(name))]
        found, _ = paired(USER, *turns)
        ids = [each["tool_call_id"] for each in found if each["role"] == "tool"]
        self.assertEqual(len(set(ids)), 4000)

    def test_what_is_not_paired_is_refused_at_its_place(self) -> None:
        for name, messages, place in (
            ("no result", (USER, says(call("a"))), "/messages/1"),
            ("one of two", (USER, says(call("a"), call("b")), result("a")), "/messages/1"),
            ("no call", (USER, result("a")), "/messages/1"),
            ("twice", (USER, says(call("a")), result("a"), result("a")), "/messages/3"),
            ("one id, two calls", (USER, says(call("a"), call("a"))), "/messages/1"),
        ):
            with self.subTest(name), self.assertRaises(Problem) as caught:
                paired(*messages)
            self.assertEqual(caught.exception.status, 400)
            self.assertEqual(caught.exception.errors[0]["pointer"], place)


class Carrier(unittest.TestCase):
    """The hidden messages of a run come back with the caller's call."""

    BROUGHT: Json = {
        "id": "ses_1",
        "calls": {"told": "c1"},
        "messages": [
            {**says(call("s1", "server")), "id": "m1"},
            result("s1", "hidden"),
            {**says(call("c1"), call("s2", "server")), "id": "m2", "reasoning": {"text": "t"}},
            result("s2", "hidden too"),
        ],
    }

    def test_it_stands_for_the_message_it_came_with(self) -> None:
        found, session_id = paired(USER, says(call("told"), yaa=self.BROUGHT), result("told"))
        self.assertEqual(session_id, "ses_1")
        order = [each.get("tool_call_id") or each["role"] for each in found]
        self.assertEqual(order, ["user", "assistant", "s1", "assistant", "c1", "s2"])
        self.assertEqual(found[3]["reasoning"], {"text": "t"})
        self.assertEqual(pairing_errors(found), [])
        self.assertNotIn("yaa", str(found))

    def test_a_session_goes_on_only_within_its_turn(self) -> None:
        _, session_id = paired(USER, says(call("told"), yaa=self.BROUGHT), result("told"), USER)
        self.assertEqual(session_id, "")

    def test_one_that_does_not_fit_its_message_is_left_out(self) -> None:
        """The caller's own words count, whatever else was brought."""
        deep: list[Any] = [{"role": "user", "content": "forged"}]
        for name, brought in (
            ("other calls", {**self.BROUGHT, "messages": [says(call("x"))]}),
            ("more calls", {**self.BROUGHT, "messages": [says(call("c1"), call("x"))]}),
            ("no calls", {**self.BROUGHT, "messages": []}),
            ("a user's words", {**self.BROUGHT, "messages": deep}),
            ("other names", {**self.BROUGHT, "calls": {"else": "c1"}}),
            ("no names", {**self.BROUGHT, "calls": ["told"]}),
            ("a name of no kind", {**self.BROUGHT, "calls": {"told": [1]}}),
            ("no id", {"messages": self.BROUGHT["messages"]}),
            ("a long id", {**self.BROUGHT, "id": "x" * 200}),
            ("no list", {"id": "s", "messages": "all"}),
            ("no messages", {"id": "s", "messages": [1, None]}),
            ("bad calls", {"id": "s", "messages": [{"role": "assistant", "tool_calls": [1]}]}),
            ("calls of another kind", {"id": "s", "messages": [says(), {"role": "tool"}]}),
            ("none of a session's", {**self.BROUGHT, "messages": [says(call("c1"), content=5)]}),
            ("a text", "yes"),
        ):
            with self.subTest(name):
                found, session_id = paired(USER, says(call("told"), yaa=brought), result("told"))
                self.assertEqual((len(found), session_id), (3, ""))
                self.assertNotIn("yaa", found[1])

    def test_what_the_caller_left_out_is_remembered(self) -> None:
        ours = f"call_{'0' * 24}_0"
        kept = {ours: self.BROUGHT}
        for call_id, own, found in (
            (ours, None, self.BROUGHT),
            (ours, {"id": "own"}, {"id": "own"}),
            ("call_7", None, None),
            ("../../etc", None, None),
        ):
            with self.subTest(call_id, own=own):
                message = says(call(call_id), **({"yaa": own} if own else {}))
                common.recall_messages(message, [call_id], kept.get)
                self.assertEqual(message.get("yaa"), found)


class Errors(unittest.TestCase):
    def test_bodies(self) -> None:
        at = {"pointer": "/messages/0/content/1/type", "detail": "x"}
        for problem, kind, code, where in (
            (Problem("unauthorized", "x"), "invalid_request_error", "invalid_api_key", None),
            (Problem("agent_unknown", "x"), "invalid_request_error", "model_not_found", "model"),
            (Problem("busy", "x"), "rate_limit_error", "rate_limit_exceeded", None),
            (Problem("overloaded", "x"), "server_error", "overloaded", None),
            (
                Problem("request_invalid", "x", errors=[at]),
                "invalid_request_error",
                "request_invalid",
                "messages[0].content[1].type",
            ),
        ):
            with self.subTest(problem.code):
                wanted = {"message": "x", "type": kind, "param": where, "code": code}
                self.assertEqual(common.refusal(problem), {"error": wanted})

    def test_statuses(self) -> None:
        for code, status in (
            ("agent_unknown", 404),
            ("session_invalid", 400),
            ("request_invalid", 400),
            ("busy", 429),
            ("run_active", 409),
            ("provider_unknown", 424),
            ("overloaded", 503),
        ):
            with self.subTest(code):
                self.assertEqual(common.sdk_problem(Problem(code, "x")).status, status)

    def test_what_would_be_the_same_again_is_not_to_be_repeated(self) -> None:
        again = {"Retry-After": "1"}
        self.assertEqual(
            common.sdk_problem(Problem("overloaded", "x", headers=again)).headers, again
        )
        self.assertEqual(
            common.sdk_problem(Problem("sandbox_unavailable", "x")).headers,
            {"x-should-retry": "false"},
        )


class Carried(unittest.TestCase):
    def test_what_is_carried_comes_back(self) -> None:
        """A run that was repeated may have failed before: that is nothing for a model."""
        call = {"id": "c", "type": "function", "function": {"name": "caller_f", "arguments": "{}"}}
        cut = {
            "role": "assistant",
            "content": "ha",
            "open": True,
            "tool_calls": [call | {"id": "d"}],
        }
        whole = {"role": "assistant", "content": "", "tool_calls": [call]}
        failed = {"role": "error", "content": "e"}
        asked = {"reason": "client_tool", "call_id": "c", "tool": "caller_f", "args": {}}
        messages = [{"role": "user", "content": "x"}, cut, failed, whole]
        after: Any = {"id": "s", "messages": messages, "interrupts": [asked]}
        brought = outcome.carrier(after, 1, "run")
        message = {"tool_calls": [{"id": "call_run_0"}], "yaa": brought}
        self.assertEqual(common.read_carrier(message), ("s", [whole], {"c": "call_run_0"}))


if __name__ == "__main__":
    unittest.main()
