"""Typed access to the fields of a body of /v1, with errors at the field's place.

Null is the same as absent. Used by `chat` and `responses`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ...errors import Problem
from ...session.events import pointer
from ...session.fold import parse_pointer
from ...strict_json import LARGEST_COUNT, dumps

Json = dict[str, Any]
Place = tuple[str | int, ...]

_WORDS: dict[type, str] = {
    str: "a string",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    list: "an array",
    dict: "an object",
}


def misfit(place: Place, detail: str) -> Problem:
    """Return a Problem at `place` in the body."""
    where = pointer(*place)
    errors = [{"pointer": where, "detail": detail}]
    return Problem("request_invalid", f"{param(where)}: {detail}", errors=errors, status=400)


def param(where: str) -> str:
    """Return a JSON pointer in OpenAI's notation: `messages[0].content`."""
    found = ""
    for part in parse_pointer(where) or []:
        found += f"[{part}]" if part.isdigit() else f".{part}" if found else part
    return found


def take(node: Mapping[str, Any], kind: type, *place: str | int) -> Any:
    """Return the member that the last of `place` names; None if it is absent or null.

    Raises Problem if it is not a `kind`.
    """
    value = node.get(str(place[-1]))
    if value is None:
        return None
    fits = isinstance(value, int | float) if kind is float else isinstance(value, kind)
    if not fits or (isinstance(value, bool) and kind is not bool):
        raise misfit(place, f"expected {_WORDS[kind]}, got {shown(value)}")
    return value


def needed(node: Mapping[str, Any], kind: type, *place: str | int) -> Any:
    """Return the member that the last of `place` names. Raises Problem if it is missing."""
    value = take(node, kind, *place)
    if value is None:
        raise misfit(place, f"expected {_WORDS[kind]}, and it is missing")
    return value


def items(values: list[Any], *place: str | int) -> Iterable[tuple[Place, Json]]:
    """Yield (place, object) for each item of an array. Raises Problem for other items."""
    for index, value in enumerate(values):
        if not isinstance(value, dict):
            raise misfit((*place, index), f"expected an object, got {shown(value)}")
        yield (*place, index), value


def only(body: Mapping[str, Any], allowed: Mapping[str, tuple[Any, ...]]) -> None:
    """Refuse values of unsupported fields, naming field and value. Raises Problem."""
    for name, values in allowed.items():
        value = body.get(name)
        if value is not None and not any(value == each for each in values):
            instead = f"; only {' or '.join(map(dumps, values))} is" if values else ""
            raise misfit((name,), f"{shown(value)} is not supported here{instead}")


def settings(body: Mapping[str, Any], known: Mapping[str, type]) -> Json:
    """Return the fields that are passed on to the model, as a provider's `model_settings`."""
    found = {name: take(body, kind, name) for name, kind in known.items()}
    found = {name: value for name, value in found.items() if value is not None}
    return found | ({"use_custom_temp": True} if "temperature" in found else {})


def positive(body: Mapping[str, Any], name: str) -> int | None:
    """Return a positive integer; None if it is absent. Raises Problem."""
    value = take(body, int, name)
    if value is not None and not 1 <= value <= LARGEST_COUNT:
        raise misfit((name,), f"expected 1 to {LARGEST_COUNT}, got {shown(value)}")
    return None if value is None else int(value)


def shown(value: Any) -> str:
    """Return a value as text for an error: the kind of a container, else at most 60 characters."""
    if isinstance(value, dict | list):
        return _WORDS[type(value)]
    text = f'"{value}"' if isinstance(value, str) else dumps(value)
    return text if len(text) <= 60 else f"{text[:60]}…"
