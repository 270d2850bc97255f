"""The Responses API of models (docs/reference/extension-responses-api.md)."""
