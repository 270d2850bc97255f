"""The error that an operation on the files of a session ends with."""

from __future__ import annotations

from typing import Any


class WorkspaceError(Exception):
    """An operation refuses.

    `code` is one of not_found, outside, exists, invalid, too_large, disk_full, disk_failed, closed,
    missing_objects, conflict, moved, busy, failed. `detail` is a sentence for people without paths
    of the server; `facts` are further members for clients. `unfinished` among them: it has begun,
    and the next operation goes on with it.
    """

    def __init__(self, code: str, detail: str, **facts: Any) -> None:
        super().__init__(detail)
        self.code, self.detail, self.facts = code, detail, facts
