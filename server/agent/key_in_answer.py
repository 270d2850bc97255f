"""Refuse a key of this server as an answer to a question of a tool, from whatever client."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ..config import HASHED, KEY_FILE, LEAST_KEY, Config
from ..errors import Problem
from ..json_types import Session
from ..lib.strict_json import browser_safe, canonical

_MARKS = "\"'`()[]{}<>.,;:!?"  # around a word in a sentence
_REFUSED = "This answer holds a key of this server, which no question needs. Take it out"


def key_refuser(config: Config) -> Callable[[Session], None]:
    """Return the function that refuses answers with a key of this configuration's server."""
    entries = [each if isinstance(each, str) else each["key"] for each in config.server["api_keys"]]
    digests = {each.removeprefix(HASHED).lower() for each in entries if each.startswith(HASHED)}
    plain = [each for each in entries if not each.startswith(HASHED)]

    def refuse(session: Session) -> None:
        """Raise Problem if a session answers a question with a key.

        The answer would go to another server, or into the model's view.
        """
        answers = list(_answers(session))
        keys = [*plain, _home_key(config.home)] if answers else []
        for answer in answers:
            text = canonical(browser_safe(answer))
            if any(len(key) >= LEAST_KEY and canonical(key)[1:-1] in text for key in keys):
                raise Problem("answer_invalid", _REFUSED)
            if digests and not digests.isdisjoint(map(_digest, _words(answer))):
                raise Problem("answer_invalid", _REFUSED)

    return refuse


def _answers(session: Session) -> Iterator[Any]:
    for interrupt in session.get("interrupts", ()):
        if interrupt["reason"] == "input_required":
            yield interrupt.get("answer")
    for entry in session.get("calls", {}).values():
        question = entry.get("input")
        if isinstance(question, dict) and entry["state"] == "waiting":
            yield question.get("answer")


def _words(value: Any) -> Iterator[str]:
    """Yield what may be a key that is known by its hash: each text, each word, without marks."""
    if isinstance(value, dict):
        for name, each in value.items():
            yield from (*_words(name), *_words(each))
    elif isinstance(value, list):
        for each in value:
            yield from _words(each)
    elif isinstance(value, str):
        for word in value.split():
            yield from {word, word.strip(_MARKS)}


def _home_key(home: Path) -> str:
    """Return the key in the home folder, "" without one. It may have been made a moment ago."""
    try:
        return (home / KEY_FILE).read_text("ascii", "replace").strip()
    except OSError:
        return ""


def _digest(key: str) -> str:
    return hashlib.blake2b(key.encode("utf-8", "replace")).hexdigest()
