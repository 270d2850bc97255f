"""Prints what the code is like, in figures: `python3 -m tests.house [--list FIGURE | --write]`.

Each figure is a list of places; its length is printed, and `--list` prints the places. The figures
of the budget stand in tests/house.json and may only fall: `--write` lowers those that fell, and
`--write --raise` also the others, in a commit that says what the new lines are for.
"""

from __future__ import annotations

import argparse
import ast
import functools
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

from .tooling.source import client_files, functions, imports, modules, nodes, path_of, tracked
from .tooling.tools import ROOT

TOP = {"__init__", "__main__", "app", "config", "json_types", "errors", "strict_json"}
PHRASES = ("In the walk", "rule of the file", "The rule of", "seed 00", "codicil")
# Words that begin a sentence in the imperative; a verb that ends in -s or -ed is none.
NO_VERBS = set(
    "a an the this that these those what where when who how why whether which one two all every"
    " each"
    " some any no nothing of from in on at by for with without as if it its is are was or and"
    " not so"
    " here there false true none".split()
)
PARTICIPLE = re.compile(r"^_?[a-z]+(ed|en|ing|ten|wn|ld|rd|nt)$")
NOUNS = set(
    "token tokens hidden open happen children written listen golden seven ten even given setting"
    " thing string pending encoding timing meaning reading event content client segment argument"
    " document element fragment account amount agent parent current different present recent extent"
    " intent comment environment down own known field child world build hold old bold cold word"
    " record standard board guard card third discard keyword forward need feed seed speed"
    " attachment fingerprint traceparent complement component constant count endpoint framing"
    " grant reasoning finding anything forwarding tracing opening fold mount harden shorten widen"
    " required unevaluated missing listing flatten".split()  # keywords of JSON Schema
)


def public(name: str) -> bool:
    return not name.startswith("_")


