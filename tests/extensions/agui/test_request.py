"""A RunAgentInput becomes a session: what is taken from where, and what is refused where."""

from __future__ import annotations

import copy
import unittest
from collections.abc import Iterator
from typing import Any

from server.errors import Problem
from server.extensions.agui import request
from server.session import accept
from server.session.workspace_stand import stand_of

from ... import fakes

Json = dict[str, Any]

USER = {"id": "u1", "role": "user", "content": "Delete the note. 你好"}
CALLS = [
    {"id": "c1", "type": "function", "function": {"name": "rm", "arguments": '{"p":"note"}'}},
    {"id": "c2", "type": "function", "function": {"name": "locate", "arguments": "{}"}},
]
ANSWER = {"id": "m1", "role": "assistant", "content": "", "toolCalls": CALLS}
ASKED = [
    {"id": "int-c1", "reason": "tool_call", "call_id": "c1", "response_schema": {}},
    {"id": "int-c2", "reason": "client_tool", "call_id": "c2"},
]
OWN = {
    "id": "t1",
    "rev": 3,
    "title": "Notes",
    "calls": {
        "c1": {"name": "rm", "state": "asking", "attempt": 0, "fingerprint": "sha256:1"},
        "c2": {"name": "locate", "state": "waiting", "attempt": 0},
    },
    "interrupts": ASKED,
    "config": {"yaa": {"language": "en"}, "llm_api": {"provider": {"name": "main"}}},
    "usage": {"prompt_tokens": 5},
}
WAITING: Json = {
    "threadId": "t1",
    "runId": "r2",
    "messages": [USER, ANSWER],
    "state": {"yaa": OWN, "mine": [1]},
    "tools": [{"name": "locate", "description": "Where", "parameters": {"type": "object"}}],
    "context": [{"description": "Page", "value": "/notes"}],
    "forwardedProps": {"theirs": 1},
}


def read(**changes: Any) -> request.AguiRequest:
    return request.read(copy.deepcopy(WAITING | changes), "default")


def resumed(*entries: Json, **changes: Any) -> Json:
    return read(resume=list(entries), **changes).session


class State(unittest.TestCase):
    def shared(self, state: Json, **changes: Any) -> tuple[list[Json], list[str], bool]:
        found = read(state={"yaa": OWN, **state}, **changes)
        names = [tool["name"] for tool in found.session["tools"]]
        return names, found.session["environment"], found.shares

    def test_the_model_reads_it_and_may_change_it(self) -> None:
        names, facts, shares = self.shared({"recipe": {"salt": 1}})
        self.assertEqual((names, shares), (["locate", "state_set"], True))
        self.assertEqual(len(facts), 2)
        self.assertTrue(facts[1].endswith(': {"recipe":{"salt":1}}'), facts)

    def test_none_is_not_told_and_a_long_one_by_its_names(self) -> None:
        self.assertEqual(self.shared({}), (["locate"], ["Page: /notes"], False))
        _, facts, _ = self.shared({"text": "x" * 20_000})
        self.assertTrue(facts[1].endswith(' has ["text"]'), facts[1][:200])

    def test_it_is_told_once_in_a_thread_that_continues(self) -> None:
        first = read(state={"yaa": OWN, "n": 1}).session
        again = {key: first[key] for key in ("tools", "environment")}
        later = copy.deepcopy(WAITING) | {"state": {"yaa": OWN | again, "n": 2}}
        del later["tools"], later["context"]
        found = request.read(later, "default").session
        self.assertEqual([tool["name"] for tool in found["tools"]], ["locate", "state_set"])
        self.assertEqual([fact[-7:] for fact in found["environment"]], [" /notes", '{"n":2}'])

    def test_a_tool_of_its_own_stays(self) -> None:
        own = {"name": "state_set", "description": "Mine"}
        names, facts, shares = self.shared({"n": 1}, tools=[own])
        self.assertEqual((names, len(facts), shares), (["state_set"], 2, False))

    def test_what_is_no_list_is_left_for_the_check(self) -> None:
        body = copy.deepcopy(WAITING) | {"state": {"yaa": OWN | {"tools": 5}, "n": 1}}
        del body["tools"]
        self.assertEqual(request.read(body, "default").session["tools"], 5)


