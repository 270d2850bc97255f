"""Rows of kernel tests' tables, for what this extension adds."""

from __future__ import annotations

COMMANDS = [("pack", "{}/yaa.pyz")]  # that end by themselves
TYPED = [(("pack", "packed.pyz"), "packed.pyz")]  # names that are typed -> what is made there
