"""The handler of `GET /skills/{name}`: the text of one skill of this server, for people to read.

`GET /info` lists them. The owner's skills, those of the asking key and of MCP servers are here;
what a trusted folder brings stands in the sessions that work on it.
"""

from __future__ import annotations

import asyncio

from ...api.router import RequestContext, Route
from ...errors import Problem
from ...json_types import Json
from ...lib.agent_skills.folder import SkillError, SkillText, files_of
from ...tools.remote_skills import RemoteSkill
from .library import SkillLibrary


class SkillTexts:
    """The handler of the texts of skills."""

    def __init__(self, library: SkillLibrary) -> None:
        self._library = library

    def routes(self) -> dict[tuple[str, str], Route]:
        """Return the routes by method and path."""
        return {("GET", "/skills/{name}"): Route(self.read)}

    async def read(self, call: RequestContext) -> None:
        """Send `{name, description, source, text, files, hash, remarks, hidden, allowed_tools}`."""
        name = call.at["name"]
        if (remote := self._library.remote.found().get(name)) is not None:
            about = await self._about_remote(remote)
        else:
            about = await asyncio.to_thread(self._about, name, call.key.owner)
        await call.json(about)

    async def _about_remote(self, skill: RemoteSkill) -> Json:
        try:
            skill, about = await self._library.remote.load(skill)
        except SkillError as error:
            text = f"The skill {skill.name[:80]} cannot be read: {error}"
            raise Problem(self._library.remote.failure, text) from None
        return {
            **_told(about),
            "name": skill.name,
            "source": skill.source,
            "files": list(skill.files),
            "hash": skill.hash,
        }

    def _about(self, name: str, owner: str) -> Json:
        skill = self._library.catalog.of(owner).get(name)
        if skill is None:
            raise Problem("not_found", f"This server has no skill {name[:80]!r}")
        try:
            files = [each.path for each in files_of(skill.folder)[0]]
            content = self._library.catalog.hash_of(skill)
        except SkillError as error:
            raise Problem("not_found", f"The skill {name[:80]} cannot be read: {error}") from None
        return {**_told(skill.about), "source": skill.source, "files": files, "hash": content}


def _told(about: SkillText) -> Json:
    """Return what the `SKILL.md` itself says."""
    return {
        "name": about.name,
        "description": about.description,
        "text": about.text,
        "remarks": list(about.remarks),
        "hidden": about.hidden,
        "allowed_tools": about.allowed_tools,
    }
