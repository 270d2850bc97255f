"""The envelope: every kind of end has one, a model gets its compact text, a session stays small."""

from __future__ import annotations

import unittest
from typing import Any

from server.lib.sandbox.process import Outcome, limit_error
from server.lib.strict_json import dumps, loads
from server.session import events
from server.tools.result import (
    MAX_NESTED,
    MAX_RESULT,
    MAX_TEXT,
    envelope,
    shorten_text,
    text_for_model,
    with_files,
)


class Envelopes(unittest.TestCase):
    def test_who_changed_the_arguments(self) -> None:
        for by, who in (("", "The user"), ("hook", "A rule of this server"), ("x", "The user")):
            found = envelope(Outcome("ok", "plain"), [], {"a": 1}, by)
            text = f'{who} changed the arguments to {{"a":1}}.\nplain'
            self.assertEqual(text_for_model(found), text)
            self.assertEqual(found.get("modified_by"), by if by == "hook" else None)
        self.assertNotIn("modified_by", envelope(Outcome("ok", "plain"), [], None, "hook"))

    def test_texts(self) -> None:
        limit = Outcome(*limit_error({"limit": "wall_s", "allowed": 3, "observed": 3.1}))
        raised = Outcome("error", error={"type": "ValueError", "message": "bad"})
        said = Outcome("error", error={"type": "error", "message": "use less"})
        attached = Outcome("ok", None, attachments=({"path": "a/b.png", "name": "b.png"},))
        cases: list[tuple[Outcome, str]] = [
            (Outcome("ok", "plain"), "plain"),
            (Outcome("ok", {"a": [1, "é"]}), '{"a":[1,"é"]}'),
            (Outcome("ok", None), "done"),
            (attached, "done\n[attached: b.png]"),
            (said, "Error: use less"),
            (raised, "Error: ValueError: bad"),
            (limit, "Error: stopped at the limit wall_s: allowed 3, observed 3.1"),
        ]
        for outcome, text in cases:
            with self.subTest(text):
                found = envelope(outcome, [], None)
                self.assertEqual(text_for_model(found), text)
                self.assertEqual(found["sandbox"], {"tier": "none"})
                self.assertEqual("result" in found, outcome.status == "ok")

    def test_what_every_one_has(self) -> None:
        usage = {"wall_ms": 7, "cpu_ms": 3, "max_rss_kb": 9000}
        always = {"status", "logs", "attachments", "duration_ms", "usage", "sandbox"}
        for status in ("ok", "error", "timeout", "limit", "sandbox_unavailable"):
            with self.subTest(status):
                error = {"type": status, "message": "m"}
                outcome = Outcome(status, 1, error, usage=usage, tier="A", logs=("l",))
                found = envelope(outcome, [], None)
                self.assertEqual(found.keys(), always | {"result" if status == "ok" else "error"})
                self.assertEqual((found["duration_ms"], found["usage"]), (7, usage))
                self.assertEqual((found["logs"], found["sandbox"]), (["l"], {"tier": "A"}))

    def test_how_long_it_stays(self) -> None:
        for keep in (0, 3, -1):
            self.assertEqual(envelope(Outcome("ok", 1, keep=keep), [], None)["keep"], keep)
        self.assertNotIn("keep", envelope(Outcome("ok", 1), [], None))

    def test_what_a_person_changed_is_said(self) -> None:
        found = envelope(Outcome("ok", "x"), ["/n: read as a number"], {"n": 1})
        self.assertIn('{"n":1}', text_for_model(found))
        self.assertEqual(found["repairs"], ["/n: read as a number"])

    def test_whatever_a_tool_returns_is_json_a_browser_reads(self) -> None:
        odd: list[Any] = [2**80, float("inf"), "\ud800", {1: (2,)}, ["x" * 10]]
        found = envelope(Outcome("ok", odd, logs=("\udfff",)), [], None)
        self.assertEqual(loads(dumps(found)), found)

    def test_a_deeply_nested_result_is_left_out(self) -> None:
        for depth in (MAX_NESTED + 1, 5000):
            deep: Any = 1
            for _ in range(depth):
                deep = {"a": deep}
            found = envelope(Outcome("ok", deep), [], None)
            self.assertIn("left out", found["result"])
        flat = [[1]] * 1000
        self.assertEqual(envelope(Outcome("ok", flat), [], None)["result"], flat)

    def test_what_a_tool_says_of_files_is_put_in_shape(self) -> None:
        said: list[Any] = [
            {"path": "a.png", "name": "n", "media_type": "image/png", "bytes": 3},
            {"path": "a", "name": 7, "media_type": "text/html\r\nX: y", "bytes": True, "more": 1},
            {"path": "", "name": "n"},
            {"name": "n"},
            {"path": ["a"]},
            {"path": "b", "bytes": -1},
        ]
        found = envelope(Outcome("ok", 1, attachments=tuple(said)), [], None)["attachments"]
        unknown = {"media_type": "application/octet-stream", "bytes": 0}
        self.assertEqual(
            found,
            [said[0], {"path": "a", "name": "a", **unknown}, {"path": "b", "name": "b"} | unknown],
        )
        many = tuple({"path": str(n)} for n in range(999))
        self.assertEqual(
            len(envelope(Outcome("ok", 1, attachments=many), [], None)["attachments"]), 50
        )

    def test_large_results(self) -> None:
        found = envelope(Outcome("ok", "é" * 5_000_000), [], None)
        self.assertLess(len(found["result"]), MAX_RESULT + 100)
        text = text_for_model(found)
        self.assertLess(len(text), MAX_TEXT + 100)
        self.assertIn("characters left out", text)
        self.assertEqual(len(envelope(Outcome("ok", 1, logs=("x",) * 999), [], None)["logs"]), 201)

    def test_shortened_keeps_both_ends(self) -> None:
        self.assertEqual(shorten_text("abc", 3), "abc")
        self.assertEqual(shorten_text("abcdefgh", 4), "ab\n… 4 characters left out …\ngh")


