"""Rows of kernel tests' tables, for what this extension adds."""

from __future__ import annotations

from server.extensions.skills.skill_save import SkillSaveTool
from server.extensions.skills.skill_tool import SkillTool

# Kinds of tools -> whether their arguments leave this machine.
LEAVES = {SkillSaveTool: False, SkillTool: True}
COMMANDS = [("skills", "list"), ("skills", "check", "{}")]  # that end by themselves
UNASKED = {"`skill`"}  # those that leave it unasked
