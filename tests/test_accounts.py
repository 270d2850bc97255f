"""What each person holds: shares by table and by a random model, rates of requests, and what the
narrower of two keys allows."""

from __future__ import annotations

import asyncio
import random
import sys
import unittest
from contextlib import ExitStack
from types import FrameType
from typing import Any

from server.api.auth import Key, Keys
from server.api.router import Route, Router
from server.errors import Problem
from server.lib.runtime import accounts
from server.lib.runtime.accounts import NOBODY, RESOURCES, Accounts, Pool, Rules, parse_rate
from server.lib.runtime.event_loop import Loop, run

from .api.fakes import Call, run_async
from .tooling import patience

LIMITS = {"max_runs": 64, "max_connections": 1024, "max_memory": 1000}


def rules(limits: Any = LIMITS, owners: str = "", people: int = 9, **own: Any) -> Rules:
    """The rules of so many people, with the limits of their keys: `ann=[{...}, {...}]`."""
    keys = [(name, each) for name, given in own.items() for each in given]
    return Rules(limits, keys, frozenset(owners.split()), people)


def code_of(
    accounts: Accounts, person: str, what: str = "runs", amount: int = 1, **more: Any
) -> str:
    """The code of a refusal; "" for what is taken."""
    try:
        accounts.take(person, what, amount, **more)
    except Problem as problem:
        assert int(problem.headers["Retry-After"]) > 0
        assert f"server.limits.{RESOURCES[what].key}" in problem.detail or "limits." in str(problem)
        return problem.code
    return ""


def fill(accounts: Accounts, person: str, what: str = "runs") -> int:
    """How many one person gets, one after the other."""
    got = 0
    while not code_of(accounts, person, what):
        got += 1
    return got


