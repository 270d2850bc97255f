"""Sessions from elsewhere: what may stay, held together with the page, and forged documents that
come through an import to a real agent."""

from __future__ import annotations

import asyncio
import copy
import json
import random
import subprocess
import tempfile
import textwrap
import unittest
from pathlib import Path
from typing import Any

from server.lib.strict_json import canonical
from server.session import sanitize as foreign
from server.session.config_schema import CONFIG, FOREIGN
from server.session.limits import LIMITS
from server.session.sanitize import sanitize
from server.session.schema import SESSION

from .. import forged
from ..fakes import DEFAULTS
from ..tooling import turns

ROOT = Path(__file__).resolve().parents[2]
VECTORS = json.loads((ROOT / "tests" / "vectors" / "foreign.json").read_text())
SHIPPED = DEFAULTS["session"]
PAGE = ROOT / "client" / "js" / "core" / "sanitize.js"
# Keys that are kept in part or removed.
IN_PART = (
    *("agent", "calls", "character", "config", "context", "environment", "ext", "finish_reason"),
    *("grants", "instructions", "interrupts", "run", "skills", "status", "tools", "workspace"),
)
# Names that the page has of server/session/sanitize.py.
LISTS = (
    *("TOP", "RUN", "CONTEXT", "WORKSPACE", "STATE", "EXT", "BRANCH", "ACTIVE", "ENDED", "BEGUN"),
    *("MAX_LANGUAGE", "BEYOND_RULES", "NETWORKS"),
)


def imported(documents: list[Any]) -> list[Any]:
    """What the page's import makes of each."""
    found = subprocess.run(
        ["node", str(ROOT / "tests" / "client" / "sanitize-stdin.js")],
        input=json.dumps(documents),
        capture_output=True,
        check=True,
        text=True,
    )
    return list(json.loads(found.stdout))


def rules_of_settings() -> dict[str, dict[str, list[str]]]:
    """The settings of each section that are kept, kept up to the default, or each of which is."""
    found: dict[str, dict[str, list[str]]] = {}
    for name, section in CONFIG.fields.items():
        for key, kind in section.fields.items():
            if rule := kind.form.get(FOREIGN):
                rule = "each_at_most" if rule == "at_most" and kind.fields else rule
                found.setdefault(name, {}).setdefault(rule, []).append(key)
    return found


def with_rules(source: str) -> str:
    """The page's module with the rules of the server."""
    rules: dict[str, Any] = {"KEYS": [*SESSION.fields]}
    rules |= {name: getattr(foreign, name) for name in LISTS}
    settings = rules_of_settings()
    limits = {
        name: {key: SHIPPED["config"][name][key] for rule in most for key in section.get(rule, ())}
        for most in [("at_most", "each_at_most")]
        for name, section in settings.items()
        if "at_most" in section
    }
    rules["CONFIG"] = settings
    rules["DEFAULTS"] = {**{key: SHIPPED[key] for key in ("character", "agent")}, "config": limits}
    begin, opening, rest = source.partition("const RULES = /** @type {any} */ (")
    end = rest[rest.index(")\n  const {") :]
    return begin + opening + script(rules, 1) + end


def script(value: Any, depth: int) -> str:
    """JSON in lines of at most 150 characters, with a line for each member of the outer objects."""
    line, margin = json.dumps(value, ensure_ascii=False), "\n" + "  " * depth
    if len(line) > 130 and isinstance(value, dict) and depth < 3:
        inside = (f"{margin}  {key}: {script(inner, depth + 1)}," for key, inner in value.items())
        return "{" + "".join(inside) + margin + "}"
    return f"{margin}  ".join(textwrap.wrap(line, 130, break_on_hyphens=False))


