"""Turn a missing sign-in into a question to the person, and back.

The call log keeps the question like one of the tool itself (`input`). The call has not been
executed; the answer says only that it should be tried again. Pure.
"""

from __future__ import annotations

from ....json_types import Json
from ....lib.runtime.command import COMMAND
from ....session.answers import ANSWERS


def sign_in_question(server: str, why: str, earlier: Json | None) -> Json:
    """Return the question for a sign-in at `server`.

    `earlier`: the answered question of the tool that this call goes on with, None if it has none.
    """
    question: Json = {
        "keys": [],
        "sign_in": server,
        "message": f"The MCP server {server}: {sign_in_problem(why, server)}. Then go on.",
        "response_schema": ANSWERS["mcp_sign_in"],
    }
    return {**question, "earlier": earlier} if earlier else question


def sign_in_problem(why: str, server: str) -> str:
    """Return why a sign-in is missing, and how it is done."""
    return f"{why}: {COMMAND} mcp login {server}, or in the page"


def earlier_question(question: Json | None) -> Json | None:
    """Return the question that a call goes on with: without the sign-in in between."""
    if question is None or "sign_in" not in question:
        return question
    earlier = question.get("earlier")
    return earlier if isinstance(earlier, dict) and "sign_in" not in earlier else None


def is_refused(question: Json | None) -> bool:
    """Return whether a person declined the sign-in."""
    return question is not None and "sign_in" in question and "refused" in question
