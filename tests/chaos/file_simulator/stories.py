"""Play stories, shorten those that fail, and count by what was wrong."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from .oracle import KINDS
from .steps import MODES, Step, Story, story
from .world import World

SHARED_MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
NOBODY = 65534  # whom root becomes, so that modes hold
TRIES = 400  # replays to shorten one story


@dataclass
class Count:
    """What stories came to.

    wrong  stories by class
    done   operations by name, and "cut"
    shown  the first stories of each class, shortened
    """

    stories: int = 0
    wrong_stories: int = 0
    spent_s: float = 0.0
    wrong: Counter[str] = field(default_factory=Counter)
    done: Counter[str] = field(default_factory=Counter)
    shown: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        kinds = (f"{kind}: {self._of_kind(names)}" for kind, names in KINDS.items())
        rate = self.stories / max(self.spent_s, 0.001)
        return (
            f"{self.wrong_stories} of {self.stories} stories wrong ({'; '.join(kinds)}),"
            f" {self.done.total()} operations, {self.done['cut']} cut,"
            f" {self.spent_s:.1f} s of CPU, {rate:.0f} stories a second"
        )

    def _of_kind(self, names: tuple[str, ...]) -> str:
        return ", ".join(f"{name} {self.wrong[name]}" for name in names if self.wrong[name]) or "0"


def play(told: Story, root: Path, done: Counter[str] | None = None) -> list[str]:
    """Play one story in a folder that is made and removed; return what was wrong.

    `done`: counts its operations.
    """
    base = Path(tempfile.mkdtemp(dir=root))
    world = World(base, told)
    try:
        return world.play()
    finally:
        world.close()
        if done is not None:
            done.update(world.done)
        _remove(base)


def classes_of(wrong: Iterable[str]) -> set[str]:
    """Return the classes of what was wrong (oracle.py)."""
    return {text.split(":")[0] for text in wrong}


def shorten(told: Story, name: str, root: Path) -> Story:
    """Leave out steps and limits as long as a story still has a mistake of this class."""
    tries = TRIES

    def _fails(other: Story) -> bool:
        nonlocal tries
        tries -= 1
        return tries > 0 and name in classes_of(play(other, root))

    size = len(told.steps) // 2
    while size:
        at = 0
        while at < len(told.steps):
            steps: tuple[Step, ...] = told.steps[:at] + told.steps[at + size :]
            if _fails(other := replace(told, steps=steps)):
                told = other
            else:
                at += size
        size //= 2
    for other in (replace(told, files=0), replace(told, file_bytes=0)):
        if _fails(other):
            told = other
    return told


def play_many(
    seeds: Iterable[str], modes: tuple[str, ...] = MODES, show: int = 1, only: str = ""
) -> Count:
    """Play the stories of seeds in each mode, in a process that root's rights are taken from.

    `show`: how many stories of each class are shortened. `only`: one class.
    """
    root = Path(tempfile.mkdtemp(prefix="folders", dir=SHARED_MEMORY))
    source, target = os.pipe()
    try:
        child = os.fork()
        if not child:
            try:
                count = _as_nobody(root, list(seeds), modes, show, only)
                with os.fdopen(target, "w", encoding="utf-8") as file:
                    json.dump(count.__dict__, file)
                os._exit(0)
            finally:
                os._exit(1)
        os.close(target)
        with os.fdopen(source, encoding="utf-8") as file:
            text = file.read()
        if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
            raise AssertionError("the process that plays has ended")
    finally:
        shutil.rmtree(root, ignore_errors=True)
    value = json.loads(text)
    return Count(**value | {name: Counter(value[name]) for name in ("wrong", "done")})


def _as_nobody(root: Path, seeds: list[str], modes: tuple[str, ...], show: int, only: str) -> Count:
    if os.geteuid() == 0:
        os.chown(root, NOBODY, NOBODY)
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
    os.umask(0o022)
    count = Count()
    began_s = _spent_s()
    for seed in seeds:
        for mode in modes:
            told = story(seed, mode)
            count.stories += 1
            wrong = play(told, root, count.done)
            names = classes_of(wrong) if not only else classes_of(wrong) & {only}
            count.wrong_stories += bool(names)
            for name in sorted(names):
                count.wrong[name] += 1
                if count.wrong[name] <= show:
                    count.shown.append(_shown(seed, told, name, root))
    count.spent_s = _spent_s() - began_s
    return count


def _shown(seed: str, told: Story, name: str, root: Path) -> str:
    short = shorten(told, name, root)
    texts = [text for text in play(short, root) if text.startswith(name)]
    first = texts[0] if texts else f"{name}: not every time"
    return f"--seed {seed} --mode {told.mode}: {first}\n  " + str(short).replace("\n", "\n  ")


def _spent_s() -> float:
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def _remove(base: Path) -> None:
    for above, folders, _ in os.walk(base):
        for path in (Path(above, name) for name in folders):
            if not path.is_symlink():
                path.chmod(0o700)
    shutil.rmtree(base)
