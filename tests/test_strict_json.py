"""Strict JSON: what is refused and where, and one spelling for each value."""

from __future__ import annotations

import json
import random
import struct
import unittest
from collections import Counter
from typing import Any

from server.lib.strict_json import (
    COUNTED_AT_ONCE,
    PIECE,
    Constant,
    ConstantList,
    JSONError,
    TooManyValues,
    browser_safe,
    canonical,
    canonical_in_browser,
    canonical_pieces,
    count_values,
    depth_exceeds,
    dumps,
    dumps_in_pieces,
    loads,
    text_of,
)

REFUSED: list[tuple[str, bytes | str, str]] = [
    ("empty", b"", "Expecting value (line 1, column 1)"),
    ("half arrived", b'{"a": [1, 2', "Expecting ',' delimiter (line 1, column 12)"),
    ("second value", b"{} {}", "Extra data (line 1, column 4)"),
    ("a missing comma", b'{"a":1\n"b":2}', "(line 2, column 1)"),
    ("duplicate key", b'{"a":{"b":1,"b":2}}', "the key 'b' appears twice"),
    ("NaN", b"[NaN]", "NaN is not JSON"),
    ("Infinity", b"-Infinity", "-Infinity is not JSON"),
    ("infinity by size", b"1e999", "the number 1e999 is too large"),
    ("too many digits", b"1" * 5000, "too many digits"),
    ("not UTF-8", b'{"a":\n "\xff"}', "not valid UTF-8 (line 2, column 3)"),
    ("UTF-16", '{"a":1}'.encode("utf-16"), "not valid UTF-8"),
    ("byte order mark", b"\xef\xbb\xbf{}", "a byte order mark is not allowed"),
    ("lone surrogate", b'["\\ud800"]', "half of a surrogate pair"),
    ("lone surrogate key", b'{"\\udfff":1}', "half of a surrogate pair"),
    ("control character", b'"a\nb"', "Invalid control character"),
    ("101 levels", b"[" * 101 + b"]" * 101, "nested deeper than 100"),
    ("100,000 levels", b"[" * 100_000 + b"]" * 100_000, "nested deeper than 100"),
    ("100,000 objects", b'{"a":' * 100_000, "nested deeper than 100"),
]


class Written(unittest.TestCase):
    def test_as_the_library_writes_it(self) -> None:
        value: Any
        for value in ('é\u2028"\\\n\x7f', {"a": [1, 2.5, None, True, {}], "1": []}, 1e22, 10**30):
            plain = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
            self.assertEqual(dumps(value), plain)
        circle: list[Any] = []
        circle.append(circle)
        for wrong, error in (
            (float("nan"), ValueError),
            ({1, 2}, TypeError),
            (circle, RecursionError),
        ):
            with self.subTest(wrong=type(wrong)), self.assertRaises(error):
                dumps(wrong)

    def test_in_pieces_it_is_the_same(self) -> None:
        many: list[Any] = [{"n": n, "text": 'é"\n'} for n in range(200)]
        for value in (1, "x", None, [], {}, many, {"a": many, "b": {}, 'q"': {"c": [[], many]}}):
            with self.subTest(str(value)[:20]):
                self.assertEqual(dumps_in_pieces(value), dumps(value))

    def test_a_constant_is_written_once_and_is_an_object_to_all_others(self) -> None:
        value = {"name": "é", "more": [1]}
        constant = Constant(value)
        self.assertEqual((constant, dumps(constant)), (value, dumps(value)))
        self.assertEqual(text_of(constant), text_of(value))
        self.assertIs(text_of(constant), text_of(constant))
        for several in ([], [value], [constant, {"n": 1}]):
            array = ConstantList(several)
            self.assertEqual((array, dumps(array)), (several, dumps(several)))
            self.assertEqual(text_of(array), dumps(several))
            self.assertIs(text_of(array), text_of(array))


