"""Parse JSON strictly, and write it. Used for everything that comes from outside.

Stricter than `json` (RFC 8259 with the advice of I-JSON, RFC 7493): UTF-8 only, no duplicate keys,
no NaN or Infinity in any spelling (such as 1e999), no lone surrogates, bounded depth. A parsed
value can be folded, hashed and sent on without another check.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from functools import cached_property
from json.encoder import encode_basestring
from typing import Any, NoReturn

from .runtime.offload import collector_paused

LARGEST_COUNT = 2**53 - 1  # Number.MAX_SAFE_INTEGER of JavaScript
_CONTAINERS = (dict, list)  # a constant: `dict | list` would be built for each value
MAX_DEPTH = 100  # the JSON Schema suite and real sessions stay below 20
MAX_VALUES = 1_000_000  # per text; a session of 5,000 messages has about 100,000
PIECE = 64  # items of an array that are written at once
PER_VALUE = 120  # upper bound of the bytes in memory of a JSON value, beside its text
COUNTED_AT_ONCE = 1 << 20  # characters; no other thread runs meanwhile

# A float as Python writes it matches one of _FRACTIONS, and together with what precedes it one of
# _FLOAT_HINTS. A pattern that begins with a fixed character is 7 times as fast as one with a class.
_FRACTIONS = tuple(re.compile(pattern).search for pattern in (r"\.[0-9]", r"e[-+][0-9]"))
_FLOAT_HINTS = tuple(re.compile(rf"{before}-?[0-9]+[.e]").search for before in (":", ",", r"\["))
_FLOAT = re.compile(r"([:,\[])(-?[0-9]+(?:\.[0-9]+(?:e[-+][0-9]+)?|e[-+][0-9]+))")
# An integer of 16 digits or more may have no exact double.
_LONG_HINTS = tuple(re.compile(rf"{before}-?[0-9]{{16}}").search for before in (":", ",", r"\["))
_LONG = re.compile(r"([:,\[])(-?[0-9]{16,}(?:\.[0-9]+)?)")
_STRING = re.compile(r'"[^"]*(?:"|\Z)')  # for text without escaped quotes
_QUOTE_ESCAPE = r"\u0022"
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")
# Parsed JSON has no cycles, and the check for them would take a quarter of the time.
_encoder = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), allow_nan=False, check_circular=False
)

quote = encode_basestring  # C string escaping without ensure_ascii
# The C encoder, which `_encoder.encode` constructs for each value: half the cost of a small event.
# Its arguments: markers, default, encoder, indent, separators, sort_keys, skipkeys, allow_nan.
_write, _write_sorted = (
    vars(json.encoder)["c_make_encoder"](
        *(None, _encoder.default, quote, None, ":", ",", sort_keys, False, False)
    )
    for sort_keys in (False, True)
)


def dumps(value: Any) -> str:
    """Return compact JSON. Raises ValueError or TypeError for values that JSON cannot express."""
    return "".join(_write(value, 0))


def dumps_in_pieces(value: Any) -> str:
    """Return what `dumps` does, written in pieces, between which other threads run."""
    if isinstance(value, dict):
        members = (f"{quote(name)}:{dumps_in_pieces(item)}" for name, item in value.items())
        return f"{{{','.join(members)}}}"
    if isinstance(value, list):
        parts = (value[at : at + PIECE] for at in range(0, len(value), PIECE))
        return f"[{','.join([dumps(part)[1:-1] for part in parts])}]"
    return dumps(value)


class Constant(dict[str, Any]):
    """Object that is never changed, such as the declaration of a tool. Its JSON is cached."""

    @cached_property
    def text(self) -> str:
        """Return the JSON of the object, made once."""
        return dumps(self)


class ConstantList(list[Any]):
    """Array that is never changed, such as the tools offered to a model. Its JSON is cached."""

    @cached_property
    def text(self) -> str:
        """Return the JSON of the array, made once."""
        return f"[{','.join(map(text_of, self))}]"


_CONSTANTS = (Constant, ConstantList)


class JSONError(ValueError):
    """Text is not strict JSON. `line` and `column` count from 1; 0 if unknown."""

    def __init__(self, message: str, line: int = 0, column: int = 0) -> None:
        place = f" (line {line}, column {column})" if line else ""
        super().__init__(message + place)
        self.message, self.line, self.column = message, line, column


class TooManyValues(JSONError):
    """Text has `seen` values, more than the `allowed` ones."""

    def __init__(self, allowed: int, seen: int) -> None:
        super().__init__(f"the text has {seen} values, at most {allowed} are allowed")
        self.allowed, self.seen = allowed, seen


def loads(
    data: bytes | bytearray | str, *, max_depth: int = MAX_DEPTH, max_values: int = MAX_VALUES
) -> Any:
    """Parse one JSON text. Raises only JSONError."""
    text = data if isinstance(data, str) else decode(data)
    if text.startswith("\ufeff"):
        raise JSONError("a byte order mark is not allowed", 1, 1)
    if len(text) > max_values and (seen := count_values(text, max_values)) > max_values:
        raise TooManyValues(max_values, seen)
    escapes = "\\" in text
    try:
        with collector_paused(len(text)):
            value = _decoder.decode(text)
            quotes = _count_quotes(value, max_depth, escapes=escapes)
            hidden = escapes and _QUOTE_ESCAPE in text
            if quotes is not None and (hidden or quotes != text.count('"')):
                value = None  # its memory is free before it is made again
                value = _unique_decoder.decode(text)
    except JSONError:
        raise
    except RecursionError:
        raise JSONError(f"nested deeper than {max_depth} levels") from None
    except json.JSONDecodeError as error:
        raise JSONError(error.msg, error.lineno, error.colno) from None
    except ValueError:  # int() refuses more than 4,300 digits (CVE-2020-10735)
        raise JSONError("a number has too many digits") from None
    if quotes is None:
        raise JSONError(f"nested deeper than {max_depth} levels")
    if escapes and _SURROGATE_ESCAPE.search(text) and has_lone_surrogate(value):
        raise JSONError("a string holds half of a surrogate pair")
    return value


def _count_quotes(value: Any, max_depth: int, *, escapes: bool) -> int | None:
    """Return the quotes in the text of a parsed value, None if it nests deeper than `max_depth`.

    Of a key that appears twice only the last is in the value, so the text has more quotes. That
    finds such keys in half of the time of a hook that is given the pairs of each object. Escaped
    quotes are counted if there are escapes: in values, since keys have none in practice.
    """
    quotes = 0
    level: list[Any] = [[value]]
    for _ in range(max_depth + 1):
        inner: list[Any] = []
        for node in level:
            if type(node) is dict:
                quotes += 2 * len(node)
                node = node.values()
            for item in node:
                kind = type(item)
                if kind is str:
                    quotes += 2 + item.count('"') if escapes else 2
                elif kind is dict or kind is list:
                    inner.append(item)
        if not inner:
            return quotes
        level = inner
    return None


def count_values(text: str, enough: int = 0) -> int:
    """Return the number of values of a JSON text, one too many for each empty object or array.

    A result of at most `enough` may be too high: punctuation in strings is then counted too, which
    takes a tenth of the time.
    """
    found = 1 + sum(map(text.count, "[{,"))
    if found <= enough:
        return found
    found, in_string, rest = 1, False, ""
    for start in range(0, len(text), COUNTED_AT_ONCE):
        plain = (rest + text[start : start + COUNTED_AT_ONCE]).replace("\\\\", "")
        rest = "\\" if plain.endswith("\\") else ""  # the escaped character is in the next piece
        plain = plain.removesuffix("\\").replace('\\"', "")
        opened = '"' + plain if in_string else plain
        found += sum(map(_STRING.sub("", opened).count, "[{,"))
        in_string ^= plain.count('"') % 2 == 1
    return found


def canonical(value: Any) -> str:
    """Return canonical JSON: keys sorted by code point, no spaces, numbers as in JavaScript.

    Python and the browser must write the same bytes, so floats follow ECMA-262 Number::toString as
    required by RFC 8785 section 3.2.2.3: 1.0 reads 1, 1e16 reads 10000000000000000.
    """
    if isinstance(value, float):
        return _ecma_number(value)
    text = "".join(_write_sorted(value, 0))
    # Floats are rare in sessions: the common case is one C call.
    if not all(any(search(text) for search in hints) for hints in (_FRACTIONS, _FLOAT_HINTS)):
        return text
    return _respell_numbers(text, _FLOAT)


def canonical_in_browser(value: Any) -> str:
    """Return `canonical` of the value that JSON.parse would return for `value`.

    Each number is the nearest double: 2^53 + 1 reads 9007199254740992, and a number beyond the
    range of doubles reads null.
    """
    text = canonical([value])
    if any(search(text) for search in _LONG_HINTS):
        text = _respell_numbers(text, _LONG)
    return text[1:-1]


def canonical_pieces(members: Mapping[str, Any]) -> Iterator[str]:
    """Yield the text of `canonical_in_browser` of an object; other threads run between pieces."""
    before = "{"
    for name in sorted(members):
        yield f"{before}{quote(name)}:"
        value = members[name]
        if isinstance(value, _CONTAINERS) and len(value) > PIECE:
            yield from _canonical_items(value)
        else:
            yield canonical_in_browser(value)
        before = ","
    yield "}" if members else "{}"


def _canonical_items(value: dict[str, Any] | list[Any]) -> Iterator[str]:
    """Yield the text of an object or array that is not empty, PIECE items at a time."""
    names = sorted(value) if isinstance(value, dict) else []
    before, end = "{}" if isinstance(value, dict) else "[]"
    for at in range(0, len(value), PIECE):
        yield before
        if isinstance(value, dict):
            part: Any = {name: value[name] for name in names[at : at + PIECE]}
        else:
            part = value[at : at + PIECE]
        yield canonical_in_browser(part)[1:-1]
        before = ","
    yield end


def text_of(value: Any) -> str:
    """Return the JSON of a value; for a Constant or a ConstantList it is cached."""
    return value.text if isinstance(value, _CONSTANTS) else dumps(value)


def browser_safe(value: Any) -> Any:
    """Return a copy of a value that JavaScript can parse without loss, such as a tool's result.

    Integers beyond 2^53 and non-finite numbers become strings, lone surrogates become U+FFFD,
    tuples become lists, keys become strings, anything else becomes its `str`.
    """
    if value is None or isinstance(value, bool) or (type(value) is str and value.isascii()):
        return value
    if isinstance(value, int):
        return int(value) if abs(value) <= 2**53 else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, dict):
        return {browser_safe(str(key)): browser_safe(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [browser_safe(item) for item in value]
    return str(value).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def as_object(value: Any) -> dict[str, Any]:
    """Return a value that is an object, {} for any other."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """Return a value that is a list, [] for any other."""
    return value if isinstance(value, list) else []


def as_text(value: Any) -> str:
    """Return a value that is a string, "" for any other."""
    return value if isinstance(value, str) else ""


def objects_in(value: Any) -> list[dict[str, Any]]:
    """Return the objects in a list, [] for any other value."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def pointer(*parts: str | int) -> str:
    """Return an RFC 6901 JSON pointer; "" without parts."""
    text = "/".join(map(str, parts))
    if "~" in text or text.count("/") >= len(parts):  # a part needs escaping: rare
        text = "/".join(str(part).replace("~", "~0").replace("/", "~1") for part in parts)
    return f"/{text}" if parts else ""


