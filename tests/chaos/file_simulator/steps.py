"""What a story consists of: plain rows of JSON, so a story can be shortened and printed.

Every step can be done in any folder: one that does not fit what is there does nothing.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

MODES = ("own", "write", "overlay")
SMALL, LARGE = 30, 3000  # bytes of files
FILE_BYTES = 2000  # the limit of a file's size where a story has one
FILES = 14  # the limit of the number of entries where a story has one

Step = tuple[str, ...]

PATHS = (
    *(".env", "a.txt", "b.txt", "c.log", "zz.txt"),
    *("build/out", "build/x.log", "d/e.txt", "d/f.log", "d/sub/g.txt"),
)
FOLDERS = ("build", "d", "d/sub", "new")
RULES = (
    *(".env", "*.log", "build/", "build/ *.log", "*.txt !a.txt", "/d/", "sub/", "zz.txt .env"),
    *("*.log !c.log", "d/*", ".gitignore", ".gitignore *.log", ".gitignore build/ a.txt", ""),
)
FILE_MODES = ("444", "600", "644", "755")
FOLDER_MODES = ("555", "700", "755", "1777", "2775", "1755", "1700")


@dataclass(frozen=True)
class Story:
    """A mode, the limits of the workspace (0: none), and the steps."""

    mode: str
    files: int
    file_bytes: int
    steps: tuple[Step, ...]

    def __str__(self) -> str:
        limits = [f"files={self.files}"] * (self.files > 0)
        limits += [f"file_bytes={self.file_bytes}"] * (self.file_bytes > 0)
        lines = [" ".join([self.mode, *limits])]
        return "\n".join([*lines, *(" ".join(step) for step in self.steps)])


def story(seed: str, mode: str) -> Story:
    """Return the story that a seed makes."""
    chance = random.Random(f"{seed}/{mode}")
    has_git = chance.random() < 0.25
    files = FILES if not has_git and chance.random() < 0.35 else 0
    file_bytes = FILE_BYTES if chance.random() < 0.5 else 0
    steps: list[Step] = [_write(chance, "person") for _ in range(chance.randint(3, 7))]
    if has_git:
        steps.append(("person", "rules", "", chance.choice(RULES)))
        steps.append(("person", "git", chance.choice(("", "", "d"))))
        steps += [("person", "track", chance.choice(PATHS)) for _ in range(2)]
    if chance.random() < 0.3:
        steps.append(("person", "rules", chance.choice(("", "d")), chance.choice(RULES)))
    for _ in range(chance.randint(3, 6)):
        steps += _turn(chance, mode, has_git)
    return Story(mode, files, file_bytes, tuple(steps))


def _turn(chance: random.Random, mode: str, has_git: bool) -> list[Step]:
    """Return what happens between two answers of a model, and what follows them."""
    steps = [_change(chance, "person", has_git) for _ in range(chance.choice((0, 0, 1, 2)))]
    steps.append(("begin",))
    for _ in range(chance.choice((1, 1, 2))):
        steps += [_change(chance, "agent", has_git) for _ in range(chance.randint(1, 3))]
        steps.append(("record",))
    for _ in range(chance.choice((0, 1, 1, 2))):
        steps.append(_order(chance, mode))
    return steps


def _order(chance: random.Random, mode: str) -> Step:
    """Return an operation that a person asks for."""
    names = ["back"] * 5 + ["restart", "upload", "remove", "move", "kill-back"]
    if mode == "overlay":
        names += ["apply"] * 3 + ["apply-one", "apply-force", "discard", "discard-one", "status"]
        names.append("kill-apply")
    name = chance.choice(names)
    if name in ("back", "kill-back"):  # to the place of a tree among those that were named
        place = str(chance.randrange(8))
        return (name, place) if name == "back" else (name, place, str(chance.randrange(12)))
    if name == "kill-apply":
        return (name, str(chance.randrange(12)))
    if name == "move":
        return (name, chance.choice(PATHS), chance.choice(PATHS))
    if name in ("upload", "remove", "apply-one", "discard-one"):
        return (name, chance.choice((*PATHS, ".gitignore")))
    return (name,)


def _change(chance: random.Random, who: str, has_git: bool) -> Step:
    """Return a change of files by a person, or by a tool of the agent."""
    share = chance.random()
    if share < 0.38:
        return _write(chance, who)
    if share < 0.58:
        return (who, "rules", chance.choice(("", "", "d")), chance.choice(RULES))
    if share < 0.67:
        return (who, "delete", chance.choice((*PATHS, *FOLDERS, ".gitignore")))
    if share < 0.73:
        return (who, "rename", chance.choice((*PATHS, *FOLDERS)), chance.choice((*PATHS, "new")))
    if share < 0.78:
        return (who, "many", chance.choice(("00", "m", "zzz")), str(chance.randint(1, 8)))
    if share < 0.84:
        return (who, "link", chance.choice(PATHS), chance.choice(PATHS))
    if share < 0.85:
        return (who, "pipe", chance.choice(PATHS))
    if share < 0.87:
        return (who, "symlink", chance.choice(PATHS), chance.choice(("a.txt", "d", "gone")))
    if share < 0.90:
        return (who, "mode", chance.choice(PATHS), chance.choice(FILE_MODES))
    if share < 0.96:
        return (who, "mode", chance.choice(FOLDERS), chance.choice(FOLDER_MODES))
    if has_git:
        return (who, "track", chance.choice(PATHS))
    return (who, "folder", chance.choice(FOLDERS))


def _write(chance: random.Random, who: str) -> Step:
    how = chance.choice(("write", "write", "replace"))
    size = LARGE if chance.random() < 0.2 else SMALL
    return (who, how, chance.choice(PATHS), str(size))
