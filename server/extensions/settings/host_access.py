"""What a change of the settings must not do: open this machine, or send a secret elsewhere.

`NETWORK` names what an owner's key may change over the network: else a stolen key could start
programs, read files and call servers of the local network. All the rest is changed on this machine,
or where `server.remote_administration` allows it. Entries of extensions are compared in one form,
whatever they are written like. Pure, but for `why_inner`, which asks for the addresses of a name.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import reduce
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from ...json_types import Json
from ...lib.http.client import is_public
from ...lib.http.parser import is_loopback
from ...lib.json_schema.field_types import Kind, object_of
from ...lib.strict_json import pointer
from ...settings.schema import PROVIDER
from ...settings.secret_values import HOLDERS, secrets_in, secrets_in_arguments
from ...tools.decorators import ToolError
from .. import all_of, load, present
from ..declaration import OPENS, PUBLIC, EntryRules, allow

EACH = "*"  # every name of a map, every item of a list
Allowed = Mapping[str, Any]  # name -> True, PUBLIC, or what is allowed below


_MODEL = allow(
    (
        *("preset", "api", "api_key", "model_name", "model_type", "model_settings", "headers"),
        *("cost_per_ktoken", "cost_unit", "costs", "max_tokens", "max_context", "tool_mode"),
        *("extra_body", "quirks"),
    ),
    ("api_url",),
)


def entry_rules() -> dict[str, EntryRules]:
    """Return the rules of maps of entries, by the part of the half `server` that such a map is."""
    return {
        key.removeprefix("server."): load(name, about.entries)
        for name, each in present().items()
        for key, about in each.config_keys.items()
        if about.entries
    }


def allow_declared(allowed: dict[str, Any]) -> None:
    """Add the keys that extensions let an owner's key change over the network."""
    for key, about in all_of("config_keys").items():
        if about.network:
            _, *way, name = key.split(".")
            reduce(lambda below, each: below.setdefault(each, {}), way, allowed)[name] = True


RULES = entry_rules()
# Of the half `server`. What is not here opens the machine, also what is added later.
NETWORK = allow(
    (
        *("api_keys", "home_key", "default_provider", "discover", "keep_days", "limits"),
        *("offline_page", "port", "workers", "workspace"),
    ),
    providers={EACH: {**_MODEL, "models": {EACH: _MODEL}}},
    **{part: {EACH: rules.network} for part, rules in RULES.items()},
)
allow_declared(NETWORK)


class Opening(NamedTuple):
    """A changed setting that opens the machine. `url`: it does not if this is a public address."""

    name: str
    url: str = ""


def may_open_machine(server: Mapping[str, Any]) -> bool:
    """Return whether an owner's key may change what opens the machine, over HTTP.

    Over the network a stolen key could, and without a key any program of this machine.
    """
    return bool(server["auth_required"] and (server["remote_administration"] or is_alone(server)))


def is_alone(server: Mapping[str, Any]) -> bool:
    """Return whether only this machine reaches the server."""
    return is_loopback(server["host"].lower()) and not server["hosts"]


def find_openings(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Opening]:
    """Yield the settings that differ between two server halves and open the machine.

    Raises ToolError for a changed entry that cannot be used.
    """
    old, new = normalize_entries(before, after)
    yield from _openings(old, new, NETWORK, ("server",))


def _openings(old: Any, new: Any, allowed: Allowed, at: tuple[str, ...]) -> Iterator[Opening]:
    if isinstance(new, list):
        for item in new if EACH in allowed else ():
            if not (isinstance(old, list) and item in old):
                yield from _openings({}, item, allowed[EACH], (*at, EACH))
        return
    if not isinstance(new, dict):  # of another shape: the schema refuses it, or it is a switch
        return
    known = old if isinstance(old, dict) else {}
    for name in {**known, **new}:
        value, place = new.get(name), (*at, name)
        if known.get(name) == value and (name in known) == (name in new):
            continue
        rule = allowed.get(name, allowed.get(EACH))
        if rule is None:
            yield Opening(".".join(place))
        elif rule == PUBLIC and value not in (None, ""):
            yield Opening(".".join(place), str(value))
        elif isinstance(rule, dict):
            yield from _openings(known.get(name), value, rule, place)


