"""The interface of skills that other servers offer: listed here, read there one file at a time."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from ..lib.agent_skills.folder import SkillError, SkillText
from ..lib.hidden_characters import count_hidden

Listed = TypeVar("Listed", bound="RemoteSkill")


@dataclass(frozen=True)
class RemoteSkill:
    """A skill as its server lists it. `source`: of what protocol, in sessions and for clients.

    name    `<server>:<its own name>`, as models and people name it
    files   path -> (digest, size in bytes), SKILL.md among them
    """

    name: str
    description: str
    server: str
    files: Mapping[str, tuple[str, int]]
    source = ""

    @property
    def hash(self) -> str:
        """Return a hash of the paths and digests of its files."""
        text = "".join(f"{path}\0{digest}\n" for path, (digest, _) in sorted(self.files.items()))
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def hidden(self) -> dict[str, int]:
        """Return the characters of its description that are not seen, and how many there are."""
        return count_hidden(self.description)


class RemoteSkills(Generic[Listed]):
    """Skills of other servers; this class has none. `failure`: the code of what went wrong there.

    What is asked for is one that `found` or `find` returned.
    """

    failure = "not_found"

    def found(self) -> Mapping[str, Listed]:
        """Return the listed skills by the names that models use."""
        return {}

    async def find(self, name: str, texts: Iterable[str] = ()) -> Listed | None:
        """Return the skill of a name, None if there is none.

        One that no list has is looked up only if one of `texts` names it.
        """
        return None

    async def load(self, skill: Listed) -> tuple[Listed, SkillText]:
        """Return a skill as it is now, with its text. Raises SkillError."""
        raise SkillError("its server is not there")

    async def read(self, skill: Listed, path: str) -> str:
        """Return a file of a skill, as text. Raises SkillError."""
        raise SkillError("its server is not there")
