"""Other systems' protocols: their requests as sessions, a run's events as their responses.

A handler reads a body, maps it to a session and starts a run; each event is mapped to the other
protocol and sent. A foreign body can express nothing that a session could not.

Each folder is one protocol. The server finds the folders itself, so a folder can be deleted
(`openai` only together with `autoai`, which uses it), and a new one needs no entry elsewhere. It
has

    routes.py     `routes(services)`, which returns (method, path) -> Route (see services.py)
    settings.py   only if the other system has names for settings of this server: `FOREIGN`
                  (config.Foreign)
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from importlib.util import find_spec
from types import ModuleType


def modules(part: str) -> Iterator[ModuleType]:
    """Import and yield the module `part` of each protocol that has one, by the folders' names."""
    for name in sorted(each.name for each in pkgutil.iter_modules(__path__) if each.ispkg):
        if find_spec(place := f"{__name__}.{name}.{part}"):
            yield importlib.import_module(place)
