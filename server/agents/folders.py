"""Where agent definitions are: those of this server, its owner's, and those that others saved.

In the walk: registry.py reads these folders, tools/agent_save.py writes into the first of them. The
rule of the file: what one key saves is seen by that key's person alone, unless it is the owner.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from pathlib import Path

BUILT_IN = Path(__file__).parent


class Folders:
    """`home`: the owner's folder. `owners`: whose keys are the server's owner's (api.auth.owners);
    all others have a folder of their own in it."""

    def __init__(self, home: Path, owners: Collection[str] = ("",)) -> None:
        self._home, self._owners = home, frozenset(owners)

    def of(self, owner: str) -> tuple[Path, ...]:
        """Return the folders of one key's agents. The first is where it saves; a name that is in
        several is that of the first."""
        if owner in self._owners:
            return self._home, BUILT_IN
        name = hashlib.sha256(owner.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        return self._home / name, self._home, BUILT_IN
