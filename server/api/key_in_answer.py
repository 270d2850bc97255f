"""Refuse the key of a request as an answer to a question of a tool."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..config import LEAST_KEY
from ..errors import Problem
from ..strict_json import browser_safe, canonical
from .auth import sent_key


def refuse_key_as_answer(headers: Mapping[str, str], document: Mapping[str, Any]) -> None:
    """Refuse an answer to a question that holds the key of the request. Raises Problem.

    It would go to the MCP server, or into the model's view.
    """
    key, interrupts = sent_key(headers), document.get("interrupts")
    for each in interrupts if len(key) >= LEAST_KEY and isinstance(interrupts, list) else ():
        if isinstance(each, dict) and each.get("reason") == "input_required":
            if canonical(key)[1:-1] in canonical(browser_safe(each.get("answer"))):
                text = (
                    "This answer holds the key of this server, which no question needs. Take it out"
                )
                raise Problem("answer_invalid", text)
