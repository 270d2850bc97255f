"""From the argument text of a model to the arguments with which a tool runs.

The toolbox judges a call by the result, and a person sees it for approval. Steps, in this order:
parse the text, fill in templates (argument_templates.py), repair by the schema.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..schema.convert import error_text, parse
from ..schema.portable import renamed
from ..schema.repair import repair
from ..schema.report import Mismatch
from ..schema.validate import Validator
from ..strict_json import depth_exceeds
from .argument_templates import Pending, Unfilled
from .result import MAX_NESTED

Fill = Callable[[dict[str, Any]], tuple[dict[str, Any], list[str]]]


def fitted(raw: Any, validator: Validator, fill: Fill) -> tuple[dict[str, Any], str, list[str]]:
    """Return (arguments to run with, error text or "", notes on changes).

    `raw`: argument text or a dict. Parameters that were declared under a portable name get their
    own name back.
    """
    changes: list[str] = []
    if isinstance(raw, str):
        parsed = parse(raw)
        if parsed.errors:
            return {}, parsed.error, []
        raw, changes = parsed.arguments, [str(item) for item in parsed.repairs]
    try:
        raw, filled = fill(_named(raw, validator))
    except Unfilled as error:
        return {}, str(error), []
    if depth_exceeds(raw, MAX_NESTED):
        return {}, f"the arguments are nested deeper than {MAX_NESTED} levels", []
    mended = repair(raw, validator)
    if mended.errors:
        return {}, error_text(mended.errors), []
    return mended.value, "", changes + filled + [str(item) for item in mended.repairs]


def misfits(args: dict[str, Any], validator: Validator, fill: Fill) -> list[Mismatch]:
    """Return the errors in arguments that a person edited.

    Empty if templates refer to results that are missing so far; these are checked when the call
    runs.
    """
    try:
        filled, _ = fill(_named(args, validator))
    except (Pending, Unfilled):
        return []
    if depth_exceeds(filled, MAX_NESTED):
        return [Mismatch("", "depth", f"nested deeper than {MAX_NESTED} levels")]
    return repair(filled, validator).errors


def _named(args: dict[str, Any], validator: Validator) -> dict[str, Any]:
    """Return the arguments under the tool's own parameter names."""
    names = renamed(validator.schema)
    return {names.get(name, name): value for name, value in args.items()} if names else args
