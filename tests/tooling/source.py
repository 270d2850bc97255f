"""Source files read as data: the syntax of the server, the pages of the client, what git knows.

Nothing is imported or run, so a file cannot hide what it does from the tests that ask here.
"""

from __future__ import annotations

import ast
import gc
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

from .tools import ROOT

SERVER = ROOT / "server"
CLIENT = ROOT / "client"
BROAD = {"Exception", "BaseException"}
STARTS = re.compile(
    r".*\.(create_)?subprocess_(exec|shell)"
    r"|subprocess\.(Popen|run|call|check_call|check_output|getoutput|getstatusoutput)"
    r"|os\.(exec\w+|spawn\w+|posix_spawn\w*|system|popen|startfile|forkpty)|pty\.spawn"
)
START_MODULES = {"concurrent.futures.process", "multiprocessing", "pty", "venv", "webbrowser"}
PLACE_READERS = re.compile(r"os\.getcwdb?|(\w+\.)?Path\.cwd")

# -- Python ---------------------------------------------------------------------------------------


def paths() -> dict[str, Path]:
    """`{dotted name: file}` of the server; a package is called by its own name."""
    found = {}
    for path in sorted(SERVER.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def modules() -> dict[str, ast.Module]:
    """`{dotted name: syntax tree}` of the server.

    No tree has a cycle: the collector, which would look through all of them again and again, costs
    four times as much as to read them.
    """
    collects = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        return {name: parsed(path) for name, path in paths().items()}
    finally:
        gc.freeze()
        if collects:
            gc.enable()


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(), filename=str(path))


def forget() -> None:
    """Free all trees: a million objects, which slow down whatever this process does later."""
    for each in (modules, nodes, imports):
        each.cache_clear()


@cache
def nodes(tree: ast.AST) -> list[ast.AST]:
    """Return all nodes of a tree, walked once for all questions."""
    return list(ast.walk(tree))


def path_of(name: str) -> str:
    path = name.replace(".", "/")
    return f"{path}/__init__.py" if (ROOT / path).is_dir() else f"{path}.py"


@cache
def imports() -> list[tuple[str, int, str]]:
    """(module, line, module of ours that it imports), TYPE_CHECKING and local ones included."""
    return list(_imports())


def _imports() -> Iterator[tuple[str, int, str]]:
    for name, tree in modules().items():
        is_package = (ROOT / name.replace(".", "/")).is_dir()
        for node in nodes(tree):
            if not isinstance(node, ast.ImportFrom):
                continue
            if not node.level and (node.module or "").split(".")[0] not in ("server", "yaa"):
                continue
            base = name.split(".")[: None if is_package else -1]
            base = base[: len(base) - (node.level - 1)] if node.level else []
            package = ".".join([*base, *(node.module or "").split(".")]).rstrip(".")
            for alias in node.names:
                inner = f"{package}.{alias.name}"
                yield name, node.lineno, inner if inner in modules() else package