class Reading(unittest.TestCase):
    def test_a_new_thread(self) -> None:
        given = request.read({"threadId": "t1", "runId": "r1", "messages": [USER]}, "coder")
        self.assertEqual(given.session, {"id": "t1", "agent": "coder", "messages": [USER]})
        self.assertEqual((given.run_id, given.state), ("r1", {}))

    def test_clients_before_1_0_name_no_protocol(self) -> None:
        self.assertTrue(read().older)
        self.assertTrue(read(protocolVersion=None).older)
        self.assertFalse(read(protocolVersion="1.0").older)

    def test_null_is_absent(self) -> None:
        optional = ("state", "tools", "context", "forwardedProps", "resume", "protocolVersion")
        body: Json = {"threadId": "t1", "runId": "r1", "messages": [], **dict.fromkeys(optional)}
        given = request.read(body, "default")
        self.assertEqual(given.session, {"id": "t1", "agent": "default", "messages": []})

    def test_what_our_events_left_in_the_state_is_the_session(self) -> None:
        session = read().session
        for key in ("rev", "title", "calls", "interrupts", "usage", "config"):
            self.assertEqual(session[key], OWN[key], key)
        self.assertEqual(read().state, {"mine": [1]})
        accept.accept(session)

    def test_the_address_and_the_thread_win_over_the_state(self) -> None:
        own = {"id": "other", "agent": "other", "messages": [{"role": "user"}]}
        session = read(state={"yaa": own}, messages=[USER]).session
        self.assertEqual((session["id"], session["agent"]), ("t1", "default"))
        self.assertEqual(session["messages"], [USER])

    def test_the_files_stand_at_the_last_result_with_an_id_or_without(self) -> None:
        tree = {"before": "a" * 64, "after": "b" * 64}
        result: Json = {"role": "tool", "toolCallId": "c1", "content": "gone"}
        result["metadata"] = {"yaa": {"result": {"tree": tree}}}
        for named in ({"id": "r1"}, {}):
            with self.subTest(named):
                session: Any = read(messages=[USER, ANSWER, {**result, **named}]).session
                self.assertEqual(stand_of(session), tree["after"])

    def test_tools_and_facts_of_the_application(self) -> None:
        session = read(state={"yaa": OWN}).session
        self.assertEqual(session["tools"], WAITING["tools"])
        self.assertEqual(session["environment"], ["Page: /notes"])
        for context, facts in (
            ([{"description": "", "value": "x"}], ["x"]),
            ([{"description": "d", "value": {"a": "ü"}}], ['d: {"a":"ü"}']),
            ([{}], [""]),
            ([], []),
        ):
            with self.subTest(context=context):
                found = read(context=context, state={"yaa": OWN}).session
                self.assertEqual(found["environment"], facts)
        kept = read(context=None, state={"yaa": {"environment": ["before"]}}).session
        self.assertEqual(kept["environment"], ["before"])

    def test_settings_are_laid_over_those_of_the_thread(self) -> None:
        mine = {"yaa": {"mode": "plain"}, "llm_api": {"provider": {"api_url": "http://x"}}}
        session = read(forwardedProps={"yaa": {"config": mine}}).session
        self.assertEqual(
            session["config"],
            {
                "yaa": {"language": "en", "mode": "plain"},
                "llm_api": {"provider": {"api_url": "http://x"}},
            },
        )

    def test_what_is_no_such_input(self) -> None:
        for change, place in (
            ({"threadId": None}, "/threadId"),
            ({"threadId": ""}, "/threadId"),
            ({"runId": 1}, "/runId"),
            ({"messages": None}, "/messages"),
            ({"messages": {}}, "/messages"),
            ({"messages": [USER, 1]}, "/messages/1"),
            ({"state": "a text"}, "/state"),
            ({"state": {"yaa": []}}, "/state/yaa"),
            ({"tools": {}}, "/tools"),
            ({"tools": ["locate"]}, "/tools/0"),
            ({"context": [[]]}, "/context/0"),
            ({"resume": [1]}, "/resume/0"),
            ({"forwardedProps": []}, "/forwardedProps"),
            ({"forwardedProps": {"yaa": 1}}, "/forwardedProps/yaa"),
            ({"forwardedProps": {"yaa": {"config": 1}}}, "/forwardedProps/yaa/config"),
        ):
            with self.subTest(change=change), self.assertRaises(Problem) as caught:
                read(**change)
            self.assertEqual(caught.exception.code, "request_invalid")
            self.assertEqual(caught.exception.errors[0]["pointer"], place)
            self.assertIn(place, caught.exception.detail)

    def test_a_stranger_can_make_nothing_but_a_refusal(self) -> None:
        """Each value of a whole input in turn is anything else."""
        whole = WAITING | {
            "resume": [{"interruptId": "int-c1", "status": "resolved", "payload": {}}],
            "messages": [
                {**USER, "content": [{"type": "image", "source": {"type": "url", "value": "u"}}]},
                {"id": "t1", "role": "reasoning", "content": "hm"},
                {**ANSWER, "metadata": {"yaa": {"open": True, "meta": {"usage": {}}, "at": 1}}},
                {"id": "x", "role": "tool", "toolCallId": "c2", "content": "here", "error": ""},
            ],
        }
        tried = 0
        anything: list[Any] = [None, 1, "x", [], [["x"]], {"id": {}, "yaa": []}]
        for junk in anything:
            for body in broken(whole, junk):
                tried += 1
                try:
                    given = request.read(body, "default")
                except Problem:
                    continue
                try:
                    accept.accept(given.session)
                except Problem as problem:
                    request.refusal(request.problem_in_input(problem, given))
        self.assertGreater(tried, 400)


