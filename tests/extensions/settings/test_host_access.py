"""What a change of the settings must not do: open this machine, or send a secret elsewhere."""

from __future__ import annotations

import copy
import re
import socket
import unittest
from collections.abc import Iterator
from typing import Any

from server.extensions.declaration import OPENS, PUBLIC
from server.extensions.settings.host_access import (
    EACH,
    NETWORK,
    RULES,
    TO,
    find_openings,
    find_redirects,
    find_variables,
    refusals,
    why_inner,
)
from server.lib.json_schema.field_types import ANY, Kind, object_of
from server.settings.schema import MODEL, PROVIDER, kind_of

from ...fakes import DEFAULTS

SERVER: dict[str, Any] = DEFAULTS["server"]
OLD: dict[str, Any] = {
    "providers": {
        "main": {"preset": "openai", "api_key": "sk-1", "models": {"m": {"api_url": "http://a"}}}
    },
    "mcpServers": {"notes": {"url": "http://n", "headers": {"Authorization": "t"}}},
    "search": {"provider": "brave", "api_key": "b"},
    "tracing": {"url": "http://t", "headers": {"K": "v"}},
}
EVIL = "http://evil.example"
KINDS: dict[str, Kind] = {
    "server": kind_of(SERVER, "server"),
    "provider": object_of(PROVIDER),
    "model": object_of(MODEL),
}
for part, rules in RULES.items():
    KINDS |= {".".join(filter(None, (part, at))): kind for at, kind in rules.kinds.items()}
# What a key of the configuration is called if its texts are a path, a command or an address.
SOUNDS = re.compile(
    r"(?i)(^|_)(paths?|dirs?|folders?|files?|cert|cwd|read|log|home)$|file$|dir$|path$"
    r"|(^|_)(command|cmd|exec|args|env|interpreter|modules|script|program|shell)s?$"
    r"|(^|_)(url|uri|address|host|hosts|origins?|endpoint|issuer|proxy|openapi)(_on_\w+)?$"
    r"|(url|uri|host|endpoint)$"
)


def texts(kind: Kind, at: str = "") -> Iterator[tuple[str, Kind]]:
    """Yield (dotted name, kind) of every member that takes texts, or whatever there is."""
    for name, inner in kind.fields.items():
        place = f"{at}.{name}" if at else name
        if inner.fields or (inner.each is not None and inner.each.fields):
            yield from texts(inner, place)
            if inner.each is not None:
                yield from texts(inner.each, f"{place}.{EACH}")
        elif takes_texts(inner):
            yield place, inner


def takes_texts(kind: Kind) -> bool:
    if "enum" in kind.schema:
        return False
    return any(kind.holds(value) for value in ("/etc/passwd", ["/etc/passwd"], {"x": "/etc"}))


def every_text() -> Iterator[tuple[str, Kind]]:
    for name, kind in KINDS.items():
        yield from texts(kind, "" if name == "server" else name)


def rule_of(place: str) -> Any:
    """Return what NETWORK says of a dotted name; None if it is not there."""
    begin = {
        "provider": ("providers", EACH),
        "model": ("providers", EACH, "models", EACH),
        **{part: (part, EACH) for part in RULES},
    }
    first, *rest = place.split(".")
    rule: Any = NETWORK
    for name in (*begin.get(first, (first,)), *rest):
        if not isinstance(rule, dict):
            return rule
        rule = rule.get(name)
    return rule


class Marks(unittest.TestCase):
    def test_every_key_that_sounds_like_an_opening_is_marked(self) -> None:
        seen = 0
        for place, kind in every_text():
            if SOUNDS.search(place.removesuffix(f".{EACH}").rpartition(".")[2]):
                seen += 1
                with self.subTest(place):
                    self.assertIn(kind.schema.get(OPENS), ("path", "command", "address"))
        self.assertGreater(seen, 10)

    def test_over_the_network_no_path_or_command_and_addresses_are_public(self) -> None:
        marks = [
            (place, kind.schema[OPENS]) for place, kind in every_text() if OPENS in kind.schema
        ]
        self.assertGreater(len(marks), 12)
        for place, opens in marks:
            with self.subTest(place):
                wanted = (None, PUBLIC) if opens == "address" else (None,)
                self.assertIn(rule_of(place), wanted)

    def test_what_is_allowed_exists(self) -> None:
        """Each allowed name is a key of the schema; the whole list is looked at when one comes."""

        def names(rule: Any, kind: Kind, at: str) -> Iterator[str]:
            for name, below in rule.items():
                inner = kind.each if name == EACH else kind.fields.get(name)
                if inner is None:
                    yield f"{at}.{name}"
                elif isinstance(below, dict):
                    swap = {"models": object_of(each=object_of(MODEL))}
                    for part, rules in RULES.items():
                        swap |= {**rules.kinds, part: object_of(each=rules.kinds[""])}
                    yield from names(below, swap.get(name, inner), f"{at}.{name}")

        self.assertEqual([*names(NETWORK, KINDS["server"], "server")], [])

    def test_an_open_value_is_decided(self) -> None:
        """A key that takes anything could hold a path: each one that is allowed is named here."""
        # None of these can say where a request goes: OF_THE_ENTRY of models/provider.py.
        allowed = {"costs", "extra_body", "model_settings", "quirks", "type", "scope"}
        found = set()
        for place, kind in every_text():
            is_open = kind is ANY or (kind.each is ANY)
            if is_open and OPENS not in kind.schema and rule_of(place) is True:
                found.add(place.rpartition(".")[2])
        self.assertLessEqual(found, allowed)


