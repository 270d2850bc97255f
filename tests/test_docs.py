"""The reference says exactly what the code has: every name has its row, every row its name.

A reference page is Markdown with tables whose first column is a name in backticks; which tables
count is said by the head of that column (`| Key |`, `| Route |`, …), so a page may hold others.
A name with `<…>` in it stands for any (`server.providers.<name>.preset`) and is not looked up.
Beyond that: JSON blocks parse, relative links and their anchors lead somewhere.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import json
import re
import tempfile
import unittest
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import server
from server import errors, extensions
from server.agent import call_runner, home_name, hooks, observer, run_workspace
from server.config import SHORT_NAMES, Config, defaults
from server.context import compact
from server.lib import strict_json
from server.models import decoder, http_model, provider, registry
from server.session import (
    agent_definition,
    config_schema,
    costs,
    events,
    prompt_texts,
    prompts,
    reminders,
    schema,
    skills,
)
from server.session.modes import MODES
from server.settings import schema as kinds
from server.tools import permission_mode
from server.tools.toolbox import Toolbox

from .extensions import page_of
from .fakes import events_of
from .test_layers import LAYERS

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
REFERENCE = DOCS / "reference"

SPELLINGS = {"startTime"}  # read on input, never written


class Reference(unittest.TestCase):
    def assert_rows(self, page: str, head: str, names: set[str]) -> None:
        """Each of the names has a row in a `| head |` table of the page, and no other name has."""
        path = REFERENCE / page
        self.assertTrue(path.is_file(), f"docs/reference/{page} is missing: {len(names)} names")
        rows = [row for row in first_column(path.read_text(), head) if "<" not in row]
        place = f"docs/reference/{page}, tables headed `| {head} |`"
        self.assertEqual(sorted(names - set(rows)), [], f"no row for these in {place}")
        self.assertEqual(sorted(set(rows) - names), [], f"not in the code, but in {place}")
        twice = sorted({row for row in rows if rows.count(row) > 1})
        self.assertEqual(twice, [], f"two rows each in {place}")

    def test_configuration(self) -> None:
        default = set(leaves(defaults())) - {*extensions.all_of("config_keys")}
        self.assert_rows("config.md", "Key", default)
        self.assert_rows("config.md", "Variable", {*SHORT_NAMES, "YAA_HOME", "YAA_CONFIG"})

    def test_names_of_others_lead_to_settings(self) -> None:
        default = set(leaves(defaults()))
        if "agents" not in extensions.present():
            default.add("server.agents_dir")
        found = 0
        for page in sorted(REFERENCE.glob("*.md")):
            for head, *rows in tables(page.read_text()):
                if head[0] != "Elsewhere":
                    continue
                found += 1
                with self.subTest(page.name):
                    theirs, ours = zip(*(row[:2] for row in rows), strict=True)
                    self.assertEqual({here.strip("`") for here in ours} - default, {"–"} & {*ours})
                    self.assertEqual(len(set(theirs)), len(theirs))
        self.assertTrue(found)

    def test_log_lines(self) -> None:
        access = set(members("server/api/router.py", "_write_access"))
        self.assert_rows("logs.md", "Access member", access)
        run = {*members("server/session/costs.py", "log_fields"), *costs.TOKEN_COUNTS}
        run |= set(members("server/agent/observer.py", "end")) | {
            "run",
            "session",
            "key_name",
            "model",
        }
        self.assert_rows("logs.md", "Run member", run)
        call = {*members("server/agent/observer.py", "begin"), *observer.TOKENS}
        call |= {"answer_chars", "first_ms", "ms", "finish_reason", "code"}
        self.assert_rows("logs.md", "Call member", call)
        tool = set(members("server/agent/observer.py", "tool_call_fields"))
        self.assert_rows("logs.md", "Tool call member", tool)

    def test_hooks(self) -> None:
        self.assert_rows("hooks.md", "Point", set(hooks.POINTS))

    def test_library(self) -> None:
        self.assert_rows("library.md", "Name", set(server._FOR_AUTHORS))
        rows = re.findall(r"^\| `(\w+)` \| [^|]*?`\1(\([^`]+\))`", self.page("library.md"), re.M)
        self.assertGreater(len(rows), 4)
        for name, told in rows:
            signature = inspect.signature(getattr(server, name))
            plain = [each.replace(annotation=each.empty) for each in signature.parameters.values()]
            with self.subTest(name):
                self.assertEqual(told, str(inspect.Signature(plain)))

    def page(self, name: str) -> str:
        return (REFERENCE / name).read_text()

    def test_errors(self) -> None:
        self.assert_rows(
            "errors.md", "Code", errors.CODES.keys() - extensions.all_of("errors").keys()
        )

    def test_events(self) -> None:
        names = {*events.ALIASES.values(), events.EXEC, events.COMPRESS, events.PLAN}
        names.add(events.alias(events.run_wait({})))
        self.assert_rows("events.md", "Event", names)
        types = set(first_column((REFERENCE / "events.md").read_text(), "AG-UI type", column=1))
        self.assertEqual(types, set(events.ALIASES), "second column of the same table")

    def test_agents(self) -> None:
        self.assert_rows("agents.md", "Agent key", set(agent_definition.SCHEMA["properties"]))
        self.assert_rows("agents.md", "Mode", set(MODES))
        self.assert_rows("agents.md", "Section", set(prompt_texts.SECTIONS))
        self.assert_rows("agents.md", "Tool section", set(prompt_texts.PROTOCOL))

    def test_session(self) -> None:
        names = set(schema.SESSION.fields) - SPELLINGS
        self.assert_rows("session.md", "Key", names)
        self.assert_rows("session.md", "Reason", set(schema.REASONS))
        warnings = {prompts.UNKNOWN_SECTION, prompts.UNKNOWN_PLACEHOLDER, compact.PROMPT_CUT}
        warnings |= {call_runner.UNCONFIRMED, run_workspace.UNRECORDED, home_name.OTHER_HOME}
        warnings |= {skills.NOT_HERE}
        warnings |= {agent_definition.AGENT_NARROWED, config_schema.UNKNOWN_KEY}
        warnings |= {prompts.UNREADABLE_CALL, permission_mode.NOT_EFFECTIVE}
        warnings |= {
            http_model.TOOL_REFUSED,
            http_model.REQUEST_CHANGED,
            decoder.ANSWER_UNREAD,
            decoder.ANSWER_EMPTY,
            reminders.CALL_UNREAD,
        }
        self.assert_rows("session.md", "Warning", warnings)

    def test_routes(self) -> None:
        pages = {"http.md": ["app", "api/workspaces", "api/objects"]}
        pages["http.md"].append("api/sign_in")
        for page, files in pages.items():
            routes = {file: set(method_and_path(f"server/{file}.py")) for file in files}
            self.assertNotIn(set(), routes.values(), "does this test still read them right?")
            self.assert_rows(page, "Route", set().union(*routes.values()))

    def test_extensions(self) -> None:
        """Each has a page of its own, which goes with its folder."""
        for name, each in extensions.present().items():
            with self.subTest(name):
                files = (ROOT / "server" / "extensions" / name).rglob("*.py")
                paths = [path.relative_to(ROOT).as_posix() for path in files]
                routes = {route for path in paths for route in method_and_path(path)}
                keys = {key.replace("*", "<name>") for key in each.config_keys}
                rows = {"Route": routes, "Key": keys, "Code": set(each.errors)}
                rows |= {"API": {*each.model_apis}, "Tool mode": {*each.tool_modes}}
                rows["Command"] = {command.name for command in each.commands}
                options, _ = command_line(f"server/extensions/{name}/extension.py")
                rows["Flag"] = options - {"--help"}
                page = self.page(page_of(name))
                for head, names in rows.items():
                    self.assertEqual(sorted(first_column(page, head)), sorted(names), head)

    def test_tools(self) -> None:
        names = set(built_in_tools())
        self.assertTrue(names, "found none in server/tools: does this test still read it right?")
        self.assert_rows("tools.md", "Tool", names)

    def test_providers(self) -> None:
        names = kinds.PROVIDER.keys() - kinds.OF_EXTENSIONS.keys()
        self.assert_rows("providers.md", "Provider key", names)
        self.assert_rows("providers.md", "API", set(registry.APIS))
        every = {each.name for each in dataclasses.fields(provider.Preset)}
        self.assert_rows("providers.md", "Flag", every - provider.OF_THE_ENTRY)

    def test_command_line(self) -> None:
        options, commands = command_line("server/__main__.py")
        self.assertTrue(options, "found none in server/__main__.py: is it still read right?")
        self.assert_rows("cli.md", "Flag", options)
        self.assert_rows("cli.md", "Command", commands)


class Examples(unittest.IsolatedAsyncioTestCase):
    async def test_the_tool_of_the_how_to_loads_and_runs(self) -> None:
        text = (DOCS / "howto" / "add-a-tool.md").read_text()
        _, source = next(fenced(text, "python"))
        default = json.loads((ROOT / "config.default.json").read_text())
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "tools").mkdir()
            (Path(folder) / "tools" / "word_count.py").write_text(source)
            toolbox = Toolbox(Config(default["server"], default["session"], Path(folder)))
            await toolbox.open()
            self.addAsyncCleanup(toolbox.close)
            await toolbox.load_owner_tools()
            self.assertEqual(toolbox.problems, [])
            session: Any = {
                "id": "s",
                "messages": [],
                "config": default["session"]["config"],
                "grants": [],
            }
            arguments = json.dumps({"text": "a b a"})
            call: Any = {"id": "c", "function": {"name": "word_count", "arguments": arguments}}
            verdict = toolbox.verdict(session, call)
            self.assertEqual(verdict.action, "run")
            assert verdict.args is not None
            found = await events_of(toolbox, session, call, verdict.args, {})
        self.assertEqual(json.loads(found[-1]["content"]), {"a": 2, "b": 1})

    def test_examples_are_what_the_how_tos_show(self) -> None:
        for page, example in (("own-model", "echo_model"), ("add-a-tool", "tool_source")):
            shown = [
                source
                for _, source in fenced((DOCS / "howto" / f"{page}.md").read_text(), "python")
            ]
            file = (DOCS / "examples" / f"{example}.py").read_text()
            with self.subTest(example):
                self.assertIn(file.split('"""\n\n', 1)[1].strip(), [each.strip() for each in shown])

    async def test_the_hooks_of_the_how_to_load_and_do_what_they_say(self) -> None:
        _, source = next(fenced((DOCS / "howto" / "hooks.md").read_text(), "python"))
        found = hooks.Hooks()
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "house.py").write_text(source)
            (Path(folder) / "house.py").chmod(0o600)
            found.load(Path(folder))
        self.assertEqual(found.problems, [])
        calls = hooks.HookCaller(found, {}, {"run": "r", "model": "m", "key_name": ""})
        force = {"name": "shell", "args": {"command": "git push --force"}}
        fits = hooks.has_fields(("name", str))
        self.assertIn("no force", (await calls.apply("pre_acting", force, fits))["refused"])
        harmless = {"name": "shell", "args": {"command": "ls"}}
        self.assertEqual(await calls.apply("pre_acting", harmless, fits), harmless)
        prompt = {"role": "system", "content": "Be kind."}
        asked = {"role": "user", "content": "How much?"}
        said = await calls.apply("pre_reasoning", [prompt, asked], hooks.is_json)
        self.assertTrue(said[0]["content"].startswith("Be kind.\n\nPrices"), said)
        self.assertEqual(said[1:], [asked])


