"""`/settings`: who may, what is shown, what a change is checked for, what nobody is told."""

from __future__ import annotations

import json
import logging
import tempfile
import unittest
from pathlib import Path
from typing import Any

from server.api.auth import Keys
from server.api.router import Router
from server.extensions.settings.routes import Settings
from server.json_types import Json

from ...api import fakes
from ...api.fakes import KEYS, TYPE, nothing
from .served import Served

SECRET = "sk-0123456789abcdef"
MAIN_AT = ["server", "providers", "main"]
MAIN = {"preset": "openai", "api_key": SECRET, "model_name": "m"}


class SettingsCase(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        logging.disable(logging.CRITICAL)
        self.addCleanup(logging.disable, logging.NOTSET)
        self.home = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.begin({"server": {"providers": {"main": MAIN}}})

    def begin(self, document: Any, env: dict[str, str] | None = None) -> None:
        (self.home / "config.json").write_text(json.dumps(document))
        self.live = Served(self.home, env or {})
        self.router = Router(Settings(self.live).routes(), nothing, Keys(KEYS))

    async def ask(self, method: str, body: Any = None, key: str = "a") -> fakes.Call:
        data = b"" if body is None else json.dumps(body).encode()
        fields = {**TYPE, "Authorization": f"Bearer {key * 20}"} if key else {}
        call = fakes.Call(method, "/settings", fields, data)
        await self.router(call.exchange)
        return call

    async def change(self, *changes: Json, revision: str | None = None) -> fakes.Call:
        if revision is None:
            revision = Settings(self.live).file.read().revision
        return await self.ask("PATCH", {"revision": revision, "changes": [*changes]})

    def written(self) -> Any:
        return json.loads((self.home / "config.json").read_text())

    async def test_only_owners_are_let_in(self) -> None:
        for key, status in (("a", 200), ("b", 403), ("", 401), ("c", 401)):
            for method, body in (("GET", None), ("PATCH", {"revision": "", "changes": []})):
                with self.subTest(key=key, method=method):
                    call = await self.ask(method, body, key)
                    wanted = 400 if (status, method) == (200, "PATCH") else status
                    self.assertEqual(call.status, wanted)
                    self.assertNotIn(SECRET, call.answer.decode())

    async def test_what_is_shown(self) -> None:
        self.begin({"server": {"providers": {"main": MAIN}, "api_keys": KEYS}}, {"YAA_PORT": "5"})
        call = await self.ask("GET")
        told = call.json
        hidden = {"secret": True, "tail": "…cdef"}
        self.assertEqual(told["file"]["server"]["providers"]["main"]["api_key"], hidden)
        self.assertEqual(told["effective"]["providers"]["main"]["api_key"], hidden)
        self.assertEqual(told["effective"]["port"], 5)
        self.assertEqual(told["fixed"], ["server.port"])
        self.assertEqual((told["writable"], told["why"]), (True, ""))
        for secret in (SECRET, "a" * 20, "b" * 20, str(self.home)):
            self.assertNotIn(secret, call.answer.decode())

    async def test_a_change_is_written_and_used(self) -> None:
        path = ["server", "providers", "main"]
        value = {**MAIN, "api_key": {"secret": True}, "model_name": "other"}
        call = await self.change({"path": path, "value": value})
        self.assertEqual(call.status, 200)
        self.assertEqual(
            self.written()["server"]["providers"]["main"], {**MAIN, "model_name": "other"}
        )
        self.assertEqual(self.live.renewed, 1)
        shown = call.json["effective"]["providers"]["main"]
        self.assertEqual(shown["model_name"], "other")
        self.assertNotIn(SECRET, call.answer.decode())

    async def test_another_change_came_first(self) -> None:
        old = Settings(self.live).file.read().revision
        change = {"path": ["server", "keep_days"], "value": 3}
        self.assertEqual((await self.change(change)).status, 200)
        call = await self.change(change, revision=old)
        self.assertEqual((call.status, call.json["code"]), (409, "revision_changed"))
        self.assertEqual(call.json["revision"], Settings(self.live).file.read().revision)

    async def test_a_wrong_change_changes_nothing(self) -> None:
        before = self.written()
        for change, pointer, words in (
            ({"path": ["server", "keep_days"], "value": -1}, "/server/keep_days", "from 0 to"),
            ({"path": ["server", "keepdays"], "value": 1}, "/server/keepdays", "keep_days"),
            ({"path": ["servr", "x"], "value": 1}, "", "server"),
            (
                {"path": ["server", "default_provider"], "value": "no"},
                "/server/default_provider",
                "main",
            ),
            ({"path": ["session", "config", "nothing"], "value": 1}, "/session/config", "nothing"),
            ({"path": [*MAIN_AT, "preset", "x"], "value": 1}, "/changes/0/path", "no object"),
            (
                {"path": ["server", "folders"], "value": {"secret": True}},
                "/changes/0/value",
                "secret",
            ),
        ):
            with self.subTest(change=change):
                call = await self.change(change)
                self.assertEqual(call.status, 422, call.answer)
                self.assertTrue(call.json["errors"][0]["pointer"].startswith(pointer))
                self.assertIn(words, call.answer.decode())
                self.assertNotIn(str(self.home), call.answer.decode())
        self.assertEqual((self.written(), self.live.renewed), (before, 0))

    async def test_bodies_of_another_shape(self) -> None:
        for body in (
            {},
            {"revision": "", "changes": []},
            {"revision": "", "changes": [{}]},
            {"revision": "", "changes": [{"path": ["server"], "value": 1}]},
            {"revision": "", "changes": [{"path": ["server", "port"]}]},
            {"revision": "", "changes": [{"path": ["server", 5], "value": 1}]},
            {"revision": "", "changes": [{"path": ["server", "a" * 201], "value": 1}]},
            {"revision": 5, "changes": [{"path": ["server", "port"], "value": 1}]},
        ):
            with self.subTest(body=body):
                self.assertEqual((await self.ask("PATCH", body)).status, 400)
        self.assertEqual(self.live.renewed, 0)

    async def test_a_key_is_not_sent_to_another_address(self) -> None:
        before = self.written()
        evil = "https://evil.example"
        for path, value, words in (
            (["server", "providers", "main", "api_url"], evil, "sent again"),
            (["server", "providers", "main"], {**MAIN, "api_url": evil}, "sent again"),
            (
                ["server", "providers", "e"],
                {"api_url": evil, "api_key": "${K}"},
                "names a variable",
            ),
        ):
            with self.subTest(path=path):
                self.begin(before, {"K": "of the environment"})
                call = await self.change({"path": path, "value": value})
                self.assertEqual((call.status, call.json["code"]), (422, "settings_invalid"))
                self.assertIn(words, call.json["detail"])
        self.assertEqual(self.written(), before)

    async def test_what_opens_the_machine_is_changed_on_it(self) -> None:
        folder = {
            "path": ["server", "folders", "notes"],
            "value": {"path": str(self.home), "mode": "read"},
        }
        command = {"path": ["server", "mcpServers", "x"], "value": {"command": "sh"}}
        own = {"path": ["server", "remote_administration"], "value": True}
        for server, status in (
            ({"hosts": ["yaa.example"]}, 403),
            ({"host": "0.0.0.0"}, 403),
            ({"auth_required": False, "cors_origins": []}, 403),
            ({"hosts": ["yaa.example"], "remote_administration": True}, 200),
            ({}, 200),
        ):
            for change in (folder, command, own):
                with self.subTest(server=server, change=change["path"]):
                    self.begin({"server": server})
                    if change is folder and status == 200:
                        continue  # the home folder cannot be given away; see test_config
                    call = await self.change(change)
                    self.assertEqual(call.status, status, call.answer)
        self.begin({"server": {"hosts": ["yaa.example"]}})
        harmless = {"path": ["server", "providers", "main"], "value": MAIN}
        self.assertEqual((await self.change(harmless)).status, 200)

    async def test_an_owners_key_over_the_network_reaches_nothing_of_the_machine(self) -> None:
        """Files, programs and addresses of the local network, by whatever key of the file."""
        mcp, main = ["server", "mcpServers", "x"], ["server", "providers", "x"]
        url = {"url": "https://8.8.8.8/mcp"}
        file = {"grant": "jwt_bearer", "clientId": "c", "assertionFile": "/etc/passwd"}
        inner = "http://127.0.0.1:9200"
        attacks: list[tuple[list[str], Any]] = [
            (mcp, {**url, "oauth": file}),
            (mcp, {**url, "auth": file}),
            (mcp, {"httpUrl": inner}),
            (mcp, {"serverUrl": "https://10.0.0.1"}),
            (mcp, {**url, "oauth": {"issuer": "https://192.168.0.1"}}),
            (["server", "mcpServers"], {"x": {"command": "sh"}}),
            (main, {"api_url": inner, "model_name": "m"}),
            (main, {"preset": "openai", "models": [{"name": "m", "api_url": inner}]}),
            (["server", "client_providers", "hosts"], ["*", "127.0.0.1"]),
            (["server", "log", "file"], "/srv/.bashrc"),
            (["server", "tools", "fetch_url"], {"allow": ["10.0.0.0/8"]}),
            (["server", "folder_roots"], ["/tmp"]),
        ]
        self.begin({"server": {"host": "0.0.0.0", "providers": {"main": MAIN}}})
        before = self.written()
        for path, value in attacks:
            with self.subTest(path=path, value=value):
                call = await self.change({"path": path, "value": value})
                self.assertEqual((call.status, call.json["code"]), (403, "forbidden"), call.answer)
                self.assertIn("remote_administration", call.json["detail"])
        self.assertEqual((self.written(), self.live.renewed), (before, 0))
        for path, value in (
            (main, {"api_url": "https://8.8.8.8/v1", "api_key": "k" * 20, "model_name": "m"}),
            (mcp, {**url, "headers": {"Authorization": "t"}, "oauth": False}),
            (["server", "keep_days"], 5),
        ):
            with self.subTest(path=path, value=value):
                call = await self.change({"path": path, "value": value})
                self.assertEqual(call.status, 200, call.answer)

    async def test_the_environment_is_not_shown(self) -> None:
        env = {"OPENAI_API_KEY": "sk-of-the-environment"}
        at = [*MAIN_AT, "model_name"]
        self.begin(
            {"server": {"providers": {"main": {**MAIN, "api_key": "${OPENAI_API_KEY}"}}}}, env
        )
        before = self.written()
        for path, value in (
            (at, "m-${OPENAI_API_KEY}"),
            (at, "${OPENAI_API_KEY}"),
            ([*MAIN_AT, "api_url"], "https://8.8.8.8/${OPENAI_API_KEY}/v1"),
            ([*MAIN_AT, "headers"], {"X": "a ${OPENAI_API_KEY}"}),
            (["server", "providers", "new"], {"preset": "openai", "api_key": "${OPENAI_API_KEY}"}),
            (["server", "default_provider"], "${OPENAI_API_KEY}"),
            (["server", "mcpServers", "x"], {"command": "true", "args": ["${OPENAI_API_KEY}"]}),
        ):
            with self.subTest(path=path, value=value):
                call = await self.change({"path": path, "value": value})
                self.assertEqual((call.status, call.json["code"]), (422, "settings_invalid"))
                self.assertIn("variable", call.json["detail"])
                self.assertNotIn(env["OPENAI_API_KEY"], call.answer.decode())
        self.assertEqual(self.written(), before)
        call = await self.change({"path": at, "value": "other"})
        self.assertEqual(call.status, 200, "the key is named as before")

    async def test_secrets_in_arguments_and_addresses_are_not_shown(self) -> None:
        secret = "a1B2c3D4e5F6g7H8i9"
        run = {"command": "true", "args": ["-y", "--api-key", secret, f"--token={secret}", "x"]}
        web = {"url": f"https://me:{secret}@8.8.8.8/mcp?page=2&api_key={secret}"}
        self.begin({"server": {"mcpServers": {"run": run, "web": web}}})
        call = await self.ask("GET")
        self.assertNotIn(secret, call.answer.decode())
        shown = call.json["file"]["server"]["mcpServers"]
        self.assertEqual(shown["run"]["args"], ["-y", "--api-key", "***", "--token=***", "x"])
        self.assertEqual(shown["web"]["url"], "https://me:***@8.8.8.8/mcp?page=2&api_key=***")
        for name, entry in shown.items():
            value = {**entry, "timeout": 5}
            call = await self.change({"path": ["server", "mcpServers", name], "value": value})
            self.assertEqual(call.status, 200, call.answer)
        kept = {"run": {**run, "timeout": 5}, "web": {**web, "timeout": 5}}
        self.assertEqual(self.written()["server"]["mcpServers"], kept)
        edits: list[tuple[list[str], Any]] = [
            (["run"], {**shown["run"], "args": ["--api-key", "***"]}),
            (["run", "args"], ["***"]),
            (["web", "url"], shown["web"]["url"].replace("8.8.8.8", "9.9.9.9")),
            (["new"], shown["web"]),
        ]
        for path, value in edits:
            with self.subTest(path=path, value=value):
                call = await self.change({"path": ["server", "mcpServers", *path], "value": value})
                self.assertEqual(call.status, 422, call.answer)
                self.assertIn("send the secret itself", call.json["detail"])

    async def test_a_file_that_cannot_be_changed(self) -> None:
        (self.home / "config.json").write_text("{ not JSON")
        call = await self.ask("GET")
        self.assertEqual((call.status, call.json["writable"], call.json["file"]), (200, False, {}))
        self.assertIn("not valid JSON", call.json["why"])
        call = await self.change({"path": ["server", "keep_days"], "value": 3}, revision="")
        self.assertEqual((call.status, call.json["code"]), (422, "settings_invalid"))
        self.assertEqual((self.home / "config.json").read_text(), "{ not JSON")