class Openings(unittest.TestCase):
    def test_every_part_that_is_not_allowed_opens(self) -> None:
        for part in SERVER:
            with self.subTest(part):
                names = [each.name for each in find_openings({}, {part: "changed"})]
                wanted = [] if part in NETWORK else [f"server.{part}"]
                self.assertEqual(names, wanted)
        self.assertEqual([each.name for each in find_openings({}, {"later": 1})], ["server.later"])
        self.assertEqual([each.name for each in find_openings({"log": {}}, {})], ["server.log"])

    def test_every_key_of_an_entry(self) -> None:
        rules = NETWORK["providers"][EACH]
        for key in (*PROVIDER, "a_later_key"):
            after = {"x": {key: "http://10.0.0.1/x"}}
            with self.subTest(key):
                names = [each.name for each in find_openings({}, {"providers": after})]
                allowed = rules.get(key) is True or isinstance(rules.get(key), dict)
                self.assertEqual(names, [] if allowed else [f"server.providers.x.{key}"])

    def test_addresses_of_models_in_a_list(self) -> None:
        inner = {"model_name": "m", "api_url": "http://10.0.0.1"}
        after = {"providers": {"x": {"models": ["n", inner]}}}
        found = [(each.name, each.url) for each in find_openings({}, after)]
        self.assertEqual(found, [("server.providers.x.models.*.api_url", "http://10.0.0.1")])
        self.assertEqual([*find_openings(after, after)], [])


class Addresses(unittest.TestCase):
    def resolve(self, host: str, port: int, **_: Any) -> list[tuple[Any, ...]]:
        names = {"public.example": ["8.8.8.8"], "inner.example": ["10.0.0.1"]}
        names["both.example"] = ["8.8.8.8", "127.0.0.1"]
        if host not in names:
            return socket.getaddrinfo(host, port, flags=socket.AI_NUMERICHOST)
        return [(0, 0, 0, "", (address, port)) for address in names[host]]

    def test_only_https_of_the_public_internet(self) -> None:
        for url in ("https://public.example/v1", "https://8.8.8.8", "https://[2606:4700::1111]/"):
            with self.subTest(url):
                self.assertEqual(why_inner(url, self.resolve), "")
        for url in (
            *("http://public.example", "https://inner.example", "https://both.example", "ftp://x"),
            *("https://127.0.0.1", "https://10.1.2.3", "https://[::1]", "https://169.254.169.254"),
            *("https://0x7f.1", "https://2130706433", "https://[::ffff:10.0.0.1]", "https://"),
            *("https://100.64.0.1", "https://nowhere.invalid", "https://[", "x", ""),
            *("https://public.example@10.0.0.1", "https://0", "https://public.example:99999"),
            *("https://192.168.1.1#@public.example", "file:///etc/passwd", "HTTP://8.8.8.8"),
        ):
            with self.subTest(url):
                self.assertTrue(why_inner(url, self.resolve))

    def test_where_they_may_be_set(self) -> None:
        after = {"providers": {"x": {"api_url": "http://10.0.0.1/v1"}}}
        program = {"folder_roots": ["/tmp"]}
        usual = {"host": "127.0.0.1", "hosts": [], "auth_required": True}
        usual["remote_administration"] = False
        for more, address, command in (
            ({}, True, True),
            ({"auth_required": False}, True, False),
            ({"host": "0.0.0.0"}, False, False),
            ({"hosts": ["me.example"]}, False, False),
            ({"host": "0.0.0.0", "remote_administration": True}, True, True),
            ({"auth_required": False, "remote_administration": True}, True, False),
        ):
            for change, allowed in ((after, address), (program, command)):
                with self.subTest(more, change=change):
                    found = [*refusals(find_openings({}, change), {**usual, **more})]
                    self.assertEqual(found == [], allowed)


