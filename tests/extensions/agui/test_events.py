"""What an AG-UI client is told of our events, beside what they say already."""

from __future__ import annotations

import copy
import unittest
from dataclasses import replace
from typing import Any

from server.extensions.agui.request import AguiRequest, session_messages
from server.extensions.agui.routes import agui_events, cut_event
from server.json_types import Event
from server.lib.strict_json import loads
from server.session import events
from server.session.fold import fold

Json = Any

GIVEN = AguiRequest({}, "their-run", {"mine": 1}, {}, [], {})
SESSION: Json = {"id": "t", "messages": [], "calls": {}, "interrupts": [], "rev": 0, "title": "T"}
RUN: Any = {"id": "run_1"}


class Telling(unittest.TestCase):
    def setUp(self) -> None:
        self.session = copy.deepcopy(SESSION)

    def told(self, event: Event) -> list[Json]:
        before = copy.deepcopy(event)
        fold(self.session, event)
        found = agui_events(event, self.session, GIVEN)
        self.assertEqual(event, before)  # it is the run's own
        return copy.deepcopy(found)

    def test_the_run_has_the_name_the_client_gave_it(self) -> None:
        started, snapshot = self.told(events.run_started("t", RUN, 1))
        self.assertEqual((started["threadId"], started["runId"]), ("t", "their-run"))
        own = {**SESSION, "status": "in_progress", "run": RUN}
        del own["messages"]
        self.assertEqual(snapshot["snapshot"], {"mine": 1, "yaa": own})

    def test_the_model_changes_the_applications_state_and_nothing_else(self) -> None:
        state = {"recipe": {"salt": 1}, "a/b": 1}
        given = replace(GIVEN, state=state, shares=True)
        changes = {"recipe": {"salt": 2}, "a/b": None, "gone": None, "yaa": {"grants": [1]}}
        result: Any = {"status": "sent", "args": {"changes": changes}}
        event = events.tool_result("c", "state_set", "Sent", 7, result=result)
        fold(self.session, event)
        delta = agui_events(event, self.session, given)[-1]["delta"]
        wanted = [
            {"op": "add", "path": "/recipe", "value": {"salt": 2}},
            {"op": "remove", "path": "/a~1b"},
        ]
        self.assertEqual([each for each in delta if not each["path"].startswith("/yaa/")], wanted)
        self.assertEqual(state, {"recipe": {"salt": 2}})
        for other in (replace(given, shares=False), given):
            plain = events.tool_result("c", "state_set", "No", 7, state="denied")
            told = agui_events(plain if other.shares else event, self.session, other)[-1]["delta"]
            self.assertTrue(all(each["path"].startswith("/yaa/") for each in told))

    def test_a_thought_brings_the_time_of_its_message(self) -> None:
        start = events.think_start("r", "m", "reasoning", 7)[1]
        (event,) = agui_events(start, self.session, GIVEN)
        self.assertEqual(event["metadata"]["yaa"].pop("at"), 7)
        self.assertEqual(event, start)

    def test_most_events_are_as_they_are(self) -> None:
        for event in (
            events.text_delta("m", "a"),
            events.tool_args("c", "{"),
            events.step_started(1, 2),
            events.tool_output("c", "x", first=True),
            events.state_delta(events.put("title", value="U")),
            events.think_start("r", "m", "reasoning", 1)[0],
            events.run_wait({"awaits": "model", "waited_s": 5.0, "attempt": 1, "of": 4}),
        ):
            with self.subTest(event["type"]):
                self.assertEqual(agui_events(event, self.session, GIVEN), [event])

    def test_what_intake_filled_in_is_about_our_list(self) -> None:
        self.assertEqual(agui_events(events.ids_filled("x"), self.session, GIVEN), [])

    def test_a_change_inside_a_message_reaches_the_client(self) -> None:
        self.session["messages"] = [
            {"id": "u", "role": "user", "content": "go"},
            {"id": "m", "role": "assistant", "content": "Al", "open": True},
        ]
        rest: Any = [
            {"op": "replace", "path": "/1/content", "value": "All."},
            {"op": "remove", "path": "/1/open"},
        ]
        (event,) = self.told(events.messages_filled(rest))
        self.assertEqual(session_messages(event["messages"])[0], self.session["messages"])

    def test_a_message_is_marked_open_until_its_end(self) -> None:
        (start,) = self.told(events.text_start("m", 5))
        self.assertEqual(start["metadata"], {"yaa": {"open": True, "at": 5}})
        (end,) = self.told(events.text_end("m", {"model": "x"}, 9))
        self.assertEqual(end["metadata"], {"yaa": {"meta": {"model": "x"}, "at": 5}})

    def test_what_a_provider_wants_back_is_sealed_before_the_end(self) -> None:
        for event in (events.text_start("m", 5), events.tool_start("c", "f", "m")):
            self.told(event)
        self.assertEqual(self.told(events.tool_end("c")), [events.tool_end("c")])
        sealed, end = self.told(events.tool_end("c", extra={"sig": "é"}))
        self.assertEqual((sealed["subtype"], sealed["entityId"]), ("tool-call", "c"))
        self.assertEqual(loads(sealed["encryptedValue"]), {"yaa": {"extra": {"sig": "é"}}})
        self.assertEqual(end, events.tool_end("c"))
        details = [{"data": "QQ=="}]
        meta: Any = {"model": "x", "usage": {}}
        sealed, end = self.told(events.text_end("m", meta, 9, details))
        self.assertEqual((sealed["subtype"], sealed["entityId"]), ("message", "m"))
        marks = {"meta": {"model": "x"}, "reasoning_details": details}
        self.assertEqual(loads(sealed["encryptedValue"]), {"yaa": marks})
        self.assertEqual(end["metadata"], {"yaa": {"meta": meta, "at": 5}})

    def test_a_result_brings_its_ledger_entry(self) -> None:
        for event in (events.text_start("m", 1), events.tool_start("c", "f", "m")):
            fold(self.session, event)
        self.session["calls"]["c"] = {"name": "f", "state": "started"}
        self.session["interrupts"] = [{"id": "int-c", "reason": "tool_call", "call_id": "c"}]
        result, delta = self.told(events.tool_result("c", "f", "ok", 7))
        self.assertEqual(result["metadata"]["yaa"], {"name": "f", "state": "done", "at": 7})
        changed = {each["path"]: each["value"] for each in delta["delta"]}
        done = {"name": "f", "state": "done"}
        self.assertEqual(changed, {"/yaa/interrupts": [], "/yaa/calls/c": done})

    def test_ends(self) -> None:
        self.session["run"] = RUN
        event = events.run_finished(self.session, "completed", "completed", [], 1)
        delta, end = self.told(event)
        self.assertEqual((end["outcome"], end["runId"]), ({"type": "success"}, "their-run"))
        changed = {each["path"]: each["value"] for each in delta["delta"]}
        self.assertEqual(changed.pop("/yaa/rev"), end["result"]["rev"])
        done = {"/yaa/status": "completed", "/yaa/finish_reason": "completed"}
        self.assertEqual(changed, done)
        delta, end = self.told(events.run_error("No.", "upstream_error", message_id="e", rev=9))
        self.assertIn(events.put("rev", value=9), delta["delta"])
        self.assertEqual(end["message"], "No.")

    def test_what_clients_before_1_0_would_break_off_at(self) -> None:
        asked = {"id": "int-b", "reason": "client_tool", "call_id": "b"}
        self.session["interrupts"] = [asked]
        self.session["run"] = RUN
        end = events.run_finished(self.session, "interrupted", "awaiting", [], 9)
        for older, outcome in (
            (True, {"type": "success"}),
            (False, {"type": "success", "pendingToolCallIds": ["b"]}),
        ):
            *_, found = agui_events(end, self.session, replace(GIVEN, older=older))
            self.assertEqual(found["outcome"], outcome)

    def test_approvals_and_calls_of_the_application(self) -> None:
        schema = {"type": "object", "properties": {"approved": {}, "edited_args": {"x": 1}}}
        approval = {
            "id": "int-a",
            "reason": "tool_call",
            "call_id": "a",
            "response_schema": schema,
            "args": {"p": 1},
        }
        page = {"id": "int-b", "reason": "client_tool", "call_id": "b"}
        first = {"id": "int-d", "reason": "client_tool", "call_id": "d", "confirm": "always"}
        yes_or_no = {"approved": {"type": "boolean"}, "reason": {"type": "string"}}
        limit = {"id": "int-max_steps", "reason": "limit", "response_schema": schema}
        for asked, outcome in (
            ([page, approval], {"type": "success", "pendingToolCallIds": ["b"]}),
            ([first, page], {"type": "success", "pendingToolCallIds": ["b"]}),
            (
                [{**first, "tool": "where"}],
                {
                    "type": "interrupt",
                    "interrupts": [
                        {
                            "id": "int-d",
                            "reason": "tool_call",
                            "message": "Allow where? always",
                            "toolCallId": "d",
                            "responseSchema": {
                                "type": "object",
                                "properties": yes_or_no,
                                "required": ["approved"],
                            },
                            "metadata": {"yaa": {"confirm": "always", "tool": "where"}},
                        }
                    ],
                },
            ),
            (
                [approval, limit],
                {
                    "type": "interrupt",
                    "interrupts": [
                        {
                            "id": "int-a",
                            "reason": "tool_call",
                            "toolCallId": "a",
                            "responseSchema": {
                                "type": "object",
                                "properties": {"approved": {}, "editedArgs": {"x": 1}},
                            },
                            "metadata": {"yaa": {"args": {"p": 1}}},
                        },
                        {"id": "int-max_steps", "reason": "yaa:limit", "responseSchema": schema},
                    ],
                },
            ),
        ):
            with self.subTest(outcome["type"]):
                session: Any = {**self.session, "run": RUN, "interrupts": asked}
                event = events.run_finished(session, "interrupted", "awaiting", [], 1)
                self.assertEqual(agui_events(event, session, GIVEN)[-1]["outcome"], outcome)

    def test_a_server_that_stops_says_so(self) -> None:
        self.assertEqual(cut_event()["type"], "RUN_ERROR")


if __name__ == "__main__":
    unittest.main()