class Sanitized(unittest.TestCase):
    def test_the_same_as_the_page_gives(self) -> None:
        self.assertGreaterEqual(len(VECTORS), 50)
        for each in VECTORS:
            with self.subTest(each["name"]):
                before = json.dumps(each["document"])
                session, removed = sanitize(each["document"], each.get("defaults", SHIPPED))
                self.assertEqual(session, each["session"])
                self.assertEqual(removed, each["removed"])
                self.assertEqual(json.dumps(each["document"]), before)
                self.assertEqual(sanitize(session, each.get("defaults", SHIPPED)), (session, []))

    def test_the_page_has_these_rules(self) -> None:
        hint = "python3 -m tests.session.test_sanitize writes it"
        self.assertEqual(PAGE.read_text("utf-8"), with_rules(PAGE.read_text("utf-8")), hint)

    def test_every_key_of_a_session_is_decided(self) -> None:
        self.assertEqual({*foreign.TOP, *IN_PART}, set(SESSION.fields))
        self.assertLessEqual(set(SHIPPED), set(SESSION.fields))
        dropped = {"calib", "windows", "compact"}  # the last may have a model write summaries
        known = set(SESSION.fields["context"].fields)
        self.assertEqual(known - {*foreign.CONTEXT, *dropped}, set())
        self.assertLessEqual(set(SHIPPED["config"]), set(CONFIG.fields))
        rules = rules_of_settings()
        limits = rules["limits"]
        self.assertEqual({*limits["at_most"], *limits["each_at_most"]}, {*LIMITS, "tool"})
        gone = {"provider", "model_settings", "tool_choice", "unattended", "language", "ask"}
        for name, section in rules.items():
            decided = gone.union(*section.values())
            self.assertLessEqual(CONFIG.fields[name].fields.keys(), decided, name)

    def test_the_page_decides_each_setting_alike(self) -> None:
        messages = [{"id": "m1", "role": "user", "content": "Hello"}]
        documents = [
            {"id": "s1", "version": 1, "messages": messages, "config": {name: {key: value}}}
            for name, section in CONFIG.fields.items()
            for key in section.fields
            for value in (0, "x", None, True, {"times": 0, "cpu_s": 1e9})
        ]
        for document, found in zip(documents, imported(documents), strict=True):
            with self.subTest(document):
                session, removed = sanitize(document, SHIPPED)
                self.assertEqual((found["alone"], found["removed"]), (session, removed))

    def test_things_that_are_none_anywhere_do_not_matter(self) -> None:
        dice = random.Random(11)
        values: list[Any] = [None, 7, 1.5, True, [], {}, "x", [None], {"a": None}]

        def spoil(node: Any) -> None:
            for key in list(node) if isinstance(node, dict) else range(len(node)):
                if dice.random() < 0.15:
                    node[key] = copy.deepcopy(dice.choice(values))
                elif isinstance(node[key], dict | list):
                    spoil(node[key])

        spoiled = []
        for number in turns.share(range(1500), 4):
            document = copy.deepcopy(VECTORS[number % len(VECTORS)]["document"])
            spoil(document)
            sanitize(document, {})
            spoiled.append(sanitize(document, SHIPPED)[0])
        self.assertEqual([sanitize(one, SHIPPED)[1] for one in spoiled], [[]] * len(spoiled))


class Corpus(unittest.TestCase):
    """Forged documents through the page's import, and through the command line's."""

    cases: list[forged.Case]
    imports: list[Any]

    @classmethod
    def setUpClass(cls) -> None:
        cls.cases = list(forged.cases())
        cls.imports = imported([case.document for case in cls.cases])

    def test_there_are_enough_of_them(self) -> None:
        self.assertGreater(len(self.cases), 500)
        self.assertEqual(len({case.name for case in self.cases}), len(self.cases))

    def test_both_imports_are_one(self) -> None:
        for case, found in zip(self.cases, self.imports, strict=True):
            with self.subTest(case.name):
                session, removed = sanitize(case.document, SHIPPED)
                self.assertEqual(found["alone"], session)
                self.assertEqual(found["removed"], removed)

    def test_nothing_runs_that_was_not_approved_after_the_import(self) -> None:
        with tempfile.TemporaryDirectory() as home:
            ran, asked = asyncio.run(self.played(forged.Stage(Path(home))))
        self.assertEqual(ran, [])
        self.assertGreater(asked, 20, "those who approve have been asked")

    async def played(self, stage: forged.Stage) -> tuple[list[str], int]:
        """Who ran what without an approval; and how many calls were approved and ran."""
        wrong, approved = [], 0
        seen = set()
        for case, found in zip(self.cases, self.imports, strict=True):
            for session in (found["alone"], found["session"], *found["switched"]):
                key = (case.tool, canonical(session))
                if key in seen:  # an import makes many of them one
                    continue
                seen.add(key)
                for person in forged.PEOPLE:
                    played = await stage.play(case, session, person)
                    approved += len(played.ran)
                    if played.unapproved:
                        wrong.append(f"{case.name}, who {person}: {played.unapproved}")
                    if any(one != {"name": "auto"} for one in played.providers):
                        wrong.append(f"{case.name}: asked {played.providers}")
        return wrong, approved

    def test_the_server_alone_runs_nothing_that_was_not_approved(self) -> None:
        """POSTed as they are. A document's own word is the key holder's, and left aside."""

        async def played(stage: forged.Stage) -> list[str]:
            wrong = []
            for case in self.cases[::4]:  # all of them take a minute
                if not case.own_word:
                    for person in forged.PEOPLE:
                        found = await stage.play(case, copy.deepcopy(case.document), person)
                        if found.unapproved:
                            wrong.append(f"{case.name}, who {person}: {found.unapproved}")
            return wrong

        with tempfile.TemporaryDirectory() as home:
            self.assertEqual(asyncio.run(played(forged.Stage(Path(home)))), [])

    def test_they_are_forged_well_enough_to_be_taken(self) -> None:
        """Without an import, those with a word of their own run."""
        with tempfile.TemporaryDirectory() as home:
            stage = forged.Stage(Path(home))
            taken = [c for c in self.cases if c.own_word and "branch" not in c.name]
            for case in taken:
                with self.subTest(case.name):
                    played = asyncio.run(stage.play(case, case.document, forged.RESUMES))
                    self.assertIn((case.tool, case.args), played.unapproved)


if __name__ == "__main__":
    PAGE.write_text(with_rules(PAGE.read_text("utf-8")), "utf-8")
