"""What reading costs: inputs that grow, for all that parses or compiles what a stranger sent.

Each maker returns the work for an input of a size. Eight times the input may take at most 16 times
the processor time, side by side in one process; what is quadratic takes 64 times.
"""

from __future__ import annotations

import functools
import gzip
import itertools
import json
import random
import re
import time
import unittest
from collections.abc import Callable, Iterator
from typing import Any

from server.api.body import inflate
from server.errors import Problem
from server.lib import strict_json
from server.lib.http import parser, sse
from server.lib.http.parser import Framing
from server.lib.json_schema.compile import UnresolvedReference, inline
from server.lib.json_schema.convert import parse
from server.lib.json_schema.generate import example
from server.lib.json_schema.portable import portable
from server.lib.json_schema.regex import Pattern, PatternError
from server.lib.json_schema.repair import repair
from server.lib.json_schema.validate import SchemaError, Validator, check_schema
from server.session.accept import accept
from server.telemetry import redact
from server.tools.foreign_text import clean

from .extensions import rows_for
from .tooling import turns

TIMES = 8
MOST = 16
ROUNDS = 4
LEAST = 0.002  # s of the smaller input; below it one measures the clock

Work = Callable[[], object]
_nonce = itertools.count()
_reader: Any = vars(re)["_parser"]  # not public, and the only way to see the parts of a pattern


def cpu(work: Work) -> float:
    began = time.process_time()
    try:
        work()
    except (strict_json.JSONError, SchemaError, Problem, PatternError, UnresolvedReference):
        pass  # a refusal has its cost, too
    return time.process_time() - began


def growth(make: Callable[[int], Work], size: int) -> float:
    """How many times as long TIMES the size takes, of several rounds the least."""
    small, large = make(size), make(TIMES * size)
    found = []
    for _ in range(ROUNDS):
        found.append(cpu(large) / max(cpu(small), LEAST))
        if found[-1] <= MOST:
            break
    return min(found)


def loads(text: str) -> Work:
    return lambda: strict_json.loads(text)


def duplicates(count: int) -> str:
    names = [f"k{number}" for number in range(count)]
    return "{" + ",".join(f'"{name}":1' for name in [*names, names[-1]]) + "}"


def keys(count: int) -> str:
    return "{" + ",".join(f'"k{number}":1' for number in range(count)) + "}"


def of_properties(count: int, more: Callable[[int], dict[str, Any]] = lambda n: {}) -> Any:
    members = {f"p{number}": {"type": "string", **more(number)} for number in range(count)}
    return {"type": "object", "title": str(next(_nonce)), "properties": members}


def checked(schema: Any) -> Work:
    def work() -> object:
        schema["title"] = str(next(_nonce))  # so that it is not remembered
        return check_schema(schema)

    return work


def chain(count: int) -> Any:
    steps = {f"d{n}": {"properties": {"x": {"$ref": f"#/$defs/d{n + 1}"}}} for n in range(count)}
    return {"$ref": "#/$defs/d0", "$defs": {**steps, f"d{count}": {"type": "string"}}}


def value_of(schema: Any, make: Callable[[int], Any]) -> Callable[[int], Work]:
    validator = Validator(schema)

    def maker(size: int) -> Work:
        value = make(size)
        return lambda: validator.errors(value, steps=1 << 40)

    return maker


def document(**more: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": "hi"}], **more}


def answers(count: int) -> dict[str, Any]:
    """A session with that many answered questions, each with a schema that doubles 18 times."""
    doubled = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(18)}
    calls, interrupts = [], []
    for number in range(count):
        called = {"name": "ask_user", "arguments": "{}"}
        calls.append({"id": f"c{number}", "type": "function", "function": called})
        last = {"type": "string", "title": str(next(_nonce))}
        schema = {"$ref": "#/$defs/d0", "$defs": {**doubled, "d18": last}}
        interrupts.append(
            {
                "id": f"int-c{number}",
                "reason": "input_required",
                "call_id": f"c{number}",
                "response_schema": schema,
                "answer": {"status": "resolved", "payload": "x"},
            }
        )
    said = {"role": "assistant", "content": "", "tool_calls": calls}
    return document(interrupts=interrupts) | {"messages": [{"role": "user", "content": "hi"}, said]}