class Shares(unittest.TestCase):
    def test_by_table(self) -> None:
        for about, given, asked, wanted in (
            ("one of several gets half", {}, ["ann"], [32]),
            ("a second one a half of the rest, a third …", {}, ["a", "b", "c"], [32, 16, 8]),
            ("an owner gets three quarters", {"owners": "ann"}, ["ann"], [48]),
            ("beside whom others still get some", {"owners": "ann"}, ["ann", "bob"], [48, 8]),
            ("who is alone gets all", {"people": 1}, ["ann"], [64]),
            ("and strangers half", {"people": 1}, [NOBODY, ""], [32, 32]),
            ("a key of its own limit", {"ann": [{"max_runs": 4}]}, ["ann", "bob"], [4, 30]),
            ("two keys", {"ann": [{"max_runs": 4}, {"max_runs": 2}]}, ["ann"], [2]),
            ("one of two", {"ann": [{"max_runs": 4}, {"rate_limit": "1/s"}]}, ["ann"], [4]),
            ("a key with more than its share", {"ann": [{"max_runs": 60}]}, ["ann"], [32]),
            ("one place for two", {"limits": {"max_runs": 1}}, ["ann", "bob"], [1, 0]),
            ("two places for two", {"limits": {"max_runs": 2}}, ["ann", "bob"], [1, 1]),
            ("none", {"ann": [{"max_runs": 0}]}, ["ann"], [0]),
            ("no limit", {"limits": {}, "people": 1}, [], []),
        ):
            with self.subTest(about):
                accounts = Accounts(rules(**given))
                self.assertEqual([fill(accounts, person) for person in asked], wanted)

    def test_two_who_ask_in_turns_get_a_third_each(self) -> None:
        accounts = Accounts(rules())
        for _ in range(64):
            for person in ("ann", "bob"):
                code_of(accounts, person)
        self.assertEqual(dict(accounts.pools["runs"].held), {"ann": 21, "bob": 21})

    def test_a_large_piece_for_who_holds_nothing(self) -> None:
        accounts = Accounts(rules())
        self.assertEqual(code_of(accounts, "ann", "memory", 900), "")
        self.assertEqual(code_of(accounts, "bob", "memory", 100), "")
        for person in ("bob", "carl"):
            self.assertEqual(code_of(accounts, person, "memory", 1), "overloaded")

    def test_what_grows(self) -> None:
        """A request's memory counts once, and a refusal changes nothing."""
        accounts = Accounts(rules())
        for before, after, code in ((0, 300, ""), (300, 900, ""), (900, 1001, "overloaded")):
            self.assertEqual(code_of(accounts, "ann", "memory", after, before=before), code)
        self.assertEqual(accounts.pools["memory"].held, {"ann": 900})
        accounts.take("ann", "memory", 200, before=900)
        self.assertEqual(code_of(accounts, "ann", "memory", 400), "busy")
        accounts.take("bob", "memory", 400)
        accounts.take("ann", "memory", 9000, always=True)
        self.assertEqual(accounts.pools["memory"].held, {"ann": 9200, "bob": 400})

    def test_a_refusal_says_whose_limit_it_is(self) -> None:
        alone, several = rules({"max_runs": 1}, people=1), rules({"max_runs": 2})
        keyed = rules(ann=[{"max_runs": 1}])
        for given, words in (
            (alone, "All 1 runs at once (server.limits.max_runs) are in use. Ask again"),
            (several, "You hold 1 of 2 runs at once (server.limits.max_runs). The rest is kept"),
            (keyed, "Your keys may have 1 runs at once (limits.max_runs of a key). Wait until"),
        ):
            accounts = Accounts(given)
            accounts.take("ann", "runs")
            self.assertIn(words, accounts.refusal("ann", "runs").detail)

    def test_changed_rules_change_nothing_that_is_held(self) -> None:
        accounts = Accounts(rules())
        self.assertEqual(fill(accounts, "ann"), 32)
        accounts.rules = rules({"max_runs": 16})
        self.assertEqual([code_of(accounts, who) for who in ("ann", "bob")], ["busy"] * 2)
        accounts.give("ann", "runs", 25)
        self.assertEqual([code_of(accounts, who) for who in ("ann", "bob")], ["", ""])

    def test_a_random_history_against_a_model(self) -> None:
        """Nobody is over the share after taking, the sums hold, who has nothing gets one where one
        is free, and what is given back can be taken again."""
        for seed in range(60):
            dice = random.Random(seed)
            limits = {"max_runs": dice.randint(1, 40)}
            people = ["ann", "bob", "carl", "owner"]
            own = {"carl": [{"max_runs": dice.randint(0, 5)}]}
            accounts = Accounts(rules(limits, "owner", 4, **own))
            held: list[tuple[str, str, Any]] = []
            for _ in range(300):
                if held and dice.random() < 0.45:
                    held.pop(dice.randrange(len(held)))[2]()
                    continue
                person, name = dice.choice(people), dice.choice("abcdefghijkl")
                entries = {(who, what) for who, what, _ in held}
                mine = sum(who == person for who, _ in entries)
                most, free = limits["max_runs"], limits["max_runs"] - len(entries)
                allowed = own["carl"][0]["max_runs"] if person == "carl" else most
                times = 3 if person == "owner" else 1
                fits = free > 0 and mine < allowed and (not mine or mine + 1 <= times * (free - 1))
                try:
                    held.append((person, name, accounts.hold(person, "runs", name)))
                except Problem:
                    self.assertFalse(fits or (person, name) in entries, seed)
                else:
                    self.assertTrue(fits or (person, name) in entries, seed)
            for *_, release in held:
                release()
            self.assertEqual((accounts.pools["runs"].total, accounts.pools["runs"].held), (0, {}))


