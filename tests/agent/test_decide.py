"""Deciding: one table of sessions and what must happen next. Nothing is ever changed by asking."""

from __future__ import annotations

import copy
import unittest
from dataclasses import replace
from typing import Any

from server.agent.call_decisions import LOST, SUPERSEDED, HostRecord, new_grant
from server.agent.decide import (
    CallModel,
    Model,
    NameSession,
    RunTools,
    Stop,
    consecutive_errors,
    next_step,
    over_limit,
)
from server.session.call_actions import (
    Ask,
    ClientResult,
    Execute,
    Recover,
    Reply,
    SendToClient,
    Verdict,
)
from server.session.limits import MOST, cap_limits

from ..fakes import DEFAULTS, CountingToolbox, user

MODEL = Model("m", {})

TOOLBOX = CountingToolbox(
    {
        "read": "read",
        "rm": "write",
        "mcp": "write asks",
        "put": "write again",
        "job": "auto",
        "ask": "question",
        "no": "deny again",
        "page": "page",
        "act": "action",
        "finish": "read",
    },
    {},
)
PRINT = TOOLBOX.verdict({"grants": []}, {"function": {"name": "rm", "arguments": "{}"}}).fingerprint


def call(name: str, arguments: str = "{}", call_id: str = "c1") -> Any:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def asked(*calls: dict[str, Any], **more: Any) -> list[dict[str, Any]]:
    return [
        user("go"),
        {"id": "m1", "role": "assistant", "content": "", "tool_calls": [*calls], **more},
    ]


def result(call_id: str = "c1", **more: Any) -> dict[str, Any]:
    return {"id": f"res-{call_id}", "role": "tool", "tool_call_id": call_id, "content": "x", **more}


def entry(state: str, attempt: int = 0, **more: Any) -> dict[str, Any]:
    return {"c1": {"name": "rm", "state": state, "attempt": attempt, "fingerprint": PRINT, **more}}


SAYS = {
    "tool_call": "Allow {}?",
    "client_tool": "Run {} in the page",
    "indeterminate": f"{LOST} What now?",
}


def resolved(
    reason: str, payload: Any, status: str = "resolved", tool: str = "rm", **shown: Any
) -> list[dict[str, Any]]:
    answer = {"status": status, "payload": payload}
    message = SAYS.get(reason, "?").format(tool)
    asked = {"id": "int-c1", "reason": reason, "call_id": "c1", "answer": answer}
    return [{**asked, "tool": tool, "args": {}, "message": message, **shown}]


def print_of(name: str, arguments: str = "{}") -> str:
    return str(TOOLBOX.verdict({"grants": []}, call(name, arguments)).fingerprint)


def session(messages: list[Any], **more: Any) -> Any:
    run = {"id": "r", "started_at": 0}
    run |= dict.fromkeys(("step", "tokens", "cost_micro", "wall_ms"), 0)
    base = {"id": "s", "messages": messages, "calls": {}, "interrupts": [], "grants": []}
    config = {"yaa": {}, "context": DEFAULTS["session"]["config"]["context"]}
    return {**base, "config": config, "context": {}, "run": run, **more}


class Waiting:
    """A toolbox whose `later` waits, as templates make calls wait."""

    def declarations(self, session: Any) -> list[dict[str, Any]]:
        return []

    def verdict(self, session: Any, call: Any) -> Verdict:
        if call["function"]["name"] == "later":
            return Verdict("wait", "read has given no result yet")
        return TOOLBOX.verdict(session, call)


class Repeatable:
    """A toolbox in which every tool may run twice."""

    def declarations(self, session: Any) -> list[dict[str, Any]]:
        return []

    def verdict(self, session: Any, call: Any) -> Verdict:
        return replace(TOOLBOX.verdict(session, call), repeatable=True)


