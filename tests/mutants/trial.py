"""Whether a test fails with a mistake: a copy of the tree, which tests reach it, and the trials.

Which tests reach a line is found by probes: each line of the list gets a statement before it that
leaves an empty file where it is reached, in whatever process or page. So one run of each module is
enough, and costs what it costs without them.
"""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import subprocess
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from ..tooling import command, patience, tools, turns
from .mapped import MAPPED
from .sites import PROBE, Site

RED = re.compile(r"(?:FAIL|ERROR|UNEXPECTED SUCCESS|LEFT BEHIND|not ok \d+ -) +(?P<test>\S.*)")
FLOORS = ("client", "", "interop", "sandbox", "chaos", "browser")  # folders below tests; "": others
NODE = ("node", "--test", "--test-reporter=tap", "--test-concurrency=1")
ONE_ENGINE = ("--tests", r"\.test_(?!firefox$)\w+$")  # what Firefox walks, Chromium walks as well
SHARE = 40  # modules that are mapped in one process
LEAVE_S = 5.0  # for a suite that has failed to remove its files
TOGETHER_S, TOGETHER = 3.0, 12  # modules that cost less are tried this many at a time
PYTHON_PROBE = (
    "with __import__('contextlib').suppress(OSError): "
    "'{id}' in __import__('sys').__dict__.setdefault('reached', set()) or "
    "(__import__('sys').reached.add('{id}'), open('{folder}/{id}', 'a').close())"
)
SCRIPT_PROBE = 'globalThis.reached_{id} ??= globalThis.reached?.("{id}") ?? 1'
PRELUDE = """
const { writeFileSync } = require('node:fs')
const file = /[^/]+\\.test\\.\\w*js$/.exec(process.argv[1] ?? '')
const put = (name, text) => {
  const whole = `FOLDER/${file ? file[0] + '~' : ''}${name}`
  try { writeFileSync(whole, text) } catch { /* a sandbox forbids it */ }
}
if (file) {
  process.on('exit', (code) => {
    const { user, system } = process.cpuUsage()
    const red = code ? `exit code ${code}` : ''
    put('end', JSON.stringify({ red, cpu_s: (user + system) / 1e6 }))
  })
}
globalThis.reached = (id) => {
  put(id, '')
  return 1
}
globalThis.reach = async (page) => {
  await page.exposeFunction('reached', globalThis.reached)
  return page
}
"""
PRODUCT = re.compile(r"(server|client/).*\.(py|js)$")
TEST = re.compile(r"/test_\w+\.py$|\.test\.\w*js$")
NEW_PAGE = re.compile(r"await ((?:this\.|walk\.)?context\.newPage\(\))")


@dataclass
class Ran:
    """What came of tests: the first that failed, if one did, and what it took."""

    red: str
    cpu_s: float
    seconds: float
    late: bool


