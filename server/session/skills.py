"""What a session has of Agent Skills. Pure.

`session.skills` says which skills this server offers it, and keeps each one that was used as it was
when it was loaded: at a server that lacks or has changed it, the run goes on with that.
The extension `skills` fills in what is offered, and records what is used.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from ..json_types import Change, Json, RunWarning, Session, UsedSkill
from ..lib.strict_json import dumps
from .agent_definition import policy_word
from .events import add_warnings, drop, put
from .guidance import listing, skills_of

TOOL = "skill"  # the tool that loads one
WORKSPACE = "workspace"  # the source of a skill of the session's folder
ALL = "*"  # in the names of skills that a session does without
PLACE = "/skills"  # where tools find the files of used skills in the strongest sandbox
MAX_DESCRIPTION = 1_024  # characters of one in the list
CUTS = (MAX_DESCRIPTION, 512, 256, 128, 64)  # tried in this order until the list fits
NOT_HERE = "skills_not_here"  # a code of `run.warnings`
KEPT_CHARS = 512 * 1024  # characters of files that were read, for each skill


def used_skills(session: Mapping[str, Any]) -> dict[str, UsedSkill]:
    """Return the skills that the session keeps, by name."""
    found: dict[str, UsedSkill] = skills_of(session).get("used") or {}
    return found


def offered_names(session: Mapping[str, Any]) -> list[str]:
    """Return the names of the skills that the session may load here, and those it keeps."""
    listed = (each["name"] for each in skills_of(session).get("offered") or ())
    is_off = switched_off(session)
    return sorted({*listed, *(name for name in used_skills(session) if not is_off(name))})


def switched_off(session: Mapping[str, Any]) -> Callable[[str], bool]:
    """Return a predicate whether the session does without the skill of a name."""
    names = frozenset(session.get("config", {}).get("yaa", {}).get("skills_off") or ())
    return lambda name: name in names or ALL in names


def may_load(session: Session) -> bool:
    """Return whether the session's agent and settings leave it the tool that loads skills."""
    own = session["config"].get("tool", {}).get(TOOL) or {}
    return own.get("deny") is not True and policy_word(session, TOOL, page=False) != "deny"


def list_offered(
    skills: Iterable[tuple[str, str]], most: int, estimate: Callable[[str], int]
) -> tuple[list[Json], int]:
    """Return (`{name, description}` of the skills that fit, how many do not).

    `skills`: (name, description) in their order. `most`: tokens, as `estimate` counts them. Long
    descriptions are cut first, all at the same length; what does not fit even so is left out.
    """
    wanted = list(skills)
    for length in CUTS:
        listed = [{"name": name, "description": _cut(text, length)} for name, text in wanted]
        if estimate(listing(listed)) <= most:
            return listed, 0
    while listed and estimate(listing(listed)) > most:
        listed = listed[: len(listed) * 7 // 8]
    return listed, len(wanted) - len(listed)


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1].rstrip()}…"


# -- use ------------------------------------------------------------------------------------------


def record_used(session: Mapping[str, Any], name: str, entry: UsedSkill) -> list[Change]:
    """Return the changes that keep a used skill, and end its refresh."""
    about = skills_of(session)
    if not about:
        return [put("skills", value={"used": {name: entry}})]
    changes = [
        put("skills", "used", name, value=entry)
        if isinstance(about.get("used"), dict)
        else put("skills", "used", value={name: entry})
    ]
    if name in (waiting := about.get("refresh") or []):
        changes.append(put("skills", "refresh", value=[each for each in waiting if each != name]))
    return changes


def with_file(entry: UsedSkill, path: str, text: str) -> UsedSkill:
    """Return a used skill with a file of it that was read; its text only if there is room."""
    files = dict(entry.get("files") or {})
    kept = sum(len(each.get("text", "")) for name, each in files.items() if name != path)
    fits = kept + len(text) <= KEPT_CHARS
    files[path] = {"chars": len(text), "text": text} if fits else {"chars": len(text)}
    return {**entry, "files": files}


def loaded_now(session: Session) -> list[str]:
    """Return the names of the skills that were loaded since the last user message, in order."""
    names: list[str] = []
    loaded: set[str] = set()
    for message in reversed(session["messages"]):
        if message["role"] == "user":
            break
        if message["role"] == "tool" and message.get("name") == TOOL:
            result = (message.get("result") or {}).get("result")
            if not message.get("is_error") and isinstance(result, dict):
                name = result.get("skill")
                if isinstance(name, str) and name not in loaded:
                    loaded.add(name)
                    names.append(name)
    return names[::-1]


def origin_of(session: Session, args: Mapping[str, Any]) -> list[str]:
    """Return the skills that a call comes from, in order of their names.

    Those that were loaded since the last user message, and those whose files its arguments name.
    """
    found = set(loaded_now(session))
    text = dumps(args) if used_skills(session) else ""
    for name, entry in used_skills(session).items():
        places = (f"{PLACE}/{name}", entry.get("place") or "")
        if any(place and place in text for place in places):
            found.add(name)
    return sorted(found)


def refresh_note(session: Session) -> str:
    """Return a note about skills that a person wants loaded anew, "" if there are none."""
    waiting = skills_of(session).get("refresh")
    names = [name for name in waiting or () if name in used_skills(session)]
    if not names or not may_load(session):
        return ""
    return (
        f"The user replaced these skills by newer versions: {', '.join(names)}. Load each again"
        " before you follow it."
    )


def kept_hashes(session: Session) -> list[tuple[str, str]]:
    """Return (name, hash) of the used skills whose files are not in the session's folder."""
    return [
        (name, entry.get("hash", ""))
        for name, entry in used_skills(session).items()
        if entry.get("source") != WORKSPACE and isinstance(entry.get("hash"), str)
    ]


def leave_out(session: Session, tools: Callable[[], Collection[str]]) -> list[Change]:
    """Return the changes that leave skills and instructions out of the prompt, and say so.

    `tools`: names the tools of this server; [] if one of them loads skills.
    """
    if ("skills" not in session and "instructions" not in session) or TOOL in tools():
        return []
    about, changes = skills_of(session), list[Change]()
    if about.get("offered"):
        changes += [put("skills", "offered", value=[]), put("skills", "more", value=0)]
    if "instructions" in session:
        changes.append(drop("instructions"))
    if changes or about.get("used"):
        text = (
            "This server has no skills, so those of this session and the instructions of its folder"
            " are left out of the prompt."
        )
        warning: RunWarning = {"code": NOT_HERE, "message": text}
        changes.append(add_warnings(session, warning))
    return changes
