"""The shape of the code: floors, sizes, what may be imported, what may be caught, what a page may
do. Read from the source; nothing is imported or run, so a file that breaks a rule cannot hide it.

A failure names file and line, and the rule. The rules are those of docs/design; a file that has no
floor yet is a failure too, so that every new file takes a decision.
"""

from __future__ import annotations

import ast
import re
import sys
import tempfile
import unittest
from pathlib import Path

from . import house
from .extensions import rows_for
from .tooling.source import (
    CLIENT,
    SERVER,
    Listed,
    broad,
    client_files,
    cycle,
    foreign_imports,
    forget,
    functions,
    imports,
    modules,
    nodes,
    parsed,
    path_of,
    place_reads,
    program_starts,
    required,
    tracked,
)
from .tooling.tools import ROOT

MAX_FILE_LINES = 800
MAX_FUNCTION_LINES = 60
P90_FUNCTION_LINES = 40
MAX_CLIENT_BYTES = 380 * 1024
MAX_CLIENT_REQUESTS = 60
# Scripts that no page names: the server sends the first in place of another one, and browsers ask
# for the second one.
NAMED_BY_NO_PAGE = {"js/reload-page.js", "service-worker.js"}

# Lowest first. A package, or a file beside them, imports from its own and from those below.
LAYERS = (
    ("lib",),
    ("lib.hidden_characters", "lib.problem"),
    ("lib.runtime",),
    ("lib.agent_skills",),
    ("lib.strict_json",),
    ("lib.json_schema",),
    ("lib.http",),
    ("lib.sandbox",),
    ("extensions",),
    ("errors", "json_types"),
    ("session",),
    ("context", "telemetry"),
    ("settings",),
    ("config",),
    ("models", "tools"),
    ("workspace",),
    ("agent",),
    ("api",),
    ("extensions.parts",),
    ("app",),
    ("cli",),
    ("__main__",),
)
LAYER_OF = {name: layer for layer, names in enumerate(LAYERS) for name in names}
# Above all of them: each folder of extensions/, with those that it requires.
EXTENSIONS = {
    f"extensions.{path.parent.name}": required(parsed(path))
    for path in sorted(SERVER.glob("extensions/*/extension.py"))
}
# What a declaration is made of: it is imported before the port is open.
DECLARED_WITH = {"server.extensions.declaration", "server.lib.json_schema.field_types"}
LAYER_OF |= dict.fromkeys(EXTENSIONS, len(LAYERS))
# Sans-I/O: what these may not import, and which calls read a clock.
PURE = (
    "server.session",
    "server.context",
    "server.lib.json_schema",
    "server.lib.strict_json",
    "server.lib.http.parser",
    "server.lib.http.sse",
    "server.agent.decide",
    "server.agent.call_decisions",
    *(name for added in rows_for("PURE") for name in added),
)
IMPURE_MODULES = set(
    "asyncio concurrent glob io multiprocessing os pathlib random secrets select selectors shutil"
    " signal socket ssl subprocess tempfile threading time urllib uuid".split()
)
CLOCKS = {"now", "today", "utcnow"}

# The borders where anything may be caught, once each, because a border has to hold.
BORDERS = {
    *("server/lib/http/listener.py", "server/lib/sandbox/child.py", "server/agent/loop.py"),
    "server/lib/runtime/event_loop.py",
}

# The one place that starts programs, and what may start some beside it.
PROGRAMS = "server/lib/runtime/programs.py"
MAY_START = {
    **dict.fromkeys(  # they run inside a call, with the call's folder and variables
        (
            *("server/tools/builtin/documents.py", "server/tools/builtin/shell.py"),
            *("server/lib/sandbox/selftest.py", "server/lib/sandbox/worker.py"),
        ),
        "subprocess.",
    ),
    # Modules of Python that start programs themselves; the command line has left the folder then.
    "server/cli/environments.py": "venv",
    "server/cli/serve.py": "webbrowser",
}
MAY_READ_THE_PLACE = {
    "server/lib/runtime/start_folder.py",
    "server/tools/workspace.py",  # inside a call, whose folder it is
}

HTML_SINKS = re.compile(
    r"\b(innerHTML|outerHTML|insertAdjacentHTML|createContextualFragment|setHTMLUnsafe)\b"
    r"|\bdocument\s*\.\s*write(ln)?\b|\beval\s*\(|\bnew\s+Function\b|\bDOMParser\b"
)
# The frame that shows a model's artifact: a document of its own behind a policy of its own.
MAY_WRITE_HTML = {"client/artifact.html"}

