"""The secrets in a configuration: where they are, hidden for the page, and put back.

A secret that is shown is `{"secret": true, "tail": "…abcd"}`; `tail` only of one that is long
enough to stay unknown. A secret within a text, such as an address or an argument of a program, is
`***` there, and is put back if nothing else of the text was changed. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from ..lib.runtime.secret_filter import MASK, remove_texts
from ..telemetry import redact

Path = tuple[str | int, ...]

HOLDERS = ("headers", "env", "secrets")  # every text in such an object is a secret
TAIL, LONG = 4, 16  # characters that are shown, of a secret of so many characters
_REFERENCE = re.compile(r"\$\{(?:env:)?[A-Za-z_][A-Za-z0-9_]*\}")  # names a variable, is no secret
_ADDRESS = re.compile(r"[^\s:/]+://\S+")


def secrets_in(value: Any, at: Path = (), *, hidden: bool = False) -> Iterator[tuple[Path, str]]:
    """Yield (place, text) of every secret in a configuration or a part of one."""
    if isinstance(value, dict):
        for key, item in value.items():
            if key in HOLDERS and isinstance(item, dict):
                texts = ((name, text) for name, text in item.items() if isinstance(text, str))
                yield from (((*at, key, name), text) for name, text in texts)
            elif key == "query" and isinstance(item, dict):
                known = set(redact.keys_in(item))
                texts = ((name, text) for name, text in item.items() if isinstance(text, str))
                yield from (((*at, key, name), text) for name, text in texts if text in known)
            else:
                yield from secrets_in(item, (*at, key), hidden=redact.is_secret(key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from secrets_in(item, (*at, index), hidden=hidden)
    elif isinstance(value, str) and hidden:
        yield at, value


def secrets_in_address(url: str) -> set[str]:
    """Return the credentials in an address: password, parts that look random, keys of its query."""
    found = {*redact.credentials([("", url.partition("?")[0])])}
    try:
        parts = urlsplit(url)
    except ValueError:
        return found
    user, _, _ = parts.netloc.rpartition("@")
    if ":" not in user and len(user) >= redact.LONG:  # a token; shorter ones are names
        found.add(user)
    return found.union(redact.keys_in(dict(parse_qsl(parts.query))))


def secrets_in_arguments(args: Sequence[str]) -> set[str]:
    """Return the credentials in the arguments of a program, by the names before them."""
    parts = (text.partition(sign) for text in args for sign in "=:")  # --key=v, "Name: v"
    told = [(name, value.strip()) for name, _, value in parts]
    told += zip(args, args[1:], strict=False)
    long = (each for each in redact.credentials(told) if len(each) >= redact.LONG)
    found = {each for each in long if not each.startswith(("/", ".", "-"))}
    return found.union(*(secrets_in_address(each) for each in args if "://" in each))


def secrets_within(value: Any) -> Iterator[str]:
    """Yield the secrets within addresses and arguments of programs."""
    if isinstance(value, dict):
        for key, item in value.items():
            texts = item if key == "args" and isinstance(item, list) else ()
            yield from secrets_in_arguments([each for each in texts if isinstance(each, str)])
            yield from secrets_within(item)
    elif isinstance(value, list):
        for item in value:
            yield from secrets_within(item)
    elif isinstance(value, str) and _ADDRESS.fullmatch(value):
        yield from secrets_in_address(value)


def mask_within(value: Any) -> Any:
    """Return a copy with `***` for the secrets within addresses and arguments of programs."""
    if isinstance(value, dict):
        return {
            key: _mask_arguments(item) if key == "args" else mask_within(item)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [mask_within(item) for item in value]
    if isinstance(value, str) and _ADDRESS.fullmatch(value):
        return _without(value, secrets_in_address(value))
    return value


def _mask_arguments(value: Any) -> Any:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        return mask_within(value)
    secrets = secrets_in_arguments(value)
    return [_without(each, secrets) for each in value]


def _without(text: str, secrets: set[str]) -> str:
    texts = sorted((each for each in secrets if "${" not in each), key=len, reverse=True)
    return str(remove_texts(text, texts))


def hide(value: Any) -> Any:
    """Return a copy in which every secret is replaced; names of variables (`${NAME}`) stay."""
    shown = mask_within(value)
    for place, text in secrets_in(value):
        if not text or _REFERENCE.fullmatch(text):
            continue
        tail = {"tail": "…" + text[-TAIL:]} if len(text) >= LONG else {}
        _holder(shown, place)[place[-1]] = {"secret": True, **tail}
    return shown


def is_hidden(value: Any) -> bool:
    """Return whether this stands for a secret that was shown before."""
    return isinstance(value, Mapping) and value.get("secret") is True


def put_back(value: Any, old: Any) -> Any:
    """Return a copy of `value` with each hidden secret taken from the same place of `old`.

    Raises ValueError, with the place, if there is none, also for a text with `***` that is not what
    is shown there. In a list an entry with hidden secrets must
    be shown as it was: else one that was taken out would leave its secret to the next.
    """

    def _walk(new: Any, before: Any, at: str) -> Any:
        if is_hidden(new):
            if not isinstance(before, str):
                raise ValueError(at)
            return before
        if isinstance(new, dict):
            known = before if isinstance(before, dict) else {}
            return {key: _walk(item, known.get(key), f"{at}.{key}") for key, item in new.items()}
        if isinstance(new, list):
            rows = before if isinstance(before, list) else []
            return [
                _walk(
                    item,
                    rows[n] if n < len(rows) and _is_shown_as(rows[n], item) else None,
                    f"{at}.{n}",
                )
                for n, item in enumerate(new)
            ]
        return new

    return _walk(unmask(value, old), old, "")


def unmask(value: Any, old: Any) -> Any:
    """Return a copy in which texts that are shown with `***` are those of `old`.

    Raises ValueError, with the place, for other addresses and arguments with `***`.
    """
    return _unmask(value, old, mask_within(old), "")


def _unmask(new: Any, old: Any, shown: Any, at: str) -> Any:
    if isinstance(new, dict):
        rows, seen = (each if isinstance(each, dict) else {} for each in (old, shown))
        return {
            key: _unmask(item, rows.get(key), seen.get(key), f"{at}.{key}")
            for key, item in new.items()
        }
    if isinstance(new, list):
        pairs = [*zip(old, shown, strict=True)] if isinstance(old, list) else []
        pairs += [(None, None)] * (len(new) - len(pairs))
        return [
            _unmask(item, *pair, f"{at}.{n}")
            for n, (item, pair) in enumerate(zip(new, pairs, strict=False))
        ]
    if not isinstance(new, str) or MASK not in new or new == old:
        return new
    if new == shown:
        return old
    if _ADDRESS.fullmatch(new) or ".args." in at:
        raise ValueError(at)
    return new


def _is_shown_as(old: Any, new: Any) -> bool:
    """Return whether `new` is `old` with some of its secrets hidden."""
    if is_hidden(new):
        return isinstance(old, str) and old.endswith(str(new.get("tail", ""))[1:])
    if isinstance(new, dict) and isinstance(old, dict):
        return old.keys() == new.keys() and all(_is_shown_as(old[key], new[key]) for key in new)
    if isinstance(new, list) and isinstance(old, list):
        return len(old) == len(new) and all(map(_is_shown_as, old, new))
    return bool(old == new)


def _holder(value: Any, place: Path) -> Any:
    for name in place[:-1]:
        value = value[name]
    return value