class Values(unittest.TestCase):
    def test_counted(self) -> None:
        for text, count in (
            ("1", 1),
            ("[1]", 2),
            ('{"a":[1,2],"b":{"c":3}}', 6),
            ('["[,{"]', 2),
            ('["\\\\",1]', 3),
            ('["\\",[{",1]', 3),
            ("[", 2),
            ('["[,', 2),
        ):
            with self.subTest(text=text):
                self.assertEqual(count_values(text), count)

    def test_counted_in_pieces(self) -> None:
        """Wherever a piece ends: in a string, before a quote, between a backslash and a quote."""
        unit = '{"a\\\\":"[,\\"{","b":[1,"\\\\\\""]},'
        for shift in range(len(unit)):
            text = "[" + " " * shift + unit * (COUNTED_AT_ONCE // len(unit) + 2) + "0]"
            with self.subTest(shift=shift):
                self.assertEqual(count_values(text), 2 + 5 * text.count('{"a'))

    def test_enough_is_enough(self) -> None:
        text = '["' + "," * 50 + '"]'
        self.assertEqual([count_values(text, n) for n in (10, 51, 52, 60)], [2, 2, 52, 52])

    def test_refused(self) -> None:
        for most in (2, 3):
            with self.assertRaises(TooManyValues) as caught:
                loads("[1,2,3]", max_values=most)
            self.assertEqual((caught.exception.allowed, caught.exception.seen), (most, 4))
        self.assertEqual(loads("[1,2,3]", max_values=4), [1, 2, 3])


class Loads(unittest.TestCase):
    def test_refused(self) -> None:
        for name, text, message in REFUSED:
            with self.subTest(name), self.assertRaises(JSONError) as caught:
                loads(text)
            self.assertIn(message, str(caught.exception))

    def test_accepted(self) -> None:
        cases: list[tuple[str | bytes, Any]] = [
            (b" null\n", None),
            ('{"a":[1,2.5,"\\ud83d\\ude00"]}', {"a": [1, 2.5, "😀"]}),
            (b"[" * 100 + b"]" * 100, None),
            (b'{"__proto__":1}', {"__proto__": 1}),
            (b'"\\u0000"', "\0"),
        ]
        for text, value in cases:
            with self.subTest(text[:20]):
                self.assertEqual(loads(text), value if value is not None else loads(text))

    def test_cut_anywhere_is_refused_and_nothing_else(self) -> None:
        text = '{"id":"s","n":[1,-2.5e3,true,null],"é":"\\u00e9\\n"}'.encode()
        for end in range(len(text)):
            with self.subTest(end), self.assertRaises(JSONError):
                loads(text[:end])

    def test_a_key_that_appears_twice_is_found_wherever_it_is(self) -> None:
        """However the text is escaped: the same texts are refused as by a look at each object."""

        def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
            if len({key for key, _ in found}) < len(found):
                raise KeyError
            return dict(found)

        random_ = random.Random(3)
        texts = (r"\"", r"\\", r"\u0022", r"\u0061", "a", "b", ",", ":", "{", "é", r"\n")

        def string() -> str:
            return f'"{"".join(random_.choices(texts, k=random_.randrange(3)))}"'

        def value(depth: int) -> str:
            kind = random_.randrange(7 if depth else 3)
            if kind < 3:
                return random_.choice(("1", "2.5", "null", string(), string()))
            items = [value(depth - 1) for _ in range(random_.randrange(5))]
            if kind == 3:
                return f"[{','.join(items)}]"
            return f"{{{','.join(f'{string()}:{item}' for item in items)}}}"

        seen: Counter[str] = Counter()
        for _ in range(4000):
            text = value(4)
            try:
                wanted = json.loads(text, object_pairs_hook=pairs)
            except KeyError:
                seen["refused"] += 1
                with self.assertRaises(JSONError):
                    loads(text)
            else:
                seen["read"] += 1
                self.assertEqual(loads(text), wanted)
        self.assertGreater(min(seen["refused"], seen["read"]), 400)

    def test_depth(self) -> None:
        for value, limit, exceeds in (
            (1, 0, False),
            ([], 0, True),
            ([[]], 1, True),
            ([], 1, False),
        ):
            self.assertEqual(depth_exceeds(value, limit), exceeds)


class Canonical(unittest.TestCase):
    def test_one_spelling(self) -> None:
        cases = [
            ({"b": 1, "a": 2}, '{"a":2,"b":1}'),
            ({"é": 1, "z": 2, "😀": 3, "\uffff": 4}, '{"z":2,"é":1,"\uffff":4,"😀":3}'),
            ([1.0, 1e16, 1e21, 1e-6, 1e-7, -0.0], "[1,10000000000000000,1e+21,0.000001,1e-7,0]"),
            ([123456789.5, 5e-324, 0.1], "[123456789.5,5e-324,0.1]"),
            (["1.0", ":2.0", 'a\\"3.0e5'], '["1.0",":2.0","a\\\\\\"3.0e5"]'),
            ([":2.0", 2.0], '[":2.0",2]'),
            (1e-7, "1e-7"),
            ("\u2028\x7f\x1f", '"\u2028\x7f\\u001f"'),
        ]
        for value, text in cases:
            with self.subTest(text):
                self.assertEqual(canonical(value), text)

    def test_floats_among_texts_that_look_like_them(self) -> None:
        """Against a writer that goes value by value, so never has to tell where a string ends."""
        texts = (
            "",
            '"',
            "\\",
            "\\\\",
            '\\"',
            '",',
            ":1.5",
            ",-2.0e+30,",
            "[3.0]",
            '":4.0',
            "\\u005b6.0",
            "é",
        )
        random_ = random.Random(2)

        def value(depth: int) -> Any:
            kind = random_.randrange(6 if depth else 4)
            if kind == 0:
                return random_.choice((0.5, -2.0, 1e300, 1e-9, 100.0))
            if kind == 1:
                return random_.choice((7, -8, None, True))
            if kind < 4:
                return text()
            if kind == 4:
                return [value(depth - 1) for _ in range(random_.randrange(4))]
            return {text(): value(depth - 1) for _ in range(random_.randrange(4))}

        def text() -> str:
            return "".join(random_.choices(texts, k=random_.randrange(4)))

        def written(item: Any) -> str:
            if isinstance(item, list):
                return f"[{','.join(map(written, item))}]"
            if isinstance(item, dict):
                return f"{{{','.join(f'{dumps(k)}:{written(item[k])}' for k in sorted(item))}}}"
            return canonical(item) if isinstance(item, float) else dumps(item)

        for _ in range(4000):
            item = value(4)
            self.assertEqual(canonical(item), written(item))

    def test_as_a_browser_reads_it(self) -> None:
        """Every number is a double there, wherever it stands, and texts stay as they are."""
        cases: list[tuple[Any, str | None]] = [
            (2**53 + 1, "9007199254740992"),
            (-(2**53) - 1, "-9007199254740992"),
            (2**53 - 1, "9007199254740991"),
            ([1, 2**64], "[1,18446744073709552000]"),
            ({"a": 10**21}, '{"a":1e+21}'),
            ([10**400, -(10**400)], "[null,null]"),
            ([1234567890123456.8, 1e20], "[1234567890123456.8,100000000000000000000]"),
            (["9007199254740993", ":9007199254740993", '"'], None),
            ({":9007199254740993": [2**53 + 1, ',9007199254740993"']}, None),
            ([1.5, "x", True, None, {}], '[1.5,"x",true,null,{}]'),
        ]
        for value, text in cases:
            with self.subTest(text):
                wanted = canonical(value).replace("[9007199254740993", "[9007199254740992")
                self.assertEqual(canonical_in_browser(value), text or wanted)
        self.assertEqual(canonical([2**53 + 1]), "[9007199254740993]", "a fingerprint's")

    def test_an_object_in_pieces(self) -> None:
        many: list[Any] = [{"b": 1.5, "a": 'é,:"[1.5'} for _ in range(3 * PIECE)]
        named = {f"k{number * 7919 % 1000}": number / 4 for number in range(1000)}
        cases: list[dict[str, Any]] = [
            *({}, {"a": []}, {"b": {}, "a": None}, {'"é\\': 2**60, "\U0001f600": 1, "\uffff": [2]}),
            *(
                {"m": many[:count]}
                for count in (1, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE, 3 * PIECE)
            ),
            {"named": named, "many": many, "z": [many, named]},
        ]
        for value in cases:
            pieces = list(canonical_pieces(value))
            self.assertEqual("".join(pieces), canonical_in_browser(value))
        self.assertGreater(len(pieces), 20)

    def test_numbers_that_are_none(self) -> None:
        for number in (float("nan"), float("inf"), [float("-inf")]):
            with self.subTest(number), self.assertRaises(ValueError):
                canonical(number)

    def test_every_float_reads_back(self) -> None:
        random_ = random.Random(1)
        for _ in range(3000):
            (number,) = struct.unpack("d", random_.randbytes(8))
            if number == number and abs(number) != float("inf"):
                self.assertEqual(float(json.loads(canonical([number]))[0]), number)


class BrowserSafe(unittest.TestCase):
    def test_values_a_browser_would_change(self) -> None:
        cases = [
            (2**53, 2**53),
            (2**53 + 1, "9007199254740993"),
            (float("nan"), "nan"),
            (float("-inf"), "-inf"),
            (("a", 1), ["a", 1]),
            ({1: True}, {"1": True}),
            ("a\ud800b", "a\ufffdb"),
            ({"\udc00": 1}, {"\ufffd": 1}),
            (object, str(object)),
            ("😀", "😀"),
        ]
        for value, safe in cases:
            with self.subTest(repr(value)):
                self.assertEqual(browser_safe(value), safe)
                self.assertEqual(loads(dumps(browser_safe(value))), safe)


if __name__ == "__main__":
    unittest.main()
