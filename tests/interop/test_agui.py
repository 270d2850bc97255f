"""Our streams are AG-UI 1.0 for readers that others wrote, and fold to the same messages there."""

from __future__ import annotations

import copy
import unittest
from contextlib import ExitStack
from typing import Any

from server.lib.http import sse
from server.session import events, snapshot
from server.session.fold import Folder

from ..bench.peers import config, start
from ..tooling import tools
from ..tooling.api import Api
from ..tooling.child import Yaa

NEEDED = (
    tools.module("ag_ui"),
    tools.module("ag_ui_validate"),
    tools.package("@ag-ui/client"),
)
if all(tool.path for tool in NEEDED):
    from . import agui_peers as peers

Json = Any

USER = {"id": "m1", "role": "user", "content": "What is in the note? Then delete it. 你好"}
SESSION: Any = {
    "id": "ses_1",
    "messages": [USER],
    "status": "in_progress",
    "rev": 0,
    "calls": {},
    "interrupts": [],
}


def first_run() -> list[Any]:
    """Thinking, text, two calls; one runs and prints, the other waits for its approval."""
    interrupt: Any = {
        "id": "int-c2",
        "reason": "tool_call",
        "call_id": "c2",
        "message": "delete_file wants to run",
        "response_schema": {"type": "object", "properties": {"approved": {"type": "boolean"}}},
        "tool": "delete_file",
        "args": {"path": "note"},
    }
    run: Any = {"id": "run_1", "message": "m1", "step": 0}
    state: Any = {key: value for key, value in SESSION.items() if key != "messages"}
    return [
        events.run_started("ses_1", run, 1),
        events.state_snapshot(state | {"run": run}),
        events.step_started(1, 2),
        *events.think_start("r1", "m2", "reasoning_content", 1),
        events.think_delta("r1", "Read, "),
        events.think_delta("r1", "then delete."),
        *events.think_end("r1"),
        events.text_start("m2", 3),
        events.text_delta("m2", "I will look. "),
        events.text_delta("m2", "好\n"),
        events.tool_start("c1", "read_file", "m2"),
        events.tool_args("c1", '{"path":'),
        events.tool_args("c1", '"note"}'),
        events.tool_end("c1"),
        events.tool_start("c2", "delete_file", "m2"),
        events.tool_args("c2", '{"path":"note"}'),
        events.tool_end("c2", extra={"thought_signature": "x"}),
        events.text_end("m2", {"model": "test", "finish_reason": "tool_calls"}, 4),
        events.state_delta(events.put("calls", "c1", value={"name": "read_file"})),
        events.tool_exec("c1", [events.put("calls", "c1", "state", value="started")], 5),
        events.tool_output("c1", "line 1\n", first=True),
        events.tool_output("c1", "line 2\n", first=False),
        events.tool_result("c1", "read_file", "line 1\nline 2\n", 6),
        events.state_delta(events.put("interrupts", value=[interrupt])),
        events.step_finished("step 1", 7),
        events.run_finished(
            SESSION | {"run": run, "interrupts": [interrupt]},
            "interrupted",
            "awaiting",
            [{"model": "test", "inputTokens": 10, "outputTokens": 5, "totalTokens": 15}],
            8,
        ),
    ]


def second_run() -> list[Any]:
    """The approval's answer: only a result for the old call, then a closing text."""
    run: Any = {"id": "run_2", "message": "m1", "step": 1}
    return [
        events.run_started("ses_1", run, 9),
        events.step_started(2, 10),
        events.tool_exec("c2", [events.put("calls", "c2", value={"state": "started"})], 11),
        events.tool_result("c2", "delete_file", "no such file", 12, state="failed", is_error=True),
        events.state_delta(events.put("interrupts", value=[])),
        events.text_start("m3", 13),
        events.text_delta("m3", "It was gone."),
        events.text_end("m3", {"model": "test", "finish_reason": "stop"}, 14),
        events.step_finished("step 2", 15),
        events.run_finished(SESSION | {"run": run}, "completed", "completed", [], 16),
    ]


def broken_run() -> list[Any]:
    """A run that ends in the middle of an answer."""
    run: Any = {"id": "run_3", "message": "m1", "step": 1}
    return [
        events.run_started("ses_1", run, 1),
        events.step_started(1, 2),
        events.text_start("m2", 3),
        events.text_delta("m2", "It wa"),
        events.run_error("The model hung up.", "upstream_error", message_id="m3", rev=1),
    ]


