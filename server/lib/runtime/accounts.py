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
from collections import Counter, defaultdict
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple, Protocol

from ..problem import Problem
from .waits import SHORT_S, wait_notice

person: ContextVar[str] = ContextVar("yaa_person", default="")  # of the current request
# Whether others than a person have requests beside the current one.
crowded: ContextVar[Callable[[str], bool]] = ContextVar("yaa_crowded", default=lambda _: False)
NOBODY = "\0"  # the person of requests that need no key; no key has this name
OWNER = 3  # times of what stays free that an owner may hold
RETRY_AFTER_S = 2  # a run lasts seconds to minutes; an earlier retry only adds load
PAUSE_S = 0.01  # before those who wait are told again, if there was no memory to tell them
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


class Request(Protocol):
    """A request with a key (api/router.py RequestContext)."""

    key: Any  # api/auth.py Key, whose owner is the person
    exchange: Any  # http/exchange.py Exchange
    run: str  # the id of its run, "" for none
    began: float  # seconds since 1970
    outlives_key: bool  # it is answered also if its key goes meanwhile


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
    "calls": Resource("", "tool calls at once", "busy"),  # never refused, see `Accounts.call`
}


class Terms(NamedTuple):
    """On what terms a person takes of a resource.

    most    how much there is for everybody
    share   how many times as much as stays free this person may hold
    own     how much the keys of this person allow
    """

    most: float = math.inf
    share: float = 1
    own: float = math.inf


class Rules:
    """How much there is, and of it for whom.

    limits   `server.limits`
    keys     (person, limits) of each key that has limits; of several the narrowest hold
    owners   the people who are the server's owners
    people   how many people have keys; 0 if that is not known, then nobody has a share
    """

    def __init__(
        self,
        limits: Mapping[str, Any],
        keys: Iterable[tuple[str, Mapping[str, Any]]] = (),
        owners: frozenset[str] = frozenset(),
        people: int = 0,
    ) -> None:
        self._limits, self._owners, self._people = limits, owners, people
        self._runs: dict[str, int] = {}
        self._rates: dict[str, str] = {}
        for person, own in keys:
            if (most := own.get("max_runs")) is not None:
                self._runs[person] = min(most, self._runs.get(person, most))
            if (rate := own.get("rate_limit")) is not None:
                self._rates[person] = f"{self._rates.get(person, '')} {rate}".strip()

    def terms(self, person: str, what: str) -> Terms:
        """Return the terms on which a person takes of a resource."""
        most, share = self._limits.get(RESOURCES[what].key, math.inf), 1.0
        if not self._people or (self._people == 1 and person != NOBODY):
            share = math.inf
        elif person in self._owners:
            share = OWNER
        return Terms(most, share, self._runs.get(person, math.inf) if what == "runs" else math.inf)

    def rate(self, person: str) -> str:
        """Return the rate of requests, perhaps several with spaces between; "" for none."""
        return self._rates.get(person, str(self._limits.get("rate_limit", "")))


class Pool:
    """How much each person holds of one resource. `terms`: of those that `turn` lets wait."""

    def __init__(self, *terms: float) -> None:
        self.terms, self.total, self.rests = Terms(*terms), 0, 0  # `total`: what all hold together
        self.held: dict[str, int] = defaultdict(int)
        self._waiting: list[tuple[str, asyncio.Future[None]]] = []

    def of(self, person: str) -> int:
        """Return how much a person holds."""
        return self.held.get(person, 0)

    def fits(
        self, person: str, amount: int = 1, terms: Terms | None = None, before: int = 0
    ) -> bool:
        """Return whether a person may take so much more, on top of `before` for the same thing."""
        most, share, own = terms or self.terms
        held = self.held.get(person, 0)
        free, wanted = most - self.total - amount, held + amount
        return free >= 0 and wanted <= own and (held <= before or free >= wanted / share)

    def change(self, person: str, amount: int) -> None:
        """Count what a person takes, or gives back (below 0); then whoever waits may take it.

        Of those who wait that is who holds least, and the first of them.
        """
        self.held[person] += amount
        if not self.held[person]:
            del self.held[person]
        self.total += amount
        if amount < 0 and self._waiting:
            try:
                self._wake()
            except MemoryError:  # else they may wait for ever
                asyncio.get_running_loop().call_later(PAUSE_S, self._wake)

    def _wake(self) -> None:
        for other, turn in sorted(self._waiting, key=lambda each: self.of(each[0])):
            if not turn.done() and self.fits(other):
                self.change(other, 1)
                turn.set_result(None)

    @asynccontextmanager
    async def turn(
        self, who: str | None = None, wait_s: float | None = None
    ) -> AsyncGenerator[None, None]:
        """Wait for one, and give it back at the end. Raises TimeoutError after `wait_s`.

        `who`: else it is for the person whose request this is. Where `rests` is set, whoever has
        further work waiting beside others' requests gets the next turn later: after `rests` times
        as long as this one took.
        """
        who = person.get() if who is None else who
        if self.fits(who):  # all who wait may not have it
            self.change(who, 1)
        else:
            await self._wait(who, wait_s)
        loop, began = asyncio.get_running_loop(), math.inf
        try:  # at once: whatever finds no memory here gives it back
            began = loop.time()
            yield
        finally:
            if self.rests and any(who == each for each, _ in self._waiting) and crowded.get()(who):
                loop.call_later(self.rests * (loop.time() - began), self.change, who, -1)
            else:
                self.change(who, -1)

    async def _wait(self, who: str, wait_s: float | None) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(entry := (who, turn))
        try:
            async with asyncio.timeout(wait_s):
                with wait_notice("place", wait_s, after_s=SHORT_S):
                    await turn
        except BaseException:
            if not turn.cancelled():  # it came together with the end
                self.change(who, -1)
            raise
        finally:
            self._waiting.remove(entry)


