"""Describe for a model where its tools work: which folder, and what they reach.

Without it models spend calls on `pip install` and `curl`. The same facts give the same text, so
that providers can cache the prompt.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from ..lib.runtime.descriptors import open_fd
from ..lib.sandbox.network_policy import NetworkPolicy
from ..settings.real_folders import Folder

MOST_HOSTS = 5  # that are named
MAX_NAME = 60  # characters of a folder's or branch's name
MODES = {
    "own": "Their working folder is this session's own and keeps its files from call to call.",
    "read": "Their working folder is {folder}, which can only be read.",
    "write": "Their working folder is {folder} itself: changes there are real at once.",
    "overlay": (
        "Their working folder is a copy of {folder}: a person decides which changes go back."
    ),
}
_HEAD = re.compile(rb"ref: refs/heads/([A-Za-z0-9._/+-]+)\s*")


def describe(folder: Folder | None, reach: NetworkPolicy) -> str:
    """Return the folder and the network of tools in words. `folder`: None for a session's own."""
    mode = folder.mode if folder else "own"
    named = f"the user's folder {folder.name[:MAX_NAME]}{_git(folder.path)}" if folder else ""
    return f"{MODES[mode].format(folder=named)} {_network(reach)}"


def _network(reach: NetworkPolicy) -> str:
    if reach.network == "full":
        return "They have the machine's network."
    if reach.network == "off" or not reach.hosts:
        return "They have no network: nothing can be downloaded or installed."
    hosts, more = reach.hosts[:MOST_HOSTS], len(reach.hosts) - MOST_HOSTS
    others = f" and {more} more" if more > 0 else ""
    return f"Of the network they reach only {', '.join(hosts)}{others}."


def _git(path: Path) -> str:
    """Return what the repository in a folder is called in the text, "" if there is none.

    Only a branch's name is read, and no link is followed: a tool may have made the file.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        with open_fd(path / ".git" / "HEAD", flags) as file:
            head = os.read(file, 300)
    except OSError:
        return ""
    found = _HEAD.fullmatch(head)
    if found is None:
        return " (a git repository)"
    return f" (a git repository, branch {found[1].decode()[:MAX_NAME]})"