def foreign_imports() -> Iterator[tuple[str, int, str]]:
    """(module, line, name of an absolute import)."""
    for name, tree in modules().items():
        for node in nodes(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    yield name, node.lineno, alias.name
            elif isinstance(node, ast.ImportFrom) and not node.level:
                yield name, node.lineno, node.module or ""


def required(declaration: ast.Module) -> tuple[str, ...]:
    """The packages of the extensions that a declaration requires."""
    for node in ast.walk(declaration):
        if isinstance(node, ast.keyword) and node.arg == "requires":
            return tuple(f"extensions.{name}" for name in ast.literal_eval(node.value))
    return ()


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def broad(path: str, tree: ast.Module) -> Iterator[str]:
    """`path:line` of each handler that may end anything. One that ends in a bare `raise` only
    cleans up, so it is not one."""
    for node in nodes(tree):
        if isinstance(node, ast.ExceptHandler):
            last = node.body[-1]
            passes_on = isinstance(last, ast.Raise) and last.exc is None
            if (node.type is None or names_broad(node.type)) and not passes_on:
                yield f"{path}:{node.lineno}"
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("suppress"):
            if any(names_broad(argument) for argument in node.args):
                yield f"{path}:{node.lineno}"


def program_starts(path: str, tree: ast.Module) -> Iterator[str]:
    """`path:line what` of each start of a program, and of each module that starts some itself.
    `subprocess.Popen[bytes]` is a type."""
    types = {id(node.value) for node in nodes(tree) if isinstance(node, ast.Subscript)}
    for node in nodes(tree):
        if isinstance(node, ast.Attribute) and id(node) not in types:
            if STARTS.fullmatch(text := ast.unparse(node)):
                yield f"{path}:{node.lineno} {text}"
        elif isinstance(node, ast.ImportFrom) and node.module in ("subprocess", "os", "asyncio"):
            for alias in node.names:
                if STARTS.fullmatch(text := f"{node.module}.{alias.name}"):
                    yield f"{path}:{node.lineno} {text}"
        elif isinstance(node, ast.ImportFrom) and node.module in START_MODULES:
            yield f"{path}:{node.lineno} {node.module}"
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] in START_MODULES:
                    yield f"{path}:{node.lineno} {alias.name}"
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            if isinstance(arg := node.args[0], ast.Constant) and arg.value in START_MODULES:
                yield f"{path}:{node.lineno} {arg.value}"


def place_reads(path: str, tree: ast.Module) -> Iterator[str]:
    """`path:line what` of each use of the current folder by name."""
    for node in nodes(tree):
        if isinstance(node, ast.Attribute) and PLACE_READERS.fullmatch(text := ast.unparse(node)):
            yield f"{path}:{node.lineno} {text}"


def names_broad(node: ast.expr) -> bool:
    names = node.elts if isinstance(node, ast.Tuple) else [node]
    return any(isinstance(name, ast.Name) and name.id in BROAD for name in names)


def cycle(graph: dict[str, set[str]]) -> list[str]:
    """The names along one cycle, or nothing. Depth first; grey are the ones on the way here."""
    grey: list[str] = []
    black: set[str] = set()

    def visit(name: str) -> list[str]:
        if name in grey:
            return [*grey[grey.index(name) :], name]
        if name in black:
            return []
        grey.append(name)
        for target in sorted(graph.get(name, ())):
            if found := visit(target):
                return found
        black.add(grey.pop())
        return []

    return next((found for name in graph if (found := visit(name))), [])


# -- the client -----------------------------------------------------------------------------------


class Listed(HTMLParser):
    """The scripts and stylesheets that a page asks for: at once, and later out of its templates."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.cold: list[str] = []
        self._templates = 0

    def handle_endtag(self, tag: str) -> None:
        self._templates -= tag == "template"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self._templates += tag == "template"
        before = len(self.found)
        if tag == "script" and (source := values.get("src")):
            self.found.append(source)
        if tag == "link" and values.get("rel") == "stylesheet" and (source := values.get("href")):
            self.found.append(source)
        if not self._templates:
            self.cold += self.found[before:]

    @classmethod
    def of(cls, page: Path, *, cold: bool = False) -> list[str]:
        """All of them, or those that the page loads before anybody asks for more."""
        if not page.exists():
            return []
        parser = cls()
        parser.feed(page.read_text())
        found = parser.cold if cold else parser.found
        return [source.removeprefix("./") for source in found]


def client_files(*suffixes: str) -> list[Path]:
    return sorted(path for path in CLIENT.rglob("*") if path.suffix in suffixes)


def tracked() -> list[Path]:
    """Files that git knows or would add; without git, every file that is not in a hidden folder."""
    command = ["git", "-C", str(ROOT), "ls-files", "-co", "--exclude-standard", "-z"]
    try:
        listed = subprocess.run(command, capture_output=True, check=True).stdout.decode()
        paths = [ROOT / name for name in listed.split("\0") if name]
    except (OSError, subprocess.CalledProcessError):
        paths = [p for p in ROOT.rglob("*") if not re.search(r"/\.|/__pycache__/", str(p))]
    return [path for path in paths if path.is_file()]
