"""The owner's files under docs/examples: they load, they are described, and each tool does it."""

from __future__ import annotations

import json
import unittest
from datetime import date
from typing import Any

from server.tools.base import Tool
from server.tools.toolbox import Toolbox

from .. import proofs
from ..fakes import DEFAULTS
from ..tooling.tools import ROOT
from .test_toolbox import Case

FILE = ROOT / "docs" / "examples" / "demo_tools.py"


class Examples(Case):
    async def asyncSetUp(self) -> None:
        self.box: Toolbox = self.toolbox()
        sandbox = DEFAULTS["server"]["sandbox"]
        await self.box.open(proof=proofs.known(sandbox))
        proofs.keep(sandbox, self.box.proof)
        self.addAsyncCleanup(self.box.close)
        self.found = await self.box.load(FILE)

    async def ask(self, name: str, arguments: Any) -> dict[str, Any]:
        """The envelope of a call."""
        found = await self.execute(self.box, name, arguments)
        envelope: dict[str, Any] = found[-1]["metadata"]["yaa"]["result"]
        return envelope

    async def test_all_of_it_can_be_used(self) -> None:
        names = [t.name for t in self.found if isinstance(t, Tool)]
        self.assertEqual(
            sorted(names),
            sorted(
                ["city_datetime", "mock_city_weather", "Ops_mock_runbook", "Ops_bash"]
                + ["mock_sensitive_data_detector"]
            ),
            self.found,
        )
        for tool in self.found:
            assert isinstance(tool, Tool), tool
            self.assertTrue(tool.description and tool.read_only, tool.name)
            self.assertEqual(tool.keep, 3 if tool.name.startswith("Ops") else None)

    async def test_a_weather_for_tomorrow(self) -> None:
        moment = await self.ask("city_datetime", {"city": "Tokyo"})
        self.assertEqual(moment["result"]["zone"], "Asia/Tokyo")
        date.fromisoformat(moment["result"]["date"])
        nowhere = await self.ask("city_datetime", {"city": "Nowhere"})
        self.assertEqual(nowhere["result"]["zone"], "UTC")
        first = {**self.call("city_datetime", {"city": "Tokyo"}), "id": "c0"}
        answer = {"role": "tool", "tool_call_id": "c0", "name": "city_datetime"}
        self.session["messages"] = [
            {"role": "assistant", "tool_calls": [first]},
            {**answer, "result": {"status": "ok", "result": {"date": "2026-02-28"}}},
        ]
        asked = {"city": "Tokyo", "date": "{{city_datetime.date+1d}}"}
        weather = await self.ask("mock_city_weather", asked)
        self.assertEqual(weather["result"]["date"], "2026-03-01")
        again = await self.ask("mock_city_weather", {"city": " tokyo", "date": "2026-03-01"})
        same = ("sky", "celsius")
        self.assertEqual(*({k: each["result"][k] for k in same} for each in (weather, again)))

    async def test_a_runbook_to_download(self) -> None:
        envelope = await self.ask("Ops_mock_runbook", {"service": "shop", "symptom": "504"})
        self.assertEqual((envelope["logs"], envelope["keep"]), (["looking up shop"], 3))
        (attached,) = envelope["attachments"]
        self.assertEqual((attached["path"], attached["name"]), ("runbook.md", "runbook shop.md"))
        self.assertEqual(attached["media_type"], "text/markdown")

    async def test_the_small_shell_reaches_nothing_outside(self) -> None:
        made = "mkdir sub; echo hello > sub/f; ln -s /etc/passwd out; ln -s /etc etc"
        await self.ask("shell", {"command": made})
        good = await self.ask("Ops_bash", {"command": "cat sub/f"})
        self.assertEqual(good["result"]["stdout"], "hello\n")
        self.assertTrue((await self.ask("Ops_bash", {"command": "ls -l"}))["result"]["ok"])
        for command in (
            "cat ../../etc/passwd",
            "cat /etc/passwd",
            "cat out",
            "cat etc/passwd",
            "df /",
            "cat sub/f; cat /etc/passwd",
            "cat sub/f | head /etc/passwd",
            "ls --help=/etc",
            "sh -c ls",
            "",
        ):
            with self.subTest(command):
                envelope = await self.ask("Ops_bash", {"command": command})
                self.assertEqual(envelope["status"], "error", envelope)
                self.assertNotIn("root:", json.dumps(envelope))

    async def test_what_must_not_leak(self) -> None:
        text = "ann@example.org, 4111 1111 1111 1111, not 4111 1111 1111 1112. +44 20 7946 0958"
        envelope = await self.ask("mock_sensitive_data_detector", {"text": text})
        kinds = [finding["kind"] for finding in envelope["result"]]
        self.assertEqual(kinds, ["email", "card", "phone"])
        self.assertEqual(envelope["result"][0]["shown"], "an…rg")


if __name__ == "__main__":
    unittest.main()