class Waiting(unittest.IsolatedAsyncioTestCase):
    async def test_turns_go_round(self) -> None:
        """One stays free for who holds none, and of equals who came first is first."""
        turns, told = Pool(4, 3), []

        async def call(owner: str, name: str, end: asyncio.Event) -> None:
            async with turns.turn(owner):
                told.append(name)
                await end.wait()

        names = ("a1", "a2", "a3", "a4", "a5", "b1", "b2", "c1")
        ends = {name: asyncio.Event() for name in names}
        calls = [asyncio.create_task(call(name[0], name, end)) for name, end in ends.items()]
        for ending, expected in (
            ("", ["a1", "a2", "a3", "b1"]),
            ("a1", ["c1"]),  # who holds fewer comes first
            ("a2", []),  # one stays free
            ("c1", ["a4"]),  # of two who hold as many the first
            ("b1", ["b2"]),
            ("b2", ["a5"]),
        ):
            if ending:
                ends[ending].set()
            for _ in range(9):
                await asyncio.sleep(0)
            self.assertEqual(told, expected, ending)
            told.clear()
        for end in ends.values():
            end.set()
        await asyncio.gather(*calls)
        self.assertEqual(turns.total, 0)

    async def test_turns_that_do_not_come(self) -> None:
        turns = Pool(1)
        async with turns.turn("a"):
            with self.assertRaises(TimeoutError):
                await turns.turn("b", 0.001).__aenter__()
            waiting = asyncio.create_task(turns.turn("b").__aenter__())
            await asyncio.sleep(0)
        waiting.cancel()  # it has got the turn, and does not know it
        await asyncio.gather(waiting, return_exceptions=True)
        async with turns.turn("c", 0.001):
            self.assertEqual(turns.held, {"c": 1})

    async def test_many_requests_at_once_go_round(self) -> None:
        """Whoever asks once is not behind all that another one asks; alone nobody waits."""
        for others, expected in ((["gil"], ["mal", "gil", *["mal"] * 7]), ([], ["mal"] * 8)):
            accounts, begun, rounds = Accounts(rules()), list[str](), 0

            async def serve(person: str) -> None:
                await accounts.arrive(person)  # noqa: B023
                begun.append(person)  # noqa: B023

            people = ["mal"] * 8 + others
            for person in people:
                accounts.begin(Asked(person))
            tasks = [asyncio.create_task(serve(person)) for person in people]
            while not all(each.done() for each in tasks):
                rounds += 1
                await asyncio.sleep(0)
            self.assertEqual(begun, expected)
            self.assertEqual(rounds > 8, bool(others), rounds)


class WithoutMemory(unittest.TestCase):
    def test_no_turn_is_lost(self) -> None:
        """Whatever a turn calls may find none, once: whoever waits gets theirs, all are given."""
        self.addCleanup(sys.setprofile, sys.getprofile())
        nth = 1
        while run(self.play(nth)) >= nth:
            nth += 1
        self.assertGreater(nth, 5)

    async def play(self, nth: int) -> int:
        """Fail the nth call. Return how many there were."""
        # Python's own calls of these need no memory; what they do does.
        lasting = {Pool.change.__code__, Pool._wake.__code__, Loop.call_soon.__code__}
        turns, calls = Pool(1), 0

        def starve(frame: FrameType, event: str, _: object) -> None:
            nonlocal calls
            caller = frame.f_back.f_code.co_filename if frame.f_back else ""
            if event == "call" and caller == accounts.__file__ and frame.f_code not in lasting:
                calls += 1
                if calls == nth:
                    raise MemoryError  # then Python takes the profiler away

        async def work(person: str) -> None:
            async with turns.turn(person):
                await asyncio.sleep(0)

        tasks = [asyncio.create_task(work(person)) for person in "aab"]
        sys.setprofile(starve)
        _, waiting = await asyncio.wait(tasks, timeout=patience.seconds(5))
        sys.setprofile(None)
        self.assertEqual((len(waiting), turns.total, turns.held), (0, 0, {}), f"call {nth}")
        await asyncio.gather(*tasks, return_exceptions=True)
        return calls


class Calls(unittest.TestCase):
    def weights(self, count: int, people: int) -> list[float]:
        """What each of so many calls at once of one person weighs; alone it is 1."""
        accounts = Accounts(rules(people=people))
        with ExitStack() as calls:
            nice = [calls.enter_context(accounts.call("ann")) for _ in range(count)]
            calls.enter_context(accounts.call("bob"))
            self.assertEqual(accounts.pools["calls"].held, {"ann": count, "bob": 1})
        self.assertEqual(accounts.pools["calls"].total, 0)
        self.assertTrue(all(0 <= each <= 19 for each in nice), nice)
        return [1.25**-each for each in nice]

    def test_many_weigh_less_than_three(self) -> None:
        for count in (1, 2, 16, 64):
            self.assertEqual(self.weights(count, 9)[0], 1)
            self.assertLess(sum(self.weights(count, 9)), 3, count)

    def test_whoever_has_the_only_keys_stands_back_for_nobody(self) -> None:
        self.assertEqual(self.weights(16, 1), [1] * 16)


