"""server/json_types.py holds the keys that are checked and written in the code.

Which keys the code writes is read from the source of the functions that write them, or from
docs/reference. session/schema.py checks documents by these types.
"""

from __future__ import annotations

import ast
import re
import typing
import unittest
from collections.abc import Iterator
from pathlib import Path

from server import json_types
from server.session import accept, agent_definition, config_schema, fold, run_record, schema
from server.tools import result

from .test_docs import REFERENCE, members, tables
from .tooling.tools import ROOT

SESSION, AGENT = "server/session/", "server/agent/"


def keys(name: str) -> set[str]:
    """The keys of a type, inherited ones too."""
    return set(typing.get_type_hints(getattr(json_types, name)))


def types_there() -> dict[str, type]:
    return {name: value for name, value in vars(json_types).items() if typing.is_typeddict(value)}


def written(path: str, variable: str) -> Iterator[str]:
    """The keys that a file sets one by one: `variable["key"] = …`."""
    for node in ast.walk(ast.parse((ROOT / path).read_text())):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            if ast.unparse(node.value) == variable and isinstance(node.slice, ast.Constant):
                yield str(node.slice.value)


def keywords(path: str, name: str) -> Iterator[str]:
    """The keys of objects that a file writes into variables with this annotation."""
    for node in ast.walk(ast.parse((ROOT / path).read_text())):
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation) == name:
            if isinstance(node.value, ast.Dict):
                yield from (str(ast.literal_eval(key)) for key in node.value.keys if key)


def returned(path: str, name: str) -> Iterator[str]:
    """The outermost keys of the objects that functions returning this type return."""
    for node in ast.walk(ast.parse((ROOT / path).read_text())):
        if isinstance(node, ast.FunctionDef) and node.returns and name in ast.unparse(node.returns):
            for each in ast.walk(node):
                value = each.value if isinstance(each, ast.Return) else None
                for made in value.elts if isinstance(value, ast.List) else [value]:
                    if isinstance(made, ast.Dict):
                        yield from (str(ast.literal_eval(key)) for key in made.keys if key)


def settings_read(path: Path) -> Iterator[tuple[str, str]]:
    """Section and key of each setting of a session that a file reads by its name."""
    if '"config"' not in (text := path.read_text("utf-8")):
        return
    for function in ast.walk(ast.parse(text)):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            names: dict[str, tuple[str, ...]] = {}
            for node in ast.walk(function):
                match node:
                    case ast.Assign(targets=[ast.Name(id=name)], value=value):
                        names[name] = key_path(value, names)
                    case ast.NamedExpr(target=ast.Name(id=name), value=value):
                        names[name] = key_path(value, names)
            for node in ast.walk(function):
                match key_path(node, names):
                    case (*_, "config", "yaa" | "llm_api" | "limits" | "context" as section, key):
                        yield section, key


def key_path(node: ast.AST, names: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    """The keys by which an expression reads what is in an object, the outermost first."""
    match node:
        case ast.Name(id=name):
            return names.get(name, ())
        case ast.Subscript(value=inner, slice=ast.Constant(value=str(key))):
            return (*key_path(inner, names), key)
        case ast.Call(
            func=ast.Attribute(value=inner, attr="get"), args=[ast.Constant(value=str(key)), *_]
        ):
            return (*key_path(inner, names), key)
        case ast.BoolOp(values=[first, *_]):
            return key_path(first, names)
    return ()


class Types(unittest.TestCase):
    def assert_keys(self, name: str, *found: typing.Iterable[str]) -> None:
        self.assertEqual(keys(name), set().union(*found), name)

    def test_settings(self) -> None:
        sections = config_schema.CONFIG.fields
        self.assert_keys("Config", sections)
        self.assert_keys("AgentDefinition", agent_definition.SCHEMA["properties"])
        read = {one for path in (ROOT / "server").rglob("*.py") for one in settings_read(path)}
        self.assertGreater(len(read), 20)
        for section, key in read:
            with self.subTest(f"{section}.{key}"):
                self.assertIn(key, sections[section].fields)

    def test_what_a_run_writes(self) -> None:
        opened = written(SESSION + "accept.py", "run"), keywords(SESSION + "accept.py", "RunInfo")
        place = ["place"]  # agent/run_workspace.py
        self.assert_keys("RunInfo", accept.COUNTERS, [run_record.FROM_RECORD], place, *opened)
        self.assert_keys("Plan", returned(SESSION + "plan.py", "Plan"))
        self.assert_keys("Task", ["id", "title", "status", "result"])
        self.assert_keys("Calibration", members("server/context/budget.py", "updated_calibration"))
        self.assert_keys(
            "CompactionRecord",
            returned("server/context/compact.py", "CompactionRecord"),
            written("server/context/compact.py", "record"),
            written(AGENT + "side_calls.py", "record"),
            ["timestamp"],
        )

    def test_interrupts(self) -> None:
        self.assert_keys(
            "Interrupt",
            keywords(AGENT + "call_decisions.py", "Interrupt"),
            written(AGENT + "call_decisions.py", "interrupt.interrupt"),
            written(AGENT + "call_decisions.py", "request.interrupt"),
            members("server/tools/policy.py", "approval_members"),
            returned(AGENT + "decide.py", "Interrupt"),
            returned("server/context/compact.py", "Interrupt"),
            returned(SESSION + "costs.py", "Interrupt"),
            returned(AGENT + "workspace_steps.py", "Interrupt"),
            ["asked_at", "answer"],
            ["server"],  # tools/mcp
            ["skills"],  # agent/decide.py
            ["foreign"],  # agent/workspace_steps.py
        )
        self.assert_keys("Answer", ["status", "payload"])

    def test_events(self) -> None:
        path = SESSION + "events.py"
        made = returned(path, "Event"), keywords(path, "Event"), written(path, "event")
        self.assert_keys("Event", *made, *fold.REQUIRED.values())
        self.assert_keys("Change", ["op", "path", "value"])

    def test_what_models_and_tools_return(self) -> None:
        decoder = keywords("server/models/decoder.py", "MessageMeta")
        self.assert_keys(
            "MessageMeta", decoder, ["edited_from", "edited_call", "citations", "warnings"]
        )
        path = "server/models/provider_search.py"
        self.assert_keys("Citation", keywords(path, "Citation"), written(path, "found"))
        self.assert_keys("Reasoning", ["id", "text", "field", "details"])
        envelope = re.search(r"\{.*?\}", result.__doc__ or "", re.S)
        assert envelope is not None
        action = keywords("server/tools/client_tools.py", "ToolResult")
        self.assert_keys("ToolResult", re.findall(r"\w+", envelope[0]), action, ["feedback"])

    def test_warnings(self) -> None:
        found = {"code", "message"}
        for head, *rows in tables((REFERENCE / "session.md").read_text()):
            if head[0] == "Warning":
                for row in rows:
                    found |= set(re.findall(r"`(\w+)`", row[2].partition(":")[0]))
        self.assert_keys("RunWarning", found)

    def test_each_type_is_checked_and_told(self) -> None:
        text = (ROOT / "tests/test_json_types.py").read_text()
        for name, each in types_there().items():
            if each not in schema.KINDS and not name.startswith("_"):
                self.assertIn(f'"{name}"', text, "no test of its keys")
                self.assertRegex(each.__doc__ or "", r"\A[A-Z][^\n]*\.\Z", name)
