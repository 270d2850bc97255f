"""What each person holds of this process at this moment, and how much they may hold.

A person is everybody with the keys of one owner (`owner` of api/auth.py Key). Everybody may take of
a resource as long as they hold no more of it than would stay free after that: one person gets at
most half, two who ask for all get a third each, and there is always something free for one more
(dynamic thresholds, Choudhury and Hahne 1998). An owner of the server may hold three times what
stays free, and whoever has the only keys may hold all. Who holds nothing gets one if there is one.

The accounts belong to the process. A changed configuration changes the rules and not what is held.
"""

from __future__ import annotations

import asyncio
import math
import re
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from ..errors import Problem

person: ContextVar[str] = ContextVar("yaa_person", default="")  # of the current request
NOBODY = "\0"  # the person of requests that need no key; no key has this name
OWNER = 3  # times of what stays free that an owner may hold
RETRY_AFTER_S = 2  # a run lasts seconds to minutes; an earlier retry only adds load
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


class Request(Protocol):
    """A request with a key (api/router.py RequestContext)."""

    key: Any  # api/auth.py Key
    run: str  # the id of its run, "" for none
    began: float  # seconds since 1970
    outlives_key: bool  # it is answered also if its key goes meanwhile

    @property
    def person(self) -> str:
        """Return whose request it is."""
        ...

    def abort(self) -> None:
        """End it at once, and its connection."""
        ...


class Resource(NamedTuple):
    """What people share. `key`: where its number is in `server.limits`, and perhaps in a key's.

    `code`: of the refusal when the whole server has no more.
    """

    key: str
    words: str
    code: str


RESOURCES = {
    "runs": Resource("max_runs", "runs at once", "busy"),
    "requests": Resource("max_connections", "requests at once", "overloaded"),
    "memory": Resource("max_memory", "bytes of memory for requests", "overloaded"),
}


@dataclass(frozen=True)
class Rules:
    """How much there is, and of it for whom.

    limits   `server.limits`
    own      person -> `max_runs` and `rate_limit` of their keys, the narrowest of any
    owners   the people who are the server's owners
    people   how many people have keys; 0 if that is not known, then nobody has a share
    """

    limits: Mapping[str, Any] = field(default_factory=dict)
    own: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    owners: frozenset[str] = frozenset()
    people: int = 0

    @classmethod
    def of_keys(
        cls,
        limits: Mapping[str, Any],
        keys: Iterable[tuple[str, Mapping[str, Any]]],
        owners: frozenset[str],
        people: int,
    ) -> Rules:
        """Make them from (person, limits) of keys that have limits."""
        own: dict[str, dict[str, Any]] = {}
        for person, given in keys:
            had = own.setdefault(person, {})
            if (most := given.get("max_runs")) is not None:
                had["max_runs"] = min(most, had.get("max_runs", most))
            if (rate := given.get("rate_limit")) is not None:
                had["rate_limit"] = " ".join(filter(None, (had.get("rate_limit"), rate)))
        return cls(limits, own, owners, people)

    def share(self, person: str) -> float:
        """Return how many times as much as stays free this person may hold."""
        if not self.people or (self.people == 1 and person != NOBODY):
            return math.inf
        return OWNER if person in self.owners else 1

    def rate(self, person: str) -> str:
        """Return the rate of requests, perhaps several with spaces between; "" for none."""
        found = self.own.get(person, {}).get("rate_limit")
        return str(self.limits.get("rate_limit", "") if found is None else found)


class Pool:
    """How much each person holds of one resource."""

    def __init__(self) -> None:
        self.held: Counter[str] = Counter()
        self.total = 0

    def fits(self, person: str, amount: int, most: float, share: float) -> bool:
        """Return whether a person may take so much."""
        free, held = most - self.total - amount, self.held[person]
        return free >= 0 and (not held or not free < (held + amount) / share)

    def change(self, person: str, amount: int) -> None:
        """Count what a person takes, or gives back (below 0)."""
        self.total += amount
        self.held[person] += amount
        if not self.held[person]:
            del self.held[person]


