"""Every key of the configuration is set once to another value, and once to a wrong one."""

from __future__ import annotations

import json
import logging
import re
import tempfile
import unittest
from collections.abc import Iterator
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import Any

from server import config
from server.app import App
from server.config import Config, ConfigError, load
from server.lib.json_schema.field_types import ANY, Kind, object_of
from server.session.accept import opening_events
from server.session.config_schema import CONFIG
from server.session.fold import Folder
from server.session.schema import check
from server.settings import schema

from ..extensions import rows_for
from ..fakes import Ids, user

At = tuple[str | int, ...]

SERVER = Path(config.__file__).parent
DECLARATIONS = {"settings/schema.py", "session/config_schema.py", "json_types.py"}
DEFAULTS: dict[str, Any] = config.defaults()
KINDS = schema.kind_of(DEFAULTS)
# What another value of a key is; of all others, the first of PROBES that the configuration takes.
VALUES: dict[str, Any] = {
    "server.host": "127.0.0.2",
    "server.extensions": [],
    "server.api_keys.0.key": "l" * 20,
    "server.providers.entry.preset": "custom",
    "server.providers.entry.api_url": "http://192.0.2.7/v1",
    "server.providers.entry.models.0.preset": "custom",
    "server.providers.entry.models.0.api_url": "http://192.0.2.7/v1",
    "server.providers.entry.quirks": {"null_content": False},
    "server.providers.entry.models.0.quirks": {"null_content": False},
    "server.default_provider": "entry",
    "server.tools.python.requirements": ["numpy>=2"],
    "server.sandbox.read": ["/usr/share"],
    "server.skills.folders": ["/srv/skills"],
    "server.folders.entry.path": "/srv/folder",
    "server.sandbox.network": "full",
    "session.config.yaa.output_schema": {"type": "object"},
    "session.config.llm_api.provider.name": "entry",
    "session.config.llm_api.provider.preset": "custom",
    "session.config.llm_api.provider.api_url": "http://192.0.2.7/v1",
}
for row in rows_for("KEY_VALUES"):
    VALUES |= row
PROBES: tuple[Any, ...] = (
    *(
        True,
        False,
        7,
        0.4,
        "other",
        "off",
        "ask",
        "write",
        "plain",
        "native",
        "text",
        "delta",
        "stop",
        "llm",
    ),
    *("debug", "json", "A", "chat", "every_call", "5/s", ["other"], [443], ["edits_run"]),
    *(["https://example.org"], ["large_message_offload"], {"other": 1}),
)
# A key travels with no default, and what a run's agent is no default says.
ELSEWHERE = {"session.config.llm_api.provider.api_key", "session.config.agent"}
WRONG: tuple[Any, ...] = (True, -1, "§ §", [[]], {"other": {}}, None)
# What some keys need beside them.
BASE: Any = {
    "server": {
        "api_keys": [{"key": "k" * 20}],
        "tls": {"cert": "/srv/cert.pem"},
        "providers": {"entry": {"models": [{"name": "m"}]}},
        "folders": {"entry": {"path": "/srv/folder", "mode": "read"}},
    },
    "session": {},
}


def leaves(kind: Kind, default: Any, at: At = ()) -> Iterator[tuple[At, Kind, Any]]:
    """(place, kind, default) of each key; a map has a member `entry`, a list the item 0."""
    name, each = ".".join(map(str, at)), kind.each
    if name == "session.config":  # the schema of sessions knows more
        kind = replace(CONFIG, fields={**CONFIG.fields, "agent": ANY})
    for key, inner in kind.fields.items():
        yield from leaves(inner, default.get(key) if default else None, (*at, key))
    if name == "server.api_keys":
        yield from leaves(object_of(schema.KEY), None, (*at, 0))
    elif name == "server.providers.entry.models":
        yield from leaves(object_of(schema.MODEL), None, (*at, 0))
    elif not kind.fields and each and each is not ANY and kind.schema.get("type") == "object":
        yield from leaves(each, None, (*at, "python" if name == "server.tools" else "entry"))
    elif not kind.fields and name not in ELSEWHERE:
        yield at, kind, default