class Files(unittest.TestCase):
    """What the model is told of files that a call changed."""

    def test_those_that_the_result_does_not_name(self) -> None:
        def file(path: str, change: str = "modified") -> dict[str, str]:
            return {"path": path, "change": change}

        many = [file(f"f{number}") for number in range(100)]
        for text, files, count, expected in (
            ("ok", [], 0, "ok"),
            ("ok", [file("a.py")], 1, "ok\n[changed: a.py]"),
            ("wrote a.py", [file("a.py")], 1, "wrote a.py"),
            ("wrote a.py", [file("a.py"), file("b")], 2, "wrote a.py\n[changed: b]"),
            ("ok", [file("a", "deleted"), file("b")], 2, "ok\n[changed: a (deleted), b]"),
            ("ok", [file("a\nb")], 1, 'ok\n[changed: "a\\nb"]'),
            ("ok", many, 4_000, "ok\n[changed: f0, f1, f2, f3, f4 and 3995 more]"),
            ("see f0", many[:7], 7, "see f0\n[changed: f1, f2, f3, f4, f5 and 1 more]"),
        ):
            with self.subTest(expected):
                event = events.tool_result("c", "shell", text, 1, result={"status": "ok"})
                found = with_files(event, {"changed": files, "changed_count": count})
                self.assertEqual(found["content"], expected)
                result = found["metadata"]["yaa"]["result"]
                self.assertEqual((result["status"], result["changed_count"]), ("ok", count))
                self.assertNotIn("changed", event["metadata"]["yaa"]["result"], "the first stays")

    def test_those_of_others(self) -> None:
        event = events.tool_result("c", "shell", "ok", 1, result={"status": "ok"})
        theirs = [{"path": "x", "change": "added"}]
        found = with_files(event, {"changed_outside": theirs, "changed_outside_count": 1})
        self.assertEqual(found["content"], "ok\n[changed by others meanwhile: x]")

    def test_what_was_taken_back_is_said(self) -> None:
        event = events.tool_result("c", "shell", "ok", 1, result={"status": "ok"})
        found = with_files(event, {"taken_back": [".envrc", "a\nb"]})
        text = (
            "ok\n[taken back, since programs on the owner's machine run or obey it; only a person"
        )
        self.assertEqual(found["content"], f'{text} can change it: .envrc, "a\\nb"]')
        self.assertIn("taken_back", found["metadata"]["yaa"]["result"])

    def test_what_is_not_recorded_from_now_on_is_said(self) -> None:
        event = events.tool_result("c", "shell", "ok", 1, result={"status": "ok"})
        left = [{"path": ".env", "reason": "ignored"}, {"path": "a\nb", "reason": "large"}]
        found = with_files(event, {"left_out_now": left})
        text = (
            "ok\n[not recorded from now on, so going back leaves it as it is then: .env (ignored)"
        )
        self.assertEqual(found["content"], f'{text}, "a\\nb" (large)]')


if __name__ == "__main__":
    unittest.main()
