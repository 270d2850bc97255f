"""The how-to of the phone that allows in the morning, tried as it stands."""

from __future__ import annotations

import json
import shutil
import subprocess
import unittest
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from server.extensions.keeper.alerts import read_ways
from server.extensions.keeper.session_keys import read_schedule
from server.lib.http.client import Client

from ...test_docs import DOCS, fenced
from ...tooling.child import Yaa
from .test_alerts import Notified

PAGE = (DOCS / "howto" / "phone-allows.md").read_text()
MISSING = [name for name in ("bash", "curl") if not shutil.which(name)]


@unittest.skipIf(MISSING, f"needs {', '.join(MISSING)}")
class HowTo(Notified):
    def setUp(self) -> None:
        super().setUp()
        self.model.calls = 1
        ntfy, self.mail, self.night, self.trial = (
            json.loads(text) for _, text in fenced(PAGE, "json")
        )
        way = self.config["keeper"]["notices"]["ways"]["phone"]["url"]
        self.notices: Any = ntfy["server"]["keeper"]["notices"]
        self.assertTrue(self.notices["ways"]["phone"]["url"].startswith("https://ntfy.sh/"))
        self.notices["ways"]["phone"]["url"] = way
        self.config["keeper"]["notices"] = self.notices

    def shell(self, yaa: Yaa) -> None:
        """The commands of the page, in a folder with its files."""
        for name, document in (("night", self.night), ("try", self.trial)):
            (self.home / f"{name}.json").write_text(json.dumps(document))
        text = "\n".join(text for _, text in fenced(PAGE, "bash"))
        first = "YAA=http://127.0.0.1:12345 KEY=$(cat ~/.yaa/key)"
        self.assertTrue(text.startswith(first), text)
        text = text.replace(first, f"set -e\nYAA={yaa.url} KEY=$(cat {self.home}/key)")
        done = subprocess.run(
            ["bash", "-c", text], cwd=self.home, capture_output=True, text=True, check=False
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)

    def test_the_phone_allows_what_stopped(self) -> None:
        with self.server() as yaa:
            self.shell(yaa)
            asked = self.notice(1)
            self.assertEqual((asked["title"], asked["message"]), self.said())
            self.rest(yaa, "try")
        with self.server() as yaa:  # it was restarted meanwhile
            status, page = self.press(yaa, asked["click"])
            self.assertEqual(status, 200, page)
            self.assertIn("Allow this call", page)
            self.assertEqual(self.executions("try"), [])
            status, page = self.press(yaa, asked["click"], "POST", "decision=allow")
            self.assertEqual(status, 200, page)
            self.assertEqual(self.notice(2)["title"], "A session has ended")
            self.assertEqual(self.rest(yaa, "try")["status"], "completed")
            self.assertEqual(self.executions("try"), [1])
            kept = self.ask(yaa, "GET", "night")
        self.assertEqual(kept["messages"], [], "the night has not come")

    def said(self) -> tuple[str, str]:
        return "A session asks before it goes on", "Tool: mark"

    def test_the_schedule_is_due_at_three_there(self) -> None:
        keys = self.night["ext"]["keeper"]["schedule"]
        schedule = read_schedule(keys, datetime(1970, 1, 1, tzinfo=UTC))
        now = datetime(2026, 10, 24, 12, tzinfo=UTC)  # clocks are put back in the night after it
        for day in range(1, 4):
            due = schedule.after(now)
            assert due is not None
            local = due.astimezone(ZoneInfo("Europe/Berlin"))
            self.assertEqual((local.day, local.hour, local.minute), (24 + day, 3, 0))
            now = due + timedelta(seconds=1)

    def test_the_way_by_mail_can_be_used(self) -> None:
        notices = self.mail["server"]["keeper"]["notices"]
        client: Any = object.__new__(Client)
        problems: list[str] = []
        self.assertEqual([*read_ways(notices["ways"], client, problems)[""]], ["post"])
        self.assertEqual(problems, [])


del Notified
