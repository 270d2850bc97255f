"""All small worlds, and random large ones.

A small world is one conversation of two calls with one disturbance.
"""

from __future__ import annotations

import itertools
import random
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from .caller import PROGRAMS, Caller
from .client import KEYS, Client, NotPossible
from .loop import Quiet
from .oracle import judge
from .spec import (
    ACTIONS,
    CUTS,
    LAYOUTS,
    MODES,
    PLACES,
    TOOLS,
    UNATTENDED,
    WIRES,
    Disturbance,
    Spec,
    script_of,
)
from .world import World

KINDS = tuple(itertools.product(TOOLS, TOOLS))
SHARED_MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None


class Outcome:
    """A world that was played. `wrong`: what the oracle says."""

    def __init__(self, client: Client, wrong: list[str]) -> None:
        self.client, self.wrong = client, wrong
        self.story = client.world.story


def play(spec: Spec, root: Path, seed: str = "") -> Outcome | None:
    """Play one world; None if its client cannot do what the spec says.

    `seed`: decides which process goes on, and how long the network takes; "" for always the same.
    """
    home = Path(tempfile.mkdtemp(prefix="w", dir=root))
    chance = random.Random(f"{seed} {spec}") if seed else None
    with_keys = any(each.action == "times" for each in spec.disturbances)
    world = World(home, TOOLS, script_of(spec), KEYS if with_keys else [], chance)
    client = Caller(world, spec) if spec.wire in PROGRAMS else Client(world, spec)
    try:
        world.play(client.run())
    except NotPossible:
        return None
    except Quiet:
        client.found["never ends"] += 1
    finally:
        shutil.rmtree(home, ignore_errors=True)
    client.final = client.final or {"messages": []}
    return Outcome(client, judge(client))


def small_worlds(
    root: Path, modes: tuple[str, ...] = MODES, pairs: Iterable[tuple[str, ...]] = KINDS
) -> Iterator[Spec]:
    """Yield every small world: each disturbance at each place where it can be.

    `pairs`: the kinds of the two calls.
    """
    yield from _sdk_worlds(root, modes)
    for wire, kinds, layout in itertools.product(WIRES, pairs, LAYOUTS):
        whole = play(Spec(kinds, layout, wire), root)
        assert whole is not None
        assert not whole.wrong, (kinds, layout, wire, whole.story)
        client = whole.client
        for post, (events, effects) in enumerate(zip(client.sizes, client.effects, strict=True)):
            for mode in modes:
                pages = (False, True) if "ask" in kinds and post and wire == "sse" else (False,)
                places = PLACES if mode != "kill" else ("other",)
                choices = itertools.product(_places(wire, mode, events, effects), pages, ACTIONS)
                for (at, page, action), place in itertools.product(choices, places):
                    due = Disturbance(post, at, mode, action, place)
                    yield Spec(kinds, layout, wire, page, 1, (due,))


def _sdk_worlds(root: Path, modes: tuple[str, ...]) -> Iterator[Spec]:
    """Yield the small worlds of a program that cannot answer questions."""
    pairs = itertools.product(UNATTENDED, repeat=2)
    for wire, kinds, layout in itertools.product(PROGRAMS, pairs, LAYOUTS):
        undisturbed = play(Spec(kinds, layout, wire), root)
        assert undisturbed is not None
        assert not undisturbed.wrong, (kinds, layout, undisturbed.story)
        effects = undisturbed.client.effects[0]
        for mode in modes:
            choices = itertools.product(
                _places("json", mode, 0, effects), ("again", "later"), PLACES
            )
            for at, action, place in choices:
                due = Disturbance(0, at, mode, action, place)
                yield Spec(kinds, layout, wire, False, 1, (due,))


def _places(wire: str, mode: str, events: int, effects: int) -> range:
    """Return where in a POST a disturbance can be."""
    if mode == "late" or (wire in ("json", "key") and mode in ("deaf", "void")):
        return range(1)
    if mode in ("kill", "full") or wire in ("json", "key"):
        return range(effects + 1)
    return range(events + 1)


def random_worlds(seed: str, count: int) -> Iterator[Spec]:
    """Yield conversations of several turns with several disturbances."""
    chance = random.Random(seed)
    # after a day without a record a client that knows less asks: kept to the small worlds
    actions = tuple(each for each in ACTIONS if each not in ("day", "clock", "times", "branch"))
    for _ in range(count):
        disturbances, post = [], 0
        for _ in range(chance.randint(1, 4)):
            post += chance.randint(0, 3)
            mode = chance.choice((*CUTS, "kill", "full"))
            due = Disturbance(
                *(post, chance.randint(0, 30), mode),
                *(chance.choice(actions), chance.choice(PLACES)),
            )
            disturbances.append(due)
            post += 1
        kinds = tuple(chance.choice(tuple(TOOLS)) for _ in range(chance.randint(1, 3)))
        layout, wire = chance.choice(LAYOUTS), chance.choice(WIRES)
        page, turns = chance.random() < 0.3, chance.randint(1, 4)
        yield Spec(kinds, layout, wire, page, turns, tuple(disturbances))


def share_of(specs: Iterator[Spec], share: str, seed: str = "") -> Iterator[Spec]:
    """Yield a part of the worlds, chosen by the seed: `1/20` is the first of twenty."""
    number, parts = map(int, share.split("/"))
    chance = random.Random(seed)
    for spec in specs:
        if chance.randrange(parts) == number - 1:
            yield spec
