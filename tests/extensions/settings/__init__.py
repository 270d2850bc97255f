"""The settings over HTTP."""