class Text(unittest.TestCase):
    def test_json_blocks_parse(self) -> None:
        wrong = []
        for page in pages():
            for line, block in fenced(page.read_text(), "json"):
                try:
                    strict_json.loads(block)
                except strict_json.JSONError as error:
                    wrong.append(f"{page.relative_to(ROOT)}:{line + error.line} {error.message}")
        self.assertEqual(wrong, [])

    def test_relative_links_lead_somewhere(self) -> None:
        wrong = []
        for page in pages():
            for line, link in links(page.read_text()):
                target, _, anchor = link.partition("#")
                file = (page.parent / target).resolve() if target else page
                if not file.exists():
                    wrong.append(f"{page.relative_to(ROOT)}:{line} {link}: no such file")
                elif anchor and file.suffix == ".md" and anchor not in anchors(file):
                    wrong.append(f"{page.relative_to(ROOT)}:{line} {link}: no such heading")
        self.assertEqual(wrong, [])

    def test_there_is_something_to_read(self) -> None:
        self.assertTrue((ROOT / "README.md").is_file(), "README.md is missing")
        self.assertTrue(list(DOCS.rglob("*.md")), "docs/ holds no page")


class Layers(unittest.TestCase):
    def test_each_package_stands_where_it_is(self) -> None:
        rows: dict[str, set[str]] = {}
        for table in tables((DOCS / "design" / "architecture.md").read_text()):
            if table[0][0] == "Layer":
                rows = {row[0]: set(re.findall(r"`([^`]+)`", row[1])) for row in table[1:]}
        self.assertEqual(rows, {str(n): set(names) for n, names in enumerate(LAYERS)})


