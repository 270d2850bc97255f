"""What the ways to fit a long session into a window cost: `python3 -m tests.bench.context`.

One agent's day is played call by call to each policy: turns of a user, steps with tools, results of
every size, needles in all of them. For each request it is counted how many tokens it has, how many
of them a provider would have cached (the longest common beginning with the request before; a cached
token costs a tenth), and at the end where the needles are. Ours is the server's own code; the
others are what agents commonly do. The true tokens are another vocabulary's than the one that is
guessed with, so the reports correct the guesses here as they do in life.
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import re
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from server.context.budget import FAMILIES, Request, of_message, updated_calibration
from server.context.compact import room_for
from server.context.view import pairing_errors, reload, view
from server.json_types import Session

Message = Any

WINDOW = 64_000
HIGH, LOW = int(WINDOW * 0.8), int(WINDOW * 0.4)
TRUE = FAMILIES["o200k"]
FIXED = 2_000  # tokens of the system prompt and the tools, the same in every request
CACHED = 0.1  # of the price
SUMMARY = 2_000  # tokens that a model writes when it sums up
KEPT = WINDOW // 10  # tokens that a summary leaves as they are
STUB = "[result left out]"
WORDS = (
    "the quick report of server config value data error result for each line in file path config"
    " function return const table row src/app/main.py user_id total = 42 0x1f (see) {id: 7},"
).split(" ")
OPTIONS = json.loads((Path(__file__).parents[2] / "config.default.json").read_text())["session"]


# -- the day --------------------------------------------------------------------------------------


class Day:
    """A session that grows; `seed` makes the same one again."""

    def __init__(self, seed: int, options: Any) -> None:
        self.random = random.Random(seed)
        self.needles: list[tuple[int, str]] = []  # (place in the session, text)
        config = copy.deepcopy(OPTIONS["config"])
        config["context"] |= options
        self.messages: list[Message] = []
        self.session: Any = {"messages": self.messages, "config": config, "context": {}}
        self.asked = 0  # tokens of the last request, which the next answer reports

    def calls(self, turns: int) -> Iterator[None]:
        """Stops whenever the model is asked; what it says comes after."""
        for _ in range(turns):
            self.say("user", self.text(self.size(60)))
            for _ in range(self.random.choice((1, 2, 3, 4, 7))):
                yield
                self.step()
            yield
            self.say("assistant", self.text(self.size(120)))

    def step(self) -> None:
        names = self.random.choices(
            ("read_file", "shell", "search"), k=self.random.choice((1, 1, 2))
        )
        calls: list[Any] = []
        for name in names:
            arguments = {"path": f"src/{self.random.randrange(400)}.py"}
            if self.random.random() < 0.2:
                arguments["content"] = self.text(self.size(300))
            function = {"name": name, "arguments": json.dumps(arguments)}
            count = len(self.messages) * 10 + len(calls)
            calls.append({"id": f"call_{count}", "type": "function", "function": function})
        self.say("assistant", self.text(15), tool_calls=calls)
        for call in calls:
            about = {"tool_call_id": call["id"], "name": call["function"]["name"]}
            self.say("tool", self.text(self.size(260)), result={"status": "ok"}, **about)

    def say(self, role: str, text: str, **more: Any) -> None:
        message: Message = {"id": f"msg_{len(self.messages)}", "role": role, "content": text}
        message |= more
        if role == "assistant":
            usage = {"prompt_tokens": self.asked, "completion_tokens": true_tokens(message)}
            message["meta"] = {"usage": usage}
        self.messages.append(message)

    def size(self, middle: int) -> int:
        """Words: most texts are short, and a few are very long."""
        return min(int(self.random.lognormvariate(0, 1.2) * middle) + 3, 12_000)

    def text(self, words: int) -> str:
        said = self.random.choices(WORDS, k=words)
        if self.random.random() < 0.3:
            needle = f"needle-{len(self.needles)}-{self.random.getrandbits(40):010x}"
            said.insert(self.random.randrange(len(said) + 1), needle)
            place = len(self.messages)  # of the message that is being made, or of its call
            self.needles.append((place, needle))
        return "\n".join(" ".join(said[at : at + 12]) for at in range(0, len(said), 12))


# -- the policies ---------------------------------------------------------------------------------


class Policy:
    """What is sent of a session. `summaries`: tokens of each extra request that sums up."""

    options: Any = {}

    def __init__(self) -> None:
        self.summaries: list[int] = []

    def sent(self, session: Session) -> list[Message]:
        """The messages of the next request."""
        return list(session["messages"])

    def reported(self, session: Session, tokens: int) -> None:
        """What the provider counted."""


class SlidingWindow(Policy):
    """The newest turns that there is room for."""

    def sent(self, session: Session) -> list[Message]:
        messages, left = session["messages"], HIGH - FIXED
        start = len(messages)
        for place in range(len(messages) - 1, -1, -1):
            left -= true_tokens(messages[place])
            if left < 0:
                break
            if messages[place]["role"] == "user":
                start = place
        newest: list[Message] = messages[start:] or messages[-1:]
        return newest


class ClearResults(Policy):
    """Old results go one by one, no more of them than it takes to be below the mark again."""

    def __init__(self) -> None:
        super().__init__()
        self.cleared: set[str] = set()

    def sent(self, session: Session) -> list[Message]:
        messages = session["messages"]
        size = FIXED + sum(true_tokens(self.shown(message)) for message in messages)
        for message in messages[:-6]:
            if size > HIGH and message["role"] == "tool" and message["id"] not in self.cleared:
                size -= true_tokens(message)
                self.cleared.add(message["id"])
        return [self.shown(message) for message in messages]

    def shown(self, message: Message) -> Message:
        return {**message, "content": STUB} if message["id"] in self.cleared else message


class SummaryOnly(Policy):
    """At the mark a model sums up all but the last tenth of the window."""

    def __init__(self) -> None:
        super().__init__()
        self.start = 0
        self.note: list[Message] = []

    def sent(self, session: Session) -> list[Message]:
        messages: list[Message] = session["messages"]
        size = FIXED + sum(map(true_tokens, self.note + messages[self.start :]))
        if size > HIGH:
            self.summaries.append(size)
            left, start = KEPT, len(messages)
            while start > self.start and (left > 0 or messages[start]["role"] == "tool"):
                start -= 1
                left -= true_tokens(messages[start])
            self.start = start
            note = " ".join(random.Random(start).choices(WORDS, k=SUMMARY))
            self.note = [{"id": "note", "role": "user", "content": note}]
        return self.note + messages[self.start :]


class Yaa(Policy):
    """The server's own, as it is configured."""

    facts = {"max_context": WINDOW}
    system = "x " * FIXED

    def sent(self, session: Session) -> list[Message]:
        for _ in range(8):  # the loop looks again after each compaction
            compaction, too_large, self.measure = room_for(
                Request(session, self.system), "unknown", self.facts
            )
            assert not too_large, "the day has nothing that fits in no window"
            if compaction is None:
                break
            context = session["context"]
            context.setdefault("ops", []).extend(compaction.ops)
            context.setdefault("events", []).append(compaction.record)
        messages = view(session)
        assert not pairing_errors(messages)
        return messages

    def reported(self, session: Session, tokens: int) -> None:
        calib = session["context"].setdefault("calib", {})
        if fresh := updated_calibration(calib.get("unknown", {}), self.measure, tokens):
            calib["unknown"] = fresh


