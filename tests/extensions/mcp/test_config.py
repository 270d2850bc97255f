"""MCP servers in the configuration: what is taken, and which texts are secrets."""

from __future__ import annotations

import unittest

from ... import test_config


class Entries(test_config.Case):
    def test_one_is_taken(self) -> None:
        entry = {"command": "x", "args": ["y"], "env": {"K": "v"}}
        self.load({"server": {"mcpServers": {"files": entry}}})

    def test_a_variable_sets_one(self) -> None:
        found = self.load(None, {"YAA_SERVER__MCPSERVERS__FILES__COMMAND": "x"})
        self.assertEqual(found.server["mcpServers"], {"files": {"command": "x"}})

    def test_all_secrets_are_known(self) -> None:
        args, inner = ["--api-key", "a1B2c3D4e5F6g7H8i9"], "http://me:p4ss-word@h/?token=t0ken-of-h"
        servers = {
            "run": {"command": "run", "args": args, "env": {"ANY": "s5"}},
            "web": {"url": inner},
        }
        found = self.load({"server": {"mcpServers": servers}}).secrets()
        self.assertEqual(sorted(found), ["a1B2c3D4e5F6g7H8i9", "p4ss-word", "s5", "t0ken-of-h"])


if __name__ == "__main__":
    unittest.main()
