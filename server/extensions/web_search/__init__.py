"""Web search, with citations (docs/reference/extension-web-search.md)."""
