"""Entries of `mcpServers` as people paste them from the pages of servers and other programs."""

from __future__ import annotations

import json
import tempfile
import unittest
from pathlib import Path
from typing import Any

from server.config import ConfigError, load
from server.extensions.mcp.entry import folder_name, identity, is_allowed, normalize_entry
from server.tools.decorators import ToolError

Json = dict[str, Any]

# As the pages of servers print them, for Claude Desktop, Claude Code, VS Code, Cursor, Windsurf,
# Gemini CLI, Cline, Roo Code and GitHub Copilot.
PASTED = """
{"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "/home/me/Desktop"]}
{"command": "npx", "args": ["-y", "@modelcontextprotocol/server-everything"]}
{"command": "uvx", "args": ["mcp-server-git", "--repository", "path/to/repo"]}
{"command": "uvx", "args": ["mcp-server-fetch"], "env": {"PYTHONIOENCODING": "utf-8"}}
{"command": "docker", "args": ["run", "-i", "--rm", "-e", "GITHUB_PERSONAL_ACCESS_TOKEN",
 "ghcr.io/github/github-mcp-server"], "env": {"GITHUB_PERSONAL_ACCESS_TOKEN": "${TOKEN}"}}
{"command": "docker", "args": ["run", "-i", "--rm", "--mount", "type=bind,src=/a,dst=/b", "mcp/x"]}
{"type": "stdio", "command": "node", "args": ["build/index.js"], "env": {}}
{"type": "http", "url": "https://api.githubcopilot.com/mcp/"}
{"type": "http", "url": "https://mcp.example.com/mcp", "headers": {"Authorization": "Bearer x"}}
{"type": "streamable-http", "url": "https://mcp.example.com/mcp", "headers": {"X-Key": "x"},
 "alwaysAllow": ["tool3"], "disabled": false}
{"url": "https://mcp.sentry.dev/mcp"}
{"httpUrl": "http://localhost:8080/mcp", "timeout": 5000, "trust": false,
 "includeTools": ["safe_tool"], "excludeTools": ["other"], "description": "mine"}
{"serverUrl": "https://mcp.example.com/mcp"}
{"command": "python", "args": ["server.py"], "autoApprove": ["a"], "disabled": false, "timeout": 60}
{"type": "local", "command": "npx", "args": ["-y", "@sentry/mcp-server"], "tools": ["*"],
 "env": {"SENTRY_HOST": "x"}}
{"command": "npx", "args": ["mcp-remote", "https://mcp.example.com/sse"]}
{"command": "/usr/bin/env", "args": [], "cwd": ".", "type": "stdio"}
{"transport": "streamableHttp", "url": "http://x", "era": "legacy", "timeout": 1.5}
"""

