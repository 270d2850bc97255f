"""The body of a request: what is refused unread, strict JSON, gzip and its bombs."""

from __future__ import annotations

import gzip
import json
import sys
import time
import tracemalloc
import unittest
import zlib
from typing import Any

from server.api.body import FREE, RATIO, check_fields, inflate, strings_size
from server.errors import Problem
from server.lib import strict_json
from server.lib.http.parser import ProtocolError
from server.lib.strict_json import PER_VALUE

from .fakes import run_async
from .test_sessions import DOCUMENT, JSON, LIMITS, Case


class Refusing(Case):
    def test_before_the_body_is_read(self) -> None:
        for headers, status in (
            ({"Content-Type": "application/json"}, 401),
            ({"yaa-api-key": "k"}, 415),
            (JSON | {"Content-Type": "text/plain"}, 415),
            (JSON | {"Content-Type": "application/x-www-form-urlencoded"}, 415),
            (JSON | {"Content-Type": "application/json; charset=latin-1"}, 415),
            (JSON | {"Content-Type": "application/jsonx"}, 415),
            (JSON | {"Content-Type": "application/json, application/json"}, 415),
            (JSON | {"Content-Type": "application/json; charset=utf-8; charset=utf-16"}, 415),
            (JSON | {"Content-Type": "text/plain; application/json"}, 415),
            (JSON | {"Content-Encoding": "br"}, 415),
            (JSON | {"Content-Encoding": "gzip, gzip"}, 415),
        ):
            with self.subTest(headers=headers):
                call = self.post(headers=headers)
                self.assertEqual(call.status, status)
                self.assertFalse(call.channel.body_read)
                self.assertEqual(self.agent.runs, [])

    def test_content_types_that_are_json(self) -> None:
        for kind in (
            "application/json",
            "application/json; charset=utf-8",
            'Application/JSON;charset="UTF-8"',
            "application/json ; charset=utf8",
            "application/json;",
            "application/json; odata=verbose",
            'application/json; profile="x"; charset=UTF-8',
        ):
            with self.subTest(kind=kind):
                self.assertEqual(self.post(headers=JSON | {"Content-Type": kind}).status, 200)

    def test_bodies(self) -> None:
        for body, status, code, said in (
            (b"", 400, "bad_json", "line 1, column 1"),
            (b"{", 400, "bad_json", "line 1, column 2"),
            (b'{"a":1}x', 400, "bad_json", "line 1, column 8"),
            (b'{\n"a": NaN}', 400, "bad_json", "NaN"),
            (b'{"a": 1e999}', 400, "bad_json", "1e999"),
            (b'{"a":1,"a":2}', 400, "bad_json", "'a'"),
            (b'{"a":"\xff"}', 400, "bad_json", "line 1, column 7"),
            (b'{"a":"\\ud800"}', 400, "bad_json", "surrogate"),
            (b"[" * 100_000, 400, "bad_json", "nested"),
            (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, 400, "bad_json", "nested"),
            (b'{"a":' + b"9" * 5000 + b"}", 400, "bad_json", "digits"),
            (b"\xef\xbb\xbf{}", 400, "bad_json", "byte order mark"),
            (b"[]", 422, "session_invalid", "one JSON object"),
            (b'"text"', 422, "session_invalid", "one JSON object"),
            (b"null", 422, "session_invalid", "one JSON object"),
            (b'{"messages": 5}', 422, "session_invalid", "messages"),
            (ProtocolError("the body is larger than 5 bytes", 413), 413, "body_too_large", "5"),
            (ProtocolError("the body came too slowly", 408), 408, "timeout", "slowly"),
        ):
            with self.subTest(body=body[:30] if isinstance(body, bytes) else body):
                began = time.process_time()
                call = self.post(body)
                self.assertLess(time.process_time() - began, 1.0)
                self.assertEqual((call.status, call.json["code"]), (status, code))
                self.assertIn(said, call.json["detail"])
                self.assertEqual(self.agent.runs, [])


def strings_of(value: Any) -> list[str]:
    """Return the strings of a list of strings and objects of them."""
    if isinstance(value, str):
        return [value]
    return [each for inner in value for each in strings_of(inner)]