def body_of(data: bytes, framing: Framing) -> Work:
    def work() -> None:
        buffer = parser.Buffer()
        body = parser.Body(buffer, framing, parser.MessageLimits(body=1 << 30))
        for byte in range(0, len(data), 7):
            buffer.feed(data[byte : byte + 7])
            body.pull()

    return work


def events_of(data: bytes, cut: int) -> Work:
    def work() -> None:
        decoder = sse.Decoder()
        for at in range(0, len(data), cut):
            decoder.feed(data[at : at + cut])

    return work


STRINGS = {"items": {"type": "string"}}
# what, the work for a size, the size
CASES: list[tuple[str, Callable[[int], Work], int]] = [
    ("blanks of a page", lambda n: lambda: clean("\u3000" * n), 50_000),
    ("lines of a page", lambda n: lambda: clean(" \n" * n), 20_000),
    ("citations in a page", lambda n: lambda: clean("[^s1" * n), 20_000),
    ("duplicate keys", lambda n: loads(duplicates(n)), 2_000),
    ("keys", lambda n: loads(keys(n)), 5_000),
    ("nested arrays", lambda n: loads('{"a":[' + "[]," * n + "0]}"), 20_000),
    ("deep arrays", lambda n: loads("[" + ("[" * 90 + "]" * 90 + ",") * n + "0]"), 200),
    ("numbers", lambda n: loads("[" + "1.5e3," * n + "0]"), 10_000),
    ("escapes", lambda n: loads('"' + "\\u00e9\\\\" * n + '"'), 10_000),
    ("half pairs", lambda n: loads("[" + '"\\ud83d\\ude00",' * n + '"\\ud800"]'), 5_000),
    ("lines before a fault", lambda n: loads("[" + "1,\n" * n + "x]"), 10_000),
    ("values counted", lambda n: lambda: strict_json.count_values('"[{,\\""' * n), 40_000),
    ("quotes counted", lambda n: lambda: strict_json.count_values('"' * n), 300_000),
    ("backslashes counted", lambda n: lambda: strict_json.count_values('"' + "\\" * n), 300_000),
    ("canonical floats", lambda n: lambda: strict_json.canonical([1.5, "a\\"] * n), 3_000),
    ("a model's arguments", lambda n: lambda: parse(duplicates(n)), 2_000),
    ("a string of JSON", lambda n: lambda: parse(json.dumps(keys(n))), 4_000),
    ("a file with a fault", lambda n: wrong(duplicates(n)), 300),
    ("gzip", lambda n: lambda: inflate(packed(b"[]," * n), 1 << 30), 300_000),
    ("properties", lambda n: checked(of_properties(n)), 150),
    ("properties, too many", lambda n: checked(of_properties(n)), 2_000),
    ("patterns", lambda n: checked(of_properties(n, lambda i: {"pattern": f"^[a-z{i}]+-x$"})), 15),
    ("patterns, many", lambda n: checked(of_properties(n, lambda i: {"pattern": f"{i}+b"})), 500),
    ("enum", lambda n: checked({"enum": list(range(n))}), 2_000),
    ("required", lambda n: checked({"required": [f"r{i}" for i in range(n)]}), 2_000),
    ("alternatives", lambda n: checked({"anyOf": [{"const": i} for i in range(n)]}), 100),
    ("references", lambda n: checked(chain(n)), 100),
    ("references, inlined", lambda n: lambda: inline(chain(n)), 300),
    ("portable", lambda n: lambda: portable(of_properties(n)), 300),
    ("example", lambda n: lambda: example(of_properties(n)), 300),
    ("pattern of letters", lambda n: lambda: Pattern("a" * n + str(next(_nonce))), 200),
    ("pattern of branches", lambda n: lambda: Pattern("|".join("ab" * n)), 100),
    ("pattern of groups", lambda n: lambda: Pattern("(a)" * n), 60),
    ("items", value_of(STRINGS, lambda n: [1] * n), 10_000),
    ("names", value_of({"patternProperties": {"^k": {}}}, lambda n: json.loads(keys(n))), 2_000),
    ("unique items", value_of({"uniqueItems": True}, lambda n: list(range(n))), 10_000),
    ("repairs", lambda n: lambda: repair(["1"] * n, {"items": {"type": "integer"}}), 3_000),
    ("events in small reads", lambda n: events_of(b"data: x\n\n" * n, 5), 2_000),
    ("one event in small reads", lambda n: events_of(b"data: " + b"x" * n, 5), 20_000),
    ("chunks", lambda n: body_of(b"1\r\nx\r\n" * n, Framing("chunked")), 2_000),
    ("answers", lambda n: lambda: accept(answers(n)), 2),
    ("page tools", lambda n: lambda: accept(document(tools=tools(n))), 10),
    *(row for added in rows_for("COSTS") for row in added),
]  # fmt: skip


