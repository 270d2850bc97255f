"""Checks of bodies that may hold a session, as those of some protocols do.

Errors point into the body that was sent, not into the session that was made of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from ..errors import Problem
from ..schema.validate import validate


class Asked(Protocol):
    """The session that a body asks to run, with the places of its parts in the body."""

    def in_body(self, problem: Problem) -> Problem:
        """Return a problem of the session with the places of the body."""


def check(body: dict[str, Any], schema: dict[str, Any]) -> None:
    """Refuse a body that does not fit the schema. Raises Problem with every field that is wrong."""
    if errors := [each.error() for each in validate(body, schema)]:
        first = errors[0]
        detail = f"{first['pointer'] or 'the body'}: {first['detail']}"
        raise Problem("request_invalid", detail, errors=errors, status=400)


@contextmanager
def in_body(asked: Asked) -> Iterator[None]:
    """Map the places of a Problem that is raised inside to those of the body."""
    try:
        yield
    except Problem as problem:
        asked.in_body(problem)
        raise
