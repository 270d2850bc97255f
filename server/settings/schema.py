"""The schema of the configuration, and the check of a value against it.

The kinds are derived from `config.default.json`: a value must be of its default's kind, and `null`
stands for "no limit, or a number". `SHAPES` adds what a default cannot show: open maps, choices and
bounds. The keys of the half `session` are also checked by session/schema.py. Every mistake becomes
one line: place, value, what is allowed. Reads no files.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator, Mapping
from typing import Any

from .. import extensions
from ..extensions.declaration import opening
from ..lib import strict_json
from ..lib.json_schema.field_types import (
    ANY,
    FLAG,
    TEXT,
    Kind,
    Misfit,
    Place,
    either,
    leaf,
    list_of,
    misfits,
    number,
    object_of,
    one_of,
    text_like,
)
from ..lib.runtime.secret_filter import MASK
from ..lib.sandbox.network_policy import NETWORKS
from ..session.limits import (
    APIS,
    BEYOND_RULES,
    LIMITS,
    TOOL_MODES,
    TOOL_SECONDS,
    TOOL_SIZES,
)
from ..telemetry import log, redact
from .secret_values import mask_within


def _list(each: Kind) -> Kind:
    return list_of(each, "a list")


def _map(each: Kind) -> Kind:
    return object_of(each=each)


def _closed(fields: Mapping[str, Kind]) -> Kind:
    return object_of(fields, closed=True)


def _whole(least: int, most: int) -> Kind:
    return number(f"a whole number from {least} to {most}", least, most, whole=True)


WHOLE = number("a whole number, 0 or more", most=math.inf, whole=True)
NUMBER = number("a number, 0 or more", most=math.inf)
NUMBER_OR_NONE = number("a number, 0 or more, or null", most=math.inf, none=True)
# As a time limit, 0 would end a wait before it begins.
POSITIVE = leaf(
    lambda value: NUMBER.fits(value) and value > 0,
    "a number above 0",
    {"type": "number", "exclusiveMinimum": 0},
)
TEXTS = _list(TEXT)
OPEN = _map(ANY)

PATH, COMMAND, ADDRESS = opening("path"), opening("command"), opening("address")
PATHS, COMMANDS = opening("path", TEXTS), opening("command", TEXTS)
ADDRESSES = opening("address", TEXTS)
SECONDS = ("_s", "timeout", "interval", "delay")  # ends of keys whose value may have a fraction

# Of one model of a provider; a key here replaces the provider's.
MODEL: dict[str, Kind] = {
    "preset": TEXT,
    "api": one_of(*APIS),
    "api_url": ADDRESS,
    "api_key": TEXT,
    "model_name": TEXT,
    "model_type": _closed(dict.fromkeys(("is_function_call", "is_reasoning", "is_vision"), FLAG)),
    "model_settings": OPEN,
    "cost_per_ktoken": NUMBER,
    "cost_unit": TEXT,
    "costs": OPEN,
    "max_tokens": NUMBER_OR_NONE,
    "max_context": NUMBER_OR_NONE,
    "tool_mode": one_of(*TOOL_MODES),
    "headers": _map(TEXT),
    "extra_body": OPEN,
    "quirks": OPEN,
}
_ENTRY = MODEL | {"models": _list(either(TEXT, object_of(MODEL, each=ANY)))}
_KEYS = extensions.all_of("config_keys")
DECLARED = {key: about.kind for key, about in _KEYS.items() if about.kind is not None}
OF_EXTENSIONS = {  # of a provider's entry
    key.removeprefix("server.providers.*."): kind
    for key, kind in DECLARED.items()
    if key.startswith("server.providers.*.")
}
PROVIDER = _ENTRY | OF_EXTENSIONS

RATE = text_like("|[1-9][0-9]{0,8}/([1-9][0-9]*)?[smhd]", 'a rate such as "100/1m", or "" for none')
# As browsers send it (RFC 6454 section 7): no slash after the port.
ORIGIN = text_like(
    r"\*|null|[a-z][a-z0-9+.-]*://[^/\s]+", "an origin such as https://example.org, or *"
)
HOST = text_like(
    r"[A-Za-z0-9._-]*[A-Za-z0-9_-]|[0-9a-fA-F:.]+",
    "a name such as me.lan, without scheme and port",
)
KEY = {
    "name": TEXT,
    "key": TEXT,
    "owner": FLAG,
    "limits": _closed(
        {
            "max_runs": WHOLE,
            "rate_limit": RATE,
            "max_parallel_calls": _whole(1, 1_000),
            "max_request_size": _whole(1, 1 << 40),
            "max_values": _whole(1, 1 << 40),
            "session": _closed(dict.fromkeys(LIMITS, NUMBER_OR_NONE)),
            "tool": _closed(dict.fromkeys(TOOL_SECONDS, NUMBER) | dict.fromkeys(TOOL_SIZES, WHOLE)),
        }
    ),
}

_MODE = one_of("read", "write", "overlay")
FOLDER = {"path": PATH, "mode": _MODE, "trusted": FLAG, "people": TEXTS}

# A session's default provider. It travels to clients, so it contains no secret.
PROVIDER_CHOICE = _closed(
    {"name": TEXT} | {k: kind for k, kind in _ENTRY.items() if k not in ("api_key", "headers")}
)

SHAPES: dict[str, Kind] = DECLARED | {
    "server.host": ADDRESS,
    "server.port": _whole(0, 65535),
    "server.tls.cert": PATH,
    "server.tls.key": PATH,
    "server.workers": _whole(1, 256),
    "server.permission_modes": _list(one_of(*BEYOND_RULES)),
    "server.api_keys": _list(either(TEXT, _closed(KEY))),
    "server.hosts": opening("address", _list(HOST)),
    "server.cors_origins": opening("address", _list(ORIGIN)),
    "server.providers": _map(_closed(PROVIDER)),
    "server.client_providers.hosts": ADDRESSES,
    "server.tools": _map(
        _closed(
            {"ceiling": one_of("deny", "ask", "auto"), "allow": ADDRESSES, "requirements": COMMANDS}
        )
    ),
    "server.folders": _map(_closed(FOLDER)),
    "server.folder_roots": PATHS,
    "server.workspace.idle_s": POSITIVE,
    "server.workspace.processes": _whole(1, 10_000),
    "server.workspace.overlay_mb": _whole(1, 1_000_000),
    "server.workspace.file_mb": _whole(1, 1_000_000),
    "server.workspace.files": _whole(1, 10_000_000),
    "server.workspace.objects_mb": _whole(1, 1_000_000_000),
    "server.keep_days": _whole(0, 36_500),
    "server.sandbox.require": one_of("none", "C", "B", "A"),
    "server.sandbox.network": one_of(*NETWORKS),
    "server.sandbox.run_as": _whole(1, 2**31 - 1),
    "server.sandbox.read": PATHS,
    "server.sandbox.hosts": ADDRESSES,
    "server.sandbox.hosts_on_approval": ADDRESSES,
    "server.sandbox.idle_s": POSITIVE,
    "server.sandbox.ports": _list(_whole(1, 65535)),
    "server.limits.max_connections": _whole(1, 1_000_000),
    "server.limits.max_connections_per_address": _whole(0, 1_000_000),
    "server.limits.max_request_size": _whole(1, 1 << 40),
    "server.limits.max_values": _whole(1, 1 << 40),
    "server.limits.max_memory": _whole(1, 1 << 50),
    "server.limits.head_timeout_s": POSITIVE,
    "server.limits.body_grace_s": POSITIVE,
    "server.limits.write_timeout_s": POSITIVE,
    "server.limits.max_runs": _whole(1, 1_000_000),
    "server.limits.max_parallel_calls": _whole(1, 1_000),
    "server.limits.stateful_processes": _whole(1, 10_000),
    "server.limits.stateful_idle_s": POSITIVE,
    "server.limits.rate_limit": RATE,
    "server.log.file": PATH,
    "server.log.keep": _whole(0, 1000),
    "server.log.max_mb": _whole(1, 1_000_000),
    "server.log.level": one_of(*log.LEVELS),
    "server.log.format": one_of(*log.FORMATS),
    "session.config.yaa.output_schema": ANY,
    "session.config.llm_api.tool_choice": ANY,
    "session.config.llm_api.provider": PROVIDER_CHOICE,
    "session.config.llm_api.model_settings": OPEN,
    "session.config.prompt": _map(TEXT),
    "session.config.tool": _map(OPEN),
    **{
        f"{half}.{name}": NUMBER_OR_NONE  # null means no limit, even if the default is a number
        for half in ("server.limits.session", "session.config.limits")
        for name in ("max_steps", "max_wall_s", "max_consecutive_errors")
    },
}


def kind_of(defaults: Mapping[str, Any], at: str = "") -> Kind:
    """Return the kind of an object with these defaults: of each key by its default or SHAPES."""
    fields: dict[str, Kind] = {}
    for key, value in defaults.items():
        path = f"{at}.{key}" if at else key
        deeper = isinstance(value, dict) and path not in SHAPES
        fields[key] = kind_of(value, path) if deeper else SHAPES.get(path) or _like(value, key)
    for path, kind in SHAPES.items():
        parent, _, key = path.rpartition(".")
        if parent == at:
            fields.setdefault(key, kind)
    return _closed(fields)


# Members whose values may be credentials under any name.
SECRET_PLACES = frozenset(("headers", "query", "env"))


def problems(value: Any, kind: Kind) -> Iterator[str]:
    """Yield one line for each part of `value` that is not of its kind."""
    for misfit in misfits(value, kind):
        yield _wrong(misfit) if misfit.within is None else _unknown(misfit)


def _like(example: Any, key: str) -> Kind:
    """Return the kind of a default. Seconds may have a fraction even if the default has none."""
    match example:
        case bool():
            return FLAG
        case str():
            return TEXT
        case None:
            return NUMBER_OR_NONE
        case int() if not key.endswith(SECONDS):
            return WHOLE
        case int() | float():
            return NUMBER
    return _list(_like(example[0], key) if example else ANY)


def _wrong(misfit: Misfit) -> str:
    key = next((name for name in reversed(misfit.place) if isinstance(name, str)), "")
    shown = strict_json.dumps(mask_within(redact.mask_values({key: misfit.value}))[key])
    if SECRET_PLACES.intersection(misfit.place) and len(shown) >= redact.MIN_SECRET:
        shown = strict_json.dumps(MASK)
    shown = shown if len(shown) <= 60 else shown[:59] + "…"
    return f"{_dotted(misfit.place) or 'the whole'} is {shown}, wanted {misfit.wanted}"


def _unknown(misfit: Misfit) -> str:
    *at, key = map(str, misfit.place)
    name, kind = ".".join((*at, key)), misfit.within
    assert kind is not None
    if kind is PROVIDER_CHOICE and key in PROVIDER:
        return f"{name} would travel to every client; put it under server.providers"
    below = [each for each, inner in kind.fields.items() if key in inner.fields]
    if below:  # usually an `mcpServers` object pasted at the top level
        return f"unknown key {name}; did you mean {'.'.join((*at, below[0], key))}?"
    known = {each.lower(): each for each in kind.fields}
    near = difflib.get_close_matches(key.lower(), known, n=1)
    if near:
        return f"unknown key {name}; did you mean {'.'.join((*at, known[near[0]]))}?"
    return f"unknown key {name}; known here: {', '.join(kind.fields)}"


def _dotted(place: Place) -> str:
    return ".".join(map(str, place))
