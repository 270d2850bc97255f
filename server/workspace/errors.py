"""The error that an operation on a workspace ends with, and the errors of the system as such."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..lib.problem import BROKEN, FULL

CLOSED = (errno.EACCES, errno.EPERM)
READ_ONLY = (*CLOSED, errno.EROFS)
CODES = (
    (FULL, "disk_full"),
    (BROKEN, "disk_failed"),
    (CLOSED, "closed"),
    ((errno.ENOENT, errno.ENOTDIR), "not_found"),
)


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


@contextmanager
def system_errors(what: str) -> Iterator[None]:
    """Raise an OSError as a WorkspaceError; `what` names in it what was done."""
    try:
        yield
    except OSError as error:
        code = next((code for numbers, code in CODES if error.errno in numbers), "failed")
        raise WorkspaceError(code, f"{what}: {error.strerror or 'it failed'}") from error
