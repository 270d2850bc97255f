"""`/settings/keys`: keys for others, what the file keeps of them, and who owns the server after."""

from __future__ import annotations

import hashlib
import json
import tempfile
import unittest
from pathlib import Path
from typing import Any

from server.api.auth import Keys, owners
from server.api.router import Router
from server.api.sign_in_codes import SignInCodes
from server.errors import Problem
from server.extensions.settings.key_routes import SettingsKeys, with_key, without_keys
from server.extensions.settings.routes import Settings

from ...api import fakes
from ...api.fakes import KEYS, TYPE, nothing
from .served import Served

HASH = "blake2b:" + "0" * 128


class Case(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        self.home = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.begin({"server": {}})

    def begin(self, document: Any, env: dict[str, str] | None = None) -> None:
        (self.home / "config.json").write_text(json.dumps(document))
        self.live = Served(self.home, env or {})
        self.router = Router(SettingsKeys(Settings(self.live)).routes(), nothing, Keys(KEYS))

    def written(self) -> Any:
        return json.loads((self.home / "config.json").read_text())

    async def ask_at(self, method: str, path: str, body: Any = None, key: str = "a") -> fakes.Call:
        data = b"" if body is None else json.dumps(body).encode()
        fields = {**TYPE, "Authorization": f"Bearer {key * 20}"} if key else {}
        call = fakes.Call(method, path, fields, data)
        await self.router(call.exchange)
        return call

    async def make(self, by: str = "a", **body: Any) -> fakes.Call:
        return await self.ask_at("POST", "/settings/keys", body, by)

    async def delete(self, name: str, key: str = "a") -> fakes.Call:
        return await self.ask_at("DELETE", f"/settings/keys/{name}", None, key)


class Making(Case):
    async def test_a_key_is_told_once_and_works(self) -> None:
        made = await self.make(name="Zoë", limits={"max_runs": 2})
        self.assertEqual(made.status, 201)
        key = made.json["key"]
        code = made.json["link"].removeprefix("/#code=")
        self.assertEqual(SignInCodes(self.home).redeem(code), key)
        (entry,) = self.written()["server"]["api_keys"]
        digest = "blake2b:" + hashlib.blake2b(key.encode()).hexdigest()
        self.assertEqual(entry, {"name": "Zoë", "key": digest, "limits": {"max_runs": 2}})
        self.assertNotIn(key, (self.home / "config.json").read_text())
        self.assertEqual(self.live.renewed, 1)
        keys = Keys(self.live.config.server["api_keys"], "made" * 6)
        found = keys.check({"yaa-api-key": key})
        self.assertEqual((found.name, found.is_owner), ("Zoë", False))
        self.assertEqual(keys.rules({}).terms("Zoë", "runs").own, 2)
        self.assertTrue(keys.check({"yaa-api-key": "made" * 6}).is_owner, "nobody is locked out")
        again = (await self.make(name="other")).json["key"]
        self.assertNotEqual(again, key)

    async def test_the_first_key_leaves_the_owners_valid(self) -> None:
        await self.make(name="bob")
        self.assertIs(self.written()["server"]["home_key"], True)

    async def test_names_and_bodies(self) -> None:
        await self.make(name="bob")
        before = self.written()
        for body in (
            *({}, {"name": ""}, {"name": " bob"}, {"name": "a\nb"}, {"name": "x" * 65}),
            *({"name": "home"}, {"name": "key-1"}, {"name": "Key-0123456789abcdef"}),
            *({"name": "bob"}, {"name": "a", "owner": "yes"}, {"name": "a", "key": HASH}),
            *({"name": "a", "limits": {"no": 1}}, {"name": "a", "limits": {"max_runs": -1}}),
            {"name": "a\u202eb"},
        ):
            with self.subTest(body):
                call = await self.make(**body)
                self.assertIn(call.status, (400, 422))
                self.assertEqual(self.written(), before)

    async def test_only_owners(self) -> None:
        for key, status in (("b", 403), ("c", 401), ("", 401)):
            self.assertEqual((await self.make(key, name="eve")).status, status)
            self.assertEqual((await self.delete("ann", key)).status, status)
        self.assertNotIn("api_keys", self.written()["server"])

    async def test_where_keys_have_no_effect(self) -> None:
        for document, env, words in (
            ({"server": {"auth_required": False}}, {}, "auth_required is false"),
            ({}, {"YAA_API_KEYS": "a" * 20}, "set by a variable"),
        ):
            self.begin(document, env)
            with self.subTest(words):
                for call in (await self.make(name="bob"), await self.delete("bob")):
                    self.assertEqual((call.status, call.json["code"]), (422, "settings_invalid"))
                    self.assertIn(words, call.json["detail"])
                self.assertEqual(self.written(), document)


class Deleting(Case):
    async def test_keys_of_a_name(self) -> None:
        rows = [{"name": "ann", "key": "a" * 20, "owner": True}, {"name": "bob", "key": "b" * 20}]
        self.begin({"server": {"api_keys": [*rows, {"name": "bob", "key": "c" * 20}]}})
        gone = await self.delete("bob")
        self.assertEqual((gone.status, gone.json), (200, {"deleted": "bob"}))
        self.assertEqual(self.written()["server"]["api_keys"], rows[:1])
        for name, status in (("bob", 404), ("", 405), ("ann", 403), ("..%2fann", 404)):
            with self.subTest(name):
                self.assertEqual((await self.delete(name)).status, status)
        self.assertEqual(self.written()["server"]["api_keys"], rows[:1])


class Owners(unittest.TestCase):
    def test_a_new_key_changes_no_owner(self) -> None:
        ann, bob = {"name": "ann", "key": HASH}, {"name": "bob", "key": "b" * 20}
        marked = {**ann, "owner": True}
        new = {"name": "eve", "key": "e" * 20}
        cases: list[tuple[list[Any], bool]] = [
            *(([], False), ([ann], False), ([marked], False), ([marked, bob], False)),
            *((["plain-key-0123456789"], False), ([ann], True), ([ann, bob], True)),
            ([{**ann}, {"name": "ann", "key": "2" * 20}], False),
        ]
        for entries, home_key in cases:
            with self.subTest(entries, home_key=home_key):
                server = {"api_keys": entries, **({"home_key": True} if home_key else {})}
                after = with_key({"server": server}, new)["server"]
                is_valid = home_key or not entries
                old = owners(entries, home_key=is_valid)
                now = owners(after["api_keys"], home_key=after.get("home_key", False))
                self.assertEqual(now, old)
                self.assertNotIn("eve", now)
                self.assertEqual(server["api_keys"], entries, "the given document is unchanged")

    def test_a_new_owner_is_one_more(self) -> None:
        new = {"name": "eve", "key": "e" * 20, "owner": True}
        after = with_key({"server": {"api_keys": [{"name": "ann", "key": HASH}]}}, new)["server"]
        self.assertEqual(owners(after["api_keys"]), {"", "ann", "eve"})

    def test_documents_that_are_no_settings(self) -> None:
        documents: list[Any] = [{"server": 5}, {"server": {"api_keys": {}}}]
        for document in documents:
            changes: list[Any] = [without_keys, lambda told, name: with_key(told, {"name": name})]
            for change in changes:
                with self.subTest(document), self.assertRaises(Problem):
                    change(document, "bob")


if __name__ == "__main__":
    unittest.main()
