"""The Messages API of models (docs/reference/extension-messages-api.md)."""