# Places of one machine, in any file. Written as patterns that do not match themselves.
MACHINE = re.compile(
    r"/wor[k]/(main|shared|\.)|\.\./share[d]/|/roo[t]/|/tmp/brie[f]|py[p]i\.org|registry\.np[m]js"
    r"|deb\.debia[n]\.org"
)


def tearDownModule() -> None:
    forget()


class Server(unittest.TestCase):
    def test_every_package_has_a_layer(self) -> None:
        names = {package(name) for name in modules()} - {""}
        self.assertEqual(names ^ LAYER_OF.keys(), set(), "LAYERS in tests/test_layers.py")

    def test_imports_go_down(self) -> None:
        """What the root of the package has, its version, may be imported from everywhere."""
        wrong = [
            f"{path_of(name)}:{line} imports {target}"
            for name, line, target in imports()
            if package(target) not in ("", package(name))
            and LAYER_OF[package(target)] >= LAYER_OF.get(package(name), len(LAYERS))
            and package(target) not in EXTENSIONS.get(package(name), ())
        ]
        self.assertEqual(wrong, [])

    def test_a_declaration_imports_nothing_but_the_contract(self) -> None:
        wrong = [
            f"{path_of(name)}:{line} imports {target}"
            for name, line, target in imports()
            if re.fullmatch(r"server\.extensions(\.\w+\.extension)?", name)
            and target not in DECLARED_WITH
        ]
        self.assertEqual(wrong, [])

    def test_no_import_cycles(self) -> None:
        graph: dict[str, set[str]] = {name: set() for name in modules()}
        for name, _line, target in imports():
            if target != name:
                graph[name].add(target)
        self.assertEqual(cycle(graph), [])

    def test_standard_library_only(self) -> None:
        wrong = [
            f"{path_of(name)}:{line} imports {module}"
            for name, line, module in foreign_imports()
            if module.split(".")[0] not in sys.stdlib_module_names
        ]
        self.assertEqual(wrong, [])

    def test_pure_modules_reach_for_nothing(self) -> None:
        wrong = []
        for name, line, module in foreign_imports():
            impure = module.split(".")[0] in IMPURE_MODULES and module != "urllib.parse"
            if impure and pure(name):
                wrong.append(f"{path_of(name)}:{line} imports {module}")
        for name in filter(pure, modules()):
            for node in nodes(modules()[name]):
                if isinstance(node, ast.Attribute) and node.attr in CLOCKS:
                    wrong.append(f"{path_of(name)}:{node.lineno} reads a clock: .{node.attr}")
        self.assertEqual(wrong, [])

    def test_imports_stand_at_the_top(self) -> None:
        wrong = [
            f"{path_of(name)}:{node.lineno} in {function.name}"
            for name, tree in modules().items()
            for function in functions(tree)
            for node in ast.walk(function)
            if isinstance(node, ast.Import | ast.ImportFrom)
        ]
        self.assertEqual(wrong, [])

    def test_sizes(self) -> None:
        wrong = []
        lengths = []
        for name, tree in modules().items():
            lines = len((ROOT / path_of(name)).read_text().splitlines())
            if lines > MAX_FILE_LINES:
                wrong.append(f"{path_of(name)} has {lines} lines, at most {MAX_FILE_LINES}")
            for function in functions(tree):
                length = (function.end_lineno or 0) - function.lineno + 1
                lengths.append(length)
                if length > MAX_FUNCTION_LINES:
                    place = f"{path_of(name)}:{function.lineno} {function.name}"
                    wrong.append(f"{place} has {length} lines, at most {MAX_FUNCTION_LINES}")
        self.assertEqual(wrong, [])
        p90 = sorted(lengths)[len(lengths) * 9 // 10]
        self.assertLessEqual(p90, P90_FUNCTION_LINES, "nine functions of ten")

    def test_only_borders_catch_everything(self) -> None:
        places = [place for name, tree in modules().items() for place in broad(path_of(name), tree)]
        wrong = [place for place in places if place.split(":")[0] not in BORDERS]
        self.assertEqual(wrong, [], f"only in {sorted(BORDERS)}")
        files = [place.split(":")[0] for place in places]
        self.assertEqual(len(files), len(set(files)), f"one border a file: {places}")

    def test_programs_are_started_in_one_place(self) -> None:
        """So that none inherits the folder that yaa was started in."""
        wrong, seen = [], set()
        for name, tree in modules().items():
            for place in program_starts(path_of(name), tree):
                file, _, what = place.partition(":")
                seen.add(file)
                allowed = MAY_START.get(file)
                if file != PROGRAMS and not (allowed and what.split(" ")[1].startswith(allowed)):
                    wrong.append(place)
        self.assertEqual(wrong, [], f"programs are started by {PROGRAMS}")
        self.assertEqual(seen, {PROGRAMS, *MAY_START}, "a rule for what is no more")

    def test_the_current_folder_is_read_in_one_place(self) -> None:
        places = [
            each for name, tree in modules().items() for each in place_reads(path_of(name), tree)
        ]
        wrong = [place for place in places if place.partition(":")[0] not in MAY_READ_THE_PLACE]
        self.assertEqual(wrong, [], "names that a person types: runtime/start_folder.py resolves")

    def test_every_file_says_what_it_is(self) -> None:
        wrong = [path_of(name) for name, tree in modules().items() if not ast.get_docstring(tree)]
        self.assertEqual(wrong, [])


class House(unittest.TestCase):
    def test_figures_that_are_none_stay_none(self) -> None:
        for name in (
            "beside the packages",
            "named by a participle",
            "docstring not imperative",
            "phrases of no use",
            "aliases of dict[str, Any]",
            "kinds of tools compared",
            "pointers built by hand",
        ):
            with self.subTest(name):
                self.assertEqual(house.FIGURES[name](), [])

    def test_the_budget_is_kept(self) -> None:
        """Take something out, or run `python3 -m tests.house --write --raise` and say what for."""
        self.assertEqual(house.over_budget(), [])

    def test_names_in_docstrings_are_there(self) -> None:
        self.assertEqual(house.stale_names(), [])

    def test_only_stubs_have_no_docstring(self) -> None:
        """Overloads and the methods of a Protocol, where ruff allows none beside the `...`."""
        stubs = ("server/tools/decorators.py:", "server/extensions/mcp/peer.py:")
        wrong = [place for place in house.undocumented() if not place.startswith(stubs)]
        self.assertEqual(wrong, [])


class Client(unittest.TestCase):
    def test_no_html_from_strings(self) -> None:
        wrong = []
        for path in client_files(".js", ".html"):
            if path.relative_to(ROOT).as_posix() in MAY_WRITE_HTML:
                continue
            for number, line in enumerate(path.read_text().splitlines(), 1):
                code = line.split("//")[0] if path.suffix == ".js" else line
                if found := HTML_SINKS.search(code):
                    wrong.append(f"{path.relative_to(ROOT)}:{number} {found[0]}")
        self.assertEqual(wrong, [])

    def test_the_page_names_every_script_and_style_and_no_other(self) -> None:
        listed = Listed.of(CLIENT / "index.html")
        cold = Listed.of(CLIENT / "index.html", cold=True)
        later = listed[:]
        for name in cold:
            later.remove(name)
        self.assertEqual(len(cold), len(set(cold)), "listed twice")
        self.assertEqual(set(cold) & set(later), set(), "in a group, but there at once")
        elsewhere = set(NAMED_BY_NO_PAGE)
        for name in ("artifact.html", "widget-demo.html", "worker.html"):
            elsewhere |= set(Listed.of(CLIENT / name))
        for page in CLIENT.glob("*/index.html"):
            names = [*Listed.of(page), *(path.name for path in page.parent.glob("*.js"))]
            elsewhere |= {(page.parent / n).resolve().relative_to(CLIENT).as_posix() for n in names}
        present = {path.relative_to(CLIENT).as_posix() for path in client_files(".js", ".css")}
        self.assertEqual(set(listed) - present, set(), "listed in index.html, but not there")
        self.assertEqual(present - set(listed) - elsewhere, set(), "there, but not in index.html")

    def test_the_widget_loads_what_its_demo_page_names(self) -> None:
        text = (CLIENT / "yaa.js").read_text()
        named = re.findall(r"'([\w/-]+)'", text.split("const SCRIPTS = [")[1].split("]")[0])
        expected = [*(f"js/{name}.js" for name in named), "yaa.js", "js/widget/demo.js"]
        self.assertEqual(Listed.of(CLIENT / "widget-demo.html"), expected)

    def test_sizes(self) -> None:
        wrong = []
        for path in client_files(".js", ".css", ".html"):
            lines = len(path.read_text().splitlines())
            if lines > MAX_FILE_LINES:
                wrong.append(
                    f"{path.relative_to(ROOT)} has {lines} lines, at most {MAX_FILE_LINES}"
                )
        self.assertEqual(wrong, [])
        # What opens the page; the groups in its templates come when they are used.
        cold = ["index.html", *Listed.of(CLIENT / "index.html", cold=True)]
        total = sum((CLIENT / name).stat().st_size for name in cold)
        self.assertLessEqual(total, MAX_CLIENT_BYTES, "bytes to open the page, uncompressed")
        self.assertLessEqual(len(cold), MAX_CLIENT_REQUESTS, "requests to open the page")

    def test_classic_scripts_in_strict_mode(self) -> None:
        """A module script does not load from file://, and one `import` would make it one. Those
        in a folder with a page of its own are for pages of others; no page here loads them."""
        wrong = [
            str(path.relative_to(ROOT))
            for path in client_files(".js")
            if re.search(r"^\s*(import|export)\b", path.read_text(), re.M)
            and not (path.parent != CLIENT and path.with_name("index.html").exists())
        ]
        self.assertEqual(wrong, [])


class Repository(unittest.TestCase):
    def test_no_place_of_one_machine(self) -> None:
        wrong = []
        for path in tracked():
            text = path.read_bytes().decode("utf-8", "replace")
            for number, line in enumerate(text.splitlines(), 1):
                if found := MACHINE.search(line):
                    wrong.append(f"{path.relative_to(ROOT)}:{number} {found[0]}")
        self.assertEqual(wrong, [])


class Rules(unittest.TestCase):
    """That the rules find what they are there for."""

    def test_broad_handlers(self) -> None:
        for source, found in (
            ("try: f()\nexcept Exception: pass", 1),
            ("try: f()\nexcept: pass", 1),
            ("try: f()\nexcept (OSError, BaseException): pass", 1),
            ("with contextlib.suppress(Exception): f()", 1),
            ("try: f()\nexcept BaseException:\n  g()\n  raise", 0),
            ("try: f()\nexcept OSError: pass", 0),
        ):
            with self.subTest(source):
                self.assertEqual(len(list(broad("x.py", ast.parse(source)))), found)

    def test_starts_of_programs(self) -> None:
        for source, found in (
            ("subprocess.run([x])", 1),
            ("f(subprocess.Popen)", 1),
            ("p: subprocess.Popen[bytes] = subprocess.Popen([x])", 1),
            ("asyncio.create_subprocess_exec(x)", 1),
            ("asyncio.get_running_loop().subprocess_exec(x)", 1),
            ("loop.subprocess_shell(x)", 1),
            ("os.execvpe(x)", 1),
            ("os.posix_spawnp(x)", 1),
            ("os.system(x)", 1),
            ("from subprocess import run as go", 1),
            ("from os import system", 1),
            ("import multiprocessing", 1),
            ("from multiprocessing import Pool", 1),
            ("importlib.import_module('webbrowser')", 1),
            ("p: subprocess.Popen[bytes]\nos.fork()\nasyncio.run(x)", 0),
        ):
            with self.subTest(source):
                self.assertEqual(len(list(program_starts("x.py", ast.parse(source)))), found)

    def test_cycles(self) -> None:
        self.assertEqual(cycle({"a": {"b"}, "b": {"c"}, "c": {"b"}}), ["b", "c", "b"])
        self.assertEqual(cycle({"a": {"b", "c"}, "b": {"c"}, "c": set()}), [])

    def test_patterns(self) -> None:
        for sink in ("el.innerHTML = x", "document.write(x)", "eval (x)", "new Function(x)"):
            self.assertTrue(HTML_SINKS.search(sink), sink)
        self.assertFalse(HTML_SINKS.search("retrieval(innerHeight)"))
        for place in ("/wor" + "k/main/x", "/roo" + "t/.cache", ".." + "/shared/x"):
            self.assertTrue(MACHINE.search(place), place)

    def test_what_a_page_loads_at_once(self) -> None:
        page = Path(self.enterContext(tempfile.TemporaryDirectory())) / "page.html"
        page.write_text(
            "<link rel=stylesheet href=a.css><script src=b.js></script>"
            "<template data-group=x><script src=c.js></script></template><script src=d.js></script>"
        )
        self.assertEqual(Listed.of(page), ["a.css", "b.js", "c.js", "d.js"])
        self.assertEqual(Listed.of(page, cold=True), ["a.css", "b.js", "d.js"])

    def test_imports_are_seen(self) -> None:
        self.assertIn("server.errors", {target for _, _, target in imports()})
        self.assertIn("asyncio", {module for _, _, module in foreign_imports()})


def package(name: str) -> str:
    """The part of the server that a module belongs to; empty for the package itself."""
    parts = name.split(".")[1:]
    deep = parts[:1] == ["lib"] or (parts[:1] == ["extensions"] and parts[1:] != ["declaration"])
    return ".".join(parts[: 2 if deep else 1])


def pure(name: str) -> bool:
    """Whether a module has to be pure. Those of extensions say it themselves."""
    says_so = "Pure." in (ast.get_docstring(modules()[name]) or "")
    return name.startswith(PURE) or (name.startswith("server.extensions.") and says_so)


if __name__ == "__main__":
    unittest.main()
