"""The official JSON Schema test suite: where it is, and what of it is not supported, and why."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

SUITE = Path(__file__).parent.parent / "vectors" / "json-schema"
DRAFTS = {
    "draft2020-12": "https://json-schema.org/draft/2020-12/schema",
    "draft7": "http://json-schema.org/draft-07/schema#",
}
# How many tests each draft requires, so that a lost file can't make the suite pass.
REQUIRED = {"draft2020-12": 1299, "draft7": 927}

# How many of these, and of the optional ones, need a dynamic reference, and are refused.
DYNAMIC = {"": 50, "optional": 2}

# (file, description of the group) -> why. Everything else has to pass.
UNSUPPORTED = {
    (
        "vocabulary",
        "schema that uses custom metaschema with with no validation vocabulary",
    ): "a metaschema of one's own is an unsupported dialect and refused",
    (
        "vocabulary",
        "ignore unrecognized optional vocabulary",
    ): "a metaschema of one's own is an unsupported dialect and refused",
    (
        "hostname",
        "validation of A-label (punycode) host names",
    ): "IDNA 2008 tables are not in the standard library; the form is checked, see formats",
}


class Group(NamedTuple):
    name: str
    schema: Any
    tests: list[dict[str, Any]]
    unsupported: str


def groups(draft: str, folder: str = "") -> Iterator[Group]:
    """All groups of one folder of a draft; the schema says its draft, as the suite means it."""
    for file in sorted((SUITE / "tests" / draft / folder).glob("*.json")):
        for group in json.loads(file.read_bytes()):
            schema = group["schema"]
            if isinstance(schema, dict):
                schema = {"$schema": DRAFTS[draft], **schema}
            why = UNSUPPORTED.get((file.stem, group["description"]), "")
            yield Group(f"{file.stem}: {group['description']}", schema, group["tests"], why)


def documents() -> dict[str, Any]:
    """The suite's "remote" schemas by the URI it gives them, and the drafts' own by theirs."""
    remotes = SUITE / "remotes"
    drafts = [json.loads(file.read_bytes()) for file in (SUITE / "metaschemas").glob("*.json")]
    return {draft["$id"].rstrip("#"): draft for draft in drafts} | {
        f"http://localhost:1234/{file.relative_to(remotes).as_posix()}": json.loads(
            file.read_bytes()
        )
        for file in remotes.rglob("*.json")
    }
