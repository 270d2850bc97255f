"""Speech to text, for people who dictate: a recording goes to a provider of the owner's."""

from __future__ import annotations

from ...lib.json_schema.field_types import TEXT
from ..declaration import ConfigKey, Extension

EXTENSION = Extension(
    config_keys={"server.providers.*.transcription": ConfigKey(kind=TEXT, network=True)},
    errors={"transcription_failed": (502, "A provider did not turn speech into text")},
    parts="parts:TranscriptionParts",
)