class Secrets(unittest.TestCase):
    def test_a_secret_stays_with_its_address(self) -> None:
        main = OLD["providers"]["main"]
        for name, part in (
            ("providers.main", {"providers": {"main": {**main, "api_url": EVIL}}}),
            ("providers.main", {"providers": {"main": {**main, "preset": "custom"}}}),
            (
                "providers.main",
                {"providers": {"main": {**main, "models": {"m": {"api_url": EVIL}}}}},
            ),
            ("search", {"search": {**OLD["search"], "url": EVIL}}),
            ("tracing", {"tracing": {**OLD["tracing"], "url": EVIL}}),
        ):
            with self.subTest(part=part):
                self.assertEqual([*find_redirects(OLD, {**OLD, **part})], [f"server.{name}"])
        harmless: list[Any] = [
            {"providers": {"main": {**main, "model_name": "x"}}},
            {"providers": {"main": {**main, "api_url": EVIL, "api_key": "sk-2"}}},
            {"providers": {}},
            {"providers": "nothing", **dict.fromkeys(RULES)},
        ]
        for each in harmless:
            with self.subTest(part=each):
                self.assertEqual([*find_redirects(OLD, {**OLD, **each})], [])
        self.assertEqual([*find_redirects({"providers": 5}, OLD)], [])

    def test_all_that_is_marked_says_where_a_secret_goes(self) -> None:
        for place, kind in every_text():
            top = place.partition(".")[0]
            entry = top in ("provider", "model", *RULES)
            if entry and OPENS in kind.schema:
                with self.subTest(place):
                    self.assertIn(place.rpartition(".")[2], TO | {"env"})


FULL: dict[str, Any] = {
    "providers": {
        "main": {
            "preset": "openai",
            "api_key": "${KEPT}",
            "api_url": "http://a",
            "model_name": "m",
            "headers": {"X": "h"},
            "models": [{"model_name": "n", "api_url": "http://b"}],
        }
    },
    "mcpServers": {
        "web": {"httpUrl": "http://n", "headers": {"A": "t"}, "oauth": {"clientId": "c"}},
        "run": {"command": "c", "args": ["a", "b"], "env": {"E": "v"}, "cwd": "/"},
    },
    "search": {"provider": "brave", "api_key": "b", "url": "http://s", "allow": ["a.example"]},
    "tracing": {"url": "http://t", "headers": {"K": "v"}, "service_name": "yaa"},
    "log": {"file": "/tmp/x"},
    "api_keys": [{"name": "ann", "key": "k" * 20}],
    "hosts": ["me.example"],
    "folders": {"notes": {"path": "/notes"}},
}


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, str):
        yield at
    pairs = value.items() if isinstance(value, dict) else ()
    for key, item in pairs or (enumerate(value) if isinstance(value, list) else ()):
        yield from places(item, (*at, key))


def put(value: Any, place: tuple[Any, ...], text: str) -> Any:
    made = copy.deepcopy(value)
    holder = made
    for name in place[:-1]:
        holder = holder[name]
    holder[place[-1]] = text
    return made


class Variables(unittest.TestCase):
    def test_none_is_named_anew_at_any_place(self) -> None:
        seen = [*places(FULL)]
        self.assertGreater(len(seen), 25)
        for place in seen:
            for text in ("${SECRET}", "x${SECRET}y", "${env:SECRET}", "${SECRET:-}", "${KEPT}"):
                if text == "${KEPT}" and place == ("providers", "main", "api_key"):
                    continue  # it is there
                after = put(FULL, place, text)
                moved_secret = text == "${KEPT}" and place[:3] == ("providers", "main", "headers")
                with self.subTest(place=place, text=text):
                    found = [*find_variables(FULL, after)]
                    self.assertEqual(bool(found), not moved_secret)

    def test_what_was_there_may_stay(self) -> None:
        self.assertEqual([*find_variables(FULL, FULL)], [])
        for place in places(FULL):
            before = put(FULL, place, "x${SECRET}y")
            after = put(before, ("providers", "main", "model_name"), "other")
            if place == ("providers", "main", "model_name"):
                continue
            with self.subTest(place):
                self.assertEqual([*find_variables(before, after)], [])

    def test_it_does_not_go_to_another_address(self) -> None:
        after = put(FULL, ("providers", "main", "api_url"), EVIL)
        self.assertEqual([*find_variables(FULL, after)], ["server.providers.main"])


if __name__ == "__main__":
    unittest.main()