class Recipes(unittest.TestCase):
    def test_the_files_are_there(self) -> None:
        rows = [
            row
            for table in tables((DOCS / "contributing.md").read_text())
            for row in table[1:]
            if table[0][0] == "Recipe"
        ]
        self.assertGreaterEqual(len(rows), 10)
        named = [(row[0], path) for row in rows for path in re.findall(r"`([\w./]+\.\w+)`", row[1])]
        self.assertEqual({recipe for recipe, _ in named}, {row[0] for row in rows})
        lost = [(recipe, path) for recipe, path in named if not (ROOT / path).is_file()]
        self.assertEqual(lost, [])


class Size(unittest.TestCase):
    """How much there is to read is said with figures, and those may be out by a seventh."""

    def assert_said(self, page: Path, sentence: str, *counts: int) -> None:
        text = " ".join(page.read_text().split())
        found = re.search(sentence, text)
        assert found, f"{page.relative_to(ROOT)} says nothing like {sentence!r}"
        for said, count in zip(found.groups(), counts, strict=True):
            number = int(said.replace(",", ""))
            self.assertLess(abs(number - count), count / 7, f"{page.name} says {said}, not {count}")

    def test_what_to_read_and_all_of_the_server(self) -> None:
        page = DOCS / "design" / "architecture.md"
        names = first_column(page.read_text(), "Read")
        core = sum(lines_of(ROOT / "server" / f"{name}.py") for name in names)
        files = (ROOT / "server").rglob("*.py")
        folders = {ROOT / "server" / "extensions" / name for name in extensions.present()}
        every = [path for path in files if not folders.intersection(path.parents)]
        whole = sum(map(lines_of, every))
        self.assert_said(page, r"these (\d+) files, about ([\d,]+) lines with", len(names), core)
        self.assert_said(page, r"server is about ([\d,]+) lines in (\d+) files", whole, len(every))
        readme = ROOT / "README.md"
        self.assert_said(readme, r"\[(\d+) files, about ([\d,]+) lines\]", len(names), core)
        self.assert_said(readme, r"about ([\d,]+) lines in (\d+) files", whole, len(every))
        self.assertLess(core, 9_000, "more than an afternoon")
        drawn = re.findall(
            r"\b(?:http|api|session|models|tools|context|agent)/\w+", page.read_text()
        )
        missing = {name for name in drawn if not list((ROOT / "server").rglob(f"{name}.py"))}
        self.assertEqual(missing, set(), "no such file in server/")


