"""Locate syntax errors in hand-written JSON and explain the usual ones (comment, trailing comma).

Used for files of the owner that could not be read. The message is that of strict_json.py, with its
place added, or a plainer one for a usual mistake. The text is scanned a second time, which is
acceptable for the owner's own files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ..strict_json import MAX_DEPTH, JSONError, loads

COMMENTS = ("//", "/*", "#")
_TOKENS = re.compile(r'("(?:[^"\\]|\\.)*"|[^\s{}\[\],:"]+)(\s*:)?|[{}\[\]]')


def wrong(data: bytes, error: JSONError) -> tuple[str, str]:
    """Return (`:line:column`, message). The place is "" if it is not known."""
    text = data.decode(errors="replace")
    if not error.line:
        at = next((at for at, why in _refused(text) if why == error.message), -1)
        return _place(text, at) if at >= 0 else "", error.message
    lines = text.split("\n")  # not splitlines(): the parser counts only \n
    at = sum(len(line) + 1 for line in lines[: error.line - 1]) + error.column - 1
    return f":{error.line}:{error.column}", _meant(text, at) or error.message


def _meant(text: str, at: int) -> str:
    """Return a plainer message for a usual mistake at offset `at`, else ""."""
    rest = text[at:]
    if rest.startswith(COMMENTS):
        return "this looks like a comment; JSON has none"
    comma, _, after = rest.partition(",")  # Python 3.13 stops at the comma, older ones behind it
    end = (after if not comma.strip() else rest).lstrip()[:1]
    if end in ("}", "]") and (not comma.strip() or text[:at].rstrip().endswith(",")):
        return f"a comma before the closing {end}; JSON has none there"
    return ""


def _refused(text: str) -> Iterator[tuple[int, str]]:
    """Yield (offset, message) of tokens that are refused although they are well-formed.

    These are invalid strings and numbers, duplicate keys, and too many levels.
    """
    seen: list[set[Any]] = [set()]  # the keys of each open object or list
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
    """Return the error of a JSON text on its own, "" if it has none."""
    try:
        loads(text)
    except JSONError as error:
        return error.message
    return ""


def _place(text: str, at: int) -> str:
    return f":{text.count(chr(10), 0, at) + 1}:{at - text.rfind(chr(10), 0, at)}"
