"""Agent Skills and AGENTS.md (docs/reference/extension-skills.md)."""
