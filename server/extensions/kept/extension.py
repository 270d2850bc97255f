"""The commands `kept` and `objects`, for who has a full disk: what is kept, and what can go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..declaration import Command, Extension

if TYPE_CHECKING:
    from argparse import ArgumentParser


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--clean", action="store_true", help="remove what has expired")
    parser.add_argument("--days", metavar="N", type=int, help="instead of server.keep_days")


def _object_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--clean", action="store_true", help="remove what nothing needs")
    about = "sessions whose files are kept too"
    parser.add_argument("--keep", metavar="FILE", nargs="+", default=[], help=about)


EXTENSION = Extension(
    commands=(
        Command("kept", "say what is kept of sessions", "command:perform", _arguments),
        Command("objects", "say what files are kept", "command:perform_objects", _object_arguments),
    )
)
