"""Tools that are requests to HTTP APIs (docs/reference/extension-rest.md)."""
