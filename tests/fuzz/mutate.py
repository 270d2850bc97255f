"""How valid input is broken: bytes and JSON, from one source of chance and nothing else."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Sequence
from typing import Any

MOST = 60_000  # bytes of an input; beyond any limit of a head
TOKENS = (
    *(b"\r\n", b"\r", b"\n", b"\r\n\r\n", b" ", b"\t", b":", b",", b";", b"\0", b"=", b"/", b"\\"),
    *(b"0", b"f", b"-1", b"+1", b"0x1", b"1_0", b"4294967296", b"9" * 20, b"9" * 5000, b"1e999"),
    *(b"\xe9", b"\xff\xfe", b"\xef\xbb\xbf", b"\xc0\x80", b"\xed\xa0\x80", b"\xf0\x9f\x98\x80"),
    *(b"Content-Length: 3\r\n", b"Transfer-Encoding: chunked\r\n", b"Host: a\r\n", b"HTTP/1.1"),
    *(b"chunked", b"Connection: close\r\n", b"Expect: 100-continue\r\n", b"0\r\n\r\n", b"5;x"),
    *(b"data: ", b"event: e\n", b"id: 1\n", b"[DONE]", b"{", b"}", b"[", b"]", b'"', b"null"),
    *(b"NaN", b"\\u0000", b"\\ud800", b"__proto__", b"[" * 3000, b'{"a":' * 500),
)
NUMBERS = (0, -1, 1, 2**31, 2**53 - 1, 2**53, 2**63, 10**30, -(2**53), 0.5, -0.0, 1e308, 1e-308)
TEXTS = (
    *("", " ", "a", "user", "assistant", "tool", "system", "error", "call_0", "msg_1", "__proto__"),
    *("\0", "\u2028", "é漢🦆", "\u202e", "x" * 256, "x" * 3_000, "../../etc/passwd", "{{a.b+1d}}"),
    *("{", "}", "[]", "null", '{"a":1', '{"a":1,"a":2}', "tool_call", "done", "started", "asking"),
)
KEYS = (
    "id",
    "role",
    "content",
    "type",
    "state",
    "answer",
    "tool_calls",
    "constructor",
    "",
    "a/b~c",
)


def broken_bytes(raw: bytes, others: Sequence[bytes], chance: random.Random) -> bytes:
    """`raw` after one to six changes, some of which splice in a part of another input."""
    data = bytearray(raw)
    for _ in range(chance.randrange(1, 7)):
        at = chance.randrange(len(data) + 1)
        end = min(len(data), at + chance.choice((0, 1, 1, 2, 4, 16, 64)))
        match chance.randrange(8):
            case 0:
                data[at:end] = b""
            case 1 | 2:
                data[at:end] = chance.choice(TOKENS)
            case 3 if at < len(data):
                data[at] ^= 1 << chance.randrange(8)
            case 4:
                data[at:at] = data[at:end] * chance.choice((1, 2, 7, 200))
            case 5:
                other = chance.choice(others)
                start = chance.randrange(len(other) + 1)
                data[at:end] = other[start : start + chance.choice((4, 20, 400))]
            case 6:
                del data[at:]
            case _:
                data[at:at] = bytes([chance.randrange(256)])
        del data[MOST:]
    return bytes(data)


def cut(raw: bytes, chance: random.Random) -> list[bytes]:
    """The same bytes in random pieces, some of them empty."""
    marks = sorted(chance.choices(range(len(raw) + 1), k=chance.choice((1, 2, 5, 20))))
    return [raw[a:b] for a, b in zip([0, *marks], [*marks, len(raw)], strict=True)]


def broken_json(value: Any, others: Sequence[Any], chance: random.Random) -> Any:
    """A copy after one to five changes of its structure."""
    value = json.loads(json.dumps(value))
    for _ in range(chance.choice((1, 1, 1, 2, 3, 5))):
        nodes = list(_containers(value))
        if not nodes:
            return _anything(others, chance)
        _change(chance.choice(nodes), nodes, others, chance)
    return value


def spelled(value: Any, others: Sequence[bytes], chance: random.Random) -> bytes:
    """A value as JSON text, which is itself broken now and then."""
    raw = json.dumps(value, ensure_ascii=chance.random() < 0.3).encode("utf-8", "surrogatepass")
    return raw if chance.random() < 0.85 else broken_bytes(raw, others, chance)


def _containers(value: Any) -> list[Any]:
    found = [value] if isinstance(value, dict | list) else []
    for node in found:  # grows under way
        children = node.values() if isinstance(node, dict) else node
        found += [child for child in children if isinstance(child, dict | list)]
        if len(found) > 2000:
            break
    return found


def _change(node: Any, nodes: list[Any], others: Sequence[Any], chance: random.Random) -> None:
    keys: list[Any] = list(node) if isinstance(node, dict) else list(range(len(node)))
    if not keys:
        _insert(node, chance.choice(KEYS), _anything(others, chance))
        return
    key = chance.choice(keys)
    match chance.randrange(8):
        case 0:
            del node[key]
        case 1 | 2:
            node[key] = _anything(others, chance)
        case 3:
            _insert(node, chance.choice(KEYS), _anything(others, chance))
        case 4:  # a part of this document, at another place
            _insert(node, key, copy.deepcopy(chance.choice(nodes[-50:])))
        case 5 if isinstance(node, list):
            node.insert(chance.randrange(len(node) + 1), copy.deepcopy(node[key]))
        case 6 if isinstance(node, list):
            chance.shuffle(node)
        case 7 if isinstance(node[key], str):
            text = node[key]
            at = chance.randrange(len(text) + 1)
            node[key] = text[:at] + chance.choice(TEXTS) + text[at + chance.randrange(3) :]
        case _:
            node[key] = chance.choice(TEXTS)


def _insert(node: Any, key: Any, value: Any) -> None:
    if isinstance(node, dict):
        node[str(key)] = value
    else:
        node.append(value)


def _anything(others: Sequence[Any], chance: random.Random) -> Any:
    match chance.randrange(9):
        case 0:
            return chance.choice((None, True, False))
        case 1 | 2:
            return chance.choice(NUMBERS)
        case 3 | 4:
            return chance.choice(TEXTS)
        case 5:
            return chance.choice(([], {}, [[]], [None], {"": {}}))
        case 6:
            return _deep(chance)
        case 7:
            nodes = _containers(chance.choice(others))
            return copy.deepcopy(chance.choice(nodes)) if nodes else None
        case _:
            return [chance.choice(TEXTS)] * chance.choice((1, 3, 150))


def _deep(chance: random.Random) -> Any:
    value: Any = chance.choice(TEXTS)
    for _ in range(chance.choice((3, 40, 90, 120))):
        value = {"a": value} if chance.random() < 0.5 else [value]
    return value
