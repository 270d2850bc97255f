"""How far the estimate of tokens is off: `python3 -m tests.bench.tokens [--kinds]`.

The texts and their true counts are in tests/vectors/tokens.json; the costs were fitted on one half
of them, and what counts is the half that was held back. Two figures: a text by itself, and what is
foretold of the next request of a conversation, with the last report as the anchor.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from server.context.budget import (
    EXACT,
    FAMILIES,
    MESSAGE,
    Costs,
    Request,
    estimate,
    measure_request,
    updated_calibration,
)

CORPUS = Path(__file__).parent.parent / "vectors" / "tokens.json"
PROMISED = {"o200k": "gpt-4.1-mini", "qwen": "qwen3-32b"}  # vocabulary -> a model that has it
FEW = "a quarter of the characters"

Guess = Callable[[str], float]


@dataclass(frozen=True)
class Error:
    """Relative errors, without their signs."""

    mean: float
    p95: float

    @classmethod
    def of(cls, errors: Iterable[float]) -> Error:
        off = sorted(errors)
        return cls(sum(off) / len(off), off[min(len(off) - 1, len(off) * 95 // 100)])

    def __str__(self) -> str:
        return f"{self.mean:>5.1%} / {self.p95:>5.1%}"


def pieces(half: str = "") -> list[dict[str, Any]]:
    """`{kind, half, tokens: {family: count}, text}`; of one half: `fit` or `held`."""
    found: list[dict[str, Any]] = json.loads(CORPUS.read_text())["pieces"]
    return [piece for piece in found if half in ("", piece["half"])]


def error(some: Iterable[dict[str, Any]], family: str, guess: Guess) -> Error:
    return Error.of(abs(guess(each["text"]) / each["tokens"][family] - 1) for each in some)


def by(costs: Costs) -> Guess:
    return lambda text: estimate(text, costs)


def conversation(family: str, seed: int, turns: int = 12) -> list[float]:
    """Errors of what is foretold of each request after the first, in one conversation: the user and
    the model keep to one language, what tools bring is of any kind."""
    random_, model = random.Random(seed), PROMISED[family]
    texts = pieces("held")
    kinds_ = sorted({piece["kind"] for piece in texts})
    language = random_.choice(kinds_)
    session: Any = {"id": "s", "messages": [], "context": {"calib": {}}}
    true, errors = 0, []

    def say(role: str, **more: Any) -> int:
        wanted = language if role != "tool" else random_.choice(kinds_)
        piece = random_.choice([each for each in texts if each["kind"] == wanted])
        message = {"id": f"m{len(session['messages'])}", "role": role, "content": piece["text"]}
        session["messages"].append({**message, **more})
        return int(piece["tokens"][family])

    def call() -> None:
        nonlocal true
        measure = measure_request(Request(session), model, EXACT)
        errors.append(abs(measure.total / true - 1))
        known = session["context"]["calib"].get(model, {})
        if fresh := updated_calibration(known, measure, true):
            session["context"]["calib"][model] = fresh
        said = say("assistant")
        session["messages"][-1]["meta"] = {
            "usage": {"prompt_tokens": true, "completion_tokens": said + MESSAGE}
        }
        true += said + MESSAGE

    for _ in range(turns):
        true += say("user") + MESSAGE
        for number in range(random_.choice((0, 1, 3))):
            call()
            true += say("tool", tool_call_id=f"c{number}") + MESSAGE
        call()
    return errors[1:]


def foretold(family: str, seeds: int = 60) -> Error:
    """Over many conversations."""
    return Error.of([each for seed in range(seeds) for each in conversation(family, seed)])


def table() -> str:
    rows = [f"{'mean / p95 of the error':<26}{'fitted half':>16}{'held half':>16}{FEW:>30}"]
    for family in (family for family in FAMILIES if family):
        guess = by(FAMILIES[family])
        fitted, held = (error(pieces(half), family, guess) for half in ("fit", "held"))
        plain = error(pieces("held"), family, lambda text: len(text) / 4)
        rows.append(f"{family:<26}{fitted!s:>16}{held!s:>16}{plain!s:>30}")
    for family in PROMISED:
        rows.append(f"{family + ', the next request':<26}{'':>16}{foretold(family)!s:>16}")
    for family in PROMISED:
        unknown = error(pieces("held"), family, by(FAMILIES[""]))
        rows.append(f"{family + ', not recognised':<26}{'':>16}{unknown!s:>16}")
    return "\n".join(rows)


def kinds() -> str:
    """The same per language and kind of code, of the held half."""
    grouped = defaultdict(list)
    for piece in pieces("held"):
        grouped[piece["kind"]].append(piece)
    rows = [f"{'':<12}" + "".join(f"{family:>18}" for family in PROMISED)]
    for kind, some in grouped.items():
        errors = (error(some, family, by(FAMILIES[family])) for family in PROMISED)
        rows.append(f"{kind:<12}" + "".join(f"{each!s:>18}" for each in errors))
    return "\n".join(rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python3 -m tests.bench.tokens", description=__doc__)
    parser.add_argument("--kinds", action="store_true", help="each language and kind of code")
    print(kinds() if parser.parse_args().kinds else table())