class Accounts:
    """The accounts of one process. `clock`: monotonic seconds."""

    def __init__(
        self, rules: Rules | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.rules = rules or Rules({})
        self._clock = clock
        self.requests: set[Request] = set()  # those being served that have a key
        self.pools = {name: Pool() for name in RESOURCES}
        self._arrivals = Pool(math.inf, 1, 1)  # one request of each person in a turn of the loop
        self._named: Counter[tuple[str, str, str]] = Counter()  # resource, person, name -> holders
        self._full: dict[str, list[float]] = {}  # person -> when each rate's bucket is full

    def take(
        self, person: str, what: str, amount: int = 1, *, before: int = 0, always: bool = False
    ) -> None:
        """Count that a person holds `amount` of a resource, in place of `before`.

        Raises Problem if they may not, unless `always`; then nothing has changed.
        """
        pool, more, terms = self.pools[what], amount - before, self.rules.terms
        if more > 0 and not (always or pool.fits(person, more, terms(person, what), before)):
            raise self.refusal(person, what, more)
        if more:
            pool.change(person, more)

    def give(self, person: str, what: str, amount: int = 1) -> None:
        """Count that a person gives so much back."""
        self.pools[what].change(person, -amount)

    @contextmanager
    def call(self, person: str) -> Iterator[int]:
        """Count a tool call, and yield the `niceness` of its processes.

        That of whoever has the only keys is 0.
        """
        self.take(person, "calls", always=True)
        try:
            alone = self.rules.terms(person, "calls").share == math.inf
            yield 0 if alone else niceness(self.pools["calls"].of(person))
        finally:
            self.give(person, "calls")

    def hold(
        self, person: str, what: str, name: str, *, always: bool = False
    ) -> Callable[..., None]:
        """Take one of a resource under a name, until the returned function is called, once.

        Whoever takes it under the same name meanwhile shares it. Raises Problem, unless `always`.
        """
        entry = (what, person, name)

        def release(*_: object) -> None:
            """Give it back once nobody holds it under this name."""
            self._named[entry] -= 1
            if not self._named[entry]:
                del self._named[entry]
                self.give(person, what)

        self._named[entry] += 1  # what may fail for want of memory comes before
        if self._named[entry] == 1:
            try:
                self.take(person, what, always=always)
            except BaseException:
                del self._named[entry]
                raise
        return release

    def begin(self, request: Request) -> None:
        """Count a request until `end`. Raises Problem if it may not be served."""
        self._count_request(request.key.owner)
        self.take(request.key.owner, "requests")
        self.requests.add(request)

    async def arrive(self, person: str) -> None:
        """Wait for earlier requests of the person to begin, if others have requests."""
        if self.others(person):
            async with self._arrivals.turn(person):
                await asyncio.sleep(0)

    def others(self, person: str) -> bool:
        """Return whether requests of other people are being served."""
        requests = self.pools["requests"]
        return requests.total > requests.of(person)

    def end(self, request: Request) -> None:
        """Note that a request is answered, if it was counted."""
        if request in self.requests:
            self.requests.remove(request)
            self.give(request.key.owner, "requests")

    def end_revoked(self, is_valid: Callable[[Any], bool]) -> None:
        """End the requests with keys that are not valid any more."""
        for request in [each for each in self.requests if not is_valid(each.key)]:
            if not request.outlives_key:
                request.exchange.abort()

    def refusal(self, person: str, what: str, amount: int = 1) -> Problem:
        """Return the Problem for a person who may not take so much more of a resource."""
        about, pool = RESOURCES[what], self.pools[what]
        all_of_it, _, own = self.rules.terms(person, what)
        held = pool.of(person)
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
        every 0.6 s. Of a bucket is kept when it will be full again.
        """
        if not (limit := self.rules.rate(person)):
            return
        now, rates = self._clock(), [parse_rate(each) for each in limit.split(" ")]
        former = [*self._full.get(person, ()), *[now] * len(rates)]
        counted = [fill(then, now, *rate) for then, rate in zip(former, rates, strict=False)]
        if (
            wait := max(late for _, late in counted)
        ) > 1e-6:  # seconds that were added up are not exact
            wait = max(1, math.ceil(wait))
            text = f"Your keys may ask {limit.replace(' ', ' and ')} times"
            step = f"the next request is taken in {wait} s"
            raise Problem("rate_limited", f"{text}; {step}", headers={"Retry-After": str(wait)})
        self._full[person] = [full for full, _ in counted]


def niceness(number: int) -> int:
    """Return how far the processes of a person's nth call at once stand back (nice(2)).

    The second weighs a quarter of the first, the third a ninth: all together less than three.
    """
    return min(19, round(2 * math.log(number, 1.25)))


def fill(full: float, now: float, most: float, per_s: float) -> tuple[float, float]:
    """Return when a token bucket is full again after one more is taken, and how long that waits.

    full   when it would be full again before that
    most   how many it holds
    per_s  how many come back in a second
    """
    full = max(now, full) + 1 / per_s
    return full, full - now - most / per_s


def parse_rate(limit: str) -> tuple[float, float]:
    """Return (requests at once, requests per second) of `100/1m` or `5/s`. Raises ValueError."""
    if (match := re.fullmatch(r"([0-9]+)/([0-9]*)([smhd])", limit)) is None:
        raise ValueError(f"{limit} is no rate such as 100/1m")
    most = int(match[1])
    return most, most / (int(match[2] or 1) * SECONDS[match[3]])
