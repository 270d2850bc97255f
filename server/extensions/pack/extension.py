"""The command `pack`, for who takes yaa elsewhere: all of it in one file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..declaration import Command, Extension

if TYPE_CHECKING:
    from argparse import ArgumentParser


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", default="yaa.pyz", help="the file to write (yaa.pyz)")


EXTENSION = Extension(
    commands=(Command("pack", "put all of yaa into one file", "one_file:perform", _arguments),)
)
