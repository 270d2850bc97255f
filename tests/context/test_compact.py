"""Making the view smaller: what must hold whatever the session is, and each strategy by itself."""

from __future__ import annotations

import copy
import json
import unittest
from collections import Counter
from typing import Any

from server.context.budget import EXACT, Budget, Measure, Request, measure_request
from server.context.compact import asked_compaction, may_be_due, plan_compaction, too_large
from server.context.strategies import STRATEGIES
from server.context.view import apply_ops, ops_of, pairing_errors, reload, view
from server.session.reminders import with_reminders

from ..tooling import turns
from .sessions import Sessions, record, refusals

NAMES = list(STRATEGIES)
PRECIOUS = "precious\n" * 400


def budget(high: int, window: int | None = None) -> Budget:
    return Budget(high, high // 2, window, max(high // 10, 100))


def measure(session: Any, high: int = 1) -> Measure:
    """An exact one: no anchor is in these sessions but compactions."""
    return measure_request(Request(session), "m", budget(high))


def whole(session: Any, place: int) -> str:
    """Everything `context_reload` gives of one message, page by page."""
    text, offset = "", 0
    while True:
        page = reload(session, f"m{place}", offset)
        text += str(page["text"])
        if "next_offset" not in page:
            return text
        offset = page["next_offset"]


class Laws(unittest.TestCase):
    """Random sessions, each strategy on its own and all together; the suite plays a share."""

    def test_every_view_is_one_that_providers_take(self) -> None:
        made: Counter[str] = Counter()
        seeds = turns.share(range(800), 4)
        for seed in seeds:
            small = {"large_chars": 800, "preview_chars": 100}  # as the sessions are
            maker = Sessions(seed, strategies=self.strategies(seed), **small)
            session = maker.grow(turns=1 + seed % 6)
            kept = copy.deepcopy(session["messages"])
            before = measure(session)
            high = max(before.total // (1 + seed % 5), 200)
            with self.subTest(seed=seed):
                if seed % 7 == 0:
                    ids = [m["id"] for m in session["messages"]]
                    session["context"]["ops"] = [{"op": "pin", "ids": maker.random.sample(ids, 1)}]
                compaction = plan_compaction(session, budget(high), before)
                if compaction:
                    record(session, compaction)
                    made.update(op["op"] for op in compaction.ops)
                    self.done_with(session, high, compaction.record)
                messages = view(session)
                self.assertEqual(pairing_errors(messages), [])
                noted = with_reminders(session | {"run": {}}, messages)
                self.assertEqual(refusals(noted), [])
                self.assertEqual(session["messages"], kept)
                self.nothing_lost(session, maker.needles)
                twice = [*ops_of(session), *ops_of(session)]
                self.assertEqual(
                    apply_ops(session["messages"], twice),
                    apply_ops(session["messages"], ops_of(session)),
                )
                self.stable_prefix(maker, messages)
        for kind in ("stub", "preview", "args", "fold"):
            self.assertGreater(made[kind], len(seeds) / 8)

    def done_with(self, session: Any, high: int, made: Any) -> None:
        """No compaction follows at once but that of what has expired; one above the low watermark
        has left nothing to do, and if that is above the window, the largest messages are told."""
        now = measure_request(Request(session), "m", budget(high))
        if again := plan_compaction(session, budget(high), now):
            self.assertEqual(again.record["trigger"], "retention")
            record(session, again)
            now = measure_request(Request(session), "m", budget(high))
            self.assertIsNone(plan_compaction(session, budget(high), now))
        if made["trigger"] == "size" and made["after"] > high // 2:
            self.assertIsNone(plan_compaction(session, budget(high), now, target=0.5))
            small = budget(high, now.total - 1)
            self.assertTrue(too_large(session, small, now))

    def strategies(self, seed: int) -> list[str]:
        return NAMES if seed % 3 else [NAMES[seed // 3 % len(NAMES)]]

    def nothing_lost(self, session: Any, needles: list[str]) -> None:
        reachable = "\n".join(whole(session, at) for at in range(len(session["messages"])))
        reachable = reachable.replace("\\n", "\n")
        for needle in needles:
            self.assertIn(needle, reachable)

    def stable_prefix(self, maker: Sessions, before: list[Any]) -> None:
        maker.say("assistant", "done")
        maker.say("user", "more")
        after = view(maker.session)
        self.assertEqual(json.dumps(after[: len(before)]), json.dumps(before))

    def test_it_ends_below_the_low_watermark(self) -> None:
        """With nothing pinned and many turns, all strategies together always get there."""
        for seed in turns.share(range(40), 4):
            session = Sessions(seed).grow(turns=20)
            before = measure(session).total
            high = before // 2
            with self.subTest(seed=seed):
                compaction = plan_compaction(session, budget(high), measure(session))
                assert compaction is not None
                record(session, compaction)
                session["context"].pop("events")  # measure it whole again
                self.assertLessEqual(measure(session).total, high // 2 + 2_000)
                self.assertAlmostEqual(
                    measure(session).total, compaction.record["after"], delta=high * 0.05 + 50
                )

    def test_no_loop(self) -> None:
        """Right after a compaction there is never another one, whatever it could free."""
        for seed in turns.share(range(60), 4):
            session = Sessions(seed).grow(turns=12)
            high = measure(session).total // 6
            first = plan_compaction(session, budget(high), measure(session))
            if first is None:
                continue
            record(session, first)
            self.assertIsNone(plan_compaction(session, budget(high), measure(session, high)), seed)

    def test_what_a_person_asks_for_is_done_whatever_the_size(self) -> None:
        """Far below every watermark; again and again, until nothing more can go."""
        for seed in turns.share(range(60), 4):
            maker = Sessions(seed, preview_chars=100)
            session = maker.grow(turns=6)
            maker.say("assistant", "the answer " * 200)
            with self.subTest(seed=seed):
                kept, passes = copy.deepcopy(session["messages"]), 0
                while (found := asked_compaction(Request(session), "m", {})).ops:
                    before = measure(session).total
                    self.assertEqual(found.record["trigger"], "asked")
                    self.assertLess(found.record["after"], found.record["before"])
                    record(session, found)
                    self.assertLessEqual(measure(session).total, before)
                    self.assertEqual(view(session)[-1], session["messages"][-1])
                    self.nothing_lost(session, maker.needles)
                    passes += 1
                self.assertTrue(0 < passes < 20)
                self.assertEqual(found.record["before"], found.record["after"])
                self.assertEqual((session["messages"], found.record["ops"]), (kept, 0))
                self.stable_prefix(maker, view(session))

    def test_many_turns(self) -> None:
        """Prefix breaks are rare, what is recorded is true, and no request is too large."""
        maker = Sessions(1)
        session, plan = maker.session, budget(6_000, 8_000)
        breaks = 0
        previous: list[str] = []
        for turn in range(200):
            maker.turn()
            maker.say("user", "go on")
            now = measure_request(Request(session), "m", EXACT)
            if compaction := plan_compaction(session, plan, now):
                record(session, compaction)
                now = measure_request(Request(session), "m", EXACT)
                if turn % 50 == 0:
                    anchored = session["context"].pop("events")
                    true = measure(session).total
                    session["context"]["events"] = anchored
                    self.assertAlmostEqual(now.total, true, delta=100)
            self.assertEqual(too_large(session, plan, now), [])
            if turn % 4 == 0:
                texts = [str(message) for message in view(session)]
                breaks += texts[: len(previous)] != previous
                previous = texts
            maker.say("assistant", "ok")
        self.assertLess(breaks, 40)  # of 50 times looked
        self.assertLess(len(json.dumps(view(session))), 45_000)


class Cases(unittest.TestCase):
    """Each strategy by itself, in small."""

    def session(self, *messages: tuple[str, str], **options: Any) -> Sessions:
        maker = Sessions(0, **options)
        for role, text in messages:
            if role == "call":
                call = maker.call("read_file")
                call["function"]["arguments"] = json.dumps({"path": text[:20]})
                maker.say("assistant", "", tool_calls=[call])
                maker.say(
                    "tool", text, tool_call_id=call["id"], name="read_file", result={"status": "ok"}
                )
            else:
                maker.say(role, text)
        return maker

    def compact(self, maker: Sessions, high: int = 100, **more: Any) -> list[Any]:
        """The operations that are planned, ingested results apart."""
        plan = Budget(high, high // 2, more.pop("window", None), 10**9)
        found = plan_compaction(maker.session, plan, measure(maker.session), **more)
        if found is None:
            return []
        record(maker.session, found)
        return list(found.ops)

    def only(self, name: str) -> Any:
        return {"strategies": [name], "min_saving": 0}

    def test_results_of_old_turns_become_one_line(self) -> None:
        long = "line of output\n" * 200
        maker = self.session(
            ("user", "one"), ("call", long), ("assistant", "done"), ("user", "two"),
            ("assistant", "b"),
            ("user", "three"), ("assistant", "c"), ("user", "four"),
            **self.only("tool_invocation_compress"),
        )  # fmt: skip
        self.assertEqual(self.compact(maker), [{"op": "stub", "ids": ["msg_3"], "why": "old"}])
        text = view(maker.session)[2]["content"]
        self.assertIn('context_reload(handle="m2")', text)
        self.assertIn("read_file (ok, 3,000 characters)", text)

    def test_what_saves_just_the_least_saving_is_done(self) -> None:
        def planned(saving: int) -> Any:
            maker = self.session(
                ("user", "one"), ("call", "line of output\n" * 200), ("assistant", "done"),
                ("user", "two"), ("assistant", "b"), ("user", "three"), ("assistant", "c"),
                ("user", "four"),
                strategies=["tool_invocation_compress"], min_saving=saving / 128,
            )  # fmt: skip
            measured = measure(maker.session)
            found = plan_compaction(maker.session, Budget(128, 64, None, 10**9), measured)
            return found and found.record

        record = planned(1)
        saved = record["before"] - record["after"]
        self.assertEqual((planned(saved), planned(saved + 1)), (record, None))

    def test_what_was_read_again_goes_first(self) -> None:
        long = "the same file\n" * 200
        maker = self.session(
            ("user", "one"), ("call", long), ("call", long), ("assistant", "x"), ("user", "two"),
            **self.only("tool_invocation_compress"),
        )  # fmt: skip
        (op,) = self.compact(maker)
        self.assertEqual((op["ids"], op["why"]), (["msg_3"], "read again later"))

    def test_large_messages_become_a_preview(self) -> None:
        long = "".join(f"line {n}\n" for n in range(2_000))
        for name, tail, changed in (
            ("large_message_offload_with_protection", 1, []),
            ("large_message_offload_with_protection", 30, ["msg_2"]),
            ("large_message_offload", 1, ["msg_2"]),
        ):
            with self.subTest(name=name, tail=tail):
                chat = [("user", "x"), ("assistant", "y")] * tail
                maker = self.session(
                    ("user", "one"), ("assistant", long), *chat, ("user", "end"), **self.only(name)
                )
                self.assertEqual([op["id"] for op in self.compact(maker)], changed)
                if changed:
                    text = view(maker.session)[1]["content"]
                    self.assertIn("line 0\n", text)
                    self.assertIn("line 1999", text)
                    self.assertLess(len(text), 1_200)

    def test_large_messages_of_the_current_turn_become_a_preview(self) -> None:
        """What was seen in it, and no other turn's; a result stays the result of its call."""
        long = "".join(f"line {n}\n" for n in range(2_000))
        maker = self.session(
            ("user", "one"), ("call", long), ("assistant", "done"), ("user", "two"),
            ("call", long), ("call", long + "unseen"),
            **self.only("current_round_large_message_summary"),
        )  # fmt: skip
        before = view(maker.session)
        self.assertEqual(
            [op["id"] for op in self.compact(maker)], [maker.session["messages"][6]["id"]]
        )
        after = view(maker.session)
        changed = [n for n, (a, b) in enumerate(zip(before, after, strict=True)) if a != b]
        self.assertEqual(changed, [6])
        self.assertEqual(after[6]["tool_call_id"], before[6]["tool_call_id"])
        self.assertLess(len(after[6]["content"]), 1_200)

    def test_whole_turns_become_one_message(self) -> None:
        turns = [("user", "please do " + "this " * 40), ("call", "Error: /srv/app.py broke\n" * 40),
                 ("assistant", "I did " + "much " * 60)]  # fmt: skip
        maker = self.session(
            *turns * 6, ("user", "end"), **self.only("previous_round_conversation_summary")
        )
        ops = self.compact(maker, 2_000)
        self.assertEqual({op["op"] for op in ops}, {"fold"})
        messages = view(maker.session)
        self.assertEqual([m["role"] for m in messages[:3]], ["user", "assistant", "user"])
        note = messages[1]["content"]
        for wanted in (
            "please do this",
            "called read_file(path=",
            "Error: /srv/app.py broke",
            '(handle="m1")',
        ):
            self.assertIn(wanted, note)
        self.assertEqual(messages[-1]["content"], "end")

    def test_the_current_turn_keeps_its_last_step(self) -> None:
        long = "unseen or seen\n" * 300
        maker = self.session(
            ("user", "one"), ("call", long), ("call", long + "2"), ("call", long + "3"),
            **self.only("current_round_message_compress"),
        )  # fmt: skip
        touched = {id_ for op in self.compact(maker) for id_ in op.get("ids", [])}
        self.assertEqual(touched, {"msg_3", "msg_5"})

    def test_unseen_results_are_touched_by_nothing_but_ingest(self) -> None:
        maker = self.session(("user", "one"), ("call", "big\n" * 20_000))
        self.assertEqual(self.compact(maker), [])
        plan = budget(1_000, 1_500)
        found = plan_compaction(maker.session, plan, measure(maker.session))
        assert found is not None
        self.assertEqual([op["op"] for op in found.ops], ["preview"])
        self.assertEqual(found.record["trigger"], "ingest")
        record(maker.session, found)
        self.assertEqual(
            too_large(maker.session, plan, measure_request(Request(maker.session), "m", plan)), []
        )

    def test_results_are_unseen_also_where_the_user_has_spoken_since(self) -> None:
        """An approval and a new message may come in one POST: the call runs, then the model is
        asked for the first time since."""
        maker = self.session(("user", "one"), ("call", "big\n" * 20_000), ("user", "and this?"))
        maker.say("assistant", "half", open=True)
        maker.say("error", "HTTP 500")
        self.assertEqual(self.compact(maker), [])
        plan = budget(1_000, 1_500)
        found = plan_compaction(maker.session, plan, measure(maker.session))
        assert found is not None
        self.assertEqual(([op["op"] for op in found.ops]), ["preview"])
        self.assertEqual(found.record["trigger"], "ingest")

    def test_what_fits_nowhere_is_told(self) -> None:
        maker = self.session(("user", "x " * 40_000))
        plan = budget(1_000, 1_500)
        now = measure_request(Request(maker.session), "m", plan)
        self.assertIsNone(plan_compaction(maker.session, plan, now))
        (item,) = too_large(maker.session, plan, now)
        self.assertEqual((item["id"], item["role"]), ("msg_1", "user"))

    def test_switched_off(self) -> None:
        maker = Sessions(3, enabled=False)
        session = maker.grow(20)
        self.assertFalse(may_be_due(session, budget(10), measure(session)))
        self.assertIsNone(plan_compaction(session, budget(10), measure(session)))

    def test_a_pass_that_would_free_little_is_not_made(self) -> None:
        maker = self.session(
            ("user", "one " * 3_000), ("call", "small\n" * 60), ("assistant", "a"), ("user", "b"),
            ("assistant", "c"), ("user", "d"), ("assistant", "e"), ("user", "f"),
        )  # fmt: skip
        self.assertEqual(self.compact(maker, 2_500), [])

    def test_kept_as_long_as_the_tool_said(self) -> None:
        """G17: with keep 0 a result is in the next request and absent from the one after."""
        maker = self.session(("user", "one"), ("call", "one time only\n" * 30))
        maker.session["messages"][-1]["result"]["keep"] = 0
        self.assertEqual(self.compact(maker, 100_000), [])
        self.assertIn("one time only", view(maker.session)[2]["content"])
        maker.say("assistant", "thanks")
        maker.say("user", "next")
        self.assertEqual([op["why"] for op in self.compact(maker, 100_000)], ["expired"])
        self.assertNotIn("one time only", view(maker.session)[2]["content"])

    def test_pins_hold_against_every_strategy(self) -> None:
        long = "precious\n" * 400
        chat = [("user", "x " * 300), ("assistant", "y " * 300)] * 8
        maker = self.session(
            ("user", "one"), ("call", long), ("assistant", "z"), *chat, ("user", "end")
        )
        maker.session["context"]["ops"] = [{"op": "pin", "ids": ["msg_3"]}]
        plan = budget(12_000)
        found = plan_compaction(maker.session, plan, Measure(0, 13_000, 1.0))
        assert found is not None
        record(maker.session, found)
        self.assertIn(long, [m["content"] for m in view(maker.session)])

    def retaining(self, *said: Any) -> Sessions:
        """A session whose model said this of its one result, with `context_retain`."""
        maker = self.session(("user", "one"), ("call", PRECIOUS), ("assistant", "z"))
        for about in said:
            maker.say("user", "and?")
            self.say_retain(maker, about)
        return maker

    def say_retain(self, maker: Sessions, about: Any) -> None:
        call = maker.call("context_retain")
        maker.say("assistant", "", tool_calls=[call])
        result = {"status": "ok", "result": {"ids": ["msg_3"], **about}}
        maker.say("tool", "ok", tool_call_id=call["id"], name=call["function"]["name"],
                  result=result)  # fmt: skip

    def remains(self, maker: Sessions, small: Budget, size: int) -> bool:
        """Whether the result is whole in the next request; in the session it always is."""
        if found := plan_compaction(maker.session, small, Measure(0, size, 1.0)):
            record(maker.session, found)
        self.assertEqual(maker.session["messages"][2]["content"], PRECIOUS)
        return PRECIOUS in [message["content"] for message in view(maker.session)]

    def test_dropped_by_the_model_it_is_gone_from_the_requests(self) -> None:
        """G18: what a model says with `context_retain`; its last word counts."""
        drop, pin = {"action": "drop"}, {"action": "pin"}
        for said, stays in (
            ([drop], False),
            ([{"action": "keep", "turns": 0}], False),
            ([{"action": "keep", "turns": 1}], True),
            ([{"action": "keep", "turns": 9}], True),
            ([pin, drop], False),
            ([drop, pin], True),
            ([drop, {"action": "auto"}], True),
            ([drop, {**pin, "ids": 5}], False),
        ):
            with self.subTest(said):
                self.assertEqual(self.remains(self.retaining(*said), budget(10**6), 100), stays)

    def test_kept_for_so_many_answers_from_when_the_model_says_so(self) -> None:
        for late in (0, 4):  # answers between the result and the model's word
            for answers, after, stays in ((1, 0, True), (1, 1, False), (3, 2, True), (3, 3, False)):
                with self.subTest(late=late, answers=answers, after=after):
                    maker = self.retaining()
                    for _ in range(late):
                        maker.say("user", "and?")
                        maker.say("assistant", "so")
                    self.say_retain(maker, {"action": "keep", "turns": answers})
                    for _ in range(after):
                        maker.say("assistant", "so")
                        maker.say("user", "and?")
                    self.assertEqual(self.remains(maker, budget(10**6), 100), stays)

    def test_a_word_about_messages_that_a_person_has_given_by_hand(self) -> None:
        """The call had begun and its result was lost: the answer is any text."""
        maker = self.retaining({"action": "drop"}, {"action": "pin"})
        maker.session["messages"][-1]["result"]["result"] = "done"
        self.assertFalse(self.remains(maker, budget(10**6), 100))

    def test_pinned_by_the_model_it_holds_against_every_strategy(self) -> None:
        for action, stays in (("pin", True), ("auto", False)):
            with self.subTest(action):
                maker = self.retaining({"action": action})
                for role, text in [("assistant", "y " * 300), ("user", "x " * 300)] * 8:
                    maker.say(role, text)
                self.assertEqual(self.remains(maker, budget(12_000), 13_000), stays)

    def test_exempt_tools(self) -> None:
        maker = self.session(
            ("user", "one"), ("call", "skill text\n" * 300), ("assistant", "x"), ("user", "two"),
            ("assistant", "y"), ("user", "3"), ("assistant", "y"), ("user", "4"),
            exempt_tools=["read_file"], strategies=NAMES[:3], min_saving=0,
        )  # fmt: skip
        self.assertEqual(self.compact(maker), [])

    def test_refused_by_the_provider(self) -> None:
        session = Sessions(5).grow(12)
        now = measure(session)
        found = plan_compaction(session, budget(now.total * 2), now, target=0.2)
        assert found is not None
        self.assertEqual(found.record["trigger"], "overflow")
        self.assertLessEqual(found.record["after"], now.total * 2 * 0.2 + 500)

    def test_the_record_names_the_strategies_that_helped(self) -> None:
        """G15: in the order in which they came."""
        small = {"large_chars": 300, "preview_chars": 50, "keep_turns": 1, "keep_messages": 4}

        def records(names: list[str]) -> list[list[str]]:
            found = []
            for seed in range(6):
                maker = Sessions(seed, strategies=names, **small)
                session = maker.grow(6)
                for _ in range(4):
                    maker.step()
                made = plan_compaction(session, budget(10**6), measure(session), target=0.0001)
                if made and made.record["trigger"] == "overflow":
                    found.append(made.record["strategies"])
            return found

        for name in NAMES:
            with self.subTest(name):
                said = records([name])
                self.assertEqual(said, [[name]] * len(said))
                self.assertTrue(said)
        for together in records(NAMES):
            self.assertEqual(together, [name for name in NAMES if name in together])
            self.assertGreater(len(together), 1)

    def test_the_triggers_are_exact(self) -> None:
        session = Sessions(5).grow(12)
        for message in session["messages"]:
            (message.get("result") or {}).pop("keep", None)
        now = measure(session).total
        exact = Measure(0, now, 1.0)
        self.assertFalse(may_be_due(session, Budget(now + 1, now // 2, None, 10**9), exact))
        self.assertTrue(may_be_due(session, Budget(now, now // 2, None, 10**9), exact))
        count = len(view(session))
        for most, expected in ((count + 1, False), (count, True), (None, False)):
            session["config"]["context"]["max_messages"] = most
            plan = Budget(10**9, 10**8, None, 10**9)
            self.assertEqual(may_be_due(session, plan, exact), expected, most)
