"""The parts of the server that a protocol uses: the argument of each folder's `routes`."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ..agents.registry import AgentRegistry
from ..api.sessions import Runs
from ..config import Config
from ..tools.execution_claims import Claims, Locks
from ..tools.toolbox import Toolbox


class Services(NamedTuple):
    """The parts of the server. `clock` returns the time in Unix milliseconds."""

    runs: Runs
    agents: AgentRegistry
    toolbox: Toolbox
    claims: Claims
    locks: Locks
    config: Config
    clock: Callable[[], int]
