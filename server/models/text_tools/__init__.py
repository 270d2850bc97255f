"""Tool calls of models without function calling: as tags, as JSON, and in plain text. No I/O."""
