"""Tests of the protocols. What tests of the whole server need of each is in its `samples.py`:

HOSTILE    name -> (reader of a body, a body with one of everything)
growing()  bodies of its routes that grow
SMALL      addresses in whose bodies nothing is looked through
OPEN       (method, path) of the routes that need no key
chosen     order -> (address, body of a run of the session `chosen`); None if none can be chosen
carrying   session, order -> (address, body) of requests that bring this session
bare       order -> (address, body) of requests that bring none
AGENTS     (address of the list of agents, of one agent, status if it is unknown), if it has any
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from typing import Any


def samples() -> Iterator[Any]:
    """The samples of each protocol that there is."""
    for each in pkgutil.iter_modules(__path__):
        if each.ispkg:
            yield importlib.import_module(f"{__name__}.{each.name}.samples")