class Running(unittest.IsolatedAsyncioTestCase):
    async def test_what_the_model_is_given(self) -> None:
        """The application's facts in its system prompt, pictures as parts, and nothing that
        was cut."""
        picture = {"type": "image", "source": {"type": "url", "value": "https://x/y"}}
        cut = {"id": "m0", "role": "assistant", "content": "It wa"}
        body = {
            **{key: WAITING[key] for key in ("threadId", "runId", "tools", "context")},
            "messages": [
                {"id": "d", "role": "developer", "content": "Be kind."},
                {"id": "u", "role": "user", "content": [picture]},
                {**cut, "metadata": {"yaa": {"open": True}}},
            ],
        }
        model = fakes.ScriptedModel(lambda messages: [("text", "A cat.")])
        agent = fakes.agent(model, fakes.CountingToolbox({}, {}))
        run = agent.prepare(request.read(body, "default").session)
        async for _ in run.events():
            pass
        (sent,) = model.requests
        self.assertIn("- Page: /notes", sent[0]["content"])
        self.assertEqual([m["role"] for m in sent], ["system", "system", "user"])
        wanted = [{"type": "image_url", "image_url": {"url": "https://x/y"}}]
        self.assertEqual(sent[2]["content"], wanted)


class Resuming(unittest.TestCase):
    def test_answers_are_put_at_their_interrupts(self) -> None:
        for entry, answer in (
            (
                {"status": "resolved", "payload": {"approved": True}},
                {"status": "resolved", "payload": {"approved": True}},
            ),
            (
                {"status": "resolved", "payload": {"approved": True, "editedArgs": {"p": "x"}}},
                {"status": "resolved", "payload": {"approved": True, "edited_args": {"p": "x"}}},
            ),
            (
                {"status": "resolved", "payload": {"approved": False, "reason": "no"}},
                {"status": "resolved", "payload": {"approved": False, "reason": "no"}},
            ),
            ({"status": "cancelled"}, {"status": "cancelled"}),
            ({"status": "resolved", "payload": None}, {"status": "resolved", "payload": None}),
        ):
            with self.subTest(entry=entry):
                session = resumed({"interruptId": "int-c1", **entry})
                self.assertEqual(session["interrupts"][0]["answer"], answer)
                self.assertNotIn("answer", session["interrupts"][1])

    def test_a_tool_of_the_application_that_is_asked_about(self) -> None:
        asked = {"id": "int-c2", "reason": "client_tool", "call_id": "c2", "confirm": "always"}
        bare = {key: value for key, value in asked.items() if key != "confirm"}
        no = {"status": "cancelled", "payload": {"reason": "no"}}
        given: Json = {"status": "resolved", "payload": {"content": "here"}}
        for before, payload, after in (
            (asked, {"approved": True}, bare),
            (bare, {"approved": True}, bare),  # the same again, after a stream that was cut
            ({**asked, "answer": no}, {"approved": True}, bare),  # a change of mind
            (asked, {"approved": False, "reason": "no"}, {**asked, "answer": no}),
            (asked, {"content": "here"}, {**asked, "answer": given}),
        ):
            with self.subTest(payload=payload):
                entry = {"interruptId": "int-c2", "status": "resolved", "payload": payload}
                session = resumed(entry, state={"yaa": {**OWN, "interrupts": [before]}})
                self.assertEqual(session["interrupts"], [after])

    def test_an_answer_whose_effect_is_there_does_nothing(self) -> None:
        """The client asks with it again after a stream that was cut."""
        gone = {"yaa": {**OWN, "interrupts": []}}
        again = {"interruptId": "int-c1", "status": "resolved", "payload": {"approved": True}}
        self.assertEqual(resumed(again, state=gone)["interrupts"], [])
        limit = {"interruptId": "int-max_steps", "status": "resolved", "payload": {}}
        self.assertEqual(resumed(limit, state=gone)["interrupts"], [])
        self.assertNotIn("interrupts", resumed(again, state={}))  # asked about again, not believed

    def test_a_decision_that_is_sent_as_a_result_too_is_no_result(self) -> None:
        """As CopilotKit's `useInterrupt` does; without `resume` the application has done it."""
        decision = {"id": "d1", "role": "tool", "toolCallId": "c1", "content": '{"approved":true}'}
        entry = {"interruptId": "int-c1", "status": "resolved", "payload": {"approved": True}}
        messages = [USER, ANSWER, decision]
        session = resumed(entry, messages=messages)
        self.assertEqual([m["role"] for m in session["messages"]], ["user", "assistant"])
        self.assertEqual(session["calls"]["c1"]["state"], "asking")
        accept.accept(session)
        self.assertEqual(read(messages=messages).session["calls"]["c1"]["state"], "done")
        ours = {**decision, "id": "r1", "content": "gone", "metadata": {"yaa": {"at": 5}}}
        for after in ([decision, ours], [ours, decision]):
            told = read(messages=[USER, ANSWER, *after]).session["messages"]
            self.assertEqual([m["content"] for m in told if m["role"] == "tool"], ["gone"])

    def test_what_was_never_asked_is_refused(self) -> None:
        once = {"interruptId": "int-c1", "status": "cancelled"}
        for entries, place in (
            ([{**once, "interruptId": "int-c9"}], "/resume/0/interruptId"),
            ([once, {**once, "interruptId": "int-c9"}], "/resume/1/interruptId"),
            ([once, once], "/resume/1/interruptId"),
            ([{"status": "cancelled"}], "/resume/0/interruptId"),
        ):
            with self.subTest(entries=entries), self.assertRaises(Problem) as caught:
                resumed(*entries)
            self.assertEqual(caught.exception.code, "answer_invalid")
            self.assertEqual(caught.exception.errors[0]["pointer"], place)

    def test_a_result_of_the_application_settles_its_call(self) -> None:
        for more, state in (({}, "done"), ({"error": "no GPS"}, "failed")):
            result = {"id": "x", "role": "tool", "toolCallId": "c2", "content": "here", **more}
            calls = read(messages=[USER, ANSWER, result]).session["calls"]
            self.assertEqual(calls["c2"]["state"], state)
            self.assertEqual(calls["c1"]["state"], "asking")

    def test_a_settled_call_stays_what_it_was(self) -> None:
        own = {"yaa": {**OWN, "calls": {"c1": {"name": "rm", "state": "denied", "attempt": 0}}}}
        result = {"id": "x", "role": "tool", "toolCallId": "c1", "content": "Denied"}
        calls = read(messages=[USER, ANSWER, result], state=own).session["calls"]
        self.assertEqual(calls["c1"]["state"], "denied")


