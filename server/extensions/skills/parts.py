"""Connect skills with the agent: their tools, their files in calls, what runs begin with."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Mapping
from typing import Any

from ...agent.run_parts import RunPart
from ...api.auth import owners
from ...api.router import Route
from ...json_types import Event, Session
from ...lib.sandbox.policy import Mount
from ...lib.sandbox.process import Job
from ...tools.base import Tool
from ..parts import Host, Parts
from .library import SkillLibrary
from .routes import SkillTexts
from .run import skill_events
from .skill_tool import skill_tools


class SkillsOfRun(RunPart):
    """The skills of one run."""

    def __init__(self, session: Session, library: SkillLibrary, owner: str) -> None:
        self._session, self._library, self._owner = session, library, owner

    def opening(self) -> AsyncGenerator[Event, None]:
        """Yield the changes of what the session is offered."""
        return skill_events(self._session, self._library, self._owner)


class SkillParts(Parts):
    """The skills of one configuration."""

    def __init__(self, host: Host) -> None:
        super().__init__(host)
        server = host.config.server
        trusted = owners(server["api_keys"], home_key=server["home_key"])
        self.library = SkillLibrary(server["skills"], host.config.home, trusted, host.toolbox)

    def tools(self) -> Iterable[Tool]:
        """Return the tools that load and save skills."""
        return skill_tools(self.library)

    def mounts(self, job: Job) -> Iterable[Mount]:
        """Return the files of used skills. Raises OSError."""
        return self.library.mounts(job)

    def routes(self) -> Mapping[tuple[str, str], Route]:
        """Return the route of texts."""
        return SkillTexts(self.library).routes()

    def info(self, owner: str) -> Mapping[str, Any]:
        """Return the skills that this owner's key sees."""
        return {"skills": self.library.info(owner)}

    def problems(self) -> Mapping[str, list[str]]:
        """Return the skills that cannot be used."""
        return {"skills": self.library.catalog.problems()}

    def run_part(self, session: Session, about: Mapping[str, str]) -> SkillsOfRun:
        """Return the skills in this run."""
        return SkillsOfRun(session, self.library, about["owner"])
