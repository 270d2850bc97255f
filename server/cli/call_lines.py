"""Show a tool call and its result as a person reads them, and not as the JSON that they are.

What is decided by (`edit_preview`, approvals) is not shown here: these texts are cut.
"""

from __future__ import annotations

import json
from typing import Any

Line = tuple[str, str]  # (text, style)

SHOWN_LINES, SHOWN_CHARS = 12, 1200  # of a result; the session holds all of it
VALUE = 60  # characters of an argument beside the main one
# What a call is about, and what its result is, by their usual names: the first that is there.
MAIN = ("command", "code", "path", "url", "query", "pattern", "question", "expression", "name")
BODY = ("output", "diff", "content", "text", "result", "message", "files", "matches", "results")
ROW = ("path", "title", "name", "url", "text")  # of a row of a list
STYLES = {"+": "green", "-": "red", "@": "cyan"}


def call_line(name: str, args: str) -> str:
    """Return a line about a call; `args` is JSON."""
    values, rest = _parsed(args)
    if not isinstance(values, dict) or rest:
        return f"{name} {shorten(args)}"
    main = next((key for key in MAIN if isinstance(values.get(key), str)), None)
    words = [name]
    if main is not None:
        words.append(shorten(values.pop(main)))
    words += [f"{key}={_brief(value)}" for key, value in values.items()]
    return " ".join(words)


def result_lines(content: str, *, is_live: bool = False) -> list[Line]:
    """Return lines about the text of a result. `is_live`: its output was shown as it came."""
    values, rest = _parsed(content)
    notes = [(line, "dim") for line in rest.strip().splitlines()]
    if not isinstance(values, dict):
        return [(line, "dim") for line in shorten(content).split("\n")]
    main = next((key for key in BODY if values.get(key) and _is_body(values[key])), None)
    body = values.pop(main) if main is not None else ""
    facts = [f"{key} {_brief(value)}" for key, value in values.items() if value not in ("", [])]
    lines = [(", ".join(facts), "dim")] if facts else []
    if not (is_live and main == "output"):
        text = shorten(body if isinstance(body, str) else "\n".join(map(_row, body)))
        diff = main == "diff"
        lines += [
            (each, STYLES.get(each[:1], "dim") if diff else "dim")
            for each in text.split("\n")
            if text
        ]
    return [*lines, *notes] or [("done", "dim")]


def shorten(text: str) -> str:
    """Return the beginning of `text`, and its length if it is cut."""
    lines = text.strip("\n").splitlines()
    shown = "\n".join(lines[:SHOWN_LINES])[:SHOWN_CHARS]
    if len(lines) > SHOWN_LINES or len(shown) == SHOWN_CHARS:
        shown += f"\n… {len(text)} characters in all"
    return shown


def _parsed(text: str) -> tuple[Any, str]:
    """Return the JSON value that a text begins with, None without one, and what follows it."""
    try:
        value, end = json.JSONDecoder().raw_decode(text.lstrip())
    except (ValueError, RecursionError):
        return None, text
    return value, text.lstrip()[end:]


def _is_body(value: Any) -> bool:
    return isinstance(value, str) or (
        isinstance(value, list) and all(isinstance(each, (str, dict)) for each in value)
    )


def _row(value: Any) -> str:
    if isinstance(value, str):
        return value
    found = [str(value[key]) for key in ROW if isinstance(value.get(key), str)]
    line = value.get("line")
    return ": ".join([*found[:1], *([str(line)] if isinstance(line, int) else []), *found[1:2]])


def _brief(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if "\n" in text:
        return f"({text.count(chr(10)) + 1} lines)"
    return text if len(text) <= VALUE else f"{text[:VALUE]}… ({len(text)} characters)"
