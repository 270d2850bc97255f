"""What a change of an entry must not do: open this machine, or send a secret elsewhere."""

from __future__ import annotations

import unittest
from typing import Any

from server.extensions.mcp.entry import ALIASES, normalize_entry
from server.extensions.settings.host_access import (
    find_openings,
    find_redirects,
    find_variables,
)
from server.tools.decorators import ToolError


class Openings(unittest.TestCase):
    def test_entries_of_mcp_servers(self) -> None:
        url = {"url": "https://n.example/mcp"}
        machine = {"grant": "jwt_bearer", "clientId": "c", "assertionFile": "/etc/passwd"}
        for entry, wanted in (
            ({"command": "sh"}, ["command"]),
            ({"command": "sh", "args": ["-c"], "env": {"A": "b"}, "cwd": "/"}, None),
            ({**url}, ["url"]),
            ({"httpUrl": "http://10.0.0.1"}, ["url"]),
            ({"serverUrl": "http://10.0.0.1"}, ["url"]),
            ({**url, "oauth": machine}, ["oauth.assertionFile"]),
            ({**url, "auth": machine}, ["oauth.assertionFile"]),
            ({**url, "oauth": {"issuer": "https://10.0.0.1"}}, ["oauth.issuer"]),
            ({**url, "oauth": True, "headers": {"A": "b"}, "trust": True}, []),
        ):  # fmt: skip
            found = [each.name for each in find_openings({}, {"mcpServers": {"x": entry}})]
            names = {each.removeprefix("server.mcpServers.x.") for each in found}
            with self.subTest(entry):
                if wanted is None:
                    self.assertEqual(names, {"command", "args", "env", "cwd"})
                else:
                    self.assertEqual(names - {"url"}, {*wanted} - {"url"})
                    self.assertEqual("url" in names, "command" not in entry)

    def test_what_stays_or_goes_opens_nothing(self) -> None:
        old = {"mcpServers": {"x": {"command": "sh", "args": ["-c", "true"]}}}
        other = {"mcpServers": {"x": {"command": "sh", "args": ["-c", "false"]}}}
        self.assertEqual([each.name for each in find_openings(old, old)], [])
        self.assertEqual([each.name for each in find_openings(old, {"mcpServers": {}})], [])
        off = {"mcpServers": {"x": {**old["mcpServers"]["x"], "disabled": True}}}
        self.assertEqual([*find_openings(old, off)], [])
        found = [each.name for each in find_openings(old, other)]
        self.assertEqual(found, ["server.mcpServers.x.args"])

    def test_an_unusable_entry_is_refused_only_if_it_is_new(self) -> None:
        wrong = {"mcpServers": {"x": {"url": "http://a", "httpUrl": "http://b"}}}
        self.assertEqual([*find_openings(wrong, wrong)], [])
        befores: list[Any] = [{}, {"mcpServers": {"x": {"url": "http://a"}}}]
        for before in befores:
            for find in (find_openings, find_redirects, find_variables):
                with self.subTest(find.__name__), self.assertRaises(ToolError):
                    [*find(before, wrong)]


class Secrets(unittest.TestCase):
    def test_whatever_an_mcp_server_is_written_like(self) -> None:
        """Every spelling of every key that says where a secret goes, from every other one."""
        spellings = {own: [own, *(k for k, v in ALIASES.items() if v == own)] for own in ("url",)}
        oauth = ("oauth", *(key for key, own in ALIASES.items() if own == "oauth"))
        secret = {"headers": {"Authorization": "Bearer MCP-SECRET-0123456789"}}
        for old in spellings["url"]:
            for new in spellings["url"]:
                before = {"mcpServers": {"x": {old: "https://good.example", **secret}}}
                after = {"mcpServers": {"x": {new: "https://evil.example", **secret}}}
                same = {"mcpServers": {"x": {new: "https://good.example", **secret}}}
                with self.subTest(old=old, new=new):
                    self.assertEqual([*find_redirects(before, after)], ["server.mcpServers.x"])
                    self.assertEqual([*find_redirects(before, same)], [])
        base = {"url": "https://good.example"}
        identity = {"grant": "identity_assertion", "assertionFile": "/a", "clientId": "c"}
        for key in oauth:
            for name, places in (
                ("issuer", [{"clientId": "c", "issuer": at} for at in ("https://a", "https://b")]),
                (
                    "tokenEndpoint",
                    [
                        {**identity, "identityProvider": {"tokenEndpoint": at, "clientId": "c"}}
                        for at in ("https://a/t", "https://b/t")
                    ],
                ),
            ):
                before, after = (
                    {"mcpServers": {"x": {**base, key: {**place, "clientSecret": "s" * 20}}}}
                    for place in places
                )
                with self.subTest(key=key, name=name):
                    self.assertEqual([*find_redirects(before, after)], ["server.mcpServers.x"])

    def test_a_secret_in_arguments_stays_with_its_program(self) -> None:
        args = ["--api-key", "a-secret-key-0123456789", "-v"]
        before = {"mcpServers": {"x": {"command": "good", "args": args}}}
        after = {"mcpServers": {"x": {"command": "evil", "args": ["send", *args]}}}
        self.assertEqual([*find_redirects(before, after)], ["server.mcpServers.x"])
        after["mcpServers"]["x"]["command"] = "good"
        self.assertEqual([*find_redirects(before, after)], [])

    def test_a_normal_form_is_of_one_spelling(self) -> None:
        for key, own in ALIASES.items():
            if own in ("url", "oauth"):
                base = {} if own == "url" else {"url": "https://a"}
                value = "https://a" if own == "url" else {"client_id": "c"}
                entry = normalize_entry({**base, key: value})
                self.assertEqual(entry, normalize_entry({**base, own: value}))


if __name__ == "__main__":
    unittest.main()