def tools(count: int) -> list[dict[str, Any]]:
    return [
        {"name": f"t{n}", "parameters": of_properties(3, lambda i: {"pattern": f"^{next(_nonce)}"})}
        for n in range(count)
    ]


def wrong(text: str) -> Work:
    def work() -> None:
        try:
            strict_json.loads(text)
        except strict_json.JSONError as error:
            strict_json.explain_error(text.encode(), error)

    return work


def packed(data: bytes) -> bytes:
    return gzip.compress(data)


class Growth(unittest.TestCase):
    def test_eight_times_the_input(self) -> None:
        for name, make, size in turns.share(CASES, 3):
            with self.subTest(name):
                self.assertLessEqual(growth(make, size), MOST)


class Refusals(unittest.TestCase):
    """Inputs that are small and would be much work: refused, by a budget that is named."""

    def test_patterns(self) -> None:
        wide = r"\p{L}" * 390
        cases: list[tuple[str, Any, str]] = [
            ("one", {"pattern": wide}, "costs more than"),
            ("four", of_properties(4, lambda n: {"pattern": wide[n * 5 :]}), "costs more than"),
            ("any character", {"pattern": "." * 1_900}, "costs more than"),
            ("not a letter", {"pattern": r"\P{Lu}" * 300}, "costs more than"),
            ("together", of_properties(40, lambda n: {"pattern": rf"\p{{L}}{n}"}), "may cost"),
            (
                "in many names",
                {"patternProperties": {rf"\p{{L}}{n}": {} for n in range(40)}},
                "may",
            ),
            ("subschemas", of_properties(5_001), "subschemas"),
            ("size", of_properties(10_000), "longer than 256000"),
        ]
        for name, schema, said in cases:
            with self.subTest(name):
                self.assertIn(said, str(check_schema(schema)))

    def test_what_people_write_is_within_them(self) -> None:
        name = r"^[\p{L}\p{M}]+(?:[ '’-][\p{L}\p{M}]+)*$"
        for schema in (
            {"pattern": name},
            of_properties(4, lambda n: {"pattern": name}),
            of_properties(200, lambda n: {"pattern": f"^[a-z0-9-]{{1,{n + 1}}}$"}),
            of_properties(4_000),
        ):
            self.assertEqual(check_schema(schema), [])

    def test_all_schemas_of_a_session(self) -> None:
        costly = rf"\p{{L}}{next(_nonce)}"
        many = [
            {"name": f"t{n}", "parameters": {"properties": {"a": {"pattern": f"{costly}{n}"}}}}
            for n in range(100)
        ]
        with self.assertRaises(Problem) as caught:
            accept(document(tools=many))
        self.assertIn("all schemas together may cost 500000", str(caught.exception.errors))

    def test_answers_share_one_budget(self) -> None:
        """Sixteen answers whose schemas double are no more work than a few."""

        def work(count: int) -> float:
            session = answers(count)
            return cpu(lambda: accept(session))

        self.assertLess(min(work(16) / work(1) for _ in range(ROUNDS)), 8)


