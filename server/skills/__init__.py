"""Agent Skills: find them in the owner's folders, read and check them, keep copies for tools.

A skill is a folder with a `SKILL.md` (https://agentskills.io/specification). What a session has of
its skills is in session/skills.py; tools/skill_tools.py loads them.
"""