class Budgets(Case):
    def test_strings_are_counted_as_wide_as_they_are(self) -> None:
        """One character of four bytes makes all of its string four bytes wide."""
        wide, much = "\U0001f600", 200_000
        for name, value in (
            ("narrow", ["a" * much]),
            ("wide", [wide * much]),
            ("wide at last", ["a" * much + wide]),
            ("wide at first", [wide + "a" * much]),
            ("between quotes", ['"' * much + wide + '"' * much]),
            ("after a backslash", ["a" * much + '\\"' + wide, "b"]),
            ("of two bytes", ["a" * much + "\u6f22"]),
            ("one of many", [wide, *("a" * 1000 for _ in range(much // 1000))]),
            ("the highest", ["a" * much + "\U0010ffff"]),
        ):
            held = sum(sys.getsizeof(each) - 80 for each in strings_of(value))
            for escaped in (False, True):
                data = json.dumps(value, ensure_ascii=escaped).encode()
                counted = strings_size(data, data.decode())
                with self.subTest(name, escaped=escaped):
                    self.assertGreaterEqual(counted, held)
                    if name != "one of many" and not escaped:
                        self.assertLess(counted, 2.1 * held)

    def test_what_is_unpacked_takes_its_size_once(self) -> None:
        packed = gzip.compress(b"some words " * 1_000_000, 1)
        tracemalloc.start()
        self.addCleanup(tracemalloc.stop)
        plain = inflate(packed, 1 << 30)
        peak = tracemalloc.get_traced_memory()[1]
        self.assertLess(peak, 1.25 * len(plain) + (1 << 20))

    def test_values(self) -> None:
        for body, status in (
            (b'{"ext": {"a": [' + b"1," * 90 + b"1]}}", 200),
            (b'{"ext": {"a": [' + b"[]," * 50 + b"1]}}", 413),
            (b'{"ext": {"a": "' + b"[,{" * 90 + b'"}}', 200),
            (b'{"ext": {"a": "' + b'\\"' * 90 + b'[,{"}}', 200),
        ):
            with self.subTest(body=body[:30]):
                self.limits = LIMITS | {"max_values": 100}
                call = self.post(body)
                self.assertEqual(call.status, status)
                if status == 413:
                    self.assertEqual(call.json["code"], "body_too_large")
                    self.assertRegex(
                        call.json["detail"], "has 104 JSON values; server.limits.max_values is 100"
                    )

    def test_memory(self) -> None:
        """What a document takes is asked for before it is parsed."""
        body = b'{"ext": {"a": [' + b"1," * 10_000 + b"1]}}"
        call = self.post(body)
        self.assertEqual(call.status, 200)
        asked = max(call.channel.held)
        self.assertGreater(asked, 2 * len(body) + 10_000 * PER_VALUE)
        self.assertLess(asked, 3 * len(body) + 11_000 * PER_VALUE)
        call = self.call(body)
        call.channel.room = asked - 1
        run_async(self.router()(call.exchange))
        self.assertEqual((call.status, call.json["code"]), (503, "overloaded"))
        self.assertEqual(call.json["detail"], "No room")  # in the words of the account
        self.assertEqual(len(self.agent.runs), 1)

    def test_no_shape_takes_more_than_is_counted(self) -> None:
        many = range(3_000)
        for name, value in (
            ("objects of one key", [{"a": n + 0.5} for n in many]),
            ("of one key each", [{f"k{n}": n + 0.5} for n in many]),
            ("of one text", [{"a": f"w{n}"} for n in many]),
            ("of five keys", [dict.fromkeys("abcde", n + 0.5) for n in many]),
            ("of eleven keys", [dict.fromkeys("abcdefghijk", n + 0.5) for n in many]),
            ("in objects", [{"a": {"b": {}}} for _ in many]),
            ("one of many keys", {f"k{n}": n + 0.5 for n in many}),
            ("empty objects", [{} for _ in many]),
            ("lists of one number", [[[n + 1000]] for n in many]),
            ("numbers", [n + 0.5 for n in many]),
            ("large numbers", [10**25 + n for n in many]),
            ("short texts", [f"w{n}" for n in many]),
        ):
            text = json.dumps(value, separators=(",", ":"))
            tracemalloc.start()
            try:
                kept = strict_json.loads(text)
                held = tracemalloc.get_traced_memory()[0]
            finally:
                tracemalloc.stop()
            values = strict_json.count_values(text, len(text))
            data = text.encode()
            counted = len(data) + strings_size(data, text) + PER_VALUE * values
            with self.subTest(name):
                self.assertEqual(len(kept), len(many))
                self.assertLess(held, counted)

    def test_memory_of_any_characters(self) -> None:
        """What is asked for is what parsing takes, of whatever width characters are in memory."""
        for name, text in (
            ("ASCII", "a" * 900_000),
            ("a picture", "a" * 450_000 + "😀" + "a" * 9_000),
            ("only pictures", "😀" * 225_000),
            ("Chinese", "中" * 300_000),
            ("Latin", "ü" * 450_000),
        ):
            with self.subTest(name):
                step = len(text) // 10
                parts = [text[at : at + step] for at in range(0, len(text), step)]
                body = json.dumps(parts, ensure_ascii=False).encode()
                call, router = self.call(body), self.router()
                tracemalloc.start()
                try:
                    run_async(router(call.exchange))
                    peak = tracemalloc.get_traced_memory()[1] + len(body)
                finally:
                    tracemalloc.stop()
                self.assertLess(peak, 1.1 * max(call.channel.held) + 100_000, call.answer)


class Gzip(Case):
    def test_a_packed_body(self) -> None:
        packed = gzip.compress(json.dumps(DOCUMENT).encode())
        call = self.post(packed, JSON | {"Content-Encoding": "gzip", "Accept": "application/json"})
        self.assertEqual(call.status, 200)
        self.assertEqual(call.json["messages"][0]["content"], "Hello")
        self.assertEqual(self.post(packed, JSON | {"Content-Encoding": "x-gzip"}).status, 200)
        refused = self.post(packed, JSON | {"Content-Encoding": "br"})
        self.assertEqual(refused.headers["accept-encoding"], "gzip")

    def test_bombs_and_garbage(self) -> None:
        bomb = gzip.compress(b" " * 300_000_000, 9)
        self.assertLess(len(bomb), 400_000)
        good = gzip.compress(b"{}")
        for packed, status in (
            (bomb, 413),
            (gzip.compress(b" " * (LIMITS["max_request_size"] + 1)), 413),
            (b"{}", 400),
            (b"", 400),
            (good[:-1], 400),
            (good + good, 400),
            (good + b"x", 400),
            (zlib.compress(b"{}"), 400),
        ):
            with self.subTest(size=len(packed), status=status):
                began = time.process_time()
                call = self.post(packed, JSON | {"Content-Encoding": "gzip"})
                self.assertLess(time.process_time() - began, 1.0)
                self.assertEqual(call.status, status)

    def test_what_holds_much_more_than_was_sent(self) -> None:
        """Up to a megabyte may come out of any few bytes; beyond it the ratio counts."""
        for size, fits in ((FREE - 2, True), (3 * FREE, False)):
            packed = gzip.compress(b"{}" + b" " * size)
            with self.subTest(size=size):
                self.limits = LIMITS | {"max_request_size": 10 * FREE}
                call = self.post(packed, JSON | {"Content-Encoding": "gzip"})
                self.assertEqual(call.status, 200 if fits else 413)
                if not fits:
                    self.assertIn(f"{RATIO} times", call.json["detail"])

    def test_cut_anywhere(self) -> None:
        packed = gzip.compress(b'{"some": "text"}')
        for size in range(len(packed)):
            with self.subTest(size=size), self.assertRaises(Problem):
                inflate(packed[:size], 100)
        self.assertEqual(inflate(packed, 16), b'{"some": "text"}')
        for data, limit in ((packed, 15), (packed + bytes(1_000_000), 16)):
            with self.assertRaises(Problem):
                inflate(data, limit)


SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "string"}},
    "required": ["a"],
}


class Fields(unittest.TestCase):
    def test_every_field_that_does_not_fit(self) -> None:
        check_fields({"a": 1}, SCHEMA)
        for body, places in (({"a": "x", "b": 2}, ["/a", "/b"]), ({}, ["/a"])):
            with self.subTest(body), self.assertRaises(Problem) as caught:
                check_fields(body, SCHEMA)
            problem = caught.exception
            self.assertEqual(problem.status, 400)
            self.assertEqual([error["pointer"] for error in problem.errors], places)
            self.assertTrue(problem.detail.startswith(places[0]))


if __name__ == "__main__":
    unittest.main()
