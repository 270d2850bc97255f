"""Let the demo answer where there is no other model, and say so."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ...models.registry import Model
from ..parts import OK, CheckResult, Host, Parts
from .demo import DemoAPI

NAME = "demo"
TEXT = "demo: a script that shows what a model would do; no AI"
STEP = (
    "For a real one paste a key in the page, or set OPENAI_API_KEY (or another vendor's) or start"
    " Ollama, and start again."
)


class DemoParts(Parts):
    """The demo among the models of one configuration."""

    def __init__(self, host: Host) -> None:
        super().__init__(host)
        api = DemoAPI(host.config.server["demo"]["pause_s"])
        host.models.fallbacks[NAME] = Model(NAME, NAME, api, {"demo": True})

    def info(self, owner: str) -> Mapping[str, Any]:
        """Return whether the demo answers a session that names no model."""
        return {"demo": self.host.models.default == NAME}

    def checks(self) -> Iterable[CheckResult]:
        """Say that the demo answers."""
        if self.host.models.default == NAME:
            yield CheckResult(OK, "model", TEXT, STEP)
