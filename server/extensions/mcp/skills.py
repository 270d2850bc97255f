"""Skills that MCP servers offer: the extension `io.modelcontextprotocol/skills` (SEP-2640).

Only those that the server's entry names under `skills` count, since their texts instruct a model. A
list has the names, descriptions and digests; a file is fetched when it is read, and used only if
its size and digest are those of the list. Nothing is ever written to this machine.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from ...errors import Problem
from ...json_types import Json
from ...lib.agent_skills.folder import (
    FILE,
    MAX_BYTES,
    MAX_FILES,
    MAX_REFERENCE,
    MAX_TEXT,
    NAME,
    SkillError,
    SkillText,
    skill_text,
)
from ...lib.agent_skills.front_matter import FrontMatterError, Value, read_front_matter
from ...lib.hidden_characters import count_hidden
from ...tools.remote_skills import RemoteSkill, RemoteSkills
from .offers import contents_of, is_uri, one_line

if TYPE_CHECKING:
    from .servers import McpServer

MAX_SKILLS = 200  # of one server
EXTENSION = "io.modelcontextprotocol/skills"
MAX_SHOWN = 20  # reasons why skills are not used, of one server
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_URIS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*+://[^\s<>\"'`()\[\]{}|\\]+")  # RFC 3986
_BEHIND = ".,;:!?*_"  # signs of the sentence, or of Markdown, behind a URI

Ask = Callable[["McpServer", str, Json], Awaitable[Json]]


@dataclass(frozen=True, kw_only=True)
class McpSkill(RemoteSkill):
    """A skill as its server lists it. `frontmatter`: what its SKILL.md says of itself, as JSON."""

    uri: str
    frontmatter: Json = field(repr=False)
    source = "mcp"

    @property
    def own_name(self) -> str:
        """Return the name that its server gives it."""
        return str(self.frontmatter["name"])

    @property
    def hidden(self) -> dict[str, int]:
        """Return the characters of its description that are not seen, and how many there are."""
        return count_hidden(str(self.frontmatter["description"]))


class Mismatch(SkillError):
    """A file that is not what the list of its server says."""


class McpSkills(RemoteSkills[McpSkill]):
    """The skills of all MCP servers. `ask`: sends a request to one; raises Problem."""

    failure = "mcp_failed"

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._servers: dict[str, McpServer] = {}
        self._listed: dict[str, dict[str, McpSkill]] = {}  # by server and URI

    async def look(self, server: McpServer) -> list[str]:
        """List the skills of a server anew. Return why some are not used, one line each.

        Raises LinkError, RpcError.
        """
        patterns = server.entry.get("skills")
        if not patterns:
            return []
        self._servers[server.name] = server
        offered = (await server.peer.capabilities()).get("extensions")
        if not isinstance(offered, dict) or EXTENSION not in offered:
            self._listed.pop(server.name, None)
            return [f"it offers no skills ({EXTENSION})"]
        listed = server.clean(await server.peer.entries("skills"))
        skills: dict[str, McpSkill] = {}
        refused: list[str] = []
        for about in listed:
            try:
                skill = skill_of(about, server.name)
            except SkillError as error:
                refused.append(f"skill not used: {error}")
                continue
            if is_named(skill, patterns):
                skills.setdefault(skill.uri, skill)
        if len(skills) > MAX_SKILLS:
            refused.append(f"it lists more than {MAX_SKILLS} skills; the first are taken")
            skills = dict([*skills.items()][:MAX_SKILLS])
        self._listed[server.name] = skills
        return refused[:MAX_SHOWN]

    def found(self) -> dict[str, McpSkill]:
        """Return the listed skills by the names that models use."""
        found: dict[str, McpSkill] = {}
        for skills in self._listed.values():
            found |= named_apart(skills.values())
        return found

    async def find(self, name: str, texts: Iterable[str] = ()) -> McpSkill | None:
        """Return the skill of a name, None if there is none.

        `<server>:<URI of a SKILL.md>` names one that its server does not list. It is asked for only
        if one of `texts`, of skills of that server, names the URI: a name that a model makes up
        would tell the server whatever the model knows.
        """
        if (skill := self.found().get(name)) is not None:
            return skill
        label, _, uri = name.partition(":")
        if label not in self._servers or not is_uri(uri):
            return None
        if (skill := self._listed.get(label, {}).get(uri)) is not None:
            return replace(skill, name=name)
        if not any(names_uri(text, uri) for text in texts):
            return None
        try:
            skill = replace(await self._entry(self._servers[label], uri), name=name)
        except SkillError:
            return None
        return skill if is_named(skill, self._servers[label].entry["skills"]) else None

    async def load(self, skill: McpSkill) -> tuple[McpSkill, SkillText]:
        """Return the skill with its text. A list that is too old is read anew, once.

        Raises SkillError.
        """
        try:
            return skill, await self._text(skill)
        except Mismatch as mismatch:
            try:
                now = await self._entry(self._servers[skill.server], skill.uri)
            except SkillError:
                raise mismatch from None
            now = replace(now, name=skill.name)
            if now.files == skill.files and now.frontmatter == skill.frontmatter:
                raise
        text = await self._text(now)
        listed = self._listed.get(skill.server, {})
        if skill.uri in listed:
            listed[skill.uri] = replace(now, name=listed[skill.uri].name)
        return now, text

    async def read(self, skill: McpSkill, path: str) -> str:
        """Return a file of a skill, as text. Raises SkillError."""
        try:
            text = (await self._bytes(skill, path, MAX_REFERENCE)).decode("utf-8-sig")
        except UnicodeDecodeError:
            raise SkillError(f"{path[:80]} is no text in UTF-8") from None
        return str(self._servers[skill.server].clean(text))

    async def _text(self, skill: McpSkill) -> SkillText:
        about = skill_text(await self._bytes(skill, FILE, MAX_TEXT), skill.own_name)
        text = str(self._servers[skill.server].clean(about.text))  # as its list was
        try:
            fields = read_front_matter(text).fields
        except FrontMatterError as error:
            raise SkillError(f"{FILE}: {error}") from None
        for key in sorted({*fields, *skill.frontmatter}):
            if not is_same(fields.get(key), skill.frontmatter.get(key)):
                raise Mismatch(f"{FILE} says another {key[:60]!r} than its server's list")
        return replace(about, text=text)

    async def _bytes(self, skill: McpSkill, path: str, most: int) -> bytes:
        """Return a file that is as the list says. Raises SkillError."""
        if path not in skill.files:
            raise SkillError(f"{path[:80]!r} is no file of the skill: name it from its folder")
        digest, size = skill.files[path]
        if size > most:
            raise SkillError(f"{path[:80]} is larger than {most >> 10} KB")
        uri = skill.uri.removesuffix(FILE) + path
        try:
            result = await self._ask(self._servers[skill.server], "resources/read", {"uri": uri})
        except Problem as error:
            raise SkillError(error.detail) from None
        parts = [part for part in contents_of(result, uri) if part["uri"] == uri]
        if len(parts) != 1:
            raise SkillError(f"its server sent {len(parts)} contents of {path[:80]}")
        data = _content(parts[0])
        if len(data) != size or f"sha256:{hashlib.sha256(data).hexdigest()}" != digest:
            raise Mismatch(f"{path[:80]} is not what the list of its server says (size or digest)")
        return data

    async def _entry(self, server: McpServer, uri: str) -> McpSkill:
        """Return one skill as its server describes it now. Raises SkillError."""
        try:
            result = await self._ask(server, "skills/get", {"uri": uri})
        except Problem as error:
            raise SkillError(error.detail) from None
        skill = skill_of(server.clean(result.get("skill")), server.name)
        if skill.uri != uri:
            raise SkillError("its server answered with another skill")
        return skill


def names_uri(text: str, uri: str) -> bool:
    """Return whether a text has a URI as a whole, not as a part of a longer one."""
    return uri in text and any(each.rstrip(_BEHIND) == uri for each in _URIS.findall(text))


def is_named(skill: McpSkill, patterns: Iterable[str]) -> bool:
    """Return whether the owner named a skill: by its own name, as shell patterns."""
    return any(fnmatchcase(skill.own_name, pattern) for pattern in patterns)


def skill_of(about: Any, server: str) -> McpSkill:
    """Return a listed skill, with the name that it has alone. Raises SkillError."""
    about = about if isinstance(about, dict) else {}
    uri, said = about.get("uri"), about.get("frontmatter")
    shown = one_line(uri, 100) or "an entry without a URI"
    if not is_uri(uri) or not str(uri).endswith(f"/{FILE}"):
        raise SkillError(f"{shown}: not the URI of a {FILE}")
    said = said if isinstance(said, dict) else {}
    name, description = said.get("name"), said.get("description")
    if not isinstance(name, str) or not NAME.fullmatch(name) or not isinstance(description, str):
        raise SkillError(f"{shown}: its frontmatter has no usable name and description")
    if uri.removesuffix(f"/{FILE}").rpartition("/")[2] != name:
        raise SkillError(f"{shown}: its name is {name}, which its URI does not end in")
    if not (words := " ".join(description.split())):
        raise SkillError(f"{shown}: no description, without which no model can choose it")
    files = _files_of(about.get("resources"), uri, shown)
    return McpSkill(f"{server}:{name}", words, server, files, uri=uri, frontmatter=said)


def _files_of(listed: Any, uri: str, shown: str) -> dict[str, tuple[str, int]]:
    """Return the files of a skill. Raises SkillError."""
    if not isinstance(listed, list):
        raise SkillError(f"{shown}: no list of its files, so that nothing could be verified")
    if len(listed) > MAX_FILES:
        raise SkillError(f"{shown}: it has more than {MAX_FILES} files")
    root = uri.removesuffix(FILE)
    files: dict[str, tuple[str, int]] = {}
    for each in listed:
        told = each if isinstance(each, dict) else {}
        at, digest, size = told.get("uri"), told.get("digest"), told.get("size")
        path = str(at).removeprefix(root) if is_uri(at) and str(at).startswith(root) else ""
        if not path or path in files or any(part in ("", ".", "..") for part in path.split("/")):
            raise SkillError(f"{shown}: {one_line(at, 100)!r} is no file of it, or is there twice")
        if not isinstance(digest, str) or not DIGEST.fullmatch(digest):
            raise SkillError(f"{shown}: {path[:80]} has no digest such as sha256:…")
        if not isinstance(size, int) or isinstance(size, bool) or size < 0:
            raise SkillError(f"{shown}: {path[:80]} has no size in bytes")
        files[path] = (digest, size)
    if FILE not in files:
        raise SkillError(f"{shown}: its list of files is without its {FILE}")
    if sum(size for _, size in files.values()) > MAX_BYTES:
        raise SkillError(f"{shown}: its files are larger than {MAX_BYTES >> 20} MB")
    return files


def named_apart(skills: Iterable[McpSkill]) -> dict[str, McpSkill]:
    """Return the skills of one server by name; those of the same name get their path instead."""
    listed = list(skills)
    for apart in (_path_of, lambda skill: skill.uri):
        count = Counter(skill.name for skill in listed)
        listed = [
            replace(skill, name=f"{skill.server}:{apart(skill)}")
            if count[skill.name] > 1
            else skill
            for skill in listed
        ]
    return {skill.name: skill for skill in listed}


def _path_of(skill: McpSkill) -> str:
    return skill.uri.partition(":")[2].removeprefix("//").removesuffix(f"/{FILE}")


def is_same(read: Value | None, told: Any) -> bool:
    """Return whether a value of a front matter is what a list says in JSON.

    What is read is text throughout, so `1`, `true` and nothing are compared as they are written.
    """
    if isinstance(read, dict) and isinstance(told, dict):
        return read.keys() == told.keys() and all(is_same(read[key], told[key]) for key in told)
    if isinstance(read, list) and isinstance(told, list):
        return len(read) == len(told) and all(map(is_same, read, told))
    if not isinstance(read, str) or isinstance(told, dict | list):
        return False
    written = " ".join(read.split())
    if isinstance(told, bool):
        return written.lower() == str(told).lower()
    if told is None:
        return written.lower() in ("", "~", "null")
    if isinstance(told, str):
        return written == " ".join(told.split())
    try:
        return float(written) == float(told)
    except ValueError:
        return False


def _content(part: Json) -> bytes:
    """Return the bytes of a content. Raises SkillError."""
    if "text" in part:
        return str(part["text"]).encode("utf-8", "surrogatepass")
    try:
        return base64.b64decode(part["blob"], validate=True)
    except (binascii.Error, ValueError):
        raise SkillError("its server sent a file that is no base64") from None
