"""Tool calls of models without function calling: as tags, as JSON, and found in prose. Pure."""
