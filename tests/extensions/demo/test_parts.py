"""The demo answers where there is no other model, and whoever starts the server is told so."""

from __future__ import annotations

import asyncio
import tempfile
import unittest
from pathlib import Path
from typing import Any

from server.app import App
from server.cli.serve import describe
from server.config import load
from server.extensions.demo.demo import DemoAPI

from ...models.fakes import options


class Offered(unittest.IsolatedAsyncioTestCase):
    async def started(self, env: dict[str, str], **flags: Any) -> tuple[App, str]:
        home = Path(self.enterContext(tempfile.TemporaryDirectory()))
        config = load(home, None, env, {"server.discover": False, **flags})
        app = await self.enterAsyncContext(App(config, env))
        return app, "\n".join(describe(app))

    async def test_it_answers_alone(self) -> None:
        app, said = await self.started({})
        self.assertIsInstance(app.models.resolve({"name": "auto"}).api, DemoAPI)
        self.assertTrue(app.facts("")["demo"])
        self.assertIn("  model    demo: a script", said)
        self.assertIn("\n           For a real one paste a key in the page", said)
        self.assertEqual(app.problems()["model"], [])

    async def test_how_long_it_waits_between_two_pieces_is_a_key(self) -> None:
        for pause_s, comes in ((3600, False), (0, True)):
            app, _ = await self.started({}, **{"server.demo.pause_s": pause_s})
            said = app.models.fallbacks["demo"].api.stream(
                [{"id": "u", "role": "user", "content": "stream 9"}], [], options()
            )
            await anext(said)
            second = asyncio.ensure_future(anext(said))
            for _ in range(20):
                await asyncio.sleep(0)
            self.assertEqual(second.done(), comes, pause_s)
            second.cancel()
            await asyncio.gather(second, return_exceptions=True)

    async def test_a_provider_makes_it_no_demo(self) -> None:
        env = {"YAA_PROVIDER_API_URL": "http://127.0.0.1:9/v1", "YAA_PROVIDER_MODEL_NAME": "m"}
        app, said = await self.started(env)
        self.assertFalse(app.facts("")["demo"])
        self.assertNotIn("demo", said.partition("tools")[0])
        self.assertIs(app.models.resolve({"name": "demo"}), app.models.fallbacks["demo"])

    async def test_without_it_the_start_says_that_no_model_is_set(self) -> None:
        app, said = await self.started({}, **{"server.extensions": []})
        text = f"session.config.llm_api.provider: {app.models.vendors.no_model}"
        self.assertEqual(app.problems()["model"], [text])
        self.assertIn(f"  problem  {text}", said)
        self.assertNotIn("demo", app.facts(""))


if __name__ == "__main__":
    unittest.main()
