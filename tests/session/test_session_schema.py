"""The published JSON Schema of a session accepts and refuses what the check does."""

from __future__ import annotations

import json
import unittest
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from server.lib.json_schema.compile import DRAFT_2020
from server.lib.json_schema.field_types import json_schema
from server.lib.json_schema.validate import Validator, check_schema
from server.session.config_schema import CONFIG
from server.session.schema import SESSION, check

from .. import forged, growing
from ..tooling import turns
from ..tooling.tools import ROOT
from .test_config_schema import PROBES
from .test_schema import MISFITS

FILE = ROOT / "docs" / "reference" / "session.schema.json"
# What a schema cannot say. A whole number that is written with a fraction is one for a schema.
UNSAYABLE = ("used before", "calls without a result", "can be used", "one of free, plain")
NUMBERS = [probe for probe in PROBES if not isinstance(probe, float) or not probe.is_integer()]


def session_schema() -> dict[str, Any]:
    """It accepts what `check` does, and what is UNSAYABLE."""
    return {"$schema": DRAFT_2020, "title": "A session", **json_schema(SESSION)}


def text(value: Any, indent: int = 0) -> str:
    """JSON with an object or array in one line where it fits."""
    line = json.dumps(value, ensure_ascii=False)
    if len(line) + indent <= 110 or not isinstance(value, dict | list):
        return line
    margin = "\n" + " " * (indent + 1)
    if isinstance(value, list):
        inside = [text(item, indent + 1) for item in value]
    else:
        inside = [f"{json.dumps(key)}: {text(item, indent + 1)}" for key, item in value.items()]
    brackets = "[]" if isinstance(value, list) else "{}"
    return brackets[0] + margin + f",{margin}".join(inside) + margin[:-1] + brackets[1]


def corpus() -> Iterator[Callable[[], dict[str, Any]]]:
    """Yield what makes each document: a turn leaves half of them out, and most are large copies."""
    yield from (partial(dict, document) for document, _, _ in MISFITS)
    yield from (partial(dict, case.document) for case in forged.cases())
    for made in (*growing.keys(), *growing.texts(), *growing.rows()):
        if made.path == growing.SESSION:
            yield partial(made.body, 3)
    for table, rows in growing.tables().items():
        for place in growing.PLACES[table]:
            for key in rows:
                yield from (partial(growing.put, (*place, key), probe) for probe in NUMBERS)
    for name, kind in CONFIG.fields.items():
        yield from (partial(dict, config={name: {key: [1]}}) for key in kind.fields)


class Published(unittest.TestCase):
    def test_the_file_is_that_schema(self) -> None:
        hint = "python3 -m tests.session.test_session_schema writes it"
        self.assertEqual(FILE.read_text("utf-8"), text(session_schema()) + "\n", hint)
        self.assertEqual(check_schema(session_schema()), [])

    def test_a_document_fits_both_or_neither(self) -> None:
        validator, fitting, wrong = Validator(session_schema()), 0, 0
        for make in turns.share(corpus(), 2):
            document = make()
            errors = [each["detail"] for each in check(document)]
            sayable = [each for each in errors if not any(word in each for word in UNSAYABLE)]
            found = list(map(str, validator.errors(document)))
            with self.subTest(json.dumps(document)[:2_000]):
                self.assertEqual(bool(found), bool(errors if found else sayable), (errors, found))
            wrong, fitting = wrong + bool(found), fitting + (not found)
        self.assertGreater(min(fitting, wrong), 300)


if __name__ == "__main__":
    FILE.write_text(text(session_schema()) + "\n", "utf-8")