class Next(unittest.TestCase):
    def step(self, made: Any, **options: Any) -> Any:
        before = copy.deepcopy(made)
        found = next_step(made, TOOLBOX, options.pop("limits", {}), MODEL, **options)
        self.assertEqual(made, before, "deciding changed the session")
        return found

    def test_a_call_that_could_not_be_read_is_asked_for_once(self) -> None:
        unread = [{"code": "call_unread", "message": "<|x|>"}]
        made = [{"id": f"m{n}", "role": "assistant", "content": "<|x|>f"} for n in range(2)]
        bad: list[Any] = [{**each, "meta": {"warnings": unread}} for each in made]
        found = self.step(session([user("go"), bad[0]]))
        self.assertIsInstance(found, CallModel)
        self.assertIn('{"name": ', found.messages[-1]["content"])
        for messages in ([bad[0], bad[1]], [bad[0], made[1]], [made[0]]):
            with self.subTest(len(messages)):
                self.assertIsInstance(self.step(session([user("go"), *messages])), Stop)
        again = self.step(session([user("go"), *bad, user("again", "u2"), {**bad[0], "id": "m3"}]))
        self.assertIsInstance(again, CallModel)

    def job(self, messages: list[Any], **more: Any) -> Any:
        """The single thing done about call c1."""
        claims = more.pop("begun", ())
        host = HostRecord(more.pop("recoverable", ()), begun=lambda *key: key in claims)
        found = self.step(session(messages, **more), host=host)
        if isinstance(found, RunTools):
            self.assertEqual(len(found.jobs), 1)
            return found.jobs[0]
        self.assertIsInstance(found, Stop)
        self.assertEqual(
            (found.status, found.reason, len(found.asks)), ("interrupted", "awaiting", 1)
        )
        return found.asks[0]

    def test_ends(self) -> None:
        said = {"id": "m", "role": "assistant", "content": "hi"}
        error = {"id": "e", "role": "error", "content": "x"}
        cut = {"id": "m2", "role": "assistant", "content": "ha", "open": True}
        rule = {"id": "s", "role": "system", "content": "x"}
        cases: list[tuple[str, list[dict[str, Any]], type]] = [
            ("nothing asked", [], Stop),
            ("only a system message", [rule], Stop),
            ("a question, then a rule for it", [user("go"), rule], CallModel),
            ("an answer, then a rule", [user("go"), said, rule], Stop),
            ("results, then a rule", [*asked(call("read")), result(), rule], CallModel),
            ("a question", [user("go")], CallModel),
            ("a question, then an error", [user("go"), error], CallModel),
            ("an answer", [user("go"), said], Stop),
            ("an answer, then an error", [user("go"), said, error], Stop),
            ("a cut answer", [user("go"), cut], CallModel),
            (
                "a cut answer whose calls never existed",
                [user("go"), {**cut, "tool_calls": [call("rm")]}],
                CallModel,
            ),
            ("an answer, then a cut one", [user("go"), said, cut], Stop),
            ("results", [*asked(call("read")), result()], CallModel),
            ("a new question", [user("go"), said, user("more", "u2")], CallModel),
        ]
        for name, messages, kind in cases:
            with self.subTest(name):
                self.assertIsInstance(self.step(session(messages)), kind)

    def test_each_cause_has_one_status_and_one_reason(self) -> None:
        """A10. What fails on the way is RUN_ERROR, which folds to failed and failed."""
        said = {"id": "m", "role": "assistant", "content": "hi"}
        strict = {"config": {"yaa": {"require_finish_tool": True}}}
        finished = [*asked(call("finish")), result()]
        run = {"id": "r", "started_at": 0, "tokens": 0, "cost_micro": 0, "wall_ms": 0}
        spent = {"run": {**run, "step": 5}}
        cases: list[tuple[str, list[dict[str, Any]], dict[str, Any], tuple[str, str]]] = [
            ("nothing was asked", [], {}, ("completed", "completed")),
            ("an answer", [user("go"), said], {}, ("completed", "completed")),
            ("finish", finished, {"calls": entry("done")}, ("completed", "completed")),
            ("an approval", asked(call("rm")), {}, ("interrupted", "awaiting")),
            ("the page", asked(call("page")), {}, ("interrupted", "awaiting")),
            ("a question", asked(call("ask")), {}, ("interrupted", "awaiting")),
            (
                "a result that is lost",
                asked(call("rm")),
                {"calls": entry("started")},
                ("interrupted", "awaiting"),
            ),
            (
                "words, and finish is wanted",
                [user("go"), said],
                strict,
                ("interrupted", "awaiting"),
            ),
            ("a limit", [user("go")], spent, ("interrupted", "limit")),
            (
                "no more than the limit",
                [user("go")],
                {"run": {**run, "step": 0, "declined": "limit"}},
                ("interrupted", "limit"),
            ),
            (
                "no further try",
                [user("go")],
                {"run": {**run, "step": 0, "declined": "failed"}},
                ("failed", "failed"),
            ),
        ]
        for name, messages, more, wanted in cases:
            with self.subTest(name):
                found = self.step(session(messages, **more), limits={"max_steps": 5})
                self.assertEqual((found.status, found.reason), wanted)

    def test_a_call_that_waits_for_one_before_it(self) -> None:
        for first, kind in (("read", RunTools), ("rm", Stop)):
            made = session(asked(call(first), call("later", call_id="c2")))
            found = next_step(made, Waiting(), {}, MODEL)
            self.assertIsInstance(found, kind)
            left = found.jobs if isinstance(found, RunTools) else getattr(found, "asks", ())
            self.assertEqual(len(left), 1, "the one that waits is left alone")

    def test_a_grant_is_kept_once_and_not_beyond_the_limit(self) -> None:
        wanted = {"tool": "rm", "decision": "allow"}
        other = {"tool": "x", "decision": "allow"}
        for known, kept in (([], wanted), ([wanted], None), ([other] * MOST["grants"], None)):
            made: Any = {"grants": known}
            found = new_grant(made, call("rm"), {"approved": True, "remember": "session"}, {})
            self.assertEqual(found, kept)

    def test_few_calls_that_wait_are_looked_at(self) -> None:
        judged: list[str] = []

        class Judged(Waiting):
            def verdict(self, session: Any, call: Any) -> Verdict:
                judged.append(call["id"])
                return super().verdict(session, call)

        waiting = [call("later", call_id=f"c{number}") for number in range(2, 100)]
        found = next_step(session(asked(call("read"), *waiting)), Judged(), {}, MODEL)
        assert isinstance(found, RunTools)
        self.assertEqual(len(found.jobs), 1)
        self.assertLess(len(judged), 9)

    def test_strict_finish_and_title(self) -> None:
        messages = [user("go"), {"id": "m", "role": "assistant", "content": "hi"}]
        strict = self.step(session(messages, config={"yaa": {"require_finish_tool": True}}))
        self.assertEqual((strict.status, strict.reason), ("interrupted", "awaiting"))
        titled = {"yaa": {"auto_title": True}}
        self.assertIsInstance(self.step(session(messages, config=titled)), NameSession)
        self.assertIsInstance(self.step(session(messages, config=titled, title="x")), Stop)

    def test_a_session_may_say_which_tool_must_be_called(self) -> None:
        for choice in ("required", "read", None, ""):
            with self.subTest(choice):
                made = session([user("go")])
                made["config"]["llm_api"] = {"tool_choice": choice}
                self.assertEqual(self.step(made).choice, choice or None)

    def test_where_nobody_can_be_asked_a_question_in_a_call_gets_no(self) -> None:
        config = {"yaa": {"unattended": True}}
        mark = print_of("mcp")
        waiting = entry("waiting", 1, input={"message": "Your name?"}, fingerprint=mark)
        job = self.job(asked(call("mcp")), calls=waiting, config=config, begun=[("c1", 1, mark)])
        self.assertIsInstance(job, Execute)
        self.assertEqual(job.entry["input"]["refused"], "decline")
        job = self.job(asked(call("mcp")), calls=waiting, config=config)
        self.assertEqual((type(job), job.state), (Reply, "skipped"), "it was not begun here")
        lost = self.job(asked(call("job")), calls=entry("started", 1), config=config)
        self.assertEqual((type(lost), lost.status), (Reply, "indeterminate"))

    def test_a_new_call(self) -> None:
        cases: list[tuple[str, str, type, str]] = [
            ("read", "{}", Execute, ""),
            ("job", "{}", Execute, ""),
            ("rm", "{}", Ask, "tool_call"),
            ("page", "{}", Ask, "client_tool"),
            ("act", "{}", SendToClient, ""),
            ("ask", '{"question":"Q?"}', Ask, "input_required"),
            ("ask", '{"question":"Q?","response_schema":{"type":5}}', Reply, "failed"),
            ("no", "{}", Reply, "denied"),
            ("nope", "{}", Reply, "failed"),
            ("read", "{x", Reply, "failed"),
        ]
        for name, arguments, kind, detail in cases:
            with self.subTest(name, arguments=arguments):
                job = self.job(asked(call(name, arguments)))
                self.assertIsInstance(job, kind)
                if isinstance(job, Execute):
                    self.assertEqual((job.entry["state"], job.entry["attempt"]), ("started", 1))
                elif isinstance(job, Ask):
                    self.assertEqual(job.interrupt["reason"], detail)
                elif isinstance(job, Reply):
                    self.assertEqual(job.state, detail)

    def test_a_person_sees_the_digits_that_the_model_wrote(self) -> None:
        """A browser reads 2^60 as 1152921504606847000. Who allows a call must not see another
        number, and both copies of the session must have the same digest."""
        for name in ("rm", "ask", "page"):
            job = self.job(asked(call(name, '{"id":1152921504606846976,"n":5}')))
            self.assertEqual(job.interrupt["args"], {"id": str(2**60), "n": 5}, name)

    def test_an_answered_approval(self) -> None:
        cases: list[tuple[str, dict[str, Any], str, type]] = [
            ("approved", {"approved": True}, PRINT, Execute),
            ("approved for other arguments", {"approved": True}, "sha256:0", Ask),
            ("denied", {"approved": False}, PRINT, Reply),
            ("denied for other arguments", {"approved": False}, "sha256:0", Reply),
            ("edited", {"approved": True, "edited_args": {"a": 1}}, PRINT, Execute),
        ]
        for name, payload, fingerprint, kind in cases:
            with self.subTest(name):
                calls = entry("asking")
                calls["c1"]["fingerprint"] = fingerprint
                job = self.job(
                    asked(call("rm")), calls=calls, interrupts=resolved("tool_call", payload)
                )
                self.assertIsInstance(job, kind)
                if "edited_args" in payload:
                    self.assertEqual((job.args, job.entry["args"]), ({"a": 1}, {"a": 1}))
                    self.assertNotEqual(job.entry["fingerprint"], PRINT)

    def test_an_answer_of_another_kind_is_no_approval(self) -> None:
        for reason in ("client_tool", "input_required", "indeterminate"):
            with self.subTest(reason):
                payload = {"approved": True, "action": "retry", "content": "x"}
                job = self.job(
                    asked(call("rm")), calls=entry("asking"), interrupts=resolved(reason, payload)
                )
                self.assertIsInstance(job, Ask)

    def test_no_answer_unlocks_what_the_server_denies(self) -> None:
        job = self.job(
            asked(call("no")),
            calls=entry("asking"),
            interrupts=resolved("tool_call", {"approved": True}),
        )
        self.assertEqual(job.state, "denied")

    def test_started_without_a_result(self) -> None:
        for state in ("started", "done", "failed", "indeterminate"):
            with self.subTest(state):
                calls = entry(state, 1)
                self.assertEqual(
                    self.job(asked(call("rm")), calls=calls).interrupt["reason"], "indeterminate"
                )
                again = self.job(asked(call("read")), calls=calls)
                self.assertEqual((type(again), again.entry["attempt"]), (Execute, 2))
                found = self.job(asked(call("rm")), calls=calls, recoverable={"c1"})
                self.assertEqual((type(found), found.attempt), (Recover, 1))
                moved = self.job([*asked(call("rm")), user("next", "u2")], calls=calls)
                self.assertEqual((moved.content, moved.state), (LOST, "skipped"))

    def test_what_runs_again_unasked(self) -> None:
        """tool, what this host has begun, the interrupt that is still there → whether it runs."""
        mark, yes = print_of("put"), {"approved": True}
        here, other = [("c1", 1, mark)], [("c1", 1, "sha256:0"), ("c1", 2, mark)]
        shown = resolved("tool_call", yes, tool="put")
        unlike = resolved("tool_call", yes, tool="put", args={"label": "harmless"})
        edited = resolved("tool_call", {**yes, "edited_args": {}}, tool="put")
        retry = resolved("indeterminate", {"action": "retry"}, tool="put")
        cases: list[tuple[str, list[Any], list[dict[str, Any]], bool]] = [
            ("read", [], [], True),
            ("put", [], [], False),
            ("put", here, [], True),
            ("put", other, [], False),
            ("put", [], shown, True),
            ("put", [], unlike, False),
            ("put", [], edited, False),
            ("put", [], retry, False),  # it may have been run again, too
            ("put", [], resolved("tool_call", {"approved": False}, tool="put"), False),
            ("rm", [("c1", 1, PRINT)], [], False),
            ("job", [], [], False),
            ("no", [("c1", 1, print_of("no"))], [], False),
        ]
        for name, begun, asks, runs in cases:
            for state in ("started", "done", "failed"):
                with self.subTest(name, begun=begun, asks=asks, state=state):
                    calls = entry(state, 1, fingerprint=print_of(name))
                    job = self.job(asked(call(name)), calls=calls, interrupts=asks, begun=begun)
                    self.assertIsInstance(job, Execute if runs else Ask)
                    if not runs:
                        self.assertEqual(job.interrupt["reason"], "indeterminate")

    def interrupted(self, answer: dict[str, Any] | None, **more: Any) -> Any:
        """What is done about a call whose tool asked `Your name?` in the middle of it."""
        asks = resolved("input_required", None, tool="mcp", message="Your name?")
        asks = [{k: v for k, v in {**asks[0], "answer": answer}.items() if v is not None}]
        asks[0].update(more.pop("shown", {}))
        about = {"message": "Your name?", "keys": ["who"], **more.pop("about", {})}
        calls = entry("waiting", 1, fingerprint=print_of("mcp"), input=about)
        return self.job(asked(call("mcp")), calls=calls, interrupts=asks, **more)

    def test_a_call_that_its_tool_interrupted(self) -> None:
        """Open, it stays so. An answer goes on where this host has begun the call, else the call is
        asked about with the answer it would go on with. A no ends it."""
        here = [("c1", 1, print_of("mcp"))]
        told = {"status": "resolved", "payload": {"name": "Ann"}}
        for begun in (here, []):
            job = self.interrupted(None, begun=begun)
            self.assertEqual(job.interrupt["reason"], "input_required")
            other = {"message": "Which city do you like best?"}
            job = self.interrupted(told, begun=begun, shown=other)
            self.assertEqual(job.interrupt["message"], "Your name?", "asked anew")
        job = self.interrupted(told, begun=here, about={"refused": "decline"})
        self.assertEqual((type(job), job.entry["attempt"]), (Execute, 2))
        self.assertEqual(job.entry["input"]["answer"], {"name": "Ann"})
        self.assertNotIn("refused", job.entry["input"])
        for status, payload, word in (
            ("cancelled", {"action": "decline"}, "decline"),
            ("cancelled", None, "cancel"),
        ):
            no = {"status": status, "payload": payload}
            job = self.interrupted(no, begun=here)
            self.assertEqual((type(job), job.entry["input"]["refused"]), (Execute, word))
            job = self.interrupted(no)
            self.assertEqual((type(job), job.state), (Reply, "skipped"))

    def test_elsewhere_it_goes_on_with_what_was_shown(self) -> None:
        told = {"status": "resolved", "payload": {"name": "Ann"}}
        job = self.interrupted(told)
        words = 'Allow mcp? It goes on with the answer {"name":"Ann"} to its question: Your name?'
        self.assertEqual((job.interrupt["reason"], job.interrupt["message"]), ("tool_call", words))
        yes = {"status": "resolved", "payload": {"approved": True}}
        for change, runs in (
            ({}, True),
            ({"answer": {"name": "Eve"}}, False),
            ({"message": "Your city?"}, False),
            ({"refused": "cancel"}, False),
            ({"refused": "whatever"}, True),  # no word that a tool is told
        ):
            with self.subTest(change):
                asks = [{**job.interrupt, "answer": yes}]
                about = {**job.entry, "input": {**job.entry["input"], **change}}
                then = self.job(asked(call("mcp")), calls={"c1": about}, interrupts=asks)
                self.assertIsInstance(then, Execute if runs else Ask)
                if runs:
                    self.assertEqual(then.entry["input"]["answer"], {"name": "Ann"})
        for gone in ("answer", "fingerprint"):
            about = copy.deepcopy(job.entry)
            (about["input"] if gone == "answer" else about).pop(gone)
            asks = [{**job.interrupt, "answer": yes}]
            then = self.job(asked(call("mcp")), calls={"c1": about}, interrupts=asks)
            self.assertEqual((type(then), "input" in then.entry), (Ask, False), gone)

    def test_only_a_tool_that_can_ask_goes_on(self) -> None:
        told = {"status": "resolved", "payload": {"name": "Ann"}}
        for name in ("rm", "put", "job", "read"):
            for answer in (told, {"status": "cancelled"}):
                asks = [{**resolved("input_required", None, tool=name)[0], "answer": answer}]
                about = {"message": "?", "keys": ["who"]}
                mark = print_of(name)
                calls = entry("waiting", 1, fingerprint=mark, input=about)
                begun = [("c1", 1, mark)]
                found = self.job(asked(call(name)), calls=calls, interrupts=asks, begun=begun)
                with self.subTest(name, answer=answer):
                    if answer["status"] == "cancelled":
                        self.assertEqual((type(found), found.state), (Reply, "skipped"))
                    elif name in ("job", "read"):  # the policy runs it, with no word of an answer
                        self.assertEqual((type(found), "input" in found.entry), (Execute, False))
                    else:
                        self.assertEqual(found.interrupt["reason"], "tool_call")

    def test_what_the_user_moved_on_from_is_not_asked_again(self) -> None:
        """Nor run by an answer to something else, though the policy would run it."""
        for name in ("rm", "job", "act", "ask"):
            asks = resolved("tool_call", {"approved": True}, tool=name, args={"other": 1})
            job = self.job(
                [*asked(call(name, '{"question": "Q?"}')), user("next", "u2")], interrupts=asks
            )
            self.assertEqual((job.content, job.state), (SUPERSEDED, "skipped"), name)

    def test_an_approval_does_not_start_a_started_call_again(self) -> None:
        job = self.job(
            asked(call("rm")),
            calls=entry("started", 0),
            interrupts=resolved("tool_call", {"approved": True}),
        )
        self.assertEqual(job.interrupt["reason"], "indeterminate")

    def test_an_indeterminate_call_does_what_the_person_says(self) -> None:
        cases: list[tuple[dict[str, Any], type, str]] = [
            ({"action": "retry"}, Execute, ""),
            ({"action": "skip"}, Reply, LOST),
            ({"action": "result", "content": "it is gone"}, Reply, "it is gone"),
        ]
        for payload, kind, content in cases:
            with self.subTest(payload["action"]):
                job = self.job(
                    asked(call("rm")),
                    calls=entry("indeterminate", 1),
                    interrupts=resolved("indeterminate", payload),
                )
                self.assertIsInstance(job, kind)
                if isinstance(job, Execute):
                    self.assertEqual(job.entry["attempt"], 2)
                else:
                    self.assertEqual(job.content, content)

    def test_an_indeterminate_call_that_is_cancelled_is_left_as_it_is(self) -> None:
        cases: list[tuple[dict[str, Any], str]] = [
            ({}, LOST),
            ({"payload": {"reason": "never mind"}}, f"{LOST} The user says: never mind"),
            ({"payload": {"action": "retry"}}, LOST),
            ({"payload": "no"}, LOST),
        ]
        for more, content in cases:
            answer = {"answer": {"status": "cancelled", **more}}
            asks = [{**resolved("indeterminate", None)[0], **answer}]
            with self.subTest(more):
                job = self.job(asked(call("rm")), calls=entry("indeterminate", 1), interrupts=asks)
                self.assertEqual((job.content, job.state), (content, "skipped"))

    def test_arguments_changed_after_the_start_are_asked_about_again(self) -> None:
        changed = asked(call("rm", '{"path": "/"}'))
        for state in ("started", "indeterminate"):
            answers = resolved("indeterminate", {"action": "retry"})
            for repeatable in (False, True):
                with self.subTest(state, repeatable=repeatable):
                    made = session(changed, calls=entry(state, 1), interrupts=answers)
                    found = next_step(made, Repeatable() if repeatable else TOOLBOX, {}, MODEL)
                    self.assertIsInstance(found, Stop)
                    assert isinstance(found, Stop)
                    ask = found.asks[0]
                    self.assertEqual(ask.interrupt["reason"], "indeterminate")
                    self.assertEqual(ask.interrupt["args"], {"path": "/"})
                    shown = [{**ask.interrupt, "answer": answers[0]["answer"]}]
                    made = session(changed, calls={"c1": ask.entry}, interrupts=shown)
                    self.assertIsInstance(next_step(made, TOOLBOX, {}, MODEL), RunTools)

    def test_the_edited_arguments_are_what_a_retry_runs(self) -> None:
        job = self.job(
            asked(call("rm")),
            calls=entry("indeterminate", 1, args={"a": 2}, fingerprint=print_of("rm", '{"a":2}')),
            interrupts=resolved("indeterminate", {"action": "retry"}, args={"a": 2}),
        )
        self.assertEqual((job.args, job.entry["args"]), ({"a": 2}, {"a": 2}))

    def test_a_call_that_the_page_has(self) -> None:
        """state, answer (None: none), arguments' fingerprint, whether the user moved on → job."""
        mark = TOOLBOX.verdict({"grants": []}, call("page")).fingerprint
        given = {"content": "A page"}
        cases: list[tuple[str, dict[str, Any] | None, str, bool, type, str]] = [
            ("waiting", None, mark, False, Ask, "waiting"),
            ("started", None, mark, False, Ask, "started"),
            ("waiting", given, mark, False, ClientResult, "A page"),
            ("started", given, mark, False, ClientResult, "A page"),
            ("started", given, mark, True, ClientResult, "A page"),
            ("proposed", given, "", False, ClientResult, "A page"),
            ("waiting", None, mark, True, Reply, SUPERSEDED),
            ("started", None, mark, True, Reply, LOST),
            ("waiting", given, "sha256:0", False, Ask, "waiting"),
            ("started", given, "sha256:0", False, Ask, "started"),
        ]
        for state, payload, print_, moved, kind, detail in cases:
            with self.subTest(state=state, payload=payload, print_=print_, moved=moved):
                answers = resolved("client_tool", payload, tool="page")
                if payload is None:
                    del answers[0]["answer"]
                ledger = entry(state)
                ledger["c1"]["fingerprint"] = print_ or None
                messages = asked(call("page")) + ([user("next", "u2")] if moved else [])
                job = self.job(messages, calls=ledger, interrupts=answers)
                self.assertIsInstance(job, kind)
                if isinstance(job, Ask):
                    self.assertEqual(job.entry["state"], detail)
                    self.assertNotIn("answer", job.interrupt)
                    self.assertEqual(job.entry["fingerprint"], mark)
                elif isinstance(job, ClientResult):
                    self.assertEqual(job.payload["content"], detail)
                else:
                    self.assertEqual((job.content, job.state), (detail, "skipped"))

    def test_a_page_without_the_tool_keeps_the_call(self) -> None:
        """The tool may have been switched off meanwhile; the person can still say what to do."""
        answers = resolved("client_tool", {"content": "x"})
        for item, kind in ((answers, ClientResult), ([{**answers[0], "answer": None}], Ask)):
            job = self.job(asked(call("gone")), calls=entry("waiting"), interrupts=item)
            self.assertIsInstance(job, kind)
        self.assertEqual(self.job(asked(call("gone"))).state, "failed", "but it is not given out")

    def test_an_action_is_sent_and_never_asked_about(self) -> None:
        job = self.job(asked(call("act", '{"a": 1}')))
        self.assertEqual((type(job), job.args), (SendToClient, {"a": 1}))
        moved = self.job([*asked(call("act")), user("next", "u2")])
        self.assertEqual((moved.content, moved.state), (SUPERSEDED, "skipped"))

    def test_a_page_call_that_lost_its_result_can_be_handed_over_again(self) -> None:
        for name, kind in (("page", Ask), ("act", SendToClient)):
            for state in ("started", "done"):
                lost = self.job(asked(call(name)), calls=entry(state, 1))
                self.assertEqual(lost.interrupt["reason"], "indeterminate")
            again = resolved("indeterminate", {"action": "retry"}, tool=name)
            calls = entry("indeterminate", 1, fingerprint=print_of(name))
            job = self.job(asked(call(name)), calls=calls, interrupts=again)
            self.assertIsInstance(job, kind)

    def test_cancelled_with_a_reason(self) -> None:
        for name, reason in (("rm", "tool_call"), ("page", "client_tool")):
            for payload, text in (
                (None, "The user cancelled this call."),
                ({"reason": "not now"}, "The user cancelled this call. Reason: not now"),
                ({"reason": 5}, "The user cancelled this call."),
                ("x", "The user cancelled this call."),
            ):
                with self.subTest(name, payload=payload):
                    answers = resolved(reason, payload, "cancelled")
                    job = self.job(asked(call(name)), calls=entry("waiting"), interrupts=answers)
                    self.assertEqual((job.content, job.state), (text, "skipped"))
                    told = "not now" if "not now" in text else ""
                    self.assertEqual(job.feedback, told)

    def test_superseded_and_cancelled(self) -> None:
        moved = self.job([*asked(call("rm")), user("next", "u2")])
        self.assertEqual((moved.content, moved.state), (SUPERSEDED, "skipped"))
        approved = self.job(
            [*asked(call("rm")), user("next", "u2")],
            calls=entry("asking"),
            interrupts=resolved("tool_call", {"approved": True}),
        )
        self.assertIsInstance(approved, Execute)
        cancelled = self.job(
            asked(call("rm")),
            calls=entry("asking"),
            interrupts=resolved("tool_call", None, "cancelled"),
        )
        self.assertEqual(cancelled.state, "skipped")

    def test_a_call_cut_off_by_the_length_limit_is_not_run(self) -> None:
        messages = asked(call("job"), call("job", call_id="c2"), meta={"finish_reason": "length"})
        found = self.step(session(messages))
        self.assertEqual([type(job) for job in found.jobs], [Execute, Reply])

    def test_a_call_in_which_the_answer_broke_off_is_not_run_without_arguments(self) -> None:
        for arguments, reason, runs in (
            ("", "content_filter", False),
            (" ", "network_error", False),
            ("", "model_context_window_exceeded", False),
            ("{}", "content_filter", True),
            ("", "stop", True),
            ("", "tool_calls", True),
            ("", None, True),
        ):
            with self.subTest(arguments, reason=reason):
                cut = call("job", arguments, "c2")
                found = self.step(session(asked(cut, meta={"finish_reason": reason})))
                self.assertEqual([type(job) for job in found.jobs], [Execute if runs else Reply])

    def test_what_can_run_runs_before_people_are_asked(self) -> None:
        messages = asked(call("rm"), call("read", call_id="c2"))
        found = self.step(session(messages))
        self.assertEqual([job.call["id"] for job in found.jobs], ["c2"])
        found = self.step(session([*messages, result("c2")]))
        self.assertEqual([ask.interrupt["call_id"] for ask in found.asks], ["c1"])

    def test_what_counts_as_an_error_in_a_row(self) -> None:
        """Calls of no tool and calls that do not fit; a tool that fails has done its part."""
        unknown = result(result={"status": "not_found"})
        unfit = result(result={"status": "invalid_arguments"})
        said = {"id": "m2", "role": "assistant", "content": "", "tool_calls": []}
        cases: list[tuple[str, list[dict[str, Any]], int]] = [
            ("nothing", [user("go")], 0),
            ("no such tool", [user("go"), said, unknown], 1),
            ("arguments that do not fit", [user("go"), said, unfit], 1),
            ("both", [user("go"), said, unknown, said, unfit, unknown], 3),
            ("a success between", [unknown, said, result(result={"status": "ok"}), unfit], 1),
            ("a failing tool between", [unknown, result(result={"status": "error"}), unfit], 1),
            ("a denial between", [unknown, result(result={"status": "denied"}), unfit], 1),
            ("the user spoke", [unknown, user("go"), unfit], 1),
            ("without an envelope", [unknown, result()], 0),
        ]
        for name, messages, count in cases:
            with self.subTest(name):
                self.assertEqual(consecutive_errors(session(messages)), count)

    def test_limits_come_after_answers_and_calls(self) -> None:
        limits = {"max_steps": 0}
        self.assertEqual(self.step(session([user("go")]), limits=limits).reason, "limit")
        self.assertIsInstance(self.step(session(asked(call("read"))), limits=limits), RunTools)
        messages = [user("go"), {"id": "m", "role": "assistant", "content": "hi"}]
        self.assertEqual(self.step(session(messages), limits=limits).reason, "completed")
        over = self.step(session([user("go")]), limits={"max_wall_s": 1}, elapsed_ms=1000)
        self.assertEqual(over.interrupts[0]["limit"], "max_wall_s")

    def test_no_call_begins_behind_the_limit_of_time(self) -> None:
        """What is asked, and a person's word on it, stay until there is time again; what takes no
        time is done all the same."""
        late: dict[str, Any] = {"limits": {"max_wall_s": 1}, "elapsed_ms": 1000}
        approved = resolved("tool_call", {"approved": True})
        calls = entry("asking", fingerprint=PRINT)
        made = session(
            asked(call("rm"), call("read", call_id="c2")), interrupts=approved, calls=calls
        )
        over = self.step(made, **late)
        self.assertEqual((over.status, over.reason), ("interrupted", "limit"))
        self.assertEqual([i["id"] for i in over.interrupts], ["int-max_wall_s"])
        (ask,) = over.asks  # the client has marked it as begun
        self.assertEqual((ask.interrupt, ask.entry), (approved[0], calls["c1"]))
        made["run"]["declined"] = "limit"
        again = self.step(made, **late)
        self.assertEqual((again.reason, again.asks, again.interrupts), ("limit", over.asks, ()))
        for name, job in (("nope", Reply), ("finish", Execute)):
            made = session(asked(call("read"), call(name, call_id="c2")))
            with self.subTest(name):
                (found,) = self.step(made, **late).jobs
                self.assertEqual((found.call["id"], type(found)), ("c2", job))

    def test_budgets(self) -> None:
        """Each is used up when what was used has come to it, and not before."""
        for name, used, scale in (
            ("max_tokens", "tokens", 1),
            ("max_cost_micro", "cost_micro", 1),
            ("max_wall_s", "wall_ms", 1000),
            ("max_steps", "step", 1),
        ):
            for spent, over in ((4 * scale, False), (5 * scale, True), (6 * scale, True)):
                with self.subTest(name, spent=spent):
                    made = session([user("go")])
                    made["run"][used] = spent
                    found = over_limit(made, {name: 5}, 0)
                    self.assertEqual(found is not None and found["limit"] == name, over)
                    self.assertIsNone(over_limit(made, {name: None}, 0))
                    self.assertIsNone(over_limit(made, {}, 0))

    def test_errors_in_a_row_and_those_that_were_forgiven(self) -> None:
        wrong = result(result={"status": "invalid_arguments"})
        made = session([user("go"), *asked(call("read")), wrong])
        for allowed, forgiven, over in ((0, 0, True), (1, 0, False), (0, 1, False)):
            made["run"]["forgiven"] = forgiven
            found = over_limit(made, {"max_consecutive_errors": allowed}, 0)
            self.assertEqual(found is not None, over, (allowed, forgiven))

    def test_a_server_only_narrows(self) -> None:
        for wanted, ceilings, found in (
            ({"a": 5}, [{"a": 3}], {"a": 3}),
            ({"a": 2}, [{"a": 3}], {"a": 2}),
            ({"a": None}, [{"a": 3}], {"a": 3}),
            ({}, [{"a": 3}], {"a": 3}),
            ({"a": 5}, [{"a": None}], {"a": 5}),
            ({"a": 5, "b": 1}, [{"a": 4}, {"a": 2}], {"a": 2, "b": 1}),
        ):
            with self.subTest(wanted, ceilings=ceilings):
                self.assertEqual(cap_limits(wanted, *ceilings), found)

    def test_no_other_budget_is_exceeded_to_sum_up(self) -> None:
        made = session([user("go"), *asked(call("read")), result()])
        made["run"] |= {"step": 1, "tokens": 5}
        limits = {"max_steps": 1, "on_limit": "summarize"}
        self.assertTrue(self.step(made, limits=limits).sums_up)
        for name in ("max_tokens", "max_cost_micro", "max_wall_s"):
            most = {"max_tokens": 5}.get(name, 0)
            over = self.step(made, limits={**limits, name: most})
            self.assertEqual(over.interrupts[0]["limit"], name)


if __name__ == "__main__":
    unittest.main()
