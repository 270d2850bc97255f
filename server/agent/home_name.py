"""Name the home folder whose records a run can go on from.

Servers with one home folder know of each other's runs; others do not, and a server cannot see
whether another one exists. So each folder has a random name, which is in `/info` and in each run: a
document that was cut elsewhere can be told from one that was cut here.
"""

from __future__ import annotations

import contextlib
import secrets
from pathlib import Path

from ..json_types import RunWarning, Session
from ..lib.runtime import private_files

FILE = "home.id"
OTHER_HOME = "other_home"  # a code of `run.warnings`


def home_id(folder: Path) -> str:
    """Return the name of a home folder, which is made once; "" where nothing can be written."""
    path, name = folder / FILE, secrets.token_hex(8)
    with contextlib.suppress(OSError):
        if folder.is_dir() and not path.exists():
            private_files.write(path, name.encode(), replace=False)  # another server may be first
        return path.read_text()
    return ""


def remarks_on(session: Session, home: str) -> list[RunWarning]:
    """Return a warning if the session was cut while it ran in another home."""
    before = (session.get("run") or {}).get("home", "")
    if before in ("", home) or not home:
        return []
    states = [entry.get("state") for entry in (session.get("calls") or {}).values()]
    if session.get("status") != "in_progress" and "started" not in states:
        return []
    text = (
        "The last run was cut, on a host that shares no records with this one. A call that was "
        "running there may run again here; one that the session knows of is asked about."
    )
    return [{"code": OTHER_HOME, "message": text}]
