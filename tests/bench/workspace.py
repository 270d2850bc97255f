"""`python3 -m tests.bench.workspace [--files N] [--rounds N] [--real FOLDER]`: what records cost.

Each figure is beside a plain os.walk with lstat of the same folder, in turns: processor time of
both, their ratio, and the elapsed time, in which the disk is waited for. The least of the rounds
counts.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from server.workspace.operations import Operations, Places

IN_FOLDER = 50
CHANGED, RESTORED = 10, 1_000
Times = tuple[float, float]  # processor and elapsed, in ms


def main() -> None:
    parser = argparse.ArgumentParser(prog="python3 -m tests.bench.workspace", description=__doc__)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--real", type=Path, help="copy this folder instead of making files")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        for name, (mine, walk) in measure(
            Path(home), options.files, options.rounds, options.real
        ).items():
            ratio = mine[0] / walk[0]
            print(
                f"{name:26} {mine[0]:9.1f} ms processor {mine[1]:9.1f} ms elapsed"
                f" {ratio:8.2f} x walk ({walk[0]:.1f} ms)"
            )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"peak memory {peak // 1024} MB, Python {sys.version.split()[0]}")


def measure(
    home: Path, files: int, rounds: int, real: Path | None = None
) -> dict[str, tuple[Times, Times]]:
    """Return the least times of each work, and of a walk beside it."""
    top = home / "workspace"
    paths = made(top, files) if real is None else copied(real, top)
    places = Places(f"{top}", f"{home}/state", f"{home}/objects")
    run = Operations(places)

    def record() -> dict[str, object]:
        return run.perform("record", {"session": "bench"})

    rows: dict[str, list[Times]] = {}
    walks: list[Times] = []

    def note(name: str, work: Callable[[], object]) -> None:
        rows.setdefault(name, []).append(timed(work))
        walks.append(timed(lambda: walk(top)))

    note("first record", record)
    for number in range(rounds):
        note("nothing changed", record)
        change(paths[:: max(1, len(paths) // CHANGED)][:CHANGED], f"few {number}")
        note(f"{CHANGED} changed", record)
        note("everything looked at", lambda: run.root.scanner.scan(True))
        tree = record()["after"]
        change(paths[:RESTORED], f"many {number}")
        record()
        arguments = {"session": "bench", "tree": tree}
        note(f"{RESTORED} restored", partial(run.perform, "restore", arguments))
    run.close()
    again = Operations(places)
    note("first of a new process", lambda: again.perform("record", {"session": "bench"}))
    again.close()
    (home / "layer").mkdir()
    layer = Operations(Places(f"{home}/layer", f"{home}/of-layer", places.objects, f"{top}"))
    refresh = partial(layer.perform, "refresh", {"session": "bench"})
    note("overlay filled", refresh)
    for number in range(rounds):
        note("overlay, folder unchanged", refresh)
        change([home / "layer" / path.relative_to(top) for path in paths[:CHANGED]], f"{number}")
        note("overlay, changes listed", partial(layer.perform, "status", {}))
        change(paths[-1:], f"folder {number}")
        note("overlay, folder changed", refresh)
    layer.close()
    return {name: (min(times), min(walks)) for name, times in rows.items()}


def timed(work: Callable[[], object]) -> Times:
    start, used = time.perf_counter(), time.process_time()
    work()
    return 1e3 * (time.process_time() - used), 1e3 * (time.perf_counter() - start)


def walk(top: Path) -> int:
    count = 0
    for base, folders, files in os.walk(top):
        for name in folders + files:
            os.lstat(os.path.join(base, name))
            count += 1
    return count


def made(top: Path, files: int) -> list[Path]:
    paths = []
    for number in range(files):
        folder = top / f"part{number // IN_FOLDER // 20:03}" / f"sub{number // IN_FOLDER:04}"
        if not number % IN_FOLDER:
            folder.mkdir(parents=True)
        paths.append(folder / f"file{number}.py")
        paths[-1].write_text(f"# {number}\n" * 100)
    (top / ".gitignore").write_text("*.o\n*.pyc\nbuild/\n/dist/\nnode_modules/\n")
    return paths


def copied(real: Path, top: Path) -> list[Path]:
    shutil.copytree(real, top, symlinks=True)
    return [path for path in sorted(top.rglob("*")) if path.is_file() and not path.is_symlink()]


def change(paths: list[Path], text: str) -> None:
    for path in paths:
        path.write_text(f"{text} {path.name}\n")


if __name__ == "__main__":
    main()