class YaaWithoutPreviews(Yaa):
    """Large results come in whole."""

    options = {"ingest_tokens": 10**9}


POLICIES: dict[str, type[Policy]] = {
    "everything, always": Policy,
    "sliding window": SlidingWindow,
    "results cleared one by one": ClearResults,
    "summaries only": SummaryOnly,
    "yaa, results come in whole": YaaWithoutPreviews,
    "yaa": Yaa,
}


# -- the reckoning --------------------------------------------------------------------------------


@dataclass
class Outcome:
    sizes: list[int] = field(default_factory=list)
    cached: list[int] = field(default_factory=list)
    breaks: int = 0
    summaries: int = 0
    cost: float = 0.0
    in_view: int = 0
    within_reach: int = 0
    lost: int = 0

    @property
    def hit(self) -> float:
        return sum(self.cached) / sum(self.sizes)


_counted: dict[tuple[Any, ...], int] = {}


def true_tokens(message: Message) -> int:
    calls = tuple(call["function"]["arguments"] for call in message.get("tool_calls") or ())
    key = (message["content"], calls)
    if key not in _counted:
        _counted[key] = of_message(message, TRUE)
    return _counted[key]


def play(make: Callable[[], Policy], seed: int, turns: int) -> Outcome:
    policy = make()
    day = Day(seed, policy.options)
    outcome = Outcome()
    before: list[Message] = []
    asked_about = 0
    for _ in day.calls(turns):
        asked_about = len(day.messages)
        now = policy.sent(day.session)
        size, cached = FIXED + sum(map(true_tokens, now)), FIXED + common(before, now)
        outcome.sizes.append(size)
        outcome.cached.append(cached if before else 0)
        outcome.breaks += cached < FIXED + sum(map(true_tokens, before))
        policy.reported(day.session, size)
        before, day.asked = now, size
    outcome.summaries = len(policy.summaries)
    outcome.cost = sum(outcome.sizes) - (1 - CACHED) * sum(outcome.cached)
    outcome.cost += sum(CACHED * size + SUMMARY for size in policy.summaries)
    _search(outcome, day, before, asked_about, isinstance(policy, Yaa))
    return outcome