REFUSED: list[tuple[Json, str]] = [
    ({}, "either a `command`"),
    ({"command": "x", "url": "http://x"}, "either a `command`"),
    ({"command": ""}, "is empty"),
    ({"url": "http://[::1/mcp"}, "its url cannot be read: Invalid IPv6 URL"),
    ({"comand": "x"}, "unknown key comand; known are"),
    ({"type": "sse", "url": "https://mcp.linear.app/sse"}, "often /mcp in place of /sse"),
    ({"transport": "sse", "serverUrl": "https://x/sse"}, "Streamable HTTP at another address"),
    ({"type": "ws", "url": "wss://x"}, "the type 'ws' does not fit"),
    ({"type": "http", "command": "x"}, "the type 'http' does not fit"),
    ({"type": 5, "command": "x"}, "the type '5' does not fit"),
    ({"type": ["stdio"], "command": "x"}, "does not fit"),
    ({"url": "http://x", "httpUrl": "http://y"}, "httpUrl says what another key says"),
    ({"command": "x", "envFile": "${workspaceFolder}/.env"}, "name its variables in `env`"),
    ({"url": "http://x", "oauth": {"clientSecret": "a"}}, "clientSecret wants oauth.clientId"),
    ({"url": "http://x", "oauth": {"tokenUrl": "a"}}, "oauth.tokenUrl is not needed"),
    ({"url": "http://x", "oauth": {"grant": "implicit"}}, "oauth.grant"),
    ({"url": "http://x", "oauth": {"clientID": "a"}}, "clientID"),
    ({"url": "http://x", "oauth": "yes"}, "oauth is neither true, false nor an object"),
    ({"url": "http://x", "oauth": {"issuer": "http://as.example"}}, "a sign-in wants https"),
    ({"url": "http://x", "oauth": {"assertionFile": "a"}}, "for grants without a person"),
    ({"url": "http://x", "oauth": {"privateKeyFile": "a"}}, "privateKeyFile"),
    ({"url": "http://x", "oauth": {"grant": "client_credentials"}}, "wants clientId and"),
    ({"url": "http://x", "oauth": {"grant": "jwt_bearer"}}, "wants assertionFile"),
    (
        {"url": "http://x", "oauth": {"grant": "identity_assertion", "assertionFile": "a"}},
        "identity_assertion and identityProvider belong together",
    ),
    ({"command": "x", "oauth": {}}, "oauth is for servers with a `url`"),
    ({"command": "./run"}, "its command is './run'"),
    ({"command": "node_modules/.bin/x", "cwd": "."}, "write its whole path"),
    ({"command": "x", "env": {"K": "${input:api-key}"}}, "${input:api-key} is an editor's"),
    ({"url": "https://x", "headers": {"A": "Bearer ${input:t}"}}, "is an editor's"),
    ({"command": "x", "args": ["${workspaceFolder}/a"]}, "${workspaceFolder} is an editor's"),
    ({"command": "x", "args": ["${workspaceFolder:app}"]}, "is an editor's"),
    ({"command": 5}, "command is 5, wanted a string"),
    ({"command": "x", "args": "a"}, 'args is "a", wanted a list'),
    ({"command": "x", "args": [1]}, "args.0 is 1, wanted a string"),
    ({"command": "x", "env": {"K": 1}}, "env.K is 1, wanted a string"),
    ({"url": "http://x", "headers": []}, "headers is [], wanted an object"),
    ({"url": "http://x", "trust": "yes"}, "wanted true or false"),
    ({"url": "http://x", "disabled": 1}, "wanted true or false"),
    ({"url": "http://x", "era": "old"}, "wanted one of modern, legacy"),
    ({"url": "http://x", "era": []}, "wanted one of modern, legacy"),
    ({"url": "http://x", "timeout": 0}, "timeout is 0, wanted a number above 0"),
    ({"url": "http://x", "timeout": True}, "wanted a number above 0"),
    ({"url": "http://x", "tools": "*"}, 'allowedTools is "*", wanted a list'),
]


def pasted() -> list[Json]:
    decoder, found, rest = json.JSONDecoder(), [], PASTED.strip()
    while rest:
        entry, end = decoder.raw_decode(rest)
        found.append(entry)
        rest = rest[end:].strip()
    return found


class Pasted(unittest.TestCase):
    def test_what_people_paste_is_usable(self) -> None:
        for entry in pasted():
            with self.subTest(entry):
                found = normalize_entry(entry)
                self.assertEqual("command" in found, "command" in entry)
                self.assertEqual(found.get("args"), entry.get("args"))
                self.assertEqual(found.get("env"), entry.get("env"))
                self.assertEqual(found.get("headers"), entry.get("headers"))

    def test_other_programs_words(self) -> None:
        for written, wanted in (
            ({"httpUrl": "http://x"}, {"url": "http://x"}),
            (
                {"serverUrl": "http://x", "excludeTools": ["a"]},
                {"url": "http://x", "disabledTools": ["a"]},
            ),
            ({"command": "x", "tools": ["*"]}, {"command": "x", "allowedTools": ["*"]}),
            ({"command": "x", "alwaysAllow": ["a"], "autoApprove": ["*"]}, {"command": "x"}),
        ):
            with self.subTest(written):
                self.assertEqual(normalize_entry(written), wanted)

    def test_what_cannot_be_used_is_said(self) -> None:
        for entry, part in REFUSED:
            with self.subTest(entry), self.assertRaises(ToolError) as caught:
                normalize_entry(entry)
            self.assertIn(part, str(caught.exception))