class Turns(Pool):
    """Work of which at most `most` goes on at once, in turns between people.

    share    as that of people: 1 for half of them, 3 for three quarters: `share_of_one`
    wait_s   how long one waits for a turn; None: for ever
    """

    def __init__(self, most: int, share: float = 1, wait_s: float | None = None) -> None:
        super().__init__()
        self._most, self._wait_s = most, wait_s
        self.share_of_one = max(1, math.floor(most * share / (1 + share)))
        self._waiting: list[tuple[str, asyncio.Future[None]]] = []

    async def take(self, person: str) -> bool:
        """Wait for a turn; False if there was none in time. `give` it back after True."""
        if self._may(person):  # all who wait may not have it
            self.change(person, 1)
            return True
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((person, turn))
        try:
            async with asyncio.timeout(self._wait_s):
                await turn
        except BaseException as error:
            if not turn.cancelled():  # it came together with the end
                self.give(person)
            if isinstance(error, TimeoutError):
                return False
            raise
        finally:
            self._waiting = [each for each in self._waiting if each[1] is not turn]
        return True

    def give(self, person: str) -> None:
        """Give a turn back, to whoever of those who wait holds fewest, the first of them."""
        self.change(person, -1)
        for other, turn in sorted(self._waiting, key=lambda each: self.held[each[0]]):
            if not turn.done() and self._may(other):
                self.change(other, 1)
                turn.set_result(None)

    def _may(self, person: str) -> bool:
        return self.total < self._most and self.held[person] < self.share_of_one

    @asynccontextmanager
    async def turn(self) -> AsyncGenerator[None, None]:
        """Wait for a turn of the person whose request this is, and give it back at the end."""
        who = person.get()
        await self.take(who)
        try:
            yield
        finally:
            self.give(who)


