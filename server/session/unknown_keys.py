"""Find keys of a session's settings that have no effect, mostly misspelt ones. Pure.

Unknown keys are kept. `remarks` reports them in `run.warnings`, each with the nearest known key.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator
from functools import cache
from itertools import islice
from typing import Any

from .config_schema import Schema, config_schema

Session = dict[str, Any]
Remark = dict[str, Any]
Place = tuple[str, ...]

UNKNOWN_KEY = "config_key_unknown"  # a code of `run.warnings`
MOST_TOLD = 20
MAX_NAME = 100  # characters of a key that are compared and shown
ELSEWHERE = 0.75  # similarity to a key of another section from which it is suggested
LIKELY = 0.85  # the same where unknown names are allowed
ALIASES = frozenset(("use_costum_temp",))  # a known misspelling of use_custom_temp


def remarks(session: Session, tools: Collection[str] = ()) -> list[Remark]:
    """Return `{code, message, key, nearest}` for each unknown key of `session.config`.

    At most MOST_TOLD. `key` and `nearest` are dotted paths below `config`; `nearest` is None if no
    key is similar. `tools`: names of the server's tools. A rule for an unknown tool is reported
    only if the name resembles one of them, since it may be meant for another server.
    """
    config = session.get("config")
    if not isinstance(config, dict):
        return []
    pages = session.get("tools") or ()
    names = {*tools, *(tool.get("name", "") for tool in pages if isinstance(tool, dict))}
    return list(islice(_unknown(config, config_schema(), (), names), MOST_TOLD))


def _unknown(node: Any, schema: Schema, at: Place, tools: Collection[str]) -> Iterator[Remark]:
    if not isinstance(node, dict) or schema.get("readOnly") or at == ("prompt",):
        return  # prompts.py checks prompts
    known, others = schema.get("properties", {}), schema.get("additionalProperties", True)
    for key, value in node.items():
        if key in known:
            yield from _unknown(value, known[key], (*at, key), tools)
        elif isinstance(others, dict):
            if key not in tools and (near := _near(key, tools, LIKELY)):
                yield _remark((*at, key), (*at, near), "names no tool")
            yield from _unknown(value, others, (*at, key), tools)
        elif others is False:
            yield _remark((*at, key), _meant(key, known, at), "is no setting, and does nothing")
        elif key not in ALIASES and (near := _near(key, known, LIKELY)):
            yield _remark((*at, key), (*at, near), "is sent to the model as it is")


def _meant(key: str, known: Collection[str], at: Place) -> Place | None:
    """Return the place of the most similar key, None if there is none.

    In this order: the same name elsewhere, a similar one here, a similar one elsewhere.
    """
    places = _everywhere()
    if key in places:
        return places[key]
    if near := _near(key, known):
        return (*at, near)
    near = _near(key, places, ELSEWHERE)
    return places[near] if near else None


def _near(key: str, known: Collection[str], cutoff: float = 0.6) -> str:
    lowered = {name.lower(): name for name in known}
    found = difflib.get_close_matches(key[:MAX_NAME].lower(), lowered, 1, cutoff)
    return lowered[found[0]] if found else ""


@cache
def _everywhere() -> dict[str, Place]:
    return _places(config_schema(), ())


def _places(schema: Schema, at: Place) -> dict[str, Place]:
    """Return name -> place of every key; for a repeated name the outermost, first one."""
    found: dict[str, Place] = {}
    properties = schema.get("properties", {})
    if at == ("prompt",):
        return found  # a section's name does not suggest another place
    for name in properties:
        found[name] = (*at, name)
    for name, inner in properties.items():
        for key, place in _places(inner, (*at, name)).items():
            if key not in found or len(place) < len(found[key]):
                found[key] = place
    return found


def _remark(at: Place, nearest: Place | None, says: str) -> Remark:
    key = ".".join(name[:MAX_NAME] for name in at)
    meant = ".".join(nearest) if nearest else None
    advice = f"; did you mean config.{meant}?" if meant else ""
    said = f"config.{key} {says}{advice}"
    return {"code": UNKNOWN_KEY, "message": said, "key": key, "nearest": meant}
