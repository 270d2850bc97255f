"""The schema of the configuration, and the check of a value against it.

The kinds are derived from `config.default.json`: a value must be of its default's kind, and `null`
stands for "no limit, or a number". `SHAPES` adds what a default cannot show: open maps, choices and
bounds. The keys of the half `session` are also checked by session/schema.py. Every mistake becomes
one line: place, value, what is allowed. Reads no files.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from .. import strict_json
from ..telemetry import log, redact
from . import forwarding

At = tuple[str, ...]


class MapOf(NamedTuple):
    """An object with any names whose values are all of one kind."""

    kind: Any


class Choice(NamedTuple):
    """One of these strings."""

    names: tuple[str, ...]


class Either(NamedTuple):
    """Any of these kinds. The last one is named in the message when an object does not fit."""

    kinds: tuple[Any, ...]


class Range(NamedTuple):
    """A whole number within bounds, both included."""

    least: int
    most: int


class Pattern(NamedTuple):
    """A string that matches the regular expression `form`; `words` describe it in messages."""

    form: str
    words: str


class Positive:
    """A number above 0. As a time limit, 0 would end a wait before it begins."""


class Anything:
    """Any JSON value, checked where it is used."""


ANY = Anything()
POSITIVE = Positive()

# A kind is an example value (0: whole number, 0.5: any number, null: number or null, "": string,
# [x]: list of x, {…}: these keys and no others) or an instance of one of the classes above.
PROVIDER: dict[str, Any] = {
    "preset": "",
    "api": Choice(("", "chat", "responses", "messages")),
    "api_url": "",
    "api_key": "",
    "model_name": "",
    "models": [Either(("", MapOf(ANY)))],
    "model_type": {"is_function_call": False, "is_reasoning": False},
    "model_settings": MapOf(ANY),
    "cost_per_ktoken": 0.5,
    "cost_unit": "",
    "costs": MapOf(ANY),
    "max_tokens": None,
    "max_context": None,
    "tool_mode": Choice(("auto", "native", "json_schema", "text")),
    "headers": MapOf(""),
    "extra_body": MapOf(ANY),
    "quirks": MapOf(ANY),
}

FORWARD = Pattern(
    forwarding.NAME,
    "a header that callers send, such as X-User-Id, or cookie:NAME; none that belongs to the"
    " message, its way, or this server",
)

# An HTTP API whose operations are tools (tools/http_api.py).
REST: dict[str, Any] = {
    "base_url": "",
    "headers": MapOf(""),
    "query": MapOf(""),
    "forward": [FORWARD],
    "timeout_s": 0.5,
    "max_kb": 0,
    "openapi": "",
    "operations": [""],
    "tools": [MapOf(ANY)],
}

# Modules of the owner's own packages, whose functions are tools (sandbox/packages.py).
MODULES: dict[str, Any] = {
    "modules": [""],
    "functions": [Either(("", MapOf(ANY)))],
    "interpreter": "",
    "paths": [""],
    "read": [""],
    "env": [""],
    "secrets": MapOf(""),
    "stateful": False,
}

RATE = Pattern("|[1-9][0-9]{0,8}/([1-9][0-9]*)?[smhd]", 'a rate such as "100/1m", or "" for none')
# As browsers send it (RFC 6454 section 7): no slash after the port.
ORIGIN = Pattern(
    r"\*|null|[a-z][a-z0-9+.-]*://[^/\s]+", "an origin such as https://example.org, or *"
)
HOST = Pattern(
    r"[A-Za-z0-9._-]*[A-Za-z0-9_-]|[0-9a-fA-F:.]+",
    "a name such as me.lan, without scheme and port",
)
KEY: dict[str, Any] = {
    "name": "",
    "key": "",
    "owner": False,
    "limits": {
        "max_runs": 0,
        "rate_limit": RATE,
        "max_parallel_calls": Range(1, 1_000),
        "max_request_size": Range(1, 1 << 40),
        "max_values": Range(1, 1 << 40),
        "session": dict.fromkeys(
            ("max_steps", "max_tokens", "max_cost_micro", "max_wall_s", "max_consecutive_errors")
        ),
        "tool": dict.fromkeys(
            ("wall_s", "cpu_s", "memory_mb", "file_mb", "disk_mb", "output_kb")
            + ("processes", "open_files"),
            0,
        ),
    },
}

# A session's default provider. It travels to clients, so it contains no secret.
PROVIDER_CHOICE = {"name": ""} | {
    key: kind for key, kind in PROVIDER.items() if key not in ("api_key", "headers")
}

SHAPES: dict[str, Any] = {
    "server.port": Range(0, 65535),
    "server.workers": Range(1, 256),
    "server.api_keys": [Either(("", KEY))],
    "server.hosts": [HOST],
    "server.cors_origins": [ORIGIN],
    "server.providers": MapOf(PROVIDER),
    "server.client_providers.hosts": [""],
    "server.tools": MapOf({"ceiling": Choice(("deny", "ask", "auto")), "allow": [""]}),
    "server.mcpServers": MapOf(MapOf(ANY)),
    "server.rest": MapOf(REST),
    "server.tool_modules": MapOf(MODULES),
    "server.keep_days": Range(0, 36_500),
    "server.sandbox.require": Choice(("none", "C", "B", "A")),
    "server.sandbox.network": Choice(("off", "proxy", "full")),
    "server.sandbox.run_as": Range(1, 2**31 - 1),
    "server.sandbox.hosts": [""],
    "server.sandbox.hosts_on_approval": [""],
    "server.sandbox.ports": [Range(1, 65535)],
    "server.limits.max_connections": Range(1, 1_000_000),
    "server.limits.max_connections_per_address": Range(0, 1_000_000),
    "server.limits.max_request_size": Range(1, 1 << 40),
    "server.limits.max_values": Range(1, 1 << 40),
    "server.limits.max_memory": Range(1, 1 << 50),
    "server.limits.head_timeout_s": POSITIVE,
    "server.limits.body_grace_s": POSITIVE,
    "server.limits.write_timeout_s": POSITIVE,
    "server.limits.max_runs": Range(1, 1_000_000),
    "server.limits.max_parallel_calls": Range(1, 1_000),
    "server.limits.stateful_processes": Range(1, 10_000),
    "server.limits.stateful_idle_s": POSITIVE,
    "server.tracing.headers": MapOf(""),
    "server.tracing.max_queue": Range(1, 1_000_000),
    "server.limits.rate_limit": RATE,
    "server.log.keep": Range(0, 1000),
    "server.log.max_mb": Range(1, 1_000_000),
    "server.log.level": Choice(log.LEVELS),
    "server.log.format": Choice(tuple(log.FORMATS)),
    "session.config.yaa.output_schema": ANY,
    "session.config.llm_api.tool_choice": ANY,
    "session.config.llm_api.provider": PROVIDER_CHOICE,
    "session.config.prompt": MapOf(ANY),
    "session.config.tool": MapOf(MapOf(ANY)),
    **{
        f"{half}.{name}": None  # null means no limit, even if the default is a number
        for half in ("server.limits.session", "session.config.limits")
        for name in ("max_steps", "max_wall_s", "max_consecutive_errors")
    },
}


def kinds_of(defaults: Mapping[str, Any], at: str = "") -> dict[str, Any]:
    """Return the kind of every key: the default itself, or its entry in SHAPES."""
    kinds: dict[str, Any] = {}
    for key, value in defaults.items():
        path = f"{at}.{key}" if at else key
        deeper = isinstance(value, dict) and path not in SHAPES
        kinds[key] = kinds_of(value, path) if deeper else SHAPES.get(path, value)
    for path, kind in SHAPES.items():
        parent, _, key = path.rpartition(".")
        if parent == at:
            kinds.setdefault(key, kind)
    return kinds


def check(value: Any, kind: Any, at: At, source: str) -> Iterator[str]:
    """Yield one line for each part of `value` that is not of its kind. `source` names the layer."""
    if isinstance(kind, Either):
        yield from _check_either(value, kind, at, source)
    elif isinstance(kind, dict) and isinstance(value, dict):
        for key, item in value.items():
            if key in kind:
                yield from check(item, kind[key], (*at, key), source)
            else:
                yield _unknown(key, kind, at, source)
    elif isinstance(kind, MapOf) and isinstance(value, dict):
        for key, item in value.items():
            yield from check(item, kind.kind, (*at, key), source)
    elif isinstance(kind, list) and isinstance(value, list):
        for index, item in enumerate(value):
            yield from check(item, kind[0] if kind else ANY, (*at, str(index)), source)
    elif not _is(value, kind, at):
        yield _wrong(value, kind, at, source)


def say(kind: Any, at: At) -> str:
    """Describe a kind in words, for an error."""
    match kind:
        case Either(kinds):
            return " or ".join(say(each, at) for each in kinds)
        case Choice(names):
            return "one of " + ", ".join(names)
        case Pattern():
            return kind.words
        case Range(least, most):
            return f"a whole number from {least} to {most}"
        case Positive():
            return "a number above 0"
        case bool():
            return "true or false"
        case str():
            return "a string"
        case int() if not _is_duration(at):
            return "a whole number, 0 or more"
        case int() | float():
            return "a number, 0 or more"
        case None:
            return "a number, 0 or more, or null"
        case list():
            return "a list"
    return "an object"


def _check_either(value: Any, kind: Either, at: At, source: str) -> Iterator[str]:
    if any(not any(check(value, each, at, source)) for each in kind.kinds):
        return
    last = kind.kinds[-1]
    if isinstance(value, dict) and isinstance(last, dict):
        yield from check(value, last, at, source)
    else:
        yield _wrong(value, kind, at, source)


def _is(value: Any, kind: Any, at: At) -> bool:
    """Return whether a value without parts is of its kind. Negative numbers never are."""
    if isinstance(kind, Anything):
        return True
    if isinstance(kind, Choice):
        return value in kind.names
    if isinstance(kind, Pattern):
        return isinstance(value, str) and re.fullmatch(kind.form, value) is not None
    if isinstance(kind, bool) or isinstance(value, bool):
        return isinstance(kind, bool) and isinstance(value, bool)
    if isinstance(kind, str):
        return isinstance(value, str)
    if isinstance(kind, Range):
        return isinstance(value, int) and kind.least <= value <= kind.most
    if kind is None and value is None:
        return True
    if isinstance(kind, Positive):
        return isinstance(value, int | float) and value > 0
    if not isinstance(value, int | float) or not isinstance(kind, int | float | None):
        return False
    whole = isinstance(kind, int) and not _is_duration(at)
    return value >= 0 and (isinstance(value, int) or not whole)


def _is_duration(at: At) -> bool:
    """Return whether a key is in seconds.

    These may have a fraction even if the default has none.
    """
    return bool(at) and re.search(r"(_s|timeout|interval|delay)$", at[-1]) is not None


def _wrong(value: Any, kind: Any, at: At, source: str) -> str:
    key = next((name for name in reversed(at) if not name.isdigit()), "")
    shown = strict_json.dumps(redact.masked({key: value})[key])
    shown = shown if len(shown) <= 60 else shown[:59] + "…"
    return f"{source}: {'.'.join(at) or 'the whole'} is {shown}, wanted {say(kind, at)}"


def _unknown(key: str, kind: Mapping[str, Any], at: At, source: str) -> str:
    name = ".".join((*at, key))
    if kind is PROVIDER_CHOICE and key in PROVIDER:
        return f"{source}: {name} would travel to every client; put it under server.providers"
    below = [each for each, inner in kind.items() if isinstance(inner, dict) and key in inner]
    if below:  # usually an `mcpServers` object pasted at the top level
        return f"{source}: unknown key {name}; did you mean {'.'.join((*at, below[0], key))}?"
    known = {each.lower(): each for each in kind}
    near = difflib.get_close_matches(key.lower(), known, n=1)
    if near:
        return f"{source}: unknown key {name}; did you mean {'.'.join((*at, known[near[0]]))}?"
    return f"{source}: unknown key {name}; known here: {', '.join(kind)}"