def common(before: list[Message], now: list[Message]) -> int:
    """Tokens that both requests begin with."""
    found = 0
    for one, other in zip(before, now, strict=False):
        if one is not other and one != other:
            return found
        found += true_tokens(other)
    return found


def _search(outcome: Outcome, day: Day, messages: list[Message], until: int, reloads: bool) -> None:
    """Where the needles before `until` are: to be read in the last request, within reach of a
    handle that it names, or lost."""
    text = "\n".join(map(_everything, messages))
    named = _handles(text) if reloads else set()
    for place, needle in day.needles:
        if place >= until:
            continue  # the last answer, which nobody was sent
        if needle in text:
            outcome.in_view += 1
        elif place in named and reload(day.session, f"m{place}", grep=needle)["matches"]:
            outcome.within_reach += 1
        else:
            outcome.lost += 1


def _everything(message: Message) -> str:
    calls = message.get("tool_calls") or ()
    return "\n".join([message["content"], *(call["function"]["arguments"] for call in calls)])


def _handles(text: str) -> set[int]:
    """Places that the model is told it can load: single ones, and folds from one to another."""
    named = {int(place) for place in re.findall(r"\bm(\d+)\b", text)}
    for first, last in re.findall(r'\(handle="m(\d+)"\) to context_reload\(handle="m(\d+)"', text):
        named.update(range(int(first), int(last) + 1))
    return named


def table(seeds: int, turns: int) -> dict[str, list[Outcome]]:
    found: dict[str, list[Outcome]] = {}
    for seed in range(seeds):
        _counted.clear()
        for name, policy in POLICIES.items():
            found.setdefault(name, []).append(play(policy, seed, turns))
    return found


def render(found: dict[str, list[Outcome]]) -> str:
    """Means over the seeds; the cost in thousands of tokens at the full price."""
    heads = ("tokens", "cached", "cost", "breaks", "summaries", "in view", "reach", "lost")
    rows = [f"{'':<28}" + "".join(f"{head:>10}" for head in heads)]
    for name, outcomes in found.items():
        mean = {
            each: statistics.mean(getattr(outcome, each) for outcome in outcomes)
            for each in ("hit", "cost", "breaks", "summaries", "in_view", "within_reach", "lost")
        }
        size = statistics.mean(statistics.mean(outcome.sizes) for outcome in outcomes)
        cells = [f"{size:,.0f}", f"{mean['hit']:.1%}", f"{mean['cost'] / 1000:,.0f}"]
        cells += [f"{mean[each]:.1f}" for each in ("breaks", "summaries")]
        cells += [f"{mean[each]:.0f}" for each in ("in_view", "within_reach", "lost")]
        rows.append(f"{name:<28}" + "".join(f"{cell:>10}" for cell in cells))
    return "\n".join(rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python3 -m tests.bench.context", description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--turns", type=int, default=60)
    options = parser.parse_args()
    print(render(table(options.seeds, options.turns)))
