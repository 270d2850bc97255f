"""Convert the arguments that a model sent to the values of a Python function.

A tool's process calls `convert` before the function; the server, which has only the schema, uses
`parse` and `repair`. Arguments that do not match exactly are repaired without loss; if that fails,
the result is one text with every problem, short enough to be sent to the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..strict_json import JSONError, loads
from .generate import Signature
from .python_types import UnfitValue
from .repair import repair
from .report import Mismatch, describe, pointer_at

__all__ = ["Conversion", "convert", "error_text", "parse", "repair"]

MAX_ERROR_BYTES = 1_000


@dataclass(slots=True)
class Conversion:
    """`values` by parameter name, defaults filled in; meaningless if there are `errors`.

    `arguments` is the repaired JSON object. `Signature.bind(values)` gives args and kwargs.
    """

    values: dict[str, Any] = field(default_factory=dict)
    arguments: dict[str, Any] = field(default_factory=dict)
    repairs: list[Mismatch] = field(default_factory=list)
    errors: list[Mismatch] = field(default_factory=list)

    @property
    def error(self) -> str:
        """Return the errors as text for the model, at most MAX_ERROR_BYTES; "" without errors."""
        return error_text(self.errors)


def convert(signature: Signature, raw: str | dict[str, Any]) -> Conversion:
    """Convert `raw` (JSON text, or an object) to values for the function.

    Never raises for any content of `raw`: see `errors`.
    """
    result = Conversion()
    if isinstance(raw, str):
        parsed = parse(raw)
        result.repairs, result.errors = parsed.repairs, parsed.errors
        raw = parsed.arguments
    if result.errors:
        return result
    mended = repair(raw, signature.validator)
    result.repairs += mended.repairs
    result.errors = mended.errors
    result.arguments = mended.value
    for parameter in signature.arguments if not result.errors else ():
        name = parameter.name
        if name not in mended.value:
            result.values[name] = parameter.default
            continue
        try:
            result.values[name] = parameter.build(mended.value[name], (None, name))
        except UnfitValue as error:
            result.errors.append(Mismatch(pointer_at(error.at), "value", error.message))
    return result


def parse(text: str) -> Conversion:
    """Parse the JSON object in `text`, strictly.

    Empty text and null give {}, and JSON text inside a JSON string is parsed, each with a repair.
    Only `arguments`, `repairs` and `errors` of the result are set.
    """
    result = Conversion()
    if not text.strip():
        result.repairs.append(Mismatch("", "repair", "nothing was taken as no arguments"))
        return result
    try:
        value = loads(text)
        if isinstance(value, str) and value.lstrip().startswith("{"):
            value = loads(value)
            result.repairs.append(Mismatch("", "repair", "a string was read as the JSON in it"))
    except JSONError as error:
        message = f"the arguments are not valid JSON: {error}"
        result.errors.append(Mismatch("", "json", message))
        return result
    if value is None:
        result.repairs.append(Mismatch("", "repair", "null was taken as no arguments"))
    elif isinstance(value, dict):
        result.arguments = value
    else:
        message = f"expected a JSON object of arguments, got {describe(value)}"
        result.errors.append(Mismatch("", "type", message))
    return result


def error_text(errors: Sequence[Mismatch]) -> str:
    """Return one line per problem; the number of those beyond MAX_ERROR_BYTES is the last line."""
    lines: list[str] = []
    room = MAX_ERROR_BYTES - 40  # for the last line
    for number, error in enumerate(errors):
        line = str(error)
        if len(line.encode()) > 400:
            line = line.encode()[:397].decode("utf-8", "ignore") + "…"
        room -= len(line.encode()) + 1
        if room < 0:
            lines.append(f"and {len(errors) - number} more problems")
            break
        lines.append(line)
    return "\n".join(lines)