class Tree:
    """A clone of this repository at a commit, with its own files of the tests' tools."""

    def __init__(self, folder: Path, commit: str) -> None:
        self.root = folder / "tree"
        if not self.root.exists():
            git = ["git", "clone", "-q", "--shared", "--no-checkout", str(tools.ROOT)]
            subprocess.run([*git, str(self.root)], check=True)
            self.git("checkout", "-q", "--detach", commit)
            cache = self.root / ".cache" / "tests"
            cache.mkdir(parents=True)
            for place in tools.CACHE.resolve().iterdir():
                if place.name != "screenshots":
                    (cache / place.name).symlink_to(place)
            (self.root / "tests" / "node_modules").symlink_to(tools.NODE_MODULES.resolve())
        self.python = [str(self.root / ".cache/tests/venv/bin/python"), "-W", "error"]
        self.result = ["--result", str(self.root / ".cache" / "result")]
        self.turn = self.git("rev-list", "--count", "HEAD").strip()

    def git(self, *arguments: str, check: bool = True) -> str:
        whole = ["git", "-C", str(self.root), *arguments]
        done = subprocess.run(whole, capture_output=True, text=True, check=check)
        return done.stdout if check else str(done.returncode)

    def clean(self) -> None:
        self.git("checkout", "-q", "--", ".")
        self.git("clean", "-fdq", "server", "client")

    def write(self, path: str, data: bytes) -> None:
        """No compiled module is taken for it: that is told by size and second."""
        place = self.root / path
        place.write_bytes(data)
        for old in (place.parent / "__pycache__").glob(f"{place.stem}.*"):
            old.unlink()

    def tests(self) -> list[str]:
        """Python modules by name and files of Node's by path; what is cheap to have comes first."""
        folder = self.root / "tests"
        found = [path.relative_to(self.root) for path in (folder / "client").glob("*.test.*js")]
        for path in folder.rglob("test_*.py"):
            if not {"node_modules", "bench", "mutants"} & set(path.parts[len(folder.parts) :]):
                found.append(path.relative_to(self.root))
        order = {name: at for at, name in enumerate(FLOORS)}
        found.sort(key=lambda path: (order.get(path.parts[1], 1), path))
        python = ".py"
        return [".".join(p.with_suffix("").parts) if p.suffix == python else str(p) for p in found]

    def run(
        self, tests: Sequence[str], limit_s: float, env: Mapping[str, str] | None = None
    ) -> Ran:
        """Run tests of one language until one fails or the time is up, and end what they began."""
        if "/" in tests[0]:
            return self.command([*NODE, *tests], limit_s, env)
        tests = [*ONE_ENGINE, *tests]
        return self.command(
            [*self.python, "-m", "tests.tooling.suite", *self.result, *tests], limit_s, env
        )

    def command(
        self,
        whole: Sequence[str],
        limit_s: float,
        env: Mapping[str, str] | None = None,
        hear: Callable[[str], None] | None = None,
    ) -> Ran:
        """`hear` is given each line; without it the first that tells of a failure ends it."""
        began, mark = time.monotonic(), f"mutants-{os.getpid()}"
        more = {turns.TURN: self.turn, command.MARK: mark, **(env or {})}
        child = command.Command(["nice", "-n", "10", *whole], math.inf, cwd=self.root, env=more)
        timers = [threading.Timer(limit_s, command.end_survivors, [mark])]
        timers[0].start()
        red = last = ""
        lines = child.lines()
        try:
            for line in lines:
                last = line.strip() or last
                if hear is not None:
                    hear(line)
                elif not red and (match := RED.match(line)):
                    red = match["test"].strip() + _file(line, lines)
                    child.interrupt()
                    timers.append(threading.Timer(LEAVE_S, command.end_survivors, [mark]))
                    timers[1].start()
        finally:  # also when this is interrupted
            for timer in timers:
                timer.cancel()
            command.end_survivors(mark)
        took = time.monotonic() - began
        if not red and child.problem():
            red = f"{child.problem()}: {last[:150]}"
        return Ran(red, child.cpu_s, took, took >= limit_s)


def _file(line: str, more: Iterable[str]) -> str:
    """Where a test of Node's stands, which it says a few lines later."""
    if not line.startswith("not ok"):
        return ""
    places = (re.search(r"location: '.*/(tests/[^:]+)", line) for line in islice(more, 9))
    return next((f" ({place[1]})" for place in places if place), "")


# -- which tests reach what -----------------------------------------------------------------------


def probed(path: str, data: bytes, here: Iterable[Site], folder: Path) -> bytes:
    """Return a file whose lines tell when they are reached."""
    template = PYTHON_PROBE if path.endswith(".py") else SCRIPT_PROBE
    puts = [
        (at, text.replace(PROBE, template.format(id=site.id, folder=folder)))
        for site in here
        for at, text in site.probe
    ]
    for at, text in sorted(puts, key=lambda put: put[0], reverse=True):
        data = data[:at] + text.encode() + data[at:]
    return data


