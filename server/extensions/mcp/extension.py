"""MCP servers: their tools, resources, prompts and skills, and the sign-in at them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...lib.json_schema.field_types import ANY, object_of
from ..declaration import Command, ConfigKey, Extension

if TYPE_CHECKING:
    from argparse import ArgumentParser


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("action", choices=["login", "logout", "list"])
    parser.add_argument(
        "name", nargs="?", default="", help="the server's name in the configuration"
    )


EXTENSION = Extension(
    # What an entry holds is checked when its server is started: one that is wrong stops no other.
    config_keys={
        "server.mcpServers": ConfigKey({}, object_of(each=object_of(each=ANY)), "entry:RULES")
    },
    errors={
        "mcp_failed": (502, "An MCP server did not do what it was asked"),
        "sign_in_failed": (422, "The sign-in at another server did not work"),
    },
    commands=(Command("mcp", "sign in at MCP servers", "login_command:perform", _arguments),),
    parts="parts:McpParts",
)
