"""Signing in at an MCP server from the page, in two browsers."""

from __future__ import annotations

import asyncio
import threading
import unittest
from collections.abc import Coroutine, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from ..bench import peers
from ..tooling.child import Yaa
from ..tools.mcp_sign_in_server import World
from . import walks

END_S = 30


class SignIn(walks.OneEngine):
    def check(self, browser: str) -> None:
        with ExitStack() as stack:
            config = peers.config(peers.start(stack, "tests.bench.provider"))
            world, do = stack.enter_context(beside())
            config["server"]["mcpServers"] = {"notes": {"url": world.url}}
            yaa = stack.enter_context(Yaa(config, at_once=True))

            async def revoke() -> None:
                world.revoke()

            asks = {
                "calls": lambda: list(world.calls),
                "revoke": lambda: do(revoke()),
                "away": lambda: do(world.auth.close()),
            }
            self.walk("mcp-sign-in", browser, {"url": yaa.link}, asks, expected=may_fail)


def may_fail(complaint: walks.Complaint) -> bool:
    return complaint["step"].startswith("an authorization server") and walks.failed(complaint)


@contextmanager
def beside() -> Iterator[tuple[World, Any]]:
    """The servers of a sign-in in a thread of their own, and a function that awaits there."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    def do(work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, loop).result(END_S)

    world = World()
    try:
        do(world.start())
        yield world, do
    finally:
        do(world.close())
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


if __name__ == "__main__":
    unittest.main()