class Rates(unittest.TestCase):
    def setUp(self) -> None:
        self.now = 1000.0

    def accounts(self, limit: str, **own: Any) -> Accounts:
        return Accounts(rules({"rate_limit": limit}, **own), clock=lambda: self.now)

    def wait_of(self, accounts: Accounts, person: str = "ann") -> int:
        """Seconds that a refusal tells to wait; 0 for a request that is taken."""
        asked = Asked(person)
        try:
            accounts.begin(asked)
        except Problem as problem:
            self.assertEqual((problem.status, problem.code), (429, "rate_limited"))
            return int(problem.headers["Retry-After"])
        finally:
            accounts.end(asked)
        return 0

    def test_the_101st_in_a_minute_waits(self) -> None:
        accounts = self.accounts("100/1m")
        self.assertEqual([self.wait_of(accounts) for _ in range(100)], [0] * 100)
        self.assertEqual([self.wait_of(accounts) for _ in range(3)], [1] * 3)
        self.now += 0.6
        self.assertEqual([self.wait_of(accounts) for _ in range(2)], [0, 1])
        self.now += 3600  # an hour of rest saves up one burst and no more
        self.assertEqual(sum(self.wait_of(accounts) == 0 for _ in range(300)), 100)

    def test_the_time_told_is_enough_and_not_much_more(self) -> None:
        for limit in ("1/10s", "3/h", "2/1d", "7/2m", "1/s"):
            with self.subTest(limit=limit):
                accounts = self.accounts(limit)
                while not (wait := self.wait_of(accounts)):
                    pass
                self.now += wait - 1.001
                self.assertGreater(self.wait_of(accounts), 0)
                self.now += 1.002
                self.assertEqual(self.wait_of(accounts), 0)

    def test_people_are_counted_apart_and_may_have_their_own(self) -> None:
        own = {"bob": [{"rate_limit": "3/1m"}], "free": [{"rate_limit": ""}]}
        two = {"two": [{"rate_limit": "5/1h"}, {"rate_limit": "4/1s"}, {"max_runs": 1}]}
        accounts = self.accounts("1/1m", **own, **two)
        taken = {person: sum(not self.wait_of(accounts, person) for _ in range(9))
                 for person in ("ann", "bob", "free", "two")}  # fmt: skip
        self.assertEqual(taken, {"ann": 1, "bob": 3, "free": 9, "two": 4})
        self.now += 1.001
        self.assertEqual(sum(not self.wait_of(accounts, "two") for _ in range(9)), 1)

    def test_changed_rules_do_not_begin_anew(self) -> None:
        accounts = self.accounts("3/1h")
        self.assertEqual(sum(not self.wait_of(accounts) for _ in range(5)), 3)
        accounts.rules = rules({"rate_limit": "2/1h"})
        self.assertGreater(self.wait_of(accounts), 0)

    def test_none_at_all(self) -> None:
        self.assertEqual({self.wait_of(self.accounts("")) for _ in range(1000)}, {0})

    def test_what_is_no_rate(self) -> None:
        self.assertEqual(parse_rate("100/1m"), (100, 100 / 60))
        for text in ("", "100", "100/", "/m", "1/1w", "-1/s", "1/1m "):
            with self.subTest(text=text), self.assertRaises(ValueError):
                parse_rate(text)

    def test_at_the_router(self) -> None:
        """A wrong key costs the right one nothing; what needs no key is not counted."""

        async def handle(call: object) -> None:
            await call.json({})  # type: ignore[attr-defined]

        table = {("GET", "/info"): Route(handle), ("GET", "/health"): Route(handle, open=True)}
        keys = Keys([{"name": "ann", "key": "k", "limits": {"rate_limit": "2/1m"}}])
        router = Router(table, handle, keys)

        def ask(path: str, key: str) -> Call:
            call = Call("GET", path, {"Authorization": f"Bearer {key}"})
            run_async(router(call.exchange))
            return call

        self.assertEqual([ask("/info", "wrong").status for _ in range(5)], [401] * 5)
        self.assertEqual([ask("/health", "k").status for _ in range(5)], [200] * 5)
        self.assertEqual([ask("/info", "k").status for _ in range(3)], [200, 200, 429])
        refused = ask("/info", "k")
        self.assertEqual(refused.headers["retry-after"], "30")
        self.assertEqual(refused.headers["access-control-allow-origin"], "*")


class Asked:
    """A request of a person."""

    run, began, outlives_key, exchange = "", 0.0, False, None

    def __init__(self, person: str) -> None:
        self.key = Key(person, person)


if __name__ == "__main__":
    unittest.main()
