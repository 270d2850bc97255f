"""`/settings/folders`, `/settings/try/folder`: names of folders below roots, nothing else."""

from __future__ import annotations

import json
import os
import tempfile
import unittest
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from server.api.auth import Keys
from server.api.router import Router
from server.extensions.settings.folder_routes import SettingsFolders, names_in, why_unusable

from ...api import fakes
from ...api.fakes import KEYS, TYPE, nothing

ALONE = {"auth_required": True, "remote_administration": False, "host": "127.0.0.1", "hosts": []}


class Case(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        self.base = Path(self.enterContext(tempfile.TemporaryDirectory())).resolve()
        for path in ("root/a/deep", "root/b", "root/.hidden/in", "root-of-others/c", "outside"):
            (self.base / path).mkdir(parents=True)
        (self.base / "root" / "file").write_text("secret words")
        (self.base / "root" / "link").symlink_to(self.base / "outside")
        self.root = str(self.base / "root")

    async def ask(self, path: str = "", key: str = "a", **server: Any) -> Any:
        made = SettingsFolders({**ALONE, "folder_roots": [self.root], **server})
        target = "/settings/folders" + (f"?{urlencode({'path': path})}" if path else "")
        call = fakes.Call("GET", target, {"Authorization": f"Bearer {key * 20}"}, b"")
        await Router(made.routes(), nothing, Keys(KEYS))(call.exchange)
        return call

    async def names(self, path: str, **server: Any) -> Any:
        call = await self.ask(path, **server)
        return call.json["folders"] if call.status == 200 else call.status

    async def test_names_of_folders_and_nothing_else(self) -> None:
        self.assertEqual(await self.names(""), [self.root])
        self.assertEqual(await self.names("", folder_roots=[]), [])
        found = (await self.ask(self.root)).json
        wanted = {"path": self.root, "parent": "", "folders": ["a", "b"], "more": False}
        self.assertEqual(found, wanted, "no file, no link, nothing hidden")
        deeper = (await self.ask(f"{self.root}/a")).json
        self.assertEqual((deeper["folders"], deeper["parent"]), (["deep"], self.root))

    async def test_what_is_not_below_a_root_is_not_there(self) -> None:
        outside = (
            str(self.base), f"{self.root}/..", f"{self.root}/../outside", f"{self.root}/link",
            f"{self.root}-of-others", f"{self.root}/.hidden", f"{self.root}/a/../.hidden/in", "/",
            "~nobody-here", "a", f"{self.root}/none", f"{self.root}/file", "/proc/self/root",
        )  # fmt: skip
        for path in outside:
            with self.subTest(path):
                call = await self.ask(path)
                self.assertEqual(call.status, 404)
                self.assertNotIn(str(self.base), json.dumps(call.json))
        self.assertEqual(await self.names(self.root, folder_roots=[]), 404)

    def test_a_large_folder(self) -> None:
        found = names_in([self.root], self.root, 1)
        self.assertEqual((found["folders"], found["more"]), (["a"], True))

    async def test_only_who_may_open_the_machine(self) -> None:
        for server, key, status in (
            ({}, "a", 200),
            ({}, "b", 403),  # no owner
            ({"host": "0.0.0.0"}, "a", 403),
            ({"hosts": ["yaa.example"]}, "a", 403),
            ({"host": "0.0.0.0", "remote_administration": True}, "a", 200),
            ({"auth_required": False}, "a", 403),
        ):
            with self.subTest(server=server, key=key):
                self.assertEqual((await self.ask("", key, **server)).status, status)

    async def test_a_path_is_tried(self) -> None:
        made = SettingsFolders({**ALONE, "folder_roots": []})
        for path, words in (
            (self.root, ""), (f"{self.root}/none", "no such folder"),
            (f"{self.root}/file", "a file"),
            ("a", "begins with /"), ("~nobody-here/x", "looked into"),
        ):  # fmt: skip
            with self.subTest(path):
                data = json.dumps({"path": path}).encode()
                fields = {**TYPE, "Authorization": f"Bearer {'a' * 20}"}
                call = fakes.Call("POST", "/settings/try/folder", fields, data)
                await Router(made.routes(), nothing, Keys(KEYS))(call.exchange)
                self.assertEqual((call.status, call.json["ok"]), (200, not words))
                self.assertIn(words, call.json.get("problem", {}).get("detail", ""))
        if os.geteuid():
            (self.base / "outside").chmod(0)
            self.assertIn("Permission denied", why_unusable(str(self.base / "outside")))


if __name__ == "__main__":
    unittest.main()
