"""The secrets in a configuration: where they are, and texts without those within. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from ..lib.runtime.secret_filter import remove_texts
from ..telemetry import redact

Path = tuple[str | int, ...]

HOLDERS = ("headers", "env", "secrets")  # every text in such an object is a secret
ADDRESS = re.compile(r"[^\s:/]+://\S+")


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
    elif isinstance(value, str) and ADDRESS.fullmatch(value):
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
    if isinstance(value, str) and ADDRESS.fullmatch(value):
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
