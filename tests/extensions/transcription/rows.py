"""Rows of kernel tests' tables, for what this extension adds."""

from __future__ import annotations

# The body is for another server: nothing is looked through here, and nothing is changed.
PASSED_ON = {"/transcriptions", "/v1/audio/transcriptions"}