class Configured(unittest.TestCase):
    def load(self, servers: Json, **env: str) -> Json:
        with tempfile.TemporaryDirectory() as folder:
            home = Path(folder)
            text = json.dumps({"server": {"mcpServers": servers}})
            (home / "config.json").write_text(text)
            found: Json = load(home, None, env, {}).server["mcpServers"]
            return found

    def test_variables(self) -> None:
        for text, wanted in (
            ("Bearer ${TOKEN}", "Bearer secret"),
            ("${env:TOKEN}", "secret"),
            ("${NONE:-else}", "else"),
            ("${NONE:-}", ""),
            ("$${TOKEN}", "${TOKEN}"),
            ("$TOKEN", "$TOKEN"),
            ("${input:x}", "${input:x}"),
        ):
            with self.subTest(text):
                entry = {"url": "http://x", "headers": {"A": text}}
                found = self.load({"s": entry}, TOKEN="secret")
                self.assertEqual(found["s"]["headers"]["A"], wanted)

    def test_a_variable_that_is_missing_is_named(self) -> None:
        with self.assertRaisesRegex(ConfigError, "the variable GITHUB_TOKEN is not set"):
            self.load({"s": {"command": "x", "env": {"A": "${GITHUB_TOKEN}"}}})

    def test_all_that_is_pasted_passes_the_configuration(self) -> None:
        entries = {f"s{number}": entry for number, entry in enumerate(pasted())}
        self.assertEqual(set(self.load(entries, TOKEN="t")), set(entries))

    def test_pasted_at_the_top_it_is_told_where_it_belongs(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "config.json").write_text('{"mcpServers": {"a": {"command": "x"}}}')
            with self.assertRaisesRegex(ConfigError, "server.mcpServers"):
                load(Path(folder), None, {}, {})


class Words(unittest.TestCase):
    def test_allow_and_deny(self) -> None:
        cases: list[tuple[Json, str, bool]] = [
            ({}, "a", True),
            ({"allowedTools": []}, "a", False),
            ({"allowedTools": ["a*"]}, "ab", True),
            ({"allowedTools": ["a*"]}, "A", False),
            ({"allowedTools": ["a*"], "disabledTools": ["ab"]}, "ab", False),
            ({"disabledTools": ["*"]}, "a", False),
        ]
        for entry, name, wanted in cases:
            with self.subTest(entry):
                self.assertEqual(is_allowed(name, entry), wanted)

    def test_names_of_folders(self) -> None:
        for name, wanted in (
            ("notes", "notes"),
            ("..", "%2E%2E"),
            ("a/../b", "a%2F%2E%2E%2Fb"),
            ("", "%"),
            ("笔记", "%E7%AC%94%E8%AE%B0"),
        ):
            with self.subTest(name):
                self.assertEqual(folder_name(name), wanted)
        long = {folder_name("n" * 150 + end) for end in ("", "a", "b")}
        self.assertEqual({len(name) for name in long}, {117})
        self.assertEqual(len(long), 3)

    def test_which_entries_share_a_process(self) -> None:
        one: Json = {"command": "x", "args": ["a"], "env": {"K": "v"}}
        for more, same in (
            ({}, True),
            ({"trust": True, "allowedTools": ["a"], "timeout": 5}, True),
            ({"args": ["b"]}, False),
            ({"env": {"K": "w"}}, False),
            ({"cwd": "/"}, False),
            ({"era": "legacy"}, False),
        ):
            with self.subTest(more):
                self.assertEqual(identity({**one, **more}) == identity(one), same)


if __name__ == "__main__":
    unittest.main()
