"""Repair arguments that almost fit a schema, without loss and without guessing.

Used by `convert`, and by the server where there is a schema but no Python function (client tools,
MCP servers, OpenAPI documents). Only what validation finds wrong is changed, and each change is
reported. Text that fits is never decoded, truncated JSON is never closed, nothing is wrapped,
truncated or rounded.

The repairs cover what models send (measured in the issue trackers of a dozen clients): JSON inside
strings, numbers as strings, null for "not given", repeated items in sets.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

from .. import strict_json
from .keywords import TYPES, identity, is_number
from .report import NOTHING, Finding, Mismatch, Node, Run, describe, path, pointer_at, show
from .validate import Validator, cached_validator

ROUNDS = 20  # a repair may uncover the next: a string, its object, the object's members

_WHOLE = re.compile(r"[+-]?[0-9]{1,400}(?:\.0+)?")
_NUMBER = re.compile(r"[+-]?[0-9]{1,400}(?:\.[0-9]{1,400})?(?:[eE][+-]?[0-9]{1,3})?")
_WORDS = {"true": True, "yes": True, "on": True, "1": True}
_WORDS |= {"false": False, "no": False, "off": False, "0": False}


@dataclass(frozen=True, slots=True)
class RepairResult:
    """`value` with the repairs made; `errors` are the mismatches that remain."""

    value: Any
    repairs: list[Mismatch]
    errors: list[Mismatch]


def repair(value: Any, schema: Any) -> RepairResult:
    """Validate `value` and repair it where possible; `value` itself is not changed.

    `schema` is a schema or a Validator. Raises SchemaError.
    """
    validator = schema if isinstance(schema, Validator) else cached_validator(schema)
    return _Mender().mend(validator.root, value)


class _Mender:
    """One repair. All its validations share one budget of steps, also those of alternatives."""

    def __init__(self) -> None:
        self.run = Run()

    def mend(self, node: Node, value: Any) -> RepairResult:
        """Repair until nothing is wrong or nothing can be repaired, in at most ROUNDS rounds."""
        repairs: list[Mismatch] = []
        first: dict[str, Finding] = {}  # the original finding of each place
        findings = node.findings(value, self.run)
        for _ in range(ROUNDS):
            fixes = self.fixes(findings)
            for place, (finding, changed) in fixes.items():
                keys = path(finding.at)
                words = f"{describe(_get(value, keys))} was taken as {describe(changed)}"
                if changed is _LEFT_OUT:
                    words = "null was taken as not given"
                value = _put(value, keys, changed)
                repairs.append(Mismatch(place, "repair", words))
                first.setdefault(place, finding)
            if not fixes:
                break
            findings = node.findings(value, self.run)
        left = [first.get(pointer_at(finding.at), finding).mismatch() for finding in findings]
        return RepairResult(value, repairs, left)

    def fixes(self, findings: list[Finding]) -> dict[str, tuple[Finding, Any]]:
        """Return place -> (finding, new value), at most one per place and none inside another."""
        fixes: dict[str, tuple[Finding, Any]] = {}
        for finding in findings:
            place = pointer_at(finding.at) + "/"
            nested = any(place.startswith(f) or f.startswith(place) for f in fixes)
            if finding.keyword in _MENDERS and not nested:
                changed = _MENDERS[finding.keyword](finding, self)
                if changed is not NOTHING:
                    fixes[place] = finding, changed
        return {place[:-1]: fix for place, fix in fixes.items()}


_LEFT_OUT: Any = object()


def _get(root: Any, keys: list[str | int]) -> Any:
    for key in keys:
        root = root[key]
    return root


def _put(root: Any, keys: list[str | int], value: Any) -> Any:
    """Return a copy of `root` with `value` at `keys`; only containers on the path are copied."""
    if not keys:
        return value
    copy = root.copy()
    if value is _LEFT_OUT and len(keys) == 1:
        del copy[keys[0]]
    else:
        copy[keys[0]] = _put(root[keys[0]], keys[1:], value)
    return copy


# ---------------------------------------------------- repairs, by the keyword that failed


def _of_type(finding: Finding, mender: _Mender) -> Any:
    for name in finding.wanted:
        changed = _READERS[name](finding.value)
        if changed is not NOTHING and TYPES[name](changed):
            return changed
    return NOTHING


def _allowed_value(finding: Finding, mender: _Mender) -> Any:
    """Return the one allowed value with the same text, such as "9" for 9; else NOTHING."""
    value, allowed = finding.wanted
    if isinstance(value, str):
        same = [option for option in allowed if show(option) == value.strip()]
    else:
        same = [option for option in allowed if option == show(value)]
    return same[0] if len(same) == 1 else NOTHING


def _fix_format(finding: Finding, mender: _Mender) -> Any:
    """Return the text without surrounding blanks, with T for a blank, or a UUID with hyphens."""
    name, test = finding.wanted
    text = finding.value.strip()
    options = [text, text.replace(" ", "T", 1)]
    if name == "uuid" and re.fullmatch("[0-9A-Fa-f]{32}", text):
        cuts = (0, 8, 12, 16, 20, 32)
        options.append("-".join(text[a:b] for a, b in zip(cuts, cuts[1:], strict=False)))
    return next((option for option in options if test(option)), NOTHING)


def _alternative(finding: Finding, mender: _Mender) -> Any:
    """Return the value repaired for the first alternative where that succeeds; else NOTHING.

    A value that fits several alternatives of oneOf is not repaired.
    """
    value, nodes = finding.wanted or (None, ())
    for node in nodes:
        mended = mender.mend(node, value)
        if not mended.errors:
            return mended.value
    return NOTHING


def _once(finding: Finding, mender: _Mender) -> Any:
    first: dict[Hashable, Any] = {}
    for item in finding.wanted:
        first.setdefault(identity(item), item)
    return list(first.values())


_MENDERS: dict[str, Callable[[Finding, _Mender], Any]] = {
    "type": _of_type,
    "enum": _allowed_value,
    "const": _allowed_value,
    "format": _fix_format,
    "anyOf": _alternative,
    "oneOf": _alternative,
    "uniqueItems": _once,
    "properties": lambda finding, mender: _LEFT_OUT,
}


# Conversions to a type. They return NOTHING if the value is not clearly of that type.


def _whole(value: Any) -> Any:
    text = value.strip() if isinstance(value, str) else ""
    return int(text.partition(".")[0]) if _WHOLE.fullmatch(text) else NOTHING


def _number(value: Any) -> Any:
    text = value.strip() if isinstance(value, str) else ""
    if not _NUMBER.fullmatch(text):
        return NOTHING
    number = int(text) if text.lstrip("+-").isdigit() else float(text)
    return NOTHING if number in (math.inf, -math.inf) else number


def _boolean(value: Any) -> Any:
    if isinstance(value, str):
        return _WORDS.get(value.strip().lower(), NOTHING)
    return bool(value) if is_number(value) and value in (0, 1) else NOTHING


def _string(value: Any) -> Any:
    """Return an integer as text. A float is not converted: 1.10 has lost its last digit."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    return str(value) if whole and value.bit_length() < 1_000 else NOTHING


def _container(value: Any) -> Any:
    if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "["):
        return NOTHING
    try:
        return strict_json.loads(value)
    except strict_json.JSONError:
        return NOTHING


_READERS: dict[str, Callable[[Any], Any]] = {
    "integer": _whole,
    "number": _number,
    "boolean": _boolean,
    "string": _string,
    "null": lambda value: None if value == "null" else NOTHING,
    "object": _container,
    "array": _container,
}
