"""Rates of requests: bursts, the steady rate, keys apart, and the time a refusal tells."""

from __future__ import annotations

import unittest

from server.api.auth import ANYONE, Key, Keys, RateLimiter, parse_rate
from server.api.router import Route, Router
from server.errors import Problem

from .fakes import Call, run_async


class Buckets(unittest.TestCase):
    def setUp(self) -> None:
        self.now = 1000.0

    def rates(self, limit: str) -> RateLimiter:
        return RateLimiter(limit, clock=lambda: self.now)

    def wait_of(self, rates: RateLimiter, key: Key = ANYONE) -> int:
        """Seconds that a refusal tells to wait; 0 for a request that is taken."""
        try:
            rates.take(key)
        except Problem as problem:
            self.assertEqual((problem.status, problem.code), (429, "rate_limited"))
            return int(problem.headers["Retry-After"])
        return 0

    def test_the_101st_in_a_minute_waits(self) -> None:
        rates = self.rates("100/1m")
        self.assertEqual([self.wait_of(rates) for _ in range(100)], [0] * 100)
        self.assertEqual([self.wait_of(rates) for _ in range(3)], [1] * 3)
        self.now += 0.6
        self.assertEqual([self.wait_of(rates) for _ in range(2)], [0, 1])
        self.now += 3600  # an hour of rest saves up one burst and no more
        self.assertEqual(sum(self.wait_of(rates) == 0 for _ in range(300)), 100)

    def test_the_time_told_is_enough_and_not_much_more(self) -> None:
        for limit in ("1/10s", "3/h", "2/1d", "7/2m", "1/s"):
            with self.subTest(limit=limit):
                rates = self.rates(limit)
                while not (wait := self.wait_of(rates)):
                    pass
                self.now += wait - 1.001
                self.assertGreater(self.wait_of(rates), 0)
                self.now += 1.002
                self.assertEqual(self.wait_of(rates), 0)

    def test_keys_are_counted_apart_and_may_have_their_own(self) -> None:
        rates = self.rates("1/1m")
        ann, bob = Key("ann", owner="ann"), Key("ann", rate_limit="3/1m", owner="bob")
        free = Key("ann", rate_limit="", owner="free")
        taken = {key.owner: sum(not self.wait_of(rates, key) for _ in range(9))
                 for key in (ann, bob, free)}  # fmt: skip
        self.assertEqual(taken, {"ann": 1, "bob": 3, "free": 9})

    def test_two_keys_of_one_person_are_counted_together(self) -> None:
        rates = self.rates("3/1m")
        old, new = Key("ann", owner="ann"), Key("anna", owner="ann")
        self.assertEqual([self.wait_of(rates, key) > 0 for key in (old, new) * 2],
                         [False, False, False, True])  # fmt: skip

    def test_none_at_all(self) -> None:
        rates = self.rates("")
        self.assertEqual({self.wait_of(rates) for _ in range(1000)}, {0})

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
        router = Router(table, handle, keys, rates=self.rates(""))

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


if __name__ == "__main__":
    unittest.main()
