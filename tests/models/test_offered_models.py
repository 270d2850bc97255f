"""The lists of vendors whose keys are known: who is asked, and what comes of it."""

from __future__ import annotations

import asyncio
import json
import tempfile
import unittest
from pathlib import Path
from typing import Any

from server.app import App
from server.config import load
from server.lib.http.client import Client
from server.models.model_list import ask_vendors
from server.models.registry import Models
from server.models.vendors import DiscoveredProviders

from .fakes import KEY, Peer, Reply, Server, answer, serving


def listing(*models: Any) -> bytes:
    data = [{"id": m} if isinstance(m, str) else m for m in models]
    return answer(json.dumps({"data": data}).encode(), kind="application/json")


def found(url: str, **more: Any) -> DiscoveredProviders:
    entry = {"preset": "custom", "api_url": url, "api_key": KEY, "model_name": "usual"}
    return DiscoveredProviders({"vendor": {**entry, **more}})


class Asked(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        self.client = Client()

    async def asyncTearDown(self) -> None:
        await self.client.close()

    async def offered(self, reply: Reply, **more: Any) -> Any:
        """Return the vendor in the catalog, the models, and what was asked."""
        async with serving(reply) as server:
            models = Models({}, self.client, {}, found(server.url, **more))
            await ask_vendors(models, self.client)
        return models.catalog()[0], models, server.requests

    async def test_all_models_are_offered_the_usual_one_first(self) -> None:
        rows = ("a", {"id": "usual"}, {"id": "b", "context_length": 4096}, "text-embedding-3", 7)
        vendor, models, requests = await self.offered(listing(*rows))
        self.assertEqual((vendor["model"], vendor["models"]), ("usual", ["usual", "a", "b"]))
        self.assertEqual(vendor["about"], {"b": {"window": 4096}})
        self.assertEqual([each.line for each in requests], ["GET /v1/models HTTP/1.1"])
        self.assertEqual(requests[0].headers["authorization"], f"Bearer {KEY}")
        self.assertNotIn(KEY, json.dumps(vendor))
        for name in ("b", "one that is not listed"):
            self.assertEqual(models.resolve({"name": "vendor", "model_name": name}).model, name)
        self.assertEqual(models.resolve({"model_name": "b"}).name, "vendor")

    async def test_what_is_no_list_changes_nothing(self) -> None:
        async def silent(peer: Peer) -> None:
            await peer.send(b"x")

        replies: tuple[Reply, ...] = (
            answer(b"[]"),
            answer(b'{"data": 7}'),
            answer(b"{"),
            answer(b"no", "401 No"),
            answer(b"no", "500 No"),
            silent,
        )
        for reply in replies:
            with self.subTest(reply):
                vendor, models, _ = await self.offered(reply)
                self.assertEqual(vendor["models"], ["usual"])
                self.assertEqual(models.resolve({"name": "vendor"}).model, "usual")

    async def test_who_is_not_asked(self) -> None:
        for more in ({"models": ["x"]}, {"api_key": ""}):
            _, _, requests = await self.offered(listing("a"), **more)
            self.assertEqual(requests, [], more)

    async def test_a_key_that_was_pasted_brings_all_models(self) -> None:
        """As the page writes it: with the model that was chosen. `models` says which otherwise."""
        for discovers, more, models in (
            (True, {}, ["m", "a", "b"]),
            (True, {"models": ["x"]}, ["m", "x"]),
            (False, {}, ["m"]),
        ):
            with self.subTest(discovers, more=more):
                async with serving(listing("a", "m", "b")) as server:
                    entry = {"api_url": server.url, "api_key": KEY, "model_name": "m", **more}
                    configured = {"providers": {"own": entry}, "discover": discovers}
                    known = Models(configured, self.client, {})
                    await ask_vendors(known, self.client)
                self.assertEqual(known.catalog()[0]["models"], models)
                self.assertEqual(len(server.requests), int(discovers and not more))


def flags_of(server: Server) -> dict[str, Any]:
    """The settings of a server with one provider, of which one model is known."""
    own = {"api_url": server.url, "api_key": KEY, "model_name": "m"}
    return {"server.sandbox.require": "none", "server.providers": {"own": own}}


class InTheServer(unittest.IsolatedAsyncioTestCase):
    async def test_no_start_and_no_request_waits_for_a_vendor(self) -> None:
        go_on = asyncio.Event()

        async def slow(peer: Peer) -> None:
            await go_on.wait()
            await peer.send(listing("late"))

        with tempfile.TemporaryDirectory() as folder:
            async with serving(slow) as server:
                async with App(load(Path(folder), None, {}, flags_of(server)), {}) as app:
                    await server.asked.wait()
                    models = next(m for m in app.facts("")["models"] if m["name"] == "own")
                    self.assertEqual(models["models"], ["m"])
                    go_on.set()
                    await app._background[1]
                    models = next(m for m in app.facts("")["models"] if m["name"] == "own")
                    self.assertEqual(models["models"], ["m", "late"])

    async def test_a_server_that_stops_does_not_wait_either(self) -> None:
        async def never(peer: Peer) -> None:
            await peer.gone()

        with tempfile.TemporaryDirectory() as folder:
            async with serving(never) as server:
                app = App(load(Path(folder), None, {}, flags_of(server)), {})
                await app.open()
                await server.asked.wait()
                await app.close()
                self.assertTrue(all(task.cancelling() for task in app._background))


if __name__ == "__main__":
    unittest.main()
