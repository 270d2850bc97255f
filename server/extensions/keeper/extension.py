"""Kept sessions, for work that goes on when nobody looks: a folder of them, and what runs them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...lib.json_schema.field_types import FLAG, OBJECT, TEXT, number
from ..declaration import Command, ConfigKey, Extension, opening

if TYPE_CHECKING:
    from argparse import ArgumentParser

_COUNT = number("a whole number, 1 or more", least=1, whole=True)
_ADDRESS = opening("address")


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("action", choices=["list", "add", "run", "pause", "log"])
    parser.add_argument("name", metavar="ID", nargs="?", help="of the session; of add a FILE")
    parser.add_argument("--follow", "-f", action="store_true", help="of log: go on as it runs")
    parser.add_argument("--json", action="store_true", help="what the server answers, as JSON")
    parser.add_argument("--server", metavar="URL", help="instead of the one of this home folder")
    parser.add_argument("--key-file", metavar="FILE", help="has a key of the server")


EXTENSION = Extension(
    commands=(Command("keep", "sessions that go on by themselves", "command:perform", _arguments),),
    config_keys={
        "server.keeper.sessions": ConfigKey(20_000, _COUNT),
        "server.keeper.total_mb": ConfigKey(8_192, _COUNT),
        "server.keeper.session_mb": ConfigKey(32, _COUNT),
        "server.keeper.attempts": ConfigKey(12, _COUNT),
        "server.keeper.pause_s": ConfigKey(5, number("a number, 0.1 or more", least=0.1)),
        "server.keeper.server.url": ConfigKey("", _ADDRESS),
        "server.keeper.server.api_key": ConfigKey("", TEXT),
        "server.keeper.notices.full": ConfigKey(False, FLAG),
        "server.keeper.notices.address": ConfigKey("", _ADDRESS),
        "server.keeper.notices.ways": ConfigKey(kind=OBJECT),
    },
    errors={
        "kept_conflict": (409, "The kept session was changed meanwhile"),
        "keeper_server_absent": (502, "The server that runs kept sessions does not answer"),
        "kept_unusable": (422, "The file is no session that can be kept"),
        "question_closed": (409, "The question is not open any more"),
        "keeper_full": (507, "No more sessions can be kept"),
    },
    session_stores={"@kept": "store:open_store"},
    process="seat:share",
    parts="parts:KeeperParts",
)
