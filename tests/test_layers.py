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

from tests.tooling.source import (
    CLIENT,
    Listed,
    broad,
    client_files,
    cycle,
    foreign_imports,
    functions,
    imports,
    modules,
    path_of,
    tracked,
)
from tests.tooling.tools import ROOT

MAX_FILE_LINES = 800
MAX_FUNCTION_LINES = 60
P90_FUNCTION_LINES = 40
MAX_CLIENT_BYTES = 400 * 1024
MAX_CLIENT_REQUESTS = 60

# Longest prefix wins. A file imports from its own floor or a lower one.
FLOORS = {
    "server": 5,
    "server.__main__": 5,
    "server.app": 5,
    "server.commands": 5,
    "server.door": 5,
    "server.console": 5,
    "server.library": 5,
    "server.store": 5,
    "server.terminal": 5,
    "server.doctor": 5,
    "server.greeting": 5,
    "server.pack": 5,
    "server.workers": 5,
    "server.api": 4,
    "server.agent": 3,
    "server.agents": 2,
    "server.hooks": 3,
    "server.points": 3,
    "server.beside": 3,
    "server.witness": 3,
    "server.llm": 2,
    "server.tools": 2,
    "server.sandbox": 2,
    "server.sandbox.reach": 0,
    "server.wire": 2,
    "server.wire.headers": 0,
    "server.wire.http11": 0,
    "server.wire.sse": 0,
    "server.session": 1,
    "server.fronts": 1,
    "server.config": 1,
    "server.kinds": 0,
    "server.metrics": 0,
    "server.recent": 0,
    "server.errors": 0,
    "server.log": 0,
    "server.renamed": 0,
    "server.rotation": 0,
    "server.masking": 0,
    "server.caller": 0,
    "server.deltas": 0,
    "server.model_calls": 0,
    "server.gateway_env": 0,
    "server.collector": 0,
    "server.offload": 0,
    "server.spans": 0,
    "server.trusted": 0,
    "server.tracing": 2,
    "server.exporter": 2,
    "server.jsontext": 0,
    "server.handwritten": 0,
    "server.schema": 0,
}
PACKAGES = {"server"}  # a prefix that is only itself: what is new below it needs its own line
STRANGERS = [("server.llm", "server.tools")]  # same floor, and must not know each other

# Sans-I/O: what these may not import, and which calls read a clock.
PURE = (
    "server.session",
    "server.fronts",
    "server.schema",
    "server.jsontext",
    "server.wire.http11",
    "server.wire.sse",
)
IMPURE_MODULES = set(
    "asyncio concurrent glob io multiprocessing os pathlib random secrets select selectors shutil"
    " signal socket ssl subprocess tempfile threading time urllib uuid".split()
)
CLOCKS = {"now", "today", "utcnow"}

# The three borders where anything may be caught, once each, because a border has to hold.
BORDERS = {"server/wire/listener.py", "server/tools/child.py", "server/agent.py"}

HTML_SINKS = re.compile(
    r"\b(innerHTML|outerHTML|insertAdjacentHTML|createContextualFragment|setHTMLUnsafe)\b"
    r"|\bdocument\s*\.\s*write(ln)?\b|\beval\s*\(|\bnew\s+Function\b|\bDOMParser\b"
)
# The frame that shows a model's artifact: a document of its own behind a policy of its own.
MAY_WRITE_HTML = {"client/artifact.html", "client/js/artifact-frame.js"}

AUTOAI_MODULE = "auto-ai/autoai-chat.js"  # which pages written for AutoAi import

# Places of one machine, in any file. Written as patterns that do not match themselves.
MACHINE = re.compile(
    r"/wor[k]/(main|shared|\.)|\.\./share[d]/|/roo[t]/|/tmp/brie[f]|py[p]i\.org|registry\.np[m]js"
    r"|deb\.debia[n]\.org"
)


