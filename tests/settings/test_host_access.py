"""What a change of the settings must not do: open this machine, or send a secret elsewhere."""

from __future__ import annotations

import unittest
from typing import Any

from server.settings.host_access import find_openings, find_redirects

OLD: dict[str, Any] = {
    "providers": {
        "main": {"preset": "openai", "api_key": "sk-1", "models": {"m": {"api_url": "http://a"}}}
    },
    "mcpServers": {"notes": {"url": "http://n", "headers": {"Authorization": "t"}}},
    "rest": {"r": {"base_url": "http://r", "headers": {"X": "h"}}},
    "search": {"provider": "brave", "api_key": "b"},
    "tracing": {"url": "http://t", "headers": {"K": "v"}},
}


class HostAccess(unittest.TestCase):
    def test_what_opens_the_machine(self) -> None:
        for new, wanted in (
            ({}, []),
            ({"folders": {"home": {"path": "/", "mode": "write"}}}, ["server.folders"]),
            ({"sandbox": {"require": "none"}}, ["server.sandbox"]),
            ({"remote_administration": True}, ["server.remote_administration"]),
            ({"mcpServers": {"x": {"command": "sh"}}}, ["server.mcpServers.x"]),
            ({"mcpServers": {"x": {"url": "http://x"}}}, []),
            ({"providers": {"y": {"preset": "openai"}}}, []),
            ({"rest": {"r": {"openapi": "/etc/passwd"}}}, ["server.rest.r"]),
            ({"rest": {"r": {"base_url": "http://r"}}}, []),
        ):
            with self.subTest(new=new):
                self.assertEqual([*find_openings({}, new)], wanted)
        old = {"mcpServers": {"x": {"command": "sh", "args": ["-c", "true"]}}}
        other = {"mcpServers": {"x": {"command": "sh", "args": ["-c", "false"]}}}
        self.assertEqual([*find_openings(old, other)], ["server.mcpServers.x"])
        self.assertEqual([*find_openings(old, {"mcpServers": {}})], [], "fewer is no more")

    def test_a_secret_stays_with_its_address(self) -> None:
        evil = "http://evil"
        main = OLD["providers"]["main"]
        for name, part in (
            ("providers.main", {"providers": {"main": {**main, "api_url": evil}}}),
            ("providers.main", {"providers": {"main": {**main, "preset": "custom"}}}),
            (
                "providers.main",
                {"providers": {"main": {**main, "models": {"m": {"api_url": evil}}}}},
            ),
            (
                "mcpServers.notes",
                {"mcpServers": {"notes": {**OLD["mcpServers"]["notes"], "url": evil}}},
            ),
            ("rest.r", {"rest": {"r": {**OLD["rest"]["r"], "base_url": evil}}}),
            ("search", {"search": {**OLD["search"], "url": evil}}),
            ("tracing", {"tracing": {**OLD["tracing"], "url": evil}}),
            ("providers.new", {"providers": {"new": {"api_url": evil, "api_key": "${OPENAI}"}}}),
        ):
            with self.subTest(part=part):
                self.assertEqual([*find_redirects(OLD, {**OLD, **part})], [f"server.{name}"])
        harmless: list[Any] = [
            {"providers": {"main": {**main, "model_name": "x"}}},
            {"providers": {"main": {**main, "api_url": evil, "api_key": "sk-2"}}},
            {"providers": {}},
            {"providers": "nothing", "mcpServers": None},
        ]
        for each in harmless:
            with self.subTest(part=each):
                self.assertEqual([*find_redirects(OLD, {**OLD, **each})], [])
        self.assertEqual([*find_redirects({"providers": 5}, OLD)], [])
