"""Kept sessions, for work that goes on when nobody looks: a folder of them, and what runs them."""

from __future__ import annotations

from dataclasses import replace

from ...lib.json_schema.field_types import FLAG, OBJECT, TEXT, number
from ..declaration import ConfigKey, Extension

_COUNT = number("a whole number, 1 or more", least=1, whole=True)
_ADDRESS = replace(TEXT, schema=TEXT.schema | {"x-opens": "address"})

EXTENSION = Extension(
    config_keys={
        "server.keeper.sessions": ConfigKey(20_000, _COUNT),
        "server.keeper.total_mb": ConfigKey(8_192, _COUNT),
        "server.keeper.session_mb": ConfigKey(32, _COUNT),
        "server.keeper.attempts": ConfigKey(12, _COUNT),
        "server.keeper.pause_s": ConfigKey(5, number("a number, 0.1 or more", least=0.1)),
        "server.keeper.notices.full": ConfigKey(False, FLAG),
        "server.keeper.notices.address": ConfigKey("", _ADDRESS),
        "server.keeper.notices.ways": ConfigKey(kind=OBJECT),
    },
    errors={
        "kept_conflict": (409, "The kept session was changed meanwhile"),
        "kept_unusable": (422, "The file is no session that can be kept"),
        "question_closed": (409, "The question is not open any more"),
        "keeper_full": (507, "No more sessions can be kept"),
    },
    process="seat:share",
    parts="parts:KeeperParts",
)
