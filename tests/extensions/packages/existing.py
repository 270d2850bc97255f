"""Code of a program that knows nothing of agents but one decorator: what test_tools registers."""

from __future__ import annotations

from server.tools.decorators import tool

STOCK = {"tea": 3}


class Inventory:
    @tool(read_only=True)
    def count(self, item: str) -> int:
        """How many there are."""
        return STOCK[item]


def stock() -> list[str]:
    """What there is."""
    return [*STOCK]
