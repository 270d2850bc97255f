"""The command `kept`, for who has a full disk: what is kept of sessions, and what can go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..declaration import Command, Extension

if TYPE_CHECKING:
    from argparse import ArgumentParser


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--clean", action="store_true", help="remove what has expired")
    parser.add_argument("--days", metavar="N", type=int, help="instead of server.keep_days")


EXTENSION = Extension(
    commands=(Command("kept", "say what is kept of sessions", "command:perform", _arguments),)
)
