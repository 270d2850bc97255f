"""Where a JSON file that a person wrote is wrong, and what people mean who write it so.

In the walk: beside `config` and `console`, only where a file of theirs could not be read. The rule
of the file: the parser's word stands (strict_json.py); here it gets its place, and plainer words
where the mistake is a usual one. It reads the text once more, which is for files of one's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ..strict_json import MAX_DEPTH, JSONError, loads

COMMENTS = ("//", "/*", "#")
_TOKENS = re.compile(r'("(?:[^"\\]|\\.)*"|[^\s{}\[\],:"]+)(\s*:)?|[{}\[\]]')


def wrong(data: bytes, error: JSONError) -> tuple[str, str]:
    """`:line:column`, empty where there is no place, and what is wrong there."""
    text = data.decode(errors="replace")
    if not error.line:
        at = next((at for at, why in _refused(text) if why == error.message), -1)
        return _place(text, at) if at >= 0 else "", error.message
    lines = text.split("\n")  # the parser's lines, and no others
    at = sum(len(line) + 1 for line in lines[: error.line - 1]) + error.column - 1
    return f":{error.line}:{error.column}", _meant(text, at) or error.message


def _meant(text: str, at: int) -> str:
    """What is not JSON at this place, if it is one of the usual things."""
    rest = text[at:]
    if rest.startswith(COMMENTS):
        return "this looks like a comment; JSON has none"
    comma, _, after = rest.partition(",")  # Python 3.13 stops at the comma, older ones behind it
    end = (after if not comma.strip() else rest).lstrip()[:1]
    if end in ("}", "]") and (not comma.strip() or text[:at].rstrip().endswith(",")):
        return f"a comma before the closing {end}; JSON has none there"
    return ""


def _refused(text: str) -> Iterator[tuple[int, str]]:
    """What is well-formed and refused all the same, and why: a text or a number that is none, a key
    that its object has already, a level too many."""
    seen: list[set[Any]] = [set()]  # the keys of each object or list that is open
    for match in _TOKENS.finditer(text):
        token, colon = match.groups()
        if token is None and match[0] in "{[":
            seen.append(set())
            if (depth := len(seen) - 1) > MAX_DEPTH:
                yield match.start(), _said("[" * depth + "]" * depth)
        elif token is None:
            del seen[-1:]
        elif why := _said(token):
            yield match.start(), why
        elif colon and seen:
            if (key := loads(token)) in seen[-1]:
                yield match.start(), _said(f"{{{token}:0,{token}:0}}")
            seen[-1].add(key)


def _said(text: str) -> str:
    """What is wrong with a JSON text by itself."""
    try:
        loads(text)
    except JSONError as error:
        return error.message
    return ""


def _place(text: str, at: int) -> str:
    return f":{text.count(chr(10), 0, at) + 1}:{at - text.rfind(chr(10), 0, at)}"