class Server(unittest.TestCase):
    def test_every_file_has_a_floor(self) -> None:
        lost = [path_of(name) for name in modules() if floor(name) is None]
        self.assertEqual(lost, [], "add them to FLOORS in tests/test_layers.py")

    def test_imports_go_down(self) -> None:
        wrong = []
        for name, line, target in imports():
            if (floor(target) or 0) > (floor(name) or 0):
                wrong.append(f"{path_of(name)}:{line} (floor {floor(name)}) imports {target}")
            for one, other in STRANGERS:
                if {room(name, one, other), room(target, one, other)} == {one, other}:
                    wrong.append(f"{path_of(name)}:{line} imports {target}: {one} and {other}")
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
            if name.startswith(PURE) and module.split(".")[0] in IMPURE_MODULES:
                wrong.append(f"{path_of(name)}:{line} imports {module}")
        for name, tree in modules().items():
            for node in ast.walk(tree):
                if (
                    name.startswith(PURE)
                    and isinstance(node, ast.Attribute)
                    and node.attr in CLOCKS
                ):
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

    def test_only_three_borders_catch_everything(self) -> None:
        places = [place for name, tree in modules().items() for place in broad(path_of(name), tree)]
        wrong = [place for place in places if place.split(":")[0] not in BORDERS]
        self.assertEqual(wrong, [], f"only in {sorted(BORDERS)}")
        files = [place.split(":")[0] for place in places]
        self.assertEqual(len(files), len(set(files)), f"one border a file: {places}")

    def test_every_file_says_what_it_is(self) -> None:
        wrong = [path_of(name) for name, tree in modules().items() if not ast.get_docstring(tree)]
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
        elsewhere = set(Listed.of(CLIENT / "artifact.html")) | set(
            Listed.of(CLIENT / "widget-demo.html")
        )
        there = CLIENT / AUTOAI_MODULE
        for name in (*Listed.of(there.with_name("index.html")), there.name):
            elsewhere.add((there.parent / name).resolve().relative_to(CLIENT).as_posix())
        present = {path.relative_to(CLIENT).as_posix() for path in client_files(".js", ".css")}
        self.assertEqual(set(listed) - present, set(), "listed in index.html, but not there")
        self.assertEqual(present - set(listed) - elsewhere, set(), "there, but not in index.html")

    def test_the_widget_loads_what_its_demo_page_names(self) -> None:
        text = (CLIENT / "yaa.js").read_text()
        named = re.findall(r"'([\w/-]+)'", text.split("const SCRIPTS = [")[1].split("]")[0])
        expected = [*(f"js/{name}.js" for name in named), "yaa.js", "js/widget/demo.js"]
        self.assertEqual(Listed.of(CLIENT / "widget-demo.html"), expected)

    def test_the_pages_of_auto_ai_load_what_its_module_imports(self) -> None:
        module = CLIENT / AUTOAI_MODULE
        named = re.findall(r"^import '(.+)'$", module.read_text(), re.M)
        widget = [f"../{name}" for name in Listed.of(CLIENT / "widget-demo.html")[:-2]]
        self.assertEqual(named, [*widget, "../js/widget/autoai.js"])
        for page in ("index.html", "sidebar-demo.html"):
            listed = Listed.of(module.with_name(page))
            self.assertEqual(listed, ["auto-ai.css", *named, "../js/widget/autoai-page.js"], page)

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
        """A module script does not load from file://, and one `import` would make it one. The one
        that there is, is for pages of others; no page here loads it."""
        wrong = [
            str(path.relative_to(ROOT))
            for path in client_files(".js")
            if re.search(r"^\s*(import|export)\b", path.read_text(), re.M)
            and path != CLIENT / AUTOAI_MODULE
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
            "<template data-later=x><script src=c.js></script></template><script src=d.js></script>"
        )
        self.assertEqual(Listed.of(page), ["a.css", "b.js", "c.js", "d.js"])
        self.assertEqual(Listed.of(page, cold=True), ["a.css", "b.js", "d.js"])

    def test_imports_are_seen(self) -> None:
        self.assertIn("server.errors", {target for _, _, target in imports()})
        self.assertIn("asyncio", {module for _, _, module in foreign_imports()})


def floor(name: str) -> int | None:
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        prefix = ".".join(parts[:length])
        if prefix in FLOORS and (length == len(parts) or prefix not in PACKAGES):
            return FLOORS[prefix]
    return None


def room(name: str, *rooms: str) -> str:
    """Which of the rooms a module is in; its own name when in none."""
    return next((r for r in rooms if name == r or name.startswith(f"{r}.")), name)


if __name__ == "__main__":
    unittest.main()