class Refusing(unittest.TestCase):
    def test_places_are_those_of_the_input(self) -> None:
        messages = [{"id": "t", "role": "reasoning", "content": "hm"}, USER, ANSWER]
        config = {"yaa": {"mode": "plain"}}
        given = read(
            messages=messages,
            resume=[{"interruptId": "int-c1", "status": "resolved", "payload": {}}],
            forwardedProps={"yaa": {"config": config}},
        )
        for ours, theirs in (
            ("/id", "/threadId"),
            ("/environment/0", "/context/0"),
            ("/tools/0/name", "/tools/0/name"),
            ("/messages/0/id", "/messages/1"),
            ("/messages/1/tool_calls/0/id", "/messages/2"),
            ("/interrupts/0/answer/payload/edited_args", "/resume/0/payload/editedArgs"),
            ("/interrupts/1/answer/payload", "/state/yaa/interrupts/1/answer/payload"),
            ("/interrupts/1/reason", "/state/yaa/interrupts/1/reason"),
            ("/config/yaa/mode", "/forwardedProps/yaa/config/yaa/mode"),
            ("/config/yaa/language", "/state/yaa/config/yaa/language"),
            ("/calls/a~1b/state", "/state/yaa/calls/a~1b/state"),
            ("/messages", "/state/yaa/messages"),
            ("", "/state/yaa"),
        ):
            with self.subTest(ours):
                told = Problem(
                    "session_invalid", f"{ours}: no", errors=[{"pointer": ours, "detail": "no"}]
                )
                found = request.problem_in_input(told, given)
                self.assertEqual(found.errors, [{"pointer": theirs, "detail": "no"}])
                self.assertEqual(found.detail, f"{theirs}: no")

    def test_an_agent_that_there_is_not_is_not_found(self) -> None:
        problem = request.problem_in_input(Problem("agent_unknown", "no agent 'x'"), read())
        self.assertEqual((problem.status, problem.code), (404, "agent_unknown"))
        busy = Problem("busy", "later", headers={"Retry-After": "2"})
        self.assertEqual(request.problem_in_input(busy, read()).status, 429)
        self.assertEqual(request.problem_in_input(busy, read()).headers, {"Retry-After": "2"})

    def test_the_body_has_the_words_of_a_run_error(self) -> None:
        body = request.refusal(Problem("busy", "Later."))
        self.assertEqual((body["message"], body["code"], body["status"]), ("Later.", "busy", 429))


def broken(node: Any, junk: Any) -> Iterator[Any]:
    """`node` with one of its values at a time replaced, at any depth."""
    places = node.items() if isinstance(node, dict) else enumerate(node)
    for key, value in list(places):
        for other in (junk, *(broken(value, junk) if isinstance(value, dict | list) else ())):
            made = copy.copy(node)
            made[key] = other
            yield copy.deepcopy(made)


if __name__ == "__main__":
    unittest.main()
