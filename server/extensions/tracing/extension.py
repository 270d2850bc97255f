"""Traces: spans of each run, sent to a receiver of OpenTelemetry or written to a file."""

from __future__ import annotations

from ...lib.json_schema.field_types import TEXT, number, object_of, text_like
from ..declaration import ConfigKey, Extension, opening

_URL = text_like(
    r"|https?://([^\s/?#@]*@)?([^\s/?#@:\[\]]+|\[[\da-fA-F:.]+\])(:[1-9]\d{0,4})?([/?#]\S*)?",
    "an address such as http://127.0.0.1:4318",
)
_QUEUE = number("a whole number from 1 to 1000000", 1, 1_000_000, whole=True)

EXTENSION = Extension(
    config_keys={
        "server.tracing.url": ConfigKey("", opening("address", _URL)),
        "server.tracing.file": ConfigKey("", opening("path")),
        "server.tracing.headers": ConfigKey({}, object_of(each=TEXT)),
        "server.tracing.service_name": ConfigKey("yaa"),
        "server.tracing.content": ConfigKey(False),
        "server.tracing.max_queue": ConfigKey(2048, _QUEUE),
    },
    parts="parts:TracingParts",
)