def why_inner(
    url: str, resolve: Callable[..., Iterable[tuple[Any, ...]]] = socket.getaddrinfo
) -> str:
    """Return why an address may lead into the local network, "" if it does not. Blocks.

    With https a name that leads there later is no danger: no server there has its certificate.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
        if parts.scheme != "https":
            return "it is not https"
        found = {str(each[4][0]) for each in resolve(host, port or 443, type=socket.SOCK_STREAM)}
    except (OSError, ValueError, UnicodeError):
        return "the addresses of its host cannot be found out"
    return "" if found and all(map(is_public, found)) else "it is not of the public internet"


def refusals(openings: Iterable[Opening], server: Mapping[str, Any]) -> Iterator[Json]:
    """Yield an error {pointer, detail} for each opening that HTTP may not make. Blocks.

    Where only this machine reaches the server, its programs reach the local network anyway.
    """
    if may_open_machine(server):
        return
    for name, url in openings:
        why = why_inner(url) if url and not is_alone(server) else ""
        if why or not url:
            yield {"pointer": pointer(*name.split(".")), "detail": _misplaced(name, why)}


def _misplaced(name: str, why: str) -> str:
    what = f"may lead into the local network ({why})" if why else "opens this machine"
    return (
        f"{name} {what}, so it can only be changed on this machine: in the file itself, or in the"
        " page of a server that listens on this machine alone (server.remote_administration allows"
        " it over the network)"
    )


# -- secrets --------------------------------------------------------------------------------------
# A secret must stay with its destination: with another address beside it, the server would send its
# key there.

ENTRIES = ("providers", *RULES)  # maps of entries


def opening_names(kind: Kind) -> Iterator[str]:
    """Yield the names of members whose texts open something, at any depth."""
    for name, inner in kind.fields.items():
        if OPENS in inner.schema:
            yield name
        yield from opening_names(inner)


# The keys that say where an entry's secrets go.
_KINDS = [object_of(PROVIDER), *(kind for rules in RULES.values() for kind in rules.kinds.values())]
TO = {"api", "preset", "provider", "url"}.union(*map(opening_names, _KINDS)) - {*HOLDERS}


def find_redirects(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    """Yield the dotted names of entries that keep a secret for a new address.

    Both are server halves as the file has them. Raises ToolError like `find_openings`.
    """
    for name, old, new in _entries(*normalize_entries(before, after)):
        kept = {text for _, text in secrets_in(old) if text}
        if _moved(old, new) and any(text in kept for _, text in secrets_in(new)):
            yield name
        elif _gives_arguments_away(old.get(""), new.get("")):
            yield name


def _gives_arguments_away(old: Any, new: Any) -> bool:
    """Return whether another program gets a secret that is in the arguments of the one before."""
    old, new = (each if isinstance(each, dict) else {} for each in (old, new))
    if old.get("command") == new.get("command"):
        return False
    kept = secrets_in_arguments(_texts(old.get("args")))
    return any(each in text for each in kept for text in _texts(new.get("args")))


def find_variables(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    """Yield the dotted names of entries and parts that name a variable where they did not.

    The server puts the value in for `${NAME}`, and shows or sends it. What was there may stay, and
    a whole secret may have another place, as long as the address is the same. Raises ToolError like
    `find_openings`.
    """
    for name, old, new in _entries(*normalize_entries(before, after)):
        there, kept = {*_variables(old)}, {text for _, text in secrets_in(old)}
        secret = {(_names(place), text) for place, text in secrets_in(new) if text in kept}
        named = {*_variables(new)}
        if named and (_moved(old, new) or not named <= there | secret):
            yield name


def normalize_entries(
    before: Mapping[str, Any], after: Mapping[str, Any]
) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Return two server halves with the entries that have EntryRules in one form.

    An entry that cannot be used stays as it is, if both have it. Raises ToolError for others.
    """
    olds, news = dict(before), dict(after)
    for part, rules in RULES.items():
        old, new = (
            each if isinstance(each, dict) else {} for each in (before.get(part), after.get(part))
        )
        olds[part], news[part] = {}, {}
        for name, entry in new.items():
            known = old.get(name)
            try:
                news[part][name] = _normal(rules, entry)
            except ToolError as error:
                if entry != known:
                    raise ToolError(f"server.{part}.{name}: {error}") from None
                news[part][name] = entry
            try:
                olds[part][name] = _normal(rules, known)
            except ToolError:
                olds[part][name] = known
    return olds, news


def _normal(rules: EntryRules, entry: Any) -> Any:
    return rules.normalize(entry) if isinstance(entry, dict) else entry


def _entries(
    before: Mapping[str, Any], after: Mapping[str, Any]
) -> Iterator[tuple[str, Json, Json]]:
    """Yield (dotted name, old, new) of all entries, and of the parts that have none."""
    for part, new in after.items():
        old = before.get(part)
        if part not in ENTRIES:
            yield f"server.{part}", {part: old}, {part: new}
            continue
        for name, entry in (new if isinstance(new, dict) else {}).items():
            known = old.get(name) if isinstance(old, dict) else None
            yield f"server.{part}.{name}", {"": known}, {"": entry}


def _moved(old: Json, new: Json) -> bool:
    return [*_places_to(old)] != [*_places_to(new)]


def _places_to(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the addresses in an entry, also those of its models."""
    if isinstance(value, dict):
        for key, item in sorted(value.items()):
            if key in TO:
                yield key, item
            else:
                yield from _places_to(item)
    elif isinstance(value, list):
        for item in value:
            yield from _places_to(item)


def _variables(value: Any, at: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield (names on the way, text) of the texts that name a variable."""
    if isinstance(value, str) and "${" in value:
        yield at, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _variables(item, (*at, str(key)))
    elif isinstance(value, list):
        for item in value:
            yield from _variables(item, at)


def _texts(value: Any) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def _names(place: tuple[str | int, ...]) -> tuple[str, ...]:
    return tuple(each for each in place if isinstance(each, str))
