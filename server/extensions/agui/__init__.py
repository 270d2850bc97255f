"""AG-UI: its requests as sessions, a run's events as its events.

The page is docs/reference/extension-agui.md.
"""