def reach(tree: Tree, chosen: Sequence[Site], file: Path, wanted: re.Pattern[str]) -> None:
    """Run each test module once, and write which sites it reaches; go on where it was stopped."""
    done = {row["tests"] for row in rows(file)}
    folder = file.parent / "reached"
    prelude = file.parent / "prelude.cjs"
    prelude.write_text(PRELUDE.replace("FOLDER", str(folder)))
    left = [name for name in tree.tests() if name not in done and wanted.search(name)]
    tree.clean()
    by_path: dict[str, list[Site]] = defaultdict(list)
    for site in chosen:
        by_path[site.path].append(site)
    for path, here in by_path.items():
        tree.write(path, probed(path, (tree.root / path).read_bytes(), here, folder))
    for walk in (tree.root / "tests" / "browser").glob("*.mjs"):
        walk.write_text(NEW_PAGE.sub(r"await globalThis.reach(await \1)", walk.read_text()))
    env = {"NODE_OPTIONS": f"--require={prelude}"}

    def note(name: str, row: Mapping[str, Any]) -> None:
        red = "; ".join(row["failures"])[:200]
        kept = {key: row[key] for key in ("cpu_s", "seconds", "reaches")}
        add(file, {"tests": name, **kept, "red": red})
        said = f"{name}: {len(row['reaches'])} reached, CPU {row['cpu_s']:.1f} s"
        print(said + (f", RED {red}" if red else ""), flush=True)

    def hear(line: str) -> None:
        if line.startswith(MAPPED):
            row = json.loads(line.removeprefix(MAPPED))
            note(row["module"], row | {"seconds": row["cpu_s"]})

    begin = [*tree.python, str(Path(__file__).with_name("mapped.py")), str(folder), *tree.result]
    scripts = [name for name in left if "/" in name]
    modules = [name for name in left if "/" not in name]
    if scripts:
        _empty(folder)
        tree.command([*NODE, *scripts], 3600, env, lambda line: None)
        for name in scripts:
            ends, own = {"red": "no result", "cpu_s": 1.0}, f"{Path(name).name}~"
            files = {path.name.removeprefix(own): path for path in folder.glob(f"{own}*")}
            if end := files.pop("end", None):
                ends = json.loads(end.read_text())
            failures = [ends["red"]] if ends["red"] else []
            note(
                name, {**ends, "seconds": ends["cpu_s"], "reaches": [*files], "failures": failures}
            )
    for at in range(0, len(modules), SHARE):
        _empty(folder)
        tree.command([*begin, *ONE_ENGINE, *modules[at : at + SHARE]], 3600, env, hear)
    tree.clean()
    for path in by_path:
        tree.write(path, (tree.root / path).read_bytes())
    for row in rows(file):  # what a probe upsets may still judge a mutant
        if row["red"] and "alone" not in row:
            ran = tree.run([row["tests"]], 600)
            add(file, {**row, "alone": ran.red, "cpu_s": ran.cpu_s, "seconds": ran.seconds})
            print(f"without probes: {row['tests']} {ran.red or 'ok'}", flush=True)


