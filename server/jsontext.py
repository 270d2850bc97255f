"""JSON text, strictly: the one reader for everything strangers send, and the one writer.

Stricter than `json` (RFC 8259 with the I-JSON advice of RFC 7493): UTF-8 only, no duplicate keys,
no NaN or Infinity however spelled (1e999 is one), no lone surrogates, bounded depth. Whatever
passes here can be folded, hashed and sent on without a second look.
"""

from __future__ import annotations

import json
import math
import re
from json.encoder import encode_basestring
from typing import Any, NoReturn

MAX_DEPTH = 100  # the JSON Schema suite and real sessions stay below 20

_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")
_encoder = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)
_canonical = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), allow_nan=False, sort_keys=True
)

dumps = _encoder.encode  # prebuilt: json.dumps with separators builds an encoder on each call
quote = encode_basestring  # C string escaping without ensure_ascii


class JSONError(ValueError):
    """Text that is not strict JSON. `line` and `column` count from 1; 0 where unknown."""

    def __init__(self, message: str, line: int = 0, column: int = 0) -> None:
        place = f" (line {line}, column {column})" if line else ""
        super().__init__(message + place)
        self.message, self.line, self.column = message, line, column


def loads(data: bytes | bytearray | str, *, max_depth: int = MAX_DEPTH) -> Any:
    """Parse one JSON text. Raises JSONError, and nothing else, for any other input."""
    text = data if isinstance(data, str) else _decode(bytes(data))
    if text.startswith("\ufeff"):
        raise JSONError("a byte order mark is not allowed", 1, 1)
    try:
        value = _decoder.decode(text)
    except JSONError:
        raise
    except RecursionError:
        raise JSONError(f"nested deeper than {max_depth} levels") from None
    except json.JSONDecodeError as error:
        raise JSONError(error.msg, error.lineno, error.colno) from None
    except ValueError:  # int() refuses more than 4,300 digits (CVE-2020-10735)
        raise JSONError("a number has too many digits") from None
    if depth_exceeds(value, max_depth):
        raise JSONError(f"nested deeper than {max_depth} levels")
    if _SURROGATE_ESCAPE.search(text) and has_lone_surrogate(value):
        raise JSONError("a string holds half of a surrogate pair")
    return value


def canonical(value: Any) -> str:
    """The one spelling of a value: sorted keys, no spaces, whole floats as integers.

    JavaScript has no float/int difference, so 1.0 must read 1 (RFC 8785 section 3.2.2.3). Keys
    sort by code point; the client's canon.js does the same.
    """
    return _canonical.encode(_whole_floats(value))


def depth_exceeds(value: Any, limit: int) -> bool:
    """Whether containers nest deeper than `limit`. Level by level, so never recursive."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(limit):
        if not level:
            return False
        level = [
            child
            for node in level
            for child in (node.values() if isinstance(node, dict) else node)
            if isinstance(child, dict | list)
        ]
    return bool(level)


def has_lone_surrogate(value: Any) -> bool:
    """Whether any string in `value` cannot be written as UTF-8."""
    try:
        _encoder.encode(value).encode()
    except UnicodeEncodeError:
        return True
    return False


def _decode(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        raise JSONError("the text is not valid UTF-8", line, column) from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise JSONError(f"the key {twice[:80]!r} appears twice in one object")
    return found


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise JSONError(f"the number {text[:40]} is too large")
    return number


def _no_constant(text: str) -> NoReturn:
    raise JSONError(f"{text} is not JSON")


def _whole_floats(value: Any) -> Any:
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < 2**53 else value
    if isinstance(value, dict):
        return {key: _whole_floats(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_whole_floats(item) for item in value]
    return value


_decoder = json.JSONDecoder(
    object_pairs_hook=_unique, parse_float=_finite, parse_constant=_no_constant
)