def documented() -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Public functions and methods of public classes, with their place."""
    for name, tree in modules().items():
        for node in functions(tree):
            if public(node.name):
                yield f"{path_of(name)}:{node.lineno} {node.name}", node


def first_word(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    return re.sub(r"\W.*", "", (ast.get_docstring(node) or "").strip(), flags=re.S).lower()


def is_imperative(word: str) -> bool:
    return bool(word) and word not in NO_VERBS and not re.search(r"((?<!s)s|ed|ing)$", word)


def lines() -> list[str]:
    return [
        f"{path_of(name)}: {number}"
        for name in modules()
        for number, _ in enumerate((ROOT / path_of(name)).read_text().splitlines(), 1)
    ]


def files() -> list[str]:
    return [path_of(name) for name in modules()]


def at_the_top() -> list[str]:
    """What stands beside the packages and should not."""
    names = {path.stem for path in (ROOT / "server").glob("*.py")}
    return sorted(names - TOP)


def imported_once() -> list[str]:
    importers: dict[str, set[str]] = defaultdict(set)
    for name, _line, target in imports():
        if name != target:
            importers[target].add(name)
    return [
        f"{path_of(target)} <- {path_of(*names)}"
        for target, names in sorted(importers.items())
        if len(names) == 1 and not path_of(target).endswith("__init__.py")
    ]


def participles() -> list[str]:
    """Modules, public functions and classes that are whose whole name is a participle."""
    found = []
    for name, tree in modules().items():
        last = name.rpartition(".")[2]
        named = [(path_of(name), last)]
        named += [
            (f"{path_of(name)}:{node.lineno}", node.name)
            for node in nodes(tree)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        ]
        found += [
            f"{place} {word}"
            for place, word in named
            if public(word)
            and PARTICIPLE.match(word[:1].lower() + word[1:])
            and word.lower() not in NOUNS
        ]
    return found


def undocumented() -> list[str]:
    return [place for place, node in documented() if not ast.get_docstring(node)]


def not_imperative() -> list[str]:
    return [
        f"{place}: {(ast.get_docstring(node) or '').splitlines()[0]}"
        for place, node in documented()
        if ast.get_docstring(node) and not is_imperative(first_word(node))
    ]


def phrases() -> list[str]:
    return [
        f"{path_of(name)}:{number} {line.strip()}"
        for name in modules()
        for number, line in enumerate((ROOT / path_of(name)).read_text().splitlines(), 1)
        if any(phrase in line for phrase in PHRASES)
    ]


def dict_aliases() -> list[str]:
    """`Session = dict[str, Any]` and the like, outside of json_types.py."""
    return [
        f"{path_of(name)}:{node.lineno} {ast.unparse(node)}"
        for name, tree in modules().items()
        for node in tree.body
        if name != "server.json_types"
        and isinstance(node, ast.Assign)
        and ast.unparse(node.value) == "dict[str, Any]"
    ]


def kinds_compared() -> list[str]:
    return [
        f"{path_of(name)}:{node.lineno} {ast.unparse(node)}"
        for name, tree in modules().items()
        if name.startswith(("server.tools", "server.agent"))
        for node in nodes(tree)
        if isinstance(node, ast.Compare) and ast.unparse(node.left).endswith("tool.kind")
    ]


def operands(node: ast.expr) -> tuple[ast.expr, ...]:
    return (node.left, node.right) if isinstance(node, ast.BinOp) else ()


def pointers() -> list[str]:
    """`"pointer": "/a"`, `f"/{a}"` or `a + "/b"`, where strict_json.pointer makes one."""
    by_hand = (ast.Constant, ast.JoinedStr)
    return [
        f"{path_of(name)}:{value.lineno} {ast.unparse(value)}"
        for name, tree in modules().items()
        for node in nodes(tree)
        if isinstance(node, ast.Dict)
        for key, value in zip(node.keys, node.values, strict=True)
        if isinstance(key, ast.Constant) and key.value == "pointer"
        if any(isinstance(part, by_hand) for part in (value, *operands(value)))
    ]


# -- the budget -----------------------------------------------------------------------------------

BUDGET = ROOT / "tests" / "house.json"
HEADING = re.compile(r"^\s*# -- ")
# Names of locals that say nothing of their matter: an engineer writes `match`, `limit`, `text`.
PRIVATE_WORDS = set("found most told said own given whole made theirs ours".split())
# Packages that the rest should reach by one door.
DOORS = {
    "workspace": "server.workspace",
    "skills": "server.extensions.skills",
    "hooks": "server.agent.hooks",
    "compaction": "server.context.compact",
}
NAMED_FILE = re.compile(r"`([\w/]+\.(?:py|js))`")


def python_code(name: str, tree: ast.Module) -> int:
    """Return how many lines of a module are no docstring, comment or blank."""
    skipped: set[int] = set()
    for node in nodes(tree):
        documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
        if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None:
            first = node.body[0]
            skipped.update(range(first.lineno, (first.end_lineno or 0) + 1))
    return sum(
        number not in skipped and bool(line.strip()) and not line.strip().startswith("#")
        for number, line in enumerate((ROOT / path_of(name)).read_text().splitlines(), 1)
    )


def script_code(path: Path) -> int:
    """Return how many lines of a script are no comment or blank."""
    text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
    return sum(
        bool(line.strip()) and not line.strip().startswith("//") for line in text.splitlines()
    )


def rooms() -> dict[str, int]:
    """Return the lines of code of the server, of each package of it, and of the client."""
    sizes: dict[str, int] = defaultdict(int)
    for name, tree in modules().items():
        count = python_code(name, tree)
        sizes["code of server"] += count
        package = name.split(".")[1:2]
        if (ROOT / "server").joinpath(*package, "__init__.py").is_file() and package:
            sizes[f"code of server/{package[0]}"] += count
    for path in client_files(".js"):
        count = script_code(path)
        sizes["code of client"] += count
        if "ext" not in path.parts:
            sizes["code of client without js/ext"] += count
    return sizes


def importers(package: str) -> list[str]:
    """Return the files outside of a package that import it."""
    inside = (package, f"{package}.")
    return sorted(
        {
            path_of(name)
            for name, _line, target in imports()
            if target.startswith(inside) and not name.startswith(inside)
        }
    )


def headings() -> list[str]:
    """Return the headings inside files, each a former module."""
    return [place for place in numbered_lines() if HEADING.match(place.partition("\t")[2])]


def numbered_lines() -> Iterator[str]:
    for name in modules():
        path = path_of(name)
        for number, line in enumerate((ROOT / path).read_text().splitlines(), 1):
            yield f"{path}:{number}\t{line}"


def private_words() -> list[str]:
    return [
        f"{path_of(name)}:{node.lineno} {node.id}"
        for name, tree in modules().items()
        for node in nodes(tree)
        if isinstance(node, ast.Name)
        and isinstance(node.ctx, ast.Store)
        and node.id in PRIVATE_WORDS
    ]


def stale_names() -> list[str]:
    """Return the files that a docstring or comment names in backquotes and that are not there."""
    there = [path.relative_to(ROOT).as_posix() for path in tracked()]
    return [
        f"{place.partition(chr(9))[0]} {file}"
        for place in numbered_lines()
        for file in NAMED_FILE.findall(place)
        if not any(f"/{path}".endswith(f"/{file}") for path in there)
    ]


def budget() -> dict[str, int]:
    """Return the figures that may only fall."""
    return {
        **rooms(),
        **{f"importers of {name}": len(importers(package)) for name, package in DOORS.items()},
        "files imported by one file": len(imported_once()),
        "headings inside files": len(headings()),
        "locals that say nothing": len(private_words()),
    }


def over_budget() -> list[str]:
    """Return the figures that are larger than tests/house.json allows."""
    limits = json.loads(BUDGET.read_text())
    return [
        f"{name}: {value:,}, and {limits.get(name, 0):,} is the most"
        for name, value in budget().items()
        if value > limits.get(name, 0)
    ]


def write_budget(*, may_rise: bool) -> None:
    """Write the figures to tests/house.json: those that fell, with `may_rise` the others too."""
    limits = json.loads(BUDGET.read_text()) if BUDGET.exists() else {}
    values = budget()
    if not may_rise:
        values = {name: min(value, limits.get(name, value)) for name, value in values.items()}
    BUDGET.write_text(json.dumps(values, indent=1, sort_keys=True) + "\n")


FIGURES: dict[str, Callable[[], list[str]]] = {
    "headings inside files": headings,
    "locals that say nothing": private_words,
    "stale names": stale_names,
    **{
        f"importers of {name}": functools.partial(importers, package)
        for name, package in DOORS.items()
    },
    "files": files,
    "lines": lines,
    "beside the packages": at_the_top,
    "imported by one file": imported_once,
    "named by a participle": participles,
    "public functions": lambda: [place for place, _ in documented()],
    "without docstring": undocumented,
    "docstring not imperative": not_imperative,
    "phrases of no use": phrases,
    "aliases of dict[str, Any]": dict_aliases,
    "kinds of tools compared": kinds_compared,
    "pointers built by hand": pointers,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python3 -m tests.house", description=__doc__)
    parser.add_argument("--list", choices=FIGURES, help="print the places of one figure")
    parser.add_argument("--write", action="store_true", help="lower the budget to what is")
    parser.add_argument("--raise", dest="may_rise", action="store_true", help="or raise it")
    options = parser.parse_args()
    if options.write:
        write_budget(may_rise=options.may_rise)
        return
    if options.list:
        print("\n".join(FIGURES[options.list]()))
        return
    for name, places in FIGURES.items():
        print(f"{len(places()):>7,}  {name}")
    limits = json.loads(BUDGET.read_text())
    print("\nThe budget (may only fall):")
    for name, value in sorted(budget().items()):
        print(f"{value:>7,}  {name}  ({value - limits.get(name, 0):+,})")


if __name__ == "__main__":
    main()