def depth_exceeds(value: Any, limit: int) -> bool:
    """Return whether containers nest deeper than `limit`. Not recursive."""
    level = [value] if isinstance(value, _CONTAINERS) else []
    for _ in range(limit):
        if not level:
            return False
        level = [
            child
            for node in level
            for child in (node.values() if isinstance(node, dict) else node)
            if isinstance(child, _CONTAINERS)
        ]
    return bool(level)


def has_lone_surrogate(value: Any) -> bool:
    """Return whether any string in `value` cannot be encoded as UTF-8."""
    try:
        _encoder.encode(value).encode()
    except UnicodeEncodeError:
        return True
    return False


def decode(data: bytes | bytearray) -> str:
    """Decode UTF-8. Raises JSONError with the place of the first invalid byte."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        raise JSONError("the text is not valid UTF-8", line, column) from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise JSONError(f"the key {name[:80]!r} appears twice in one object")
            seen.add(name)
    return found


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise JSONError(f"the number {text[:40]} is too large")
    return number


def _no_constant(text: str) -> NoReturn:
    raise JSONError(f"{text} is not JSON")


def _respell_numbers(text: str, numbers: re.Pattern[str]) -> str:
    """Return JSON text with the matches of `numbers` written as in ECMAScript.

    After an odd number of unescaped quotes a match is inside a string and stays. Quotes are counted
    piece by piece, each piece once.
    """
    pieces: list[str] = []
    done, in_string = 0, False
    for match in numbers.finditer(text):
        before = text[done : match.start()]
        quotes = before.replace("\\\\", "").replace('\\"', "").count('"')
        in_string ^= quotes % 2 == 1
        pieces += before, match[1], match[2] if in_string else _as_double(match[2])
        done = match.end()
    return "".join(pieces) + text[done:]


def _as_double(digits: str) -> str:
    """Return a number as JSON.stringify(JSON.parse(digits)), null if no double is so large."""
    number = float(digits)
    return "null" if math.isinf(number) else _ecma_number(number)


def _ecma_number(number: float) -> str:
    """Return a number as in ECMA-262 section 6.1.6.1.20.

    Shortest digits, with an exponent outside 1e-6 .. 1e21.
    """
    sign, digits, exponent = Decimal(repr(number)).normalize().as_tuple()
    text, point = "".join(map(str, digits)), len(digits) + int(exponent)
    if number == 0:
        return "0"
    if len(text) <= point <= 21:
        body = text + "0" * (point - len(text))
    elif 0 < point <= 21:
        body = f"{text[:point]}.{text[point:]}"
    elif -6 < point <= 0:
        body = f"0.{'0' * -point}{text}"
    else:
        fraction = f".{text[1:]}" if len(text) > 1 else ""
        body = f"{text[0]}{fraction}e{point - 1:+d}"
    return f"-{body}" if sign else body


def _same(found: dict[str, Any]) -> dict[str, Any]:
    """Return an object that was parsed. The call lets other threads run meanwhile."""
    return found


_decoder = json.JSONDecoder(object_hook=_same, parse_float=_finite, parse_constant=_no_constant)
_unique_decoder = json.JSONDecoder(
    object_pairs_hook=_unique, parse_float=_finite, parse_constant=_no_constant
)


# -- json errors ----------------------------------------------------------------------------------
# Locate syntax errors in hand-written JSON and explain the usual ones (comment, trailing comma).
#
# Used for files of the owner that could not be read. The message is that of strict_json.py, with
# its place added, or a plainer one for a usual mistake. The text is scanned a second time, which is
# acceptable for the owner's own files.

COMMENTS = ("//", "/*", "#")
_TOKENS = re.compile(r'("(?:[^"\\]|\\.)*"|[^\s{}\[\],:"]+)(\s*:)?|[{}\[\]]')


def explain_error(data: bytes, error: JSONError) -> tuple[str, str]:
    """Return (`:line:column`, message). The place is "" if it is not known."""
    text = data.decode(errors="replace")
    if not error.line:
        at = next((at for at, why in _refused_tokens(text) if why == error.message), -1)
        return _place(text, at) if at >= 0 else "", error.message
    lines = text.split("\n")  # not splitlines(): the parser counts only \n
    at = sum(len(line) + 1 for line in lines[: error.line - 1]) + error.column - 1
    return f":{error.line}:{error.column}", _plain_reason(text, at) or error.message


def _plain_reason(text: str, at: int) -> str:
    """Return a plainer message for a usual mistake at offset `at`, else ""."""
    rest = text[at:]
    if rest.startswith(COMMENTS):
        return "this looks like a comment; JSON has none"
    comma, _, after = rest.partition(",")  # Python 3.13 stops at the comma, older ones behind it
    end = (after if not comma.strip() else rest).lstrip()[:1]
    if end in ("}", "]") and (not comma.strip() or text[:at].rstrip().endswith(",")):
        return f"a comma before the closing {end}; JSON has none there"
    return ""


def _refused_tokens(text: str) -> Iterator[tuple[int, str]]:
    """Yield (offset, message) of tokens that are refused although they are well-formed.

    These are invalid strings and numbers, duplicate keys, and too many levels.
    """
    seen: list[set[Any]] = [set()]  # the keys of each open object or list
    for match in _TOKENS.finditer(text):
        token, colon = match.groups()
        if token is None and match[0] in "{[":
            seen.append(set())
            if (depth := len(seen) - 1) > MAX_DEPTH:
                yield match.start(), _error_of("[" * depth + "]" * depth)
        elif token is None:
            del seen[-1:]
        elif why := _error_of(token):
            yield match.start(), why
        elif colon and seen:
            if (key := loads(token)) in seen[-1]:
                yield match.start(), _error_of(f"{{{token}:0,{token}:0}}")
            seen[-1].add(key)


def _error_of(text: str) -> str:
    """Return the error of a JSON text on its own, "" if it has none."""
    try:
        loads(text)
    except JSONError as error:
        return error.message
    return ""


def _place(text: str, at: int) -> str:
    return f":{text.count(chr(10), 0, at) + 1}:{at - text.rfind(chr(10), 0, at)}"