# -- reading the code -----------------------------------------------------------------------------


def leaves(value: dict[str, Any], path: str = "") -> Iterator[str]:
    """Dotted names of everything that is not an object with members of its own."""
    for key, inner in value.items():
        name = f"{path}.{key}" if path else key
        if isinstance(inner, dict) and inner:
            yield from leaves(inner, name)
        else:
            yield name


def lines_of(path: Path) -> int:
    return len(path.read_text().splitlines())


def calls_in(path: str) -> Iterator[tuple[ast.Call, str, list[str]]]:
    """(node, name, texts among its arguments) of each call in a source file, not imported."""
    for node in ast.walk(ast.parse((ROOT / path).read_text())):
        if isinstance(node, ast.Call):
            texts = [arg.value for arg in node.args if isinstance(arg, ast.Constant)]
            yield node, ast.unparse(node.func), [text for text in texts if isinstance(text, str)]


def strings(path: str) -> Iterator[str]:
    """Every text in a source file."""
    for node in ast.walk(ast.parse((ROOT / path).read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def members(path: str, function: str) -> Iterator[str]:
    """The names that stand before a colon in the objects that this function writes."""
    for node in ast.walk(ast.parse((ROOT / path).read_text())):
        if isinstance(node, ast.FunctionDef) and node.name == function:
            for each in ast.walk(node):
                for key in each.keys if isinstance(each, ast.Dict) else ():
                    if isinstance(key, ast.Constant):
                        yield str(key.value)


def method_and_path(path: str) -> Iterator[str]:
    """`GET /health` for each key `("GET", "/health")` of a table in this file."""
    for node in ast.walk(ast.parse((ROOT / path).read_text())):
        for key in node.keys if isinstance(node, ast.Dict) else ():
            if isinstance(key, ast.Tuple):
                words = [ast.literal_eval(part) for part in key.elts]
                if words[-1].startswith("/"):
                    yield " ".join(words)


def command_line(path: str) -> tuple[set[str], set[str]]:
    """(options, commands) that this file gives to argparse, which adds --help itself."""
    options, commands = {"--help"}, set()
    for node, name, texts in calls_in(path):
        if name.endswith(".add_argument"):
            given = {text for text in texts if text.startswith("--")}
            if any(
                ast.unparse(each.value).endswith("BooleanOptionalAction") for each in node.keywords
            ):
                given |= {text.replace("--", "--no-", 1) for text in given}
            options |= given
        elif name.endswith(".add_parser"):
            commands |= set(texts[:1])
    return options, commands


def built_in_tools() -> Iterator[str]:
    """The names under which the built-in tools are offered."""
    for path in sorted((ROOT / "server" / "tools").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                marks = [ast.unparse(mark).split("(")[0] for mark in node.decorator_list]
                if any(mark.split(".")[-1] == "tool" for mark in marks):
                    yield node.name


# -- reading Markdown -----------------------------------------------------------------------------


def pages() -> list[Path]:
    return [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md"))]


def tables(text: str) -> Iterator[list[list[str]]]:
    """Each table as rows of cells, its head first and the dashes left out."""
    rows: list[list[str]] = []
    for line in [*unfenced(text), (0, "")]:
        if line[1].lstrip().startswith("|"):
            cells = re.split(r"(?<!\\)\|", line[1].strip().strip("|"))
            rows.append([cell.strip() for cell in cells])
        elif rows:
            yield [row for row in rows if not all(re.fullmatch(r":?-+:?", cell) for cell in row)]
            rows = []


def first_column(text: str, head: str, column: int = 0) -> list[str]:
    """The names in backticks of one column of every table with this head on it."""
    found = []
    for table in tables(text):
        if len(table[0]) > column and table[0][column].lower() == head.lower():
            for row in table[1:]:
                cell = row[column] if len(row) > column else ""
                found += re.findall(r"`([^`]+)`", cell)
    return found


def fenced(text: str, language: str) -> Iterator[tuple[int, str]]:
    """(line of the opening fence, what is in the block) of each block in this language."""
    start = 0
    block: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not start and re.fullmatch(rf"\s*```{language}\s*", line):
            start, block = number, []
        elif start and line.strip() == "```":
            yield start, "\n".join(block)
            start = 0
        elif start:
            block.append(line)


def unfenced(text: str) -> Iterator[tuple[int, str]]:
    """The numbered lines outside of code blocks."""
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            inside = not inside
        elif not inside:
            yield number, line


def links(text: str) -> Iterator[tuple[int, str]]:
    """(line, target) of each relative link; addresses of other places are not followed."""
    for number, line in unfenced(text):
        for target in re.findall(
            r"\]\(([^)\s]+)(?:\s+\"[^\"]*\")?\)", re.sub(r"`[^`]*`", "", line)
        ):
            if not re.match(r"[a-z][a-z0-9+.-]*:", target):
                yield number, target


@cache
def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, spelled as the usual renderers do."""
    found: set[str] = set()
    for _number, line in unfenced(page.read_text()):
        if heading := re.match(r"#{1,6}\s+(.*?)\s*#*$", line):
            slug = re.sub(r"[^\w\- ]", "", heading[1].lower()).replace(" ", "-")
            number = 0
            while (name := f"{slug}-{number}" if number else slug) in found:
                number += 1
            found.add(name)
    return found


if __name__ == "__main__":
    unittest.main()
