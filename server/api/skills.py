"""The handler of `GET /skills/{name}`: the text of one skill of this server, for people to read.

`GET /info` lists them. Only the owner's skills and those of the asking key are here; what a trusted
folder brings stands in the sessions that work on it.
"""

from __future__ import annotations

import asyncio

from ..errors import Problem
from ..json_types import Json
from ..skills.folder import SkillError, files_of
from ..tools.skill_library import SkillLibrary
from .router import RequestContext, Route


class SkillTexts:
    """The handler of the texts of skills."""

    def __init__(self, library: SkillLibrary) -> None:
        self._library = library

    def routes(self) -> dict[tuple[str, str], Route]:
        """Return the routes by method and path."""
        return {("GET", "/skills/{name}"): Route(self.read)}

    async def read(self, call: RequestContext) -> None:
        """Send `{name, description, source, text, files, hash, remarks, hidden, allowed_tools}`."""
        await call.json(await asyncio.to_thread(self._about, call.at["name"], call.key.owner))

    def _about(self, name: str, owner: str) -> Json:
        skill = self._library.catalog.of(owner).get(name)
        if skill is None:
            raise Problem("not_found", f"This server has no skill {name[:80]!r}")
        try:
            files = [each.path for each in files_of(skill.folder)[0]]
            content = self._library.catalog.hash_of(skill)
        except SkillError as error:
            raise Problem("not_found", f"The skill {name[:80]} cannot be read: {error}") from None
        return {
            "name": skill.name,
            "description": skill.about.description,
            "source": skill.source,
            "text": skill.about.text,
            "files": files,
            "hash": content,
            "remarks": list(skill.about.remarks),
            "hidden": skill.about.hidden,
            "allowed_tools": skill.about.allowed_tools,
        }
