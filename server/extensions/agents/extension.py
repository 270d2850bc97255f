"""Agents: definitions in files, built in, the owner's and those that sessions saved."""

from __future__ import annotations

from ...lib.json_schema.field_types import TEXT
from ..declaration import ConfigKey, Extension, opening

EXTENSION = Extension(
    config_keys={"server.agents_dir": ConfigKey("", opening("path", TEXT))},
    trusted_folders="folders:trusted_folders",
    agents="parts:make_agents",
    parts="parts:AgentParts",
)
