"""The folders of agent definitions: built in, the owner's, and one for each other key.

An agent that a key saves is visible to that key only, unless it is the owner's.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from ...config import expand_path

BUILT_IN = Path(__file__).parent


class AgentFolders:
    """The folders of agents by key.

    `home`: the owner's folder. `owners`: those who count as the server's owner (api.auth.owners);
    each other key has a folder of its own in `home`.
    """

    def __init__(self, home: Path, owners: Collection[str] = ("",)) -> None:
        self._home, self._owners = home, frozenset(owners)

    def of(self, owner: str) -> tuple[Path, ...]:
        """Return the folders of one key's agents, the first of which it saves to.

        A name in several folders is that of the first.
        """
        if owner in self._owners:
            return self._home, BUILT_IN
        name = hashlib.sha256(owner.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        return self._home / name, self._home, BUILT_IN


def owner_folder(server: Mapping[str, Any], home: Path) -> Path:
    """Return the folder of the owner's agents. Raises ConfigError."""
    return expand_path(server["agents_dir"] or "agents", "server.agents_dir", home)


def trusted_folders(server: Mapping[str, Any], home: Path) -> list[Path]:
    """Return the folder of the owner's agents, which tools must not change. Raises ConfigError."""
    return [owner_folder(server, home)]
