"""The skills that a session may use: the owner's, and those of the trusted folder that it works on.

What is in the folder is read by the workspace process (workspace/guidance.py), all else by the
server (catalog.py). Those of other servers stay there (tools/remote_skills.py).
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...errors import Problem
from ...json_types import Json, Session, UsedSkill
from ...lib.agent_skills.folder import MAX_REFERENCE, SkillError, files_of, read_file, skill_text
from ...lib.sandbox.policy import SKILLS, Mount
from ...lib.sandbox.process import Job
from ...session.skills import PLACE, WORKSPACE, used_skills
from ...session.workspace_error import WorkspaceError
from ...telemetry import log
from ...tools.remote_skills import RemoteSkill, RemoteSkills
from ...tools.session_files import WorkspaceOfCalls
from ...tools.toolbox import Toolbox
from .catalog import Skill, SkillCatalog
from .copies import SKILL_FILES, SkillCopies

logger = log.get("skills")

NO_OTHERS: RemoteSkills[Any] = RemoteSkills()
NO_GUIDANCE: Json = {"instructions": None, "skills": []}


@dataclass(frozen=True)
class FoundSkill:
    """A skill that can be loaded here. `path`: in the session's folder; "" for the owner's."""

    name: str
    description: str
    source: str
    path: str = ""
    skill: Skill | None = field(default=None, compare=False)
    remote: RemoteSkill | None = field(default=None, compare=False)


@dataclass(frozen=True)
class LoadedSkill:
    """A skill with its text. `place`: where tools find its files, "" if nowhere."""

    name: str
    source: str
    hash: str
    text: str
    files: tuple[str, ...]
    place: str


class SkillLibrary:
    """The skills of one server, for its sessions.

    `settings`: server.skills. `owners`: keys that use the owner's own.
    """

    def __init__(
        self, settings: Mapping[str, Any], home: Path, owners: Collection[str], toolbox: Toolbox
    ) -> None:
        self.catalog = SkillCatalog(home, settings["folders"], owners)
        self.copies = SkillCopies(home.resolve() / SKILL_FILES)
        self._toolbox = toolbox
        self.list_tokens = int(settings["list_tokens"])

    @property
    def remote(self) -> RemoteSkills[Any]:
        """Return the skills of other servers."""
        offers = (source.skills for source in self._toolbox.sources if source.skills is not None)
        return next(offers, NO_OTHERS)

    def mounts(self, job: Job) -> tuple[Mount, ...]:
        """Return the files of the session's skills, for a call that may run them.

        In tier A they are one folder, elsewhere each is at its own path. Raises OSError.
        """
        paths = {} if job.stateful else self.copies.paths(job.owner, job.skills)
        if self._tier == "A" and (folder := self.copies.together(paths)) is not None:
            paths = {"": folder}
        return tuple(Mount(f"{SKILLS}/{n}".rstrip("/"), str(p), False) for n, p in paths.items())

    @property
    def _tier(self) -> str:
        return str(self._toolbox.proof["tier"])

    def info(self, owner: str = "") -> list[Json]:
        """Return the owner's skills for `/info`: `[{name, description, source, hidden?, …}]`."""
        found: list[Json] = []
        for skill in self.catalog.of(owner).values():
            about = skill.about
            item: Json = {"name": about.name, "description": about.description}
            item["source"] = skill.source
            if about.hidden:
                item["hidden"] = about.hidden
            if about.allowed_tools:
                item["allowed_tools"] = about.allowed_tools
            found.append(item)
        for name, each in sorted(self.remote.found().items()):
            item = {"name": name, "description": each.description, "source": each.source}
            found.append({**item, "hidden": each.hidden} if each.hidden else item)
        return found

    async def guidance(self, session: Session, owner: str) -> Json | None:
        """Return the instructions and skills of the session's folder, if it is trusted.

        None if they cannot be read now.
        """
        if (workspace := self._workspace(session, owner)) is None:
            return NO_GUIDANCE
        try:
            return await workspace.request("guidance")
        except WorkspaceError as error:
            logger.warning("what a trusted folder says cannot be read: %s", error.detail)
            return None

    async def found(
        self, owner: str, guidance: Mapping[str, Any] = NO_GUIDANCE
    ) -> dict[str, FoundSkill]:
        """Return the skills of a key, of a folder and of MCP servers by name.

        The owner's come first. Those of MCP servers begin with the server's name and a colon,
        which no other name has.
        """
        if (skills := self.catalog.current(owner)) is None:
            skills = await asyncio.to_thread(self.catalog.of, owner)
        found = {
            name: FoundSkill(name, skill.about.description, skill.source, skill=skill)
            for name, skill in skills.items()
        }
        for each in guidance["skills"]:
            try:
                name = each["path"].rpartition("/")[2]
                about = skill_text(each.get("text", "").encode("utf-8", "replace"), name)
            except SkillError:
                continue
            new = FoundSkill(about.name, about.description, WORKSPACE, each["path"])
            found.setdefault(about.name, new)
        for name, remote in self.remote.found().items():
            found[name] = _of_server(remote, name)
        return dict(sorted(found.items()))

    async def find(self, session: Session, owner: str, name: str) -> FoundSkill | None:
        """Return a skill that the session can load here, None if there is none."""
        if (own := (await self.found(owner)).get(name)) is not None:
            return own
        if ":" in name:
            remote = await self.remote.find(name, texts_of(session, name.partition(":")[0]))
            return _of_server(remote, name) if remote is not None else None
        guidance = await self.guidance(session, owner) or NO_GUIDANCE
        return (await self.found(owner, guidance)).get(name)

    async def load(self, session: Session, owner: str, found: FoundSkill) -> LoadedSkill:
        """Return a skill as it is now, and keep its files for tools. Raises SkillError."""
        if found.remote is not None:
            skill, about = await self.remote.load(found.remote)
            files = tuple(skill.files)
            return LoadedSkill(found.name, skill.source, skill.hash, about.text, files, "")
        if found.skill is None:
            told = await self._ask(session, owner, path=found.path)
            files = tuple(told["files"])
            return LoadedSkill(found.name, WORKSPACE, told["hash"], told["text"], files, found.path)
        return await asyncio.to_thread(self._load, owner, found.skill)

    def _load(self, owner: str, skill: Skill) -> LoadedSkill:
        content = self.catalog.hash_of(skill)
        self.copies.keep(owner, skill.folder, content)
        files = tuple(each.path for each in files_of(skill.folder)[0])
        place = self.place(owner, skill.name, content)
        return LoadedSkill(skill.name, skill.source, content, skill.about.text, files, place)

    def place(self, owner: str, name: str, content: str) -> str:
        """Return where calls find the kept files of a skill here, "" if they are not kept."""
        path = self.copies.paths(owner, [(name, content)]).get(name)
        if path is None:
            return ""
        return f"{PLACE}/{name}" if self._tier == "A" else str(path)

    async def hash_of(self, session: Session, owner: str, found: FoundSkill) -> str:
        """Return the hash of a skill's files as they are now. Raises SkillError."""
        if found.remote is not None:
            return found.remote.hash
        if found.skill is not None:
            return await asyncio.to_thread(self.catalog.hash_of, found.skill)
        return str((await self._ask(session, owner, path=found.path))["hash"])

    async def keep(self, owner: str, found: FoundSkill, content: str) -> None:
        """Keep the files of a skill for tools, if they are not kept yet. Raises SkillError."""
        if found.skill is not None and not self.copies.has(owner, content):
            await asyncio.to_thread(self.copies.keep, owner, found.skill.folder, content)

    def kept_files(self, owner: str, name: str, used: UsedSkill) -> tuple[str, ...]:
        """Return the files of a used skill in the version that the session has, () if none is."""
        kept = self.copies.paths(owner, [(name, used.get("hash", ""))]).get(name)
        return tuple(each.path for each in files_of(kept)[0]) if kept else ()

    async def read(
        self,
        session: Session,
        owner: str,
        found: FoundSkill | None,
        name: str,
        used: UsedSkill,
        file: str,
    ) -> str:
        """Return a file of a used skill, in the version that the session has. Raises SkillError."""
        folder = self.copies.paths(owner, [(name, used.get("hash", ""))]).get(name)
        if folder is None:
            if found is None:
                raise SkillError(f"it is not on this server, and {file[:80]} not in the session")
            if await self.hash_of(session, owner, found) != used.get("hash", ""):
                raise SkillError(
                    f"this server has another version, and not {file[:80]} of this one"
                )
            if found.remote is not None:
                return await self.remote.read(found.remote, file)
            if found.skill is None:
                told = await self._ask(session, owner, path=found.path, file=file)
                return str(told["text"])
            folder = found.skill.folder
        data = await asyncio.to_thread(read_file, folder, file, MAX_REFERENCE)
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise SkillError(f"{file[:80]} is no text in UTF-8") from None

    async def _ask(self, session: Session, owner: str, **arguments: str) -> Json:
        if (workspace := self._workspace(session, owner)) is None:
            raise SkillError("its folder is not trusted here")
        try:
            return await workspace.request("skill", **arguments)
        except WorkspaceError as error:
            raise SkillError(error.detail) from None

    def _workspace(self, session: Session, owner: str) -> WorkspaceOfCalls | None:
        """Return the workspace of a session in a trusted folder, None for all others."""
        name, workspaces = session.get("workspace", {}).get("folder"), self._toolbox.workspaces
        if not name or workspaces.withheld:
            return None
        try:
            workspace = workspaces.get(owner, session["id"], name)
        except Problem:
            return None
        return workspace if workspace.is_trusted else None


def _of_server(skill: RemoteSkill, name: str) -> FoundSkill:
    """Return a skill of an MCP server; a model sees whose it is."""
    told = f"[of the MCP server {skill.server}] {skill.description}"
    return FoundSkill(name, told, skill.source, remote=skill)


def texts_of(session: Session, server: str) -> Iterator[str]:
    """Yield the texts that the session keeps of the skills of an MCP server."""
    for name, used in used_skills(session).items():
        if name.startswith(f"{server}:"):
            yield used["text"]
            yield from (each.get("text", "") for each in (used.get("files") or {}).values())
