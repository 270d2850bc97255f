"""No room on the server's disk, for a client that has a thread."""

from __future__ import annotations

import unittest
from typing import Any

from server.extensions.agui import request
from server.lib.strict_json import loads
from server.session import snapshot
from server.session.fold import Folder
from server.tools.runner import ToolRunner

from ....chaos.test_full_disk import SmallDisks, asked


class Full(SmallDisks):
    def test_claims_of_an_agui_thread(self) -> None:
        """It goes on with the messages and the state that its client has."""
        claims = self.disk("claims", "nr_inodes=1")
        api, first = self.serve(), asked(21)
        given = {"threadId": "s21", "runId": "r", "messages": first["messages"]}
        given["forwardedProps"] = {"yaa": {"config": first["config"]}}
        for room in (False, True):
            status, text = api.request("POST", "/agui/default", given, accept="text/event-stream")
            self.assertEqual(status, 200)
            self.assertEqual('"code":"claim_failed"' in text, not room, text)
            session: Any = request.read(given, "default").session
            folder = Folder(session)
            for line in text.splitlines():
                if line.startswith("data: "):
                    folder.apply(loads(line.removeprefix("data: ")))
            folder.flush()
            self.grow(claims)
            messages = snapshot.events(session)[2]["messages"]
            messages = [each for each in messages if each["role"] != "activity"]
            state = {key: value for key, value in session.items() if key != "messages"}
            given = {
                "threadId": "s21",
                "runId": "r2",
                "messages": messages,
                "state": {"yaa": state},
            }
        self.assertEqual(session["status"], "completed")
        self.assertEqual((ToolRunner(self.home).folder("s21") / "count").read_text(), "ran\n")


if __name__ == "__main__":
    unittest.main()