def _empty(folder: Path) -> None:
    """Servers may write there that run as somebody else."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    folder.chmod(0o777)


def rows(file: Path) -> list[dict[str, Any]]:
    """Return what a file of JSON lines holds, of each test module the last word."""
    lines = file.read_text().splitlines() if file.exists() else []
    found = [json.loads(line) for line in lines]
    return [*{row.get("tests", row.get("id")): row for row in found}.values()]


def add(file: Path, row: Mapping[str, Any]) -> None:
    with file.open("a") as out:
        out.write(json.dumps(row) + "\n")


# -- trials ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Trial:
    """A mutant, or a mend taken back: what is written, and the sites whose tests may notice it."""

    id: str
    about: str
    files: dict[str, str]
    sites: tuple[str, ...]
    named: tuple[str, ...] = ()  # tests that are tried first


def order(
    trial: Trial, reached: Sequence[Mapping[str, Any]], there: Sequence[str] = ()
) -> list[Mapping[str, Any]]:
    """The tests that reach it: first the named ones, also those of `there` that the map lacks, then
    those that are called as its files, then the cheapest."""
    names = {Path(path).stem.replace("-", "_") for path in trial.files}
    wanted = {*trial.named} - {row["tests"] for row in reached}
    unmapped = {"cpu_s": 5.0, "seconds": 20.0, "reaches": ()}
    more = [{"tests": name, **unmapped} for name in there if name in wanted]

    def key(row: Mapping[str, Any]) -> tuple[bool, bool, float]:
        name = row["tests"]
        own = Path(name).name.partition(".")[0].replace("-", "_") if "/" in name else name
        alike = own.rpartition("test_")[2] in names
        return name not in trial.named, not alike, row["cpu_s"]

    fit = [row for row in (*reached, *more) if not row.get("alone")]
    fit = [row for row in fit if row["tests"] in trial.named or {*trial.sites} & {*row["reaches"]}]
    return sorted(fit, key=key)


def seen_in(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the module or file of the test that noticed a mistake."""
    by = str(row["by"])
    return tuple(name for name in row["tried"] if f"({name})" in by or f"{name}." in by)


