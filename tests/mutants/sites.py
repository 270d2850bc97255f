"""Places of the code where a small mistake can be made: in Python by its syntax tree, in JavaScript
by sites.mjs. A site is inside of a function, and never in a comment, a docstring or what is logged.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

KINDS = ("negate", "await", "off by one", "swap", "remove")
PROBE = "PROBE"  # stands in `probe` for what notes that the line was reached
LOGS = re.compile(r"(^|[._])(log|logger|logging|print|warn|warning)\b")
EDGES = {ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">")}
Functions = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Site:
    """One mistake. Offsets are in bytes.

    edit   (start, end, text): what to put there
    probe  (offset, text): what to insert so that its line tells that it is reached
    """

    path: str
    function: str
    kind: str
    line: int
    text: str
    edit: tuple[int, int, str]
    probe: tuple[tuple[int, str], ...]
    copy: int = 0  # of those that are otherwise alike

    @property
    def id(self) -> str:
        """The same in another tree, also where lines have moved."""
        named = [self.path, self.function, self.kind, self.text, str(self.copy)]
        return hashlib.sha256("\0".join(named).encode()).hexdigest()[:10]

    @property
    def room(self) -> str:
        return self.path.rpartition("/")[0]

    def apply(self, data: bytes) -> bytes:
        start, end, text = self.edit
        return data[:start] + text.encode() + data[end:]


def numbered(sites: Iterable[Site]) -> list[Site]:
    """Return them with `copy` set, one of each edit."""
    found, copies = dict[tuple[int, int, str], Site](), Counter[str]()
    for site in sites:
        if site.edit not in found:
            found[site.edit] = Site(**{**vars(site), "copy": copies[site.id]})
            copies[site.id] += 1
    return [*found.values()]


def python_sites(path: str, data: bytes) -> list[Site]:
    return numbered(_Python(path, data).walk(ast.parse(data), (), 0))


class _Python:
    def __init__(self, path: str, data: bytes) -> None:
        self._path, self._data = path, data
        self._lines = data.splitlines(keepends=True)
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line))

    def walk(self, node: ast.AST, names: tuple[str, ...], at: int) -> Iterator[Site]:
        """at: the line of the innermost statement that begins one"""
        if _logs(node):
            return
        if isinstance(node, ast.stmt) and self._begins(node):
            at = node.lineno
        if names and at and not isinstance(node, Functions):
            for kind, (start, end), text in self._mistakes(node):
                yield self._site(node, ".".join(names), kind, (start, end, text), at)
        inside = isinstance(node, Functions | ast.ClassDef) and (
            names or isinstance(node, Functions)
        )
        for child in ast.iter_child_nodes(node):
            own = (*names, node.name) if inside and child in node.body else names  # type: ignore
            yield from self.walk(child, own, at)

    def _begins(self, node: ast.stmt) -> bool:
        """Whether a line could be put before it."""
        before = self._lines[node.lineno - 1][: node.col_offset]
        rest = self._lines[node.lineno - 1][node.col_offset :]
        return not before.strip() and not (isinstance(node, ast.If) and rest.startswith(b"elif"))

    def _site(
        self, node: ast.AST, function: str, kind: str, edit: tuple[int, int, str], at: int
    ) -> Site:
        line = self._lines[at - 1].decode()
        indent = line[: len(line) - len(line.lstrip())]
        number: int = getattr(node, "lineno")  # noqa: B009 - of statements and expressions
        text = self._lines[number - 1].decode().strip()
        probe = ((self._starts[at - 1], f"{indent}{PROBE}\n"),)
        return Site(self._path, function, kind, number, text, edit, probe)

    def _span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno and node.end_col_offset is not None
        start = self._starts[node.lineno - 1] + node.col_offset
        return start, self._starts[node.end_lineno - 1] + node.end_col_offset

    def _text(self, start: int, end: int) -> str:
        return self._data[start:end].decode()

    def _mistakes(self, node: ast.AST) -> Iterator[tuple[str, tuple[int, int], str]]:
        """(kind, span, what to put there)"""
        if isinstance(node, ast.If | ast.IfExp | ast.While):
            if not isinstance(node.test, ast.Constant):
                span = self._span(node.test)
                yield "negate", span, f"(not ({self._text(*span)}))"
        elif isinstance(node, ast.Await):
            yield "await", self._span(node), self._text(*self._span(node.value))
        elif isinstance(node, ast.Compare) and type(node.ops[0]) in EDGES:
            here, there = EDGES[type(node.ops[0])]
            after = self._span(node.left)[1]
            between = self._text(after, self._span(node.comparators[0])[0])
            if between.strip() == here:
                start = after + between.index(here)
                yield "off by one", (start, start + len(here)), there
        elif isinstance(node, ast.BinOp | ast.Subscript):
            part = node.right if isinstance(node, ast.BinOp) else node.slice
            plain = isinstance(node, ast.Subscript) or isinstance(node.op, ast.Add | ast.Sub)
            if plain and isinstance(part, ast.Constant) and type(part.value) is int:
                yield "off by one", self._span(part), str(part.value + 1)
        elif isinstance(node, ast.Call):
            for one, two in zip(node.args, node.args[1:], strict=False):
                starred = isinstance(one, ast.Starred) or isinstance(two, ast.Starred)
                (a, b), (c, d) = self._span(one), self._span(two)
                if not starred and self._text(a, b) != self._text(c, d):
                    yield "swap", (a, d), self._text(c, d) + self._text(b, c) + self._text(a, b)
                    return
        elif isinstance(node, ast.Expr) and not isinstance(node.value, ast.Constant):
            if not _logs(node.value):
                yield "remove", self._span(node), "pass"
        elif isinstance(node, ast.AugAssign | ast.Raise | ast.Continue):
            yield "remove", self._span(node), "pass"
        elif isinstance(node, ast.Assign):
            if all(isinstance(one, ast.Attribute | ast.Subscript) for one in node.targets):
                yield "remove", self._span(node), "pass"


def _logs(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and bool(LOGS.search(ast.unparse(node.func)))


def script_sites(files: Sequence[tuple[str, str]]) -> list[list[Site] | None]:
    """Return the sites of each (path, text); None for one that does not parse."""
    command = ["node", "--expose-internals", "--no-warnings"]
    command.append(str(Path(__file__).with_name("sites.mjs")))
    said = subprocess.run(
        command, input=json.dumps(files).encode(), capture_output=True, check=True
    )
    return [
        None if found is None else numbered(_of_json(path, one) for one in found)
        for (path, _), found in zip(files, json.loads(said.stdout), strict=True)
    ]


def _of_json(path: str, one: dict[str, object]) -> Site:
    start, end, text = one.pop("edit")  # type: ignore
    probe = tuple((at, put) for at, put in one.pop("probe"))  # type: ignore
    return Site(path=path, edit=(start, end, text), probe=probe, **one)  # type: ignore


def of_tree(root: Path) -> tuple[list[Site], dict[str, int]]:
    """Return the sites of the product in a checkout, and the lines of code of each room."""
    found, sizes = list[Site](), Counter[str]()
    for path in sorted((root / "server").rglob("*.py")):
        name, data = path.relative_to(root).as_posix(), path.read_bytes()
        found += python_sites(name, data)
        lines = {node.lineno for node in ast.walk(ast.parse(data)) if isinstance(node, ast.stmt)}
        sizes[name.rpartition("/")[0]] += len(lines)
    scripts = [
        (path.relative_to(root).as_posix(), path.read_text())
        for path in sorted((root / "client").rglob("*.js"))
        if "i18n" not in path.parts
    ]
    for (name, text), sites in zip(scripts, script_sites(scripts), strict=True):
        found += sites or []
        code = [line for line in text.splitlines() if re.match(r"\s*(?!//|\*|/\*)\S", line)]
        sizes[name.rpartition("/")[0]] += len(code)
    return found, sizes


def quotas(sizes: dict[str, int], count: int) -> dict[str, int]:
    """Share `count` out in proportion to sizes, by the largest remainders."""
    whole = sum(sizes.values())
    exact = {room: count * size / whole for room, size in sizes.items()}
    shares = {room: int(value) for room, value in exact.items()}
    rest = sorted(exact, key=lambda room: (shares[room] - exact[room], room))
    for room in rest[: count - sum(shares.values())]:
        shares[room] += 1
    return shares


def choose(sites: Iterable[Site], sizes: dict[str, int], count: int, seed: int) -> list[Site]:
    """Return `count` of them: rooms in proportion to their sizes, the kinds in turns. A tree that
    has changed a little has mostly the same ones."""
    waiting: dict[tuple[str, str], list[Site]] = defaultdict(list)
    for site in sorted(sites, key=lambda one: _rank(one, seed)):
        waiting[site.room, site.kind].append(site)
    rooms = {room for room, _ in waiting}
    found = list[Site]()
    for room, share in sorted(quotas({room: sizes[room] for room in rooms}, count).items()):
        for _ in range(share):
            turn = len(found) % len(KINDS)
            for kind in (*KINDS[turn:], *KINDS[:turn]):
                if waiting[room, kind]:
                    found.append(waiting[room, kind].pop(0))
                    break
    return sorted(found, key=lambda one: _rank(one, seed))


def _rank(site: Site, seed: int) -> str:
    return hashlib.sha256(f"{seed} {site.id}".encode()).hexdigest()


def parse(root: Path, chosen: Sequence[Site]) -> list[Site]:
    """Return those whose file still parses with them."""
    texts = [site.apply((root / site.path).read_bytes()).decode() for site in chosen]
    scripts = [
        (s.path, text) for s, text in zip(chosen, texts, strict=True) if s.path[-3:] == ".js"
    ]
    good = iter(script_sites(scripts))
    return [
        site
        for site, text in zip(chosen, texts, strict=True)
        if (next(good) is not None if site.path.endswith(".js") else _is_python(text))
    ]


def _is_python(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True
