"""Where a JSON file that a person wrote is wrong, and what people mean who write it so.

In the walk: beside `config` and `console`, only where a file of theirs could not be read. The rule
of the file: the parser's word stands (jsontext.py); here it gets its place, and plainer words where
the mistake is a usual one. It reads the text once more, which is for files of one's own.
"""

from __future__ import annotations

import re

from .jsontext import JSONError

COMMENTS = ("//", "/*", "#")
_SIGNS = re.compile(r'("(?:[^"\\]|\\.)*")(\s*:)?|[{}\[\]]')


def wrong(data: bytes, error: JSONError) -> tuple[str, str]:
    """`:line:column`, empty where there is no place, and what is wrong there."""
    text = data.decode(errors="replace")
    if not error.line:
        at = _repeated(text)
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


def _repeated(text: str) -> int:
    """Where a key stands that its object has already; -1 if none does."""
    seen: list[set[str]] = []
    for match in _SIGNS.finditer(text):
        key, colon = match.groups()
        if match[0] in "{[":
            seen.append(set())
        elif not seen:  # the rest was never read, and may be anything
            break
        elif match[0] in "}]":
            seen.pop()
        elif colon:
            if key in seen[-1]:
                return match.start()
            seen[-1].add(key)
    return -1


def _place(text: str, at: int) -> str:
    return f":{text.count(chr(10), 0, at) + 1}:{at - text.rfind(chr(10), 0, at)}"