def batches(tests: Sequence[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    """Put what is cheap and stands together into one process."""
    batch: list[Mapping[str, Any]] = []
    for row in tests:
        script, dear = "/" in row["tests"], row["cpu_s"] > TOGETHER_S
        if batch and (dear or len(batch) == TOGETHER or script != ("/" in batch[0]["tests"])):
            yield batch
            batch = []
        batch.append(row)
        if dear:
            yield batch
            batch = []
    if batch:
        yield batch


def attempt(
    tree: Tree,
    trial: Trial,
    reached: Sequence[Mapping[str, Any]],
    earlier: Mapping[str, Any] | None = None,
) -> dict[str, Any] | None:
    """Try one against the tests that reach it, until the first is red; after an earlier trial that
    none noticed, against those that are new. None if there are no new ones."""
    blank = {"tried": [], "cpu_s": 0.0, "seconds": 0.0}
    found = {**blank, **(earlier or {}), "id": trial.id, "about": trial.about}
    near = order(trial, reached, tree.tests())
    found |= {"by": "", "how": "survived" if trial.files else "conflict", "reached_by": len(near)}
    tests = [row for row in near if trial.files and row["tests"] not in found["tried"]]
    if earlier and not tests:
        return None
    with _written(tree, trial):
        for batch in batches(tests):
            limit_s = patience.seconds(30 + 8 * sum(row["seconds"] for row in batch))
            ran = tree.run([row["tests"] for row in batch], limit_s)
            found["tried"] = [*found["tried"], *(row["tests"] for row in batch)]
            found["cpu_s"] += ran.cpu_s
            found["seconds"] += ran.seconds
            if ran.red:
                return found | {"by": ran.red, "how": "hung" if ran.late else "red"}
    return found


def judge(tree: Tree, trial: Trial, row: Mapping[str, Any]) -> dict[str, Any]:
    """Ask the checks of types about what no test noticed."""
    if any(path.endswith(".py") for path in trial.files):
        whole = [*tree.python, "-m", "mypy", "--cache-dir", str(tree.root / ".cache" / "mypy")]
    else:
        program = tools.NODE_MODULES / "typescript" / "bin" / "tsc"
        whole = ["node", str(program), "--noEmit", "-p", "client/jsconfig.json"]
    with _written(tree, trial):
        ran = tree.command(whole, 600)
    return {**row, "how": "types" if ran.red else "survived", "by": ran.red, "typed": True}


@contextmanager
def _written(tree: Tree, trial: Trial) -> Iterator[None]:
    before = {path: (tree.root / path).read_bytes() for path in trial.files}
    try:
        for path, text in trial.files.items():
            tree.write(path, text.encode())
        yield
    finally:
        for path, data in before.items():
            tree.write(path, data)


def about_of(site: Site) -> str:
    return f"{site.path}:{site.line} {site.function}: {site.kind}: {site.text}"


def like(
    rows: Iterable[Mapping[str, Any]], everything: Sequence[Site]
) -> dict[Site, tuple[str, ...]]:
    """The sites of another tree's results, with the tests to try first: the same one, else one that
    is alike in a file of that name, as files are moved."""

    def alike(about: str) -> tuple[str, str]:
        place, _, what = about.partition(" ")
        return Path(place.rpartition(":")[0]).name, what

    same = {site.id: site for site in everything}
    others = {alike(about_of(site)): site for site in reversed(everything)}
    found = dict[Site, tuple[str, ...]]()
    for row in rows:
        if site := same.get(row["id"]) or others.get(alike(row["about"])):
            found.setdefault(site, seen_in(row) or tuple(row["tried"]))
    return found


def mutants(
    tree: Tree, chosen: Sequence[Site], named: Mapping[str, tuple[str, ...]]
) -> list[Trial]:
    found = []
    for site in chosen:
        text = site.apply((tree.root / site.path).read_bytes()).decode()
        first = named.get(site.id, ())
        found.append(Trial(site.id, about_of(site), {site.path: text}, (site.id,), first))
    return found


def reverts(
    tree: Tree, count: int, until: str, all_sites: Sequence[Site], same: Sequence[str] = ()
) -> list[Trial]:
    """The last mends, commits of the product with a test, taken back in the product, wherever its
    files are now. One that conflicts is left out; of `same`, the only ones then, it has none."""
    by_path: dict[str, list[Site]] = defaultdict(list)
    for site in all_sites:
        by_path[site.path].append(site)
    found = list[Trial]()
    for line in tree.git("log", "--no-merges", "--format=%h %s", "-n", "600", until).splitlines():
        commit, _, subject = line.partition(" ")
        if len(found) == count:
            break
        product, tests = _kinds(tree.git("diff", "--name-only", f"{commit}^", commit))
        if not product or not tests or (same and f"revert-{commit}" not in same):
            continue
        tree.git("revert", "--no-commit", commit, check=False)
        stuck, _ = _kinds(tree.git("diff", "--name-only", "--diff-filter=U"))
        changed = tree.git("diff", "-U0", "--no-renames", "--diff-filter=M", "HEAD")
        paths, more = _kinds(" ".join(re.findall(r"^--- a/(\S+)", changed, re.MULTILINE)))
        files = {} if stuck else {path: (tree.root / path).read_text() for path in paths}
        tree.git("reset", "-q", "--hard")
        if files or same:
            names = [n.replace("/", ".")[:-3] if n.endswith(".py") else n for n in tests + more]
            near = tuple(_near(changed, by_path))
            found.append(Trial(f"revert-{commit}", subject, files, near, tuple(names)))
    return found


def _kinds(names: str) -> tuple[list[str], list[str]]:
    """Return the files of the product and those of tests."""
    return [*filter(PRODUCT.match, names.split())], [*filter(TEST.search, names.split())]


def _near(changed: str, by_path: Mapping[str, Sequence[Site]]) -> list[str]:
    """The ids of a few sites in what a diff takes away, or near to it."""
    found, path = dict[str, None](), ""
    for line in changed.splitlines():
        if line.startswith("--- "):
            path = line.removeprefix("--- a/")
        elif match := re.match(r"@@ -(\d+)(?:,(\d+))? ", line):
            first, last = int(match[1]), int(match[1]) + int(match[2] or 1)
            near = sorted(by_path.get(path, ()), key=lambda one: abs(2 * one.line - first - last))
            found |= dict.fromkeys(site.id for site in near[:2])
    return [*found][:8]