class Masking(unittest.TestCase):
    """Each shape of a secret, and each beginning of one, again and again: a search that begins anew
    at each of them must not read the rest of the text each time."""

    SEPARATORS = ("", "-", ".", " ", '"', "\\", ":", "=")
    SHORT = 4_000  # characters
    SLOW = 0.004  # s for so many; what is linear takes 1 ms
    EXAMPLES = 250

    def test_beginnings(self) -> None:
        tables = {name: made() for name, made in vars(redact).items() if is_late(made)}
        self.assertIn("_SHAPE", tables)
        self.assertIn("_JWT", tables)
        for name, pattern in tables.items():
            units = sorted(beginnings(pattern.pattern, pattern.flags))
            chosen = random.Random(1).sample(units, min(len(units), self.EXAMPLES))
            for unit in turns.share([one + end for one in chosen for end in self.SEPARATORS], 3):
                with self.subTest(name, unit=unit):
                    self.look(functools.partial(pattern.sub, ""), unit)

    def test_a_providers_error_page(self) -> None:
        for unit in ("eyJsk-", "-key-eyJ", "eyJ-", "eyJaaaaaaaa-", "sk-eyJ", "eyJ_-eyJ"):
            with self.subTest(unit=unit):
                work = growth(lambda n, unit=unit: lambda: redact.mask(unit * n), 1_000)  # type: ignore[misc]
                self.assertLessEqual(work, MOST)

    def look(self, search: Callable[[str], object], unit: str) -> None:
        text = unit * (self.SHORT // len(unit) + 1)
        if cpu(lambda: search(text)) > self.SLOW:
            self.assertLessEqual(growth(lambda n: lambda: search(text * n), 1), MOST)


def is_late(value: Any) -> bool:
    if not hasattr(value, "cache_parameters") or value.__module__ != "server.telemetry.redact":
        return False
    return value.cache_parameters()["maxsize"] is None


def beginnings(pattern: str, flags: int) -> set[str]:
    """Texts that a pattern matches, and their beginnings."""
    found: set[str] = set()
    for more in (False, True):
        for text in examples(_reader.parse(pattern, flags), more):
            found |= {text, *(text[:end] for end in (2, 3, 4, 6, len(text) // 2, len(text) - 1))}
    return found - {""}


def examples(parsed: Any, more: bool) -> Iterator[str]:
    """Texts of a parsed pattern, one for each way through its branches; `more` has what may be left
    out. What looks around is left out."""
    parts = [list(of_part(str(op), argument, more)) for op, argument in parsed]
    yield from map("".join, itertools.islice(itertools.product(*parts), 400))


def of_part(op: str, argument: Any, more: bool) -> Iterator[str]:
    if op == "LITERAL":
        yield chr(argument)
    elif op in ("NOT_LITERAL", "ANY"):
        yield "x"
    elif op == "IN":
        usual = "a1A x-_=.:" + "".join(
            chr(each) for kind, each in argument if str(kind) == "LITERAL"
        )
        yield next(char for char in usual if re.match(one_of(argument), char))
    elif op == "SUBPATTERN":
        yield from examples(argument[3], more)
    elif op == "BRANCH":
        for branch in argument[1]:
            yield from examples(branch, more)
    elif op.endswith("REPEAT"):
        low, high, inner = argument
        times = min(max(low, 1), int(high)) if more else low
        yield from (text * times for text in examples(inner, more)) if times else ("",)
    elif op == "ATOMIC_GROUP":
        yield from examples(argument, more)
    else:
        yield ""


def one_of(items: Any) -> str:
    """A parsed set of characters as a pattern."""
    classes = {"WORD": r"\w", "DIGIT": r"\d", "SPACE": r"\s"}
    found = ""
    for op, argument in items:
        match str(op):
            case "NEGATE":
                found = "^" + found
            case "LITERAL":
                found += re.escape(chr(argument))
            case "RANGE":
                found += f"{re.escape(chr(argument[0]))}-{re.escape(chr(argument[1]))}"
            case "CATEGORY":
                name = str(argument).removeprefix("CATEGORY_")
                plain = classes[name.removeprefix("NOT_")]
                found += plain.upper() if name.startswith("NOT_") else plain
    return f"[{found}]"


if __name__ == "__main__":
    unittest.main()
