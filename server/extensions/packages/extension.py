"""Modules of the owner's own packages, whose functions are tools."""

from __future__ import annotations

from ...lib.json_schema.field_types import ANY, FLAG, TEXT, either, list_of, object_of
from ..declaration import ConfigKey, EntryRules, Extension, opening

_TEXTS = list_of(TEXT, "a list")
_PATHS, _COMMANDS = opening("path", _TEXTS), opening("command", _TEXTS)
PACKAGE = {
    "modules": _COMMANDS,
    "functions": opening("command", list_of(either(TEXT, object_of(each=ANY)), "a list")),
    "interpreter": opening("command"),
    "paths": _PATHS,
    "read": _PATHS,
    "env": _COMMANDS,  # names of variables
    "secrets": object_of(each=TEXT),
    "stateful": FLAG,
}
_PACKAGES = object_of(each=object_of(PACKAGE, closed=True))
RULES = EntryRules(dict, {}, {"": object_of(PACKAGE)})

EXTENSION = Extension(
    config_keys={"server.tool_modules": ConfigKey({}, _PACKAGES, "extension:RULES")},
    parts="parts:PackageParts",
)