def stream(run: list[Any]) -> str:
    """The frames of a run, with a sign of life in between."""
    frames = [
        sse.encode(events.dumps(event), events.alias(event), f"run/{number}")
        for number, event in enumerate(run)
    ]
    frames.insert(len(frames) // 2, sse.comment("ping"))
    return b"".join(frames).decode()


def fold(*runs: list[Json]) -> Any:
    session = copy.deepcopy(SESSION)
    folder = Folder(session)
    for event in [event for run in runs for event in run]:
        folder.apply(copy.deepcopy(event))
    folder.flush()
    return session


@tools.needs(*NEEDED)
class Constructed(unittest.TestCase):
    """Every constructor of server/session/events.py, in the orders a run has them."""

    def test_events_have_the_official_shape(self) -> None:
        for run in (first_run(), second_run(), broken_run()):
            self.assertEqual(peers.model_errors(stream(run)), [])

    def test_every_event_type_occurs(self) -> None:
        """So that the tests here speak of all of them."""
        said = {event["type"] for run in (first_run(), broken_run()) for event in run}
        said |= {event["type"] for event in snapshot.events(fold(first_run()))}
        self.assertEqual(set(events.ALIASES) - said, {"CUSTOM"})

    def test_runs_are_lawful(self) -> None:
        self.assertEqual(peers.rule_errors(stream(first_run())), [])
        self.assertEqual(peers.rule_errors(stream(second_run()), earlier_calls=("c2",)), [])
        self.assertEqual(peers.rule_errors(stream(broken_run())), [])

    def test_the_validators_do_find_what_is_wrong(self) -> None:
        run = [event for event in first_run() if event["type"] != "TEXT_MESSAGE_END"]
        self.assertNotEqual(peers.rule_errors(stream(run)), [])
        run = [{**event, "timestamp": None} for event in second_run()]
        self.assertNotEqual(peers.model_errors(stream(run)), [])

    def test_the_official_client_agrees_about_messages(self) -> None:
        resume = [{"interruptId": "int-c2", "status": "resolved", "payload": {"approved": True}}]
        runs: list[Json] = [
            {"runId": "run_1", "stream": stream(first_run())},
            {"runId": "run_2", "stream": stream(second_run()), "resume": resume},
        ]
        for cut in (7, 100_000):
            with self.subTest(cut=cut):
                found = peers.replay(SESSION, runs, cut)
                self.assertEqual(found["warnings"], [])
                self.assertEqual([run.get("error") for run in found["runs"]], [None, None])
                self.assertEqual([r["outcome"] for r in found["runs"]], ["interrupt", "success"])
                ours = fold(first_run(), second_run())["messages"]
                wanted = [peers.agui_message(message) for message in ours]
                self.assertEqual(peers.shown(found["messages"]), wanted)
                self.assertEqual(found["pending"], [])

    def test_a_stored_session_is_shown_by_the_official_client(self) -> None:
        asked, done, broken = fold(first_run()), fold(first_run(), second_run()), fold(broken_run())
        for session, outcome in ((asked, "interrupt"), (done, "success"), (broken, "success")):
            recording = stream(snapshot.events(session))
            self.assertEqual(peers.model_errors(recording), [])
            self.assertEqual(peers.rule_errors(recording), [])
            empty = {"id": session["id"], "messages": []}
            found = peers.replay(empty, [{"runId": "any", "stream": recording}])
            self.assertEqual(found["warnings"], [])
            self.assertEqual([run.get("error") for run in found["runs"]], [None])
            self.assertEqual(found["runs"][0]["outcome"], outcome)
            people = [m for m in session["messages"] if m["role"] != "error"]
            wanted = [peers.agui_message(message) for message in people]
            self.assertEqual(peers.shown(found["messages"]), wanted)
            thoughts = [m["content"] for m in found["messages"] if m["role"] == "reasoning"]
            texts = [m["reasoning"]["text"] for m in people if "reasoning" in m]
            self.assertEqual(thoughts, texts)
            self.assertEqual(found["state"]["yaa"]["calls"], session["calls"])
            self.assertEqual(len(found["pending"]), len(session["interrupts"]))

    def test_the_official_client_agrees_about_state(self) -> None:
        found = peers.replay(SESSION, [{"runId": "run_1", "stream": stream(first_run())}])
        ours = fold(first_run())
        self.assertEqual(found["state"]["yaa"]["interrupts"], ours["interrupts"])
        # That a call is done is said by its result, which is no state for AG-UI.
        self.assertEqual(found["state"]["yaa"]["calls"]["c1"]["state"], "started")
        self.assertEqual([item["id"] for item in found["pending"]], ["int-c2"])

    def test_the_official_client_shows_a_broken_run(self) -> None:
        found = peers.replay(SESSION, [{"runId": "run_3", "stream": stream(broken_run())}])
        self.assertEqual(found["runs"][0].get("runError"), "The model hung up.")


@tools.needs(*NEEDED)
class Recorded(unittest.TestCase):
    """Runs of the server as it is started, with a scripted model: a call that waits, resumed."""

    def test_a_run_that_is_resumed(self) -> None:
        first, asked = self.recorded(asking())
        (interrupt,) = asked["interrupts"]
        interrupt["answer"] = {"status": "resolved", "payload": {"approved": True}}
        second, done = self.recorded(copy.deepcopy(asked))
        self.assertEqual(done["status"], "completed")
        call = interrupt["call_id"]
        for recording, earlier in ((first, ()), (second, (call,))):
            self.assertEqual(peers.model_errors(recording), [])
            self.assertEqual(peers.rule_errors(recording, earlier), [])
        resume = [{"interruptId": interrupt["id"], **interrupt["answer"]}]
        runs: list[Json] = [
            {"runId": "run_1", "stream": first},
            {"runId": "run_2", "stream": second, "resume": resume},
        ]
        found = peers.replay(asking(), runs)
        self.assertEqual(found["warnings"], [])
        self.assertEqual([run.get("error") for run in found["runs"]], [None, None])
        self.assertEqual([run["outcome"] for run in found["runs"]], ["interrupt", "success"])
        wanted = [peers.agui_message(message) for message in done["messages"]]
        self.assertEqual(peers.shown(found["messages"]), wanted)
        for key in ("usage", "title"):
            self.assertEqual(found["state"]["yaa"].get(key), done.get(key), key)

    def test_a_run_that_a_person_ends(self) -> None:
        """A call that is refused, and one that a new message overtakes, are closed."""
        _, asked = self.recorded(asking())
        refused = copy.deepcopy(asked)
        payload = {"approved": False, "reason": "not today"}
        refused["interrupts"][0]["answer"] = {"status": "resolved", "payload": payload}
        overtaken = copy.deepcopy(asked)
        overtaken["messages"].append({"id": "n", "role": "user", "content": SHORT})
        for session in (refused, overtaken):
            call = asked["interrupts"][0]["call_id"]
            recording, done = self.recorded(session)
            self.assertEqual(peers.model_errors(recording), [])
            self.assertEqual(peers.rule_errors(recording, (call,)), [])
            self.assertIn(done["calls"][call]["state"], ("denied", "skipped"))

    def test_the_tour_of_the_demo_model(self) -> None:
        """Thinking, text, a tool that reads, one that is approved and prints, a question."""
        yaa = self.enterContext(Yaa({"server": {"discover": False}}))
        sent: Json = {"id": "ses-tour", "messages": [{"id": "u", "role": "user", "content": "hi"}]}
        session, runs, calls = copy.deepcopy(sent), list[Json](), list[str]()
        answers = {"tool_call": {"approved": True}, "input_required": "all of it"}
        while session.get("status") in (None, "interrupted"):
            recording, session = self.recorded(session, Api(yaa.url, yaa.key))
            self.assertEqual(peers.model_errors(recording), [])
            self.assertEqual(peers.rule_errors(recording, tuple(calls)), [])
            runs.append({"runId": f"run_{len(runs)}", "stream": recording})
            for item in session["interrupts"]:
                item["answer"] = {"status": "resolved", "payload": answers[item["reason"]]}
                calls.append(item["call_id"])
            answered = [{"interruptId": i["id"], **i["answer"]} for i in session["interrupts"]]
            runs[-1]["next"] = answered
        self.assertEqual(session["status"], "completed")
        for run, after in zip(runs, runs[1:], strict=False):
            after["resume"] = run.pop("next")
        found = peers.replay(sent, runs)
        self.assertEqual(found["warnings"], [])
        self.assertEqual([run.get("error") for run in found["runs"]], [None] * len(runs))
        wanted = [peers.agui_message(message) for message in session["messages"]]
        self.assertEqual(peers.shown(found["messages"]), wanted)
        said = {kind for run in found["runs"] for kind in run["types"]}
        self.assertLessEqual({"REASONING_MESSAGE_CONTENT", "TOOL_CALL_RESULT"}, said)

    def recorded(self, sent: Any, api: Api | None = None) -> tuple[str, Json]:
        """The text of a run's stream, and the session it folds to."""
        session = copy.deepcopy(sent)
        folder = Folder(session)
        with (api or self.api).stream(sent) as stream:
            self.assertEqual(stream.status, 200)
            for event in stream.events():
                folder.apply(event)
        folder.flush()
        return stream.text, session

    @classmethod
    def setUpClass(cls) -> None:
        stack = cls.enterClassContext(ExitStack())
        yaa = stack.enter_context(Yaa(config(start(stack, "tests.bench.provider"))))
        cls.api = Api(yaa.url, yaa.key)

    api: Api


SHORT = "bench tokens=3 delay_us=0"


def asking() -> Json:
    """A session whose answer is a call that needs an approval."""
    order = SHORT + ' tool=calculator{"expression":"6*7"}'
    return {
        "id": "ses-agui",
        "messages": [{"id": "u1", "role": "user", "content": order}],
        "config": {"tool": {"calculator": {"auto_approve": False}}},
    }


if __name__ == "__main__":
    unittest.main()