LEAVES = [(at, ".".join(map(str, at)), *rest) for at, *rest in leaves(KINDS, DEFAULTS)]


def document(at: At, value: Any) -> Any:
    """The configuration with this value only."""
    for key in reversed(at):
        value = [value] if key == 0 else {key: value}
    return value


def both(first: Any, second: Any) -> Any:
    """Two documents in one; the second wins, also in the first item of a list of objects."""
    if isinstance(first, dict) and isinstance(second, dict):
        return first | {key: both(first.get(key), second[key]) for key in second}
    match first, second:
        case [{**one}], [{**other}]:
            return [both(one, other)]
    return second


def value_at(value: Any, at: At) -> Any:
    return reduce(lambda inner, key: inner[key], at, value)


def fits(at: At, kind: Kind, value: Any) -> bool:
    return kind.holds(value) and not any(schema.problems(document(at, value), KINDS))


def another(at: At, name: str, kind: Kind, default: Any) -> Any:
    """A value that the key takes, other than its default."""
    for value in (VALUES[name],) if name in VALUES else PROBES:
        if fits(at, kind, value) and value != default:
            half = document(at, value)
            if at[0] == "server" or not check({"messages": [], **half["session"]}):
                return value
    raise AssertionError(f"no other value of {name} is known")


class EveryKey(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        logging.disable(logging.CRITICAL)
        self.addCleanup(logging.disable, logging.NOTSET)
        self.home = Path(self.enterContext(tempfile.TemporaryDirectory()))

    async def test_another_value(self) -> None:
        """A server begins with it and tells it; a session is filled with it."""
        given = BASE
        for each in LEAVES:
            given = both(given, document(each[0], another(*each)))
        (self.home / "config.json").write_text(json.dumps(given))
        read = load(self.home, None, {}, {})
        app = App(read, {})
        shown = [await show(self.home) for show in rows_for("settings_shown")]
        session = self.opened(read)
        for at, name, _, default in LEAVES:
            value = value_at(given, at)
            with self.subTest(name):
                self.assertNotEqual(value, default)
                if at[0] == "session":
                    self.assertEqual(value_at(app.config.session, at[1:]), value)
                    self.assertEqual(value_at(session, at[1:]), value)
                    continue
                self.assertEqual(value_at(app.config.server, at[1:]), value)
                for effective, file, left_out in shown:
                    if at[1] not in left_out:
                        self.assertEqual(value_at(effective, at[1:]), value_at(file, at))

    def opened(self, defaults: Config) -> Any:
        session: Any = {"messages": [user("go")]}
        folder = Folder(session)
        for event in opening_events(session, defaults.session, {}, "r1", 1, Ids()):
            folder.apply(event)
        return folder.session

    def test_a_wrong_kind(self) -> None:
        """It is refused by its place, at the latest when the mistakes said before are mended."""
        wrong: dict[str, Any] = {}
        for at, name, kind, _ in LEAVES:
            if (value := next((e for e in WRONG if not fits(at, kind, e)), ANY)) is not ANY:
                wrong[name] = document(at, value)
        self.assertGreater(len(wrong), 240)
        while wrong:
            with self.assertRaises(ConfigError, msg=str(list(wrong))) as caught:
                load(self.home, None, {}, {}, given=reduce(both, wrong.values(), BASE))
            said = "\n".join(caught.exception.problems)
            left = {name: doc for name, doc in wrong.items() if f": {name}" not in said}
            self.assertNotEqual(left, wrong, said)
            wrong = left

    def test_each_is_read_somewhere(self) -> None:
        files = (f for f in SERVER.rglob("*.py") if str(f.relative_to(SERVER)) not in DECLARATIONS)
        words = {w for file in files for w in re.findall(r"[\"'](\w+)[\"']", file.read_text())}
        # `model_settings` are sent as they are.
        words |= {"entry", "python", "min_p", "top_k", "seed"}
        unread = [name for at, name, *_ in LEAVES if at[-1] not in words]
        self.assertEqual(unread, [])


if __name__ == "__main__":
    unittest.main()
