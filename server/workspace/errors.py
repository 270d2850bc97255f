"""Errors of the system, as the error that an operation on a workspace ends with."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from ..lib.problem import BROKEN, FULL
from ..session.workspace_error import WorkspaceError as WorkspaceError

CLOSED = (errno.EACCES, errno.EPERM)
READ_ONLY = (*CLOSED, errno.EROFS)
CODES = (
    (FULL, "disk_full"),
    (BROKEN, "disk_failed"),
    (CLOSED, "closed"),
    ((errno.ENOENT, errno.ENOTDIR), "not_found"),
)


@contextmanager
def system_errors(what: str) -> Iterator[None]:
    """Raise an OSError as a WorkspaceError; `what` names in it what was done."""
    try:
        yield
    except OSError as error:
        code = next((code for numbers, code in CODES if error.errno in numbers), "failed")
        raise WorkspaceError(code, f"{what}: {error.strerror or 'it failed'}") from error
