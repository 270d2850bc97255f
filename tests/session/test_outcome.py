"""What a run came to, read off its session: reasons, failures, tokens, what is left to say."""

from __future__ import annotations

import unittest
from typing import Any

from server.session import outcome

Json = Any
ASKED = {"reason": "client_tool", "call_id": "c", "tool": "caller_f", "args": {"a": "é"}}


def session(*messages: Json, **more: Any) -> Any:
    found = {"id": "s", "messages": list(messages), "interrupts": [], "config": {"yaa": {}}}
    return found | more


def said(reason: str = "stop") -> Json:
    return {"role": "assistant", "content": "x", "meta": {"finish_reason": reason}}


class Ends(unittest.TestCase):
    def test_reasons(self) -> None:
        error = {"role": "error", "content": "e"}
        cases: list[tuple[str, Json, str]] = [
            ("nothing", session(), "stop"),
            ("an answer", session(said()), "stop"),
            ("a provider's own word", session(said("eos")), "stop"),
            ("out of tokens", session(said("length")), "length"),
            ("out of tokens, in another's words", session(said("model_length")), "length"),
            ("broken off", session(said("network_error")), "length"),
            ("filtered", session(said("content_filter")), "content_filter"),
            ("filtered, in another's words", session(said("sensitive"), error), "content_filter"),
            ("no word at all", session({"role": "assistant", "content": ""}), "stop"),
            ("a limit", session(said(), finish_reason="limit"), "length"),
            ("calls", session(said("length"), interrupts=[ASKED]), "tool_calls"),
            ("something else to ask", session(said(), interrupts=[{"reason": "limit"}]), "stop"),
        ]
        for name, after, reason in cases:
            with self.subTest(name):
                self.assertEqual(outcome.reason(after), reason)

    def failure(self, code: str, after: Json | None = None, **details: Any) -> outcome.Failure:
        event: Any = {
            "type": "RUN_ERROR",
            "message": "m",
            "code": code,
            "metadata": {"yaa": details},
        }
        found = outcome.failure(after or session(), event, 0)
        assert found is not None
        return found

    def test_what_may_come_out_otherwise_next_time(self) -> None:
        for code, status, kind in (
            ("upstream_error", 502, "server_error"),
            ("upstream_truncated", 502, "server_error"),
            ("upstream_unreachable", 502, "server_error"),
            ("upstream_timeout", 504, "server_error"),
            ("upstream_rate_limit", 429, "rate_limit_error"),
            ("overloaded", 503, "server_error"),
            ("internal", 500, "server_error"),
        ):
            with self.subTest(code):
                found = self.failure(code, retryable=True)
                self.assertEqual(found, outcome.Failure("m", status, kind, code))
        event: Any = {"type": "RUN_ERROR", "message": "m", "code": "upstream_error"}
        self.assertEqual(outcome.failure(session(), event, 0).status, 502)  # type: ignore[union-attr]

    def test_what_would_be_the_same_again_is_repeated_by_no_client(self) -> None:
        """Most repeat 408, 409, 429 and everything from 500 on."""
        bad, failed = "invalid_request_error", "server_error"
        final: Json = {"retryable": False}
        filtered, empty = {"reason": "content_filter"}, {"reason": "insufficient_quota"}
        cases: list[tuple[str, str, Json, int, str, str]] = [
            ("bad request", "upstream_error", {"status": 400}, 400, bad, "upstream_error"),
            ("a field", "upstream_error", {"status": 422}, 400, bad, "upstream_error"),
            ("no such model", "upstream_error", {"status": 404}, 424, failed, "upstream_error"),
            ("silence", "upstream_error", {}, 424, failed, "upstream_error"),
            ("certificate", "upstream_unreachable", {}, 424, failed, "upstream_unreachable"),
            ("server's key", "upstream_auth", {"status": 401}, 424, failed, "upstream_auth"),
            ("filter", "upstream_error", {"status": 400} | filtered, 400, bad, "content_filter"),
            (
                "quota",
                "upstream_rate_limit",
                {"status": 429} | empty,
                424,
                failed,
                "insufficient_quota",
            ),
            ("too long", "context_overflow", {}, 400, bad, "context_length_exceeded"),
            ("no value", "output_invalid", {}, 424, failed, "output_invalid"),
            ("a task", "task_failed", {}, 424, failed, "task_failed"),
        ]
        for name, code, details, status, kind, known in cases:
            with self.subTest(name):
                found = self.failure(code, **final | details)
                self.assertEqual(found, outcome.Failure("m", status, kind, known))

    def test_nothing_is_repeated_once_a_tool_has_run(self) -> None:
        call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        asked = {"role": "assistant", "content": "", "tool_calls": [call]}
        for state, ran in (
            ("started", True),
            ("done", True),
            ("failed", True),
            ("indeterminate", True),
            ("proposed", False),
            ("waiting", False),
            ("denied", False),
        ):
            after = session(said(), asked, calls={"c": {"state": state}})
            for code, before in (("upstream_rate_limit", 429), ("overloaded", 503), ("x", 500)):
                with self.subTest(state=state, code=code):
                    status = self.failure(code, after, retryable=True).status
                    self.assertEqual(status, 424 if ran else before)
        event: Any = {"type": "RUN_ERROR", "message": "m", "code": "overloaded"}
        after = session(said(), asked, calls={"c": {"state": "done"}})
        for first, status in ((0, 424), (1, 424), (2, 503)):
            found = outcome.failure(after, event, first)
            assert found is not None
            self.assertEqual(found.status, status, "an earlier request's call was answered")
        self.assertEqual(outcome.stop_failure(after, 0).status, 424)
        self.assertEqual(outcome.stop_failure(session(), 0).status, 503)

    def test_what_does_not_fit_the_model_is_a_failure_too(self) -> None:
        over = {"reason": "limit", "limit": "context_overflow", "message": "too large"}
        event: Any = {"type": "RUN_FINISHED"}
        found = outcome.failure(session(interrupts=[over]), event, 0)
        assert found is not None
        self.assertEqual((found.status, found.code), (400, "context_length_exceeded"))
        self.assertIsNone(outcome.failure(session(interrupts=[ASKED]), event, 0))

    def test_calls_are_named_as_the_caller_does(self) -> None:
        after = session(said(), interrupts=[{"reason": "input_required"}, ASKED])
        (call,) = outcome.calls(after, {"caller_f": "f"}, "run")
        self.assertEqual(call, {"id": "call_run_0", "name": "f", "arguments": '{"a":"é"}'})
        self.assertEqual(outcome.carrier(after, 0, "run")["calls"], {"call_run_0": "c"})

    def test_a_caller_gets_the_digits_that_the_model_wrote(self) -> None:
        """The session has them as a string, because a browser could not count them."""
        asked = ASKED | {"args": {"id": str(2**60)}}
        repaired = ASKED | {"args": {"id": "7", "n": 5}}
        for name, written, item, given in (
            ("written", f'{{"id": {2**60}}}', asked, f'{{"id":{2**60}}}'),
            ("written as a string", f'{{"id": "{2**60}"}}', asked, f'{{"id":"{2**60}"}}'),
            ("repaired", '{"id": 7, "n": "5"}', repaired, '{"id":"7","n":5}'),
            ("no JSON", '{"id": 7, "n": 5', repaired, '{"id":"7","n":5}'),
        ):
            with self.subTest(name):
                message = {"tool_calls": [{"id": "c", "function": {"arguments": written}}]}
                after = session(said() | message, interrupts=[item])
                self.assertEqual(outcome.calls(after, {}, "run")[0]["arguments"], given)

    def test_what_is_left_to_say(self) -> None:
        done = {"role": "tool", "name": "finish", "content": "all done"}
        other = {"role": "tool", "name": "look", "content": "seen"}
        silent = {"role": "assistant", "content": ""}
        schema = {"config": {"yaa": {"output_schema": {"type": "object"}}}}
        cases: list[tuple[str, Json, bool, str]] = [
            ("nothing", session(said()), True, ""),
            ("the reason to finish", session(silent, done), False, "all done"),
            ("it was said along with it", session(said(), done), True, ""),
            ("something else was said before", session(said(), silent, done), True, "all done"),
            ("no reason", session(silent, {**done, "content": "done"}), False, "done"),
            ("no reason, and words", session(silent, {**done, "content": "done"}), True, ""),
            ("another call beside it", session(silent, done, other), False, "all done"),
            ("it did not fit", session(silent, {**done, "is_error": True}), False, ""),
            ("of an earlier turn", session(silent, done, {"role": "user"}), False, ""),
            ("another tool", session(said(), {**done, "name": "look"}), False, ""),
            ("the value", session(said(), done, output={"a": "京"}, **schema), False, '{"a":"京"}'),
            ("no value", session(said(), done, **schema), False, ""),
            ("calls", session(said(), done, interrupts=[ASKED]), False, ""),
        ]
        for name, after, before, text in cases:
            with self.subTest(name):
                self.assertEqual(outcome.last_words(after, said=before), text)

    def test_usage(self) -> None:
        used = {"prompt_tokens": 5, "cached_tokens": 2, "cost_micro": 9}
        wanted = {"prompt": 5, "completion": 0, "total": 0, "cached": 2}
        wanted |= {"cache_write": 0, "reasoning": 0}
        self.assertEqual(outcome.usage(session(usage=used)), wanted)
        self.assertEqual(sum(outcome.usage(session()).values()), 0)


if __name__ == "__main__":
    unittest.main()