class Accounts:
    """The accounts of one process. `clock`: monotonic seconds."""

    def __init__(
        self, rules: Rules | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.rules = rules or Rules()
        self._clock = clock
        self.requests: set[Request] = set()  # those being served that have a key
        self.pools = {name: Pool() for name in RESOURCES}
        self._named: Counter[tuple[str, str, str]] = Counter()  # resource, person, name -> holders
        self._rates: dict[str, list[tuple[float, float]]] = {}  # tokens and when, for each rate

    def most(self, what: str, person: str | None = None) -> float:
        """Return how much there is of a resource; with a person, how much their keys allow."""
        key = RESOURCES[what].key
        all_of_it: float = self.rules.limits.get(key, math.inf)
        own: float = self.rules.own.get(person or "", {}).get(key, all_of_it)
        return min(all_of_it, own)

    def fits(self, person: str, what: str, amount: int = 1) -> bool:
        """Return whether a person may take so much of a resource now."""
        pool, own = self.pools[what], self.most(what, person)
        share = self.rules.share(person)
        fits = pool.fits(person, amount, self.most(what), share)
        return fits and pool.held[person] + amount <= own

    def take(self, person: str, what: str, amount: int = 1) -> None:
        """Count that a person takes so much of a resource. Raises Problem if they may not."""
        if not self.fits(person, what, amount):
            raise self.refusal(person, what, amount)
        self.pools[what].change(person, amount)

    def give(self, person: str, what: str, amount: int = 1) -> None:
        """Count that a person gives so much back."""
        self.pools[what].change(person, -amount)

    def hold(
        self, person: str, what: str, name: str, *, always: bool = False
    ) -> Callable[..., None]:
        """Take one of a resource under a name, until the returned function is called, once.

        Whoever takes it under the same name meanwhile shares it. Raises Problem, unless `always`.
        """
        entry = (what, person, name)
        if not self._named[entry]:
            if always:
                self.pools[what].change(person, 1)
            else:
                self.take(person, what)
        self._named[entry] += 1

        def release(*_: object) -> None:
            """Give it back once nobody holds it under this name."""
            self._named[entry] -= 1
            if not self._named[entry]:
                del self._named[entry]
                self.give(person, what)

        return release

    def begin(self, request: Request) -> None:
        """Count a request until `end`. Raises Problem if it may not be served."""
        self._count_request(request.person)
        self.take(request.person, "requests")
        self.requests.add(request)

    def end(self, request: Request) -> None:
        """Note that a request is answered, if it was counted."""
        if request in self.requests:
            self.requests.remove(request)
            self.give(request.person, "requests")

    def resize(
        self, person: str, what: str, before: int, amount: int, *, always: bool = False
    ) -> Problem | None:
        """Count that a person holds `amount` in place of `before` for one request.

        If that may not be, and not `always`, return the Problem, and nothing has changed.
        """
        pool = self.pools[what]
        pool.change(person, -before)
        if amount <= before or always or self.fits(person, what, amount):
            pool.change(person, amount)
            return None
        pool.change(person, before)
        return self.refusal(person, what, amount - before)

    def end_revoked(self, is_valid: Callable[[Any], bool]) -> None:
        """End the requests with keys that are not valid any more."""
        for request in [each for each in self.requests if not is_valid(each.key)]:
            if not request.outlives_key:
                request.abort()

    def refusal(self, person: str, what: str, amount: int = 1) -> Problem:
        """Return the Problem for a person who may not take so much more of a resource."""
        about, pool = RESOURCES[what], self.pools[what]
        held, all_of_it, own = pool.held[person], self.most(what), self.most(what, person)
        code, step = "busy", "Wait until one of yours has ended, or end one, and ask again"
        if own < all_of_it and held >= own:
            text = f"Your keys may have {own} {about.words} (limits.{about.key} of a key)"
        elif all_of_it - pool.total >= amount:
            text = f"You hold {held} of {all_of_it} {about.words} (server.limits.{about.key})"
            step = f"The rest is kept for other people. {step}"
        else:
            code, step = about.code, "Ask again in a moment"
            text = f"All {all_of_it} {about.words} (server.limits.{about.key}) are in use"
        return Problem(code, f"{text}. {step}.", headers={"Retry-After": str(RETRY_AFTER_S)})

    def _count_request(self, person: str) -> None:
        """Count a request. Raises Problem("rate_limited") with Retry-After, and then counts none.

        A rate is a token bucket: `100/1m` lets a hundred requests come at once, and after them one
        every 0.6 s.
        """
        if not (limit := self.rules.rate(person)):
            return
        now, rates = self._clock(), [parse_rate(each) for each in limit.split(" ")]
        before = self._rates.get(person, [])
        before = before + [(most, now) for most, _ in rates[len(before) :]]
        left = [
            min(most, tokens + (now - then) * per_second)
            for (most, per_second), (tokens, then) in zip(rates, before, strict=False)
        ]
        short = [(1 - has) / rate[1] for has, rate in zip(left, rates, strict=True) if has < 1]
        if short:
            wait = max(1, math.ceil(max(short)))
            text = f"Your keys may ask {limit.replace(' ', ' and ')} times"
            step = f"the next request is taken in {wait} s"
            raise Problem("rate_limited", f"{text}; {step}", headers={"Retry-After": str(wait)})
        self._rates[person] = [(has - 1, now) for has in left]


def parse_rate(limit: str) -> tuple[float, float]:
    """Return (requests at once, requests per second) of `100/1m` or `5/s`. Raises ValueError."""
    match = re.fullmatch(r"([0-9]+)/([0-9]*)([smhd])", limit)
    if match is None:
        raise ValueError(f"{limit} is no rate such as 100/1m")
    most = int(match[1])
    return most, most / (int(match[2] or 1) * SECONDS[match[3]])
