"""Whether a JSON value is what an official SDK's parameter types say, to the last key.

The SDKs declare requests as TypedDicts, which their clients do not check at run time; pydantic
checks iterables lazily and lets unknown keys pass. This reads the same types strictly.
"""

from __future__ import annotations

import collections.abc
import types
import typing
from typing import Any

import typing_extensions

_PLAIN: dict[Any, Any] = {
    str: str,
    int: int,
    float: (int, float),
    bool: bool,
    type(None): type(None),
}
_ONE = (list, collections.abc.Iterable, collections.abc.Sequence)
_REQUIRED: tuple[Any, ...] = (typing.Required, typing_extensions.Required)
_WRAPS: tuple[Any, ...] = (
    *_REQUIRED,
    typing.Annotated,
    typing.NotRequired,
    typing_extensions.NotRequired,
)


def misfits(value: Any, hint: Any, path: str = "") -> list[str]:
    """What is wrong with it, one line each; of a union's members the one that fits best counts."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if hint in (object, Any):
        return []
    if origin in _WRAPS:
        return misfits(value, inner[0], path)
    if origin in (typing.Union, types.UnionType):
        return min((misfits(value, each, path) for each in inner), key=_badness)
    if origin in (typing.Literal, typing_extensions.Literal):
        return [] if value in inner else [f"{path}: {value!r:.60} is none of {inner}"]
    if typing_extensions.is_typeddict(hint):
        return _of_object(value, hint, path)
    if origin in (dict, collections.abc.Mapping):
        if not isinstance(value, dict):
            return [f"{path}: no object"]
        return [line for key in value for line in misfits(value[key], inner[1], f"{path}/{key}")]
    if origin in _ONE or getattr(origin, "__name__", "") == "SequenceNotStr":
        if not isinstance(value, list):
            return [f"{path}: no list"]
        members = enumerate(value)
        return [line for n, each in members for line in misfits(each, inner[0], f"{path}/{n}")]
    kind = _PLAIN.get(hint)
    fits = kind is not None and isinstance(value, kind) and (type(value) is bool) <= (hint is bool)
    return [] if fits else [f"{path}: {value!r:.60} is no {hint}"]


def _of_object(value: Any, hint: Any, path: str) -> list[str]:
    if not isinstance(value, dict):
        return [f"{path}: no object"]
    hints = typing_extensions.get_type_hints(hint, include_extras=True)
    # `Required` inside annotations that are text is not in __required_keys__.
    needed = {key for key, kind in hints.items() if typing.get_origin(kind) in _REQUIRED}
    needed |= hint.__required_keys__
    wrong = [f"{path}: {key} is missing" for key in sorted(needed - set(value))]
    for key, member in value.items():
        known = hints.get(key)
        wrong += misfits(member, known, f"{path}/{key}") if known else [f"{path}: {key} is unknown"]
    return wrong


def _badness(lines: list[str]) -> tuple[int, int]:
    return len(lines), -max((line.count("/") for line in lines), default=0)
