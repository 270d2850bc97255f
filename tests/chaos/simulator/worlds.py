"""All small worlds, and random large ones.

A small world is one conversation of two calls with one disturbance.
"""

from __future__ import annotations

import itertools
import os
import random
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

from server.agent.home_name import FILE
from server.extensions import present

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
from .thread import THREAD, Thread
from .world import World

KINDS = tuple(itertools.product(TOOLS, TOOLS))
SHARED_MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None


THREADS = [name for name in (THREAD,) if name in present()]
_CLIENTS: dict[str, type[Client]] = {**dict.fromkeys(PROGRAMS, Caller), THREAD: Thread}


class Outcome:
    """A world that was played. `wrong`: what the oracle says."""

    def __init__(self, client: Client, wrong: list[str]) -> None:
        self.client, self.wrong = client, wrong
        self.story = client.world.story


def has_keys(spec: Spec) -> bool:
    """Return whether there are two people in this world."""
    return any(each.action == "times" for each in spec.disturbances)


def play(
    spec: Spec, root: Path, seed: str = "", watch: Callable[..., None] | None = None
) -> Outcome | None:
    """Play one world; None if its client cannot do what the spec says.

    `seed`: decides which process goes on, and how long the network takes; "" for always the same.
    `watch`: called after a disturbance with the client, its document and the one that it POSTed.
    """
    home = Path(tempfile.mkdtemp(prefix="w", dir=root))
    (home / FILE).write_text("home")  # else its name is random
    os.utime(home / FILE, (0, 0))
    chance = random.Random(f"{seed} {spec}") if seed else None
    world = World(home, TOOLS, script_of(spec), KEYS if has_keys(spec) else [], chance)
    client = _CLIENTS.get(spec.wire, Client)(world, spec)
    if watch is not None:
        client.watch = partial(watch, client)
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


Group = tuple[str, tuple[str, ...], str]  # of small worlds: wire, kinds of the calls, layout


def groups(pairs: Iterable[tuple[str, ...]] = KINDS) -> list[Group]:
    """Return the groups of small worlds. `pairs`: the kinds of the two calls."""
    programs = itertools.product(PROGRAMS, itertools.product(UNATTENDED, repeat=2), LAYOUTS)
    return [*programs, *itertools.product(WIRES, pairs, LAYOUTS)]


def twin(group: Group) -> Group:
    """Return the group whose worlds end like those of this one, call by call.

    `side` is `bump` that may run beside another call, which one that is alone in its message never
    does.
    """
    wire, kinds, layout = group
    if layout == "apart":
        kinds = tuple("bump" if kind == "side" else kind for kind in kinds)
    return wire, kinds, layout


def small_worlds(
    root: Path, modes: tuple[str, ...] = MODES, pairs: Iterable[tuple[str, ...]] = KINDS
) -> Iterator[Spec]:
    """Yield every small world: each disturbance at each place where it can be."""
    for group in groups(pairs):
        yield from worlds_of(group, root, modes)


def worlds_of(group: Group, root: Path, modes: tuple[str, ...] = MODES) -> Iterator[Spec]:
    """Yield the small worlds of a group; those that differ in what the client does are together."""
    wire, kinds, layout = group
    whole = play(Spec(kinds, layout, wire), root)
    assert whole is not None
    assert not whole.wrong, (group, whole.story)
    is_program = wire in PROGRAMS  # which cannot answer questions
    actions = ("again", "later") if is_program else ACTIONS
    sizes = zip(whole.client.sizes, whole.client.effects, strict=True)
    for post, (events, effects) in enumerate([*sizes][: 1 if is_program else None]):
        pages = (False, True) if "ask" in kinds and post and wire == "sse" else (False,)
        for mode, page in itertools.product(modes, pages):
            places = PLACES if mode != "kill" or is_program else ("other",)
            each = itertools.product(_places(wire, mode, events, effects), actions, places)
            for at, action, place in each:
                due = Disturbance(post, at, mode, action, place)
                yield Spec(kinds, layout, wire, page, 1, (due,))


def _places(wire: str, mode: str, events: int, effects: int) -> range:
    """Return where in a POST a disturbance can be."""
    if mode == "late" or (wire not in ("sse", "base") and mode in ("deaf", "void", "gateway")):
        return range(1)
    if mode in ("kill", "full") or wire not in ("sse", "base"):
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
        layout, wire = chance.choice(LAYOUTS), chance.choice((*WIRES, *THREADS))
        page, turns = chance.random() < 0.3 and wire != THREAD, chance.randint(1, 4)
        yield Spec(kinds, layout, wire, page, turns, tuple(disturbances))


def share_of(specs: Iterator[Spec], share: str, seed: str = "") -> Iterator[Spec]:
    """Yield a part of the worlds, chosen by the seed: `1/20` is the first of twenty."""
    number, parts = map(int, share.split("/"))
    chance = random.Random(seed)
    for spec in specs:
        if chance.randrange(parts) == number - 1:
            yield spec
