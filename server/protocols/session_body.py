"""Bodies that may hold a session, the gateway's and AutoAi's: what they must fit, and their places.

In the walk: `protocols/gateway/routes` and `protocols/autoai/routes` run the document that a body
means within `in_body`. The rule of the file: what is wrong is told by its place in what was sent,
never in the session that was made of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from ..errors import Problem
from ..schema.validate import validate


class Asked(Protocol):
    """What a body means."""

    def in_body(self, problem: Problem) -> Problem:
        """A problem of the session as one of the body."""


def check(body: dict[str, Any], schema: dict[str, Any]) -> None:
    """Raises Problem, naming every field that does not fit."""
    if errors := [{"pointer": e.pointer, "detail": e.message} for e in validate(body, schema)]:
        first = errors[0]
        detail = f"{first['pointer'] or 'the body'}: {first['detail']}"
        raise Problem("request_invalid", detail, errors=errors, status=400)


@contextmanager
def in_body(asked: Asked) -> Iterator[None]:
    try:
        yield
    except Problem as problem:
        asked.in_body(problem)
        raise
