"""Bring the skills and instructions of a session up to date when its run begins.

What is offered is this server's; what was used stays as the session has it. Yields events only for
what has changed, so that a prompt keeps its bytes.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from typing import Any

from ...context.budget import estimate
from ...json_types import Change, Event, Json, RunWarning, Session, UsedSkill
from ...lib.agent_skills.folder import SkillError
from ...session.events import add_warnings, drop, put, state_delta
from ...session.guidance import skills_of
from ...session.skills import list_offered, may_load, switched_off, used_skills
from .library import FoundSkill, SkillLibrary

MOST = 64  # used skills that are compared with those of this server, the last that were loaded
# Codes of entries of `run.warnings`.
CHANGED, MISSING, LEFT_OUT = "skill_changed", "skill_missing", "skills_left_out"


class SkillWarning(RunWarning, total=False):
    """An entry of `run.warnings` about skills."""

    skill: str
    most: int  # skills that are compared
    count: int  # of those beyond


async def skill_events(
    session: Session, library: SkillLibrary, owner: str
) -> AsyncGenerator[Event, None]:
    """Yield the changes of `skills`, `instructions` and `run.warnings`, if there are any."""
    guidance = await library.guidance(session, owner)
    if guidance is None:  # what the session has of it stays
        return
    found = await library.found(owner, guidance)
    changes = list(_instructions(session, guidance["instructions"]))
    offered: dict[str, FoundSkill] = {}
    if may_load(session):
        is_off = switched_off(session)
        offered = {name: each for name, each in found.items() if not is_off(name)}
    changes += _offer(session, offered, library.list_tokens)
    warnings: list[SkillWarning] = []
    used = [*used_skills(session).items()]
    if (left_out := len(used) - MOST) > 0:
        warnings.append(_left_out(left_out))
    for name, entry in used[-MOST:]:
        there = found.get(name)
        if there is None and ":" in name:  # of another server, and in no list
            there = await library.find(session, owner, name)
        now = await _look_at(session, library, owner, name, entry, there)
        changes += [put("skills", "used", name, key, value=now[key]) for key in now]
        if now.get("here") in ("changed", "missing"):
            warnings.append(_warning(name, now["here"]))
    if warnings:
        changes.append(add_warnings(session, *warnings))
    if changes:
        yield state_delta(*changes)


def _instructions(session: Session, found: Mapping[str, Any] | None) -> list[Change]:
    told: Json = {k: value for k, value in (found or {}).items() if value}
    if told == session.get("instructions", {}):
        return []
    return [put("instructions", value=told)] if told else [drop("instructions")]


def _offer(session: Session, skills: Mapping[str, FoundSkill], most: int) -> list[Change]:
    """Return the changes of the list in the prompt."""
    wanted = [(name, each.description) for name, each in skills.items()]
    listed, more = list_offered(wanted, most, estimate) if wanted else ([], 0)
    about = skills_of(session)
    if listed == about.get("offered", []) and more == about.get("more", 0):
        return []
    if "skills" not in session:
        return [put("skills", value={"offered": listed, **({"more": more} if more else {})})]
    return [put("skills", "offered", value=listed), put("skills", "more", value=more)]


async def _look_at(
    session: Session,
    library: SkillLibrary,
    owner: str,
    name: str,
    entry: UsedSkill,
    found: FoundSkill | None,
) -> dict[str, str]:
    """Return {here, place} of a used skill, as far as they are no longer what the session says."""
    here = "missing"
    if found is not None:
        try:
            here = "changed"
            if await library.hash_of(session, owner, found) == entry.get("hash", ""):
                here = "same"
                await library.keep(owner, found, entry.get("hash", ""))
        except SkillError:
            pass
    if entry.get("source") == "workspace":
        place = found.path if found else ""
    else:
        place = library.place(owner, name, entry.get("hash", ""))
    now = {"here": here, "place": place}
    known: Mapping[str, Any] = entry
    return {key: value for key, value in now.items() if known.get(key) != value}


def _left_out(count: int) -> SkillWarning:
    text = (
        f"Only the last {MOST} skills that this session used were compared with those of this"
        f" server; {count} earlier ones stay as the session has them. Begin a new session to have"
        " all as they are now."
    )
    return {"code": LEFT_OUT, "message": text, "most": MOST, "count": count}


def _warning(name: str, here: str) -> SkillWarning:
    if here == "missing":
        text = f"This server has no skill {name}. The run goes on with the text in the session."
        return {"code": MISSING, "message": text, "skill": name}
    text = (
        f"The skill {name} has changed since this session loaded it. The session keeps its own text"
        " until you refresh it."
    )
    return {"code": CHANGED, "message": text, "skill": name}
