"""Agent Skills, and what the AGENTS.md of a trusted folder says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...lib.json_schema.field_types import TEXT, list_of, number
from ..declaration import Command, ConfigKey, Extension, opening

if TYPE_CHECKING:
    from argparse import ArgumentParser

_PATHS = opening("path", list_of(TEXT, "a list"))
_TOKENS = number("a whole number from 0 to 1000000", most=1_000_000, whole=True)


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("action", choices=["list", "check"], help="all that are used, or one")
    parser.add_argument("folder", nargs="?", help="of the skill to check")


EXTENSION = Extension(
    config_keys={
        "server.skills.folders": ConfigKey(["~/.agents/skills"], _PATHS),
        "server.skills.list_tokens": ConfigKey(2000, _TOKENS),
    },
    config_mistakes="catalog:mistakes",
    trusted_folders="catalog:source_folders",
    commands=(Command("skills", "list or check your skills", "command:perform", _arguments),),
    parts="parts:SkillParts",
)
