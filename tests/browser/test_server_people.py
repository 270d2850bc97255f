"""Agents, keys for other people, and the last runs, in the settings of the server."""

from __future__ import annotations

import unittest
from contextlib import ExitStack

from . import walks
from .test_server_settings import KEY, MODELS, KeyedModel, OwnServer


class ServerPeople(walks.OneEngine):
    def check(self, browser: str) -> None:
        with ExitStack() as stack:
            model = KeyedModel(stack)
            provider = {"api_url": f"{model.url}/v1", "api_key": KEY, "model_name": MODELS[0]}
            config = {"server": {"providers": {"main": provider}, "default_provider": "main"}}
            server = OwnServer(stack, config)
            job = {"url": f"{server.url}/#key={server.key}"}
            self.walk("server-people", browser, job, server.asks)


if __name__ == "__main__":
    unittest.main()
