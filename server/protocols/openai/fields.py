"""The fields of a body of /v1: taken by their kind, or refused at their own place.

In the walk: `chat` and `responses` read their bodies with these. The rule of the file: null is the
same as absent, and an error names the place and shows what is there.
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
    """What is wrong with the body, at its own place in it."""
    where = pointer(*place)
    errors = [{"pointer": where, "detail": detail}]
    return Problem("request_invalid", f"{param(where)}: {detail}", errors=errors, status=400)


def param(where: str) -> str:
    """A JSON pointer as OpenAI spells it: `messages[0].content`."""
    found = ""
    for part in parse_pointer(where) or []:
        found += f"[{part}]" if part.isdigit() else f".{part}" if found else part
    return found


def take(node: Mapping[str, Any], kind: type, *place: str | int) -> Any:
    """The member that the last of `place` names, None where it is absent or null. Raises Problem
    where it is of another kind."""
    value = node.get(str(place[-1]))
    if value is None:
        return None
    fits = isinstance(value, int | float) if kind is float else isinstance(value, kind)
    if not fits or (isinstance(value, bool) and kind is not bool):
        raise misfit(place, f"expected {_WORDS[kind]}, got {shown(value)}")
    return value


def needed(node: Mapping[str, Any], kind: type, *place: str | int) -> Any:
    value = take(node, kind, *place)
    if value is None:
        raise misfit(place, f"expected {_WORDS[kind]}, and it is missing")
    return value


def items(values: list[Any], *place: str | int) -> Iterable[tuple[Place, Json]]:
    """The objects of an array with their places."""
    for index, value in enumerate(values):
        if not isinstance(value, dict):
            raise misfit((*place, index), f"expected an object, got {shown(value)}")
        yield (*place, index), value


def only(body: Mapping[str, Any], allowed: Mapping[str, tuple[Any, ...]]) -> None:
    """Refuse what cannot be done, naming field and value."""
    for name, values in allowed.items():
        value = body.get(name)
        if value is not None and not any(value == each for each in values):
            instead = f"; only {' or '.join(map(dumps, values))} is" if values else ""
            raise misfit((name,), f"{shown(value)} is not supported here{instead}")


def settings(body: Mapping[str, Any], known: Mapping[str, type]) -> Json:
    """What is handed on to the model, as a provider's `model_settings`."""
    found = {name: take(body, kind, name) for name, kind in known.items()}
    found = {name: value for name, value in found.items() if value is not None}
    return found | ({"use_custom_temp": True} if "temperature" in found else {})


def positive(body: Mapping[str, Any], name: str) -> int | None:
    value = take(body, int, name)
    if value is not None and not 1 <= value <= LARGEST_COUNT:
        raise misfit((name,), f"expected 1 to {LARGEST_COUNT}, got {shown(value)}")
    return None if value is None else int(value)


def shown(value: Any) -> str:
    """A value named in an error: its kind when it is large, itself when it is short."""
    if isinstance(value, dict | list):
        return _WORDS[type(value)]
    text = f'"{value}"' if isinstance(value, str) else dumps(value)
    return text if len(text) <= 60 else f"{text[:60]}…"
