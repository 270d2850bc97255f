"""The permission mode of a session, `config.yaa.ask`: what runs unasked beyond the rules.

    every_call   every call asks
    by_rules     a call asks where the rules say so
    edits_run    the built-in tools that change files run, too, and commands that only look
    copy_runs    so do all calls of `shell` and `python`

The last two count only where a call can change nothing but a copy: in the session's own folder and
in an overlay, in a sandbox that confines programs. Elsewhere a session with them is as by_rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from ..json_types import Json, RunWarning, Session
from ..lib.sandbox.policy import CONFINING
from ..settings.real_folders import MODES
from .runner import ToolRunner

# Mode -> kinds of work that run in it (`ChildTool.runs_in`).
WORK: dict[str, frozenset[str]] = {
    "edits_run": frozenset(("edit", "look")),
    "copy_runs": frozenset(("edit", "look", "program")),
}
COPIES = ("own", "overlay")
NOT_EFFECTIVE = "permission_mode"  # a code of `run.warnings`
# Why a mode is not effective: code -> sentence.
REASONS = {
    "forbidden": "The owner of this server does not allow it (server.permission_modes).",
    "tier": (
        "The sandbox of this server (tier {tier}) does not keep programs in a folder; that needs"
        " tier A or B."
    ),
    "read_only": "This folder can only be read.",
    "final": (
        "What is changed in this folder stays changed: the mode needs a copy, which is a folder"
        " with the mode overlay, or the session's own files."
    ),
    "network": (
        "Programs reach the network here (server.sandbox.network: {network}), so each of them asks."
    ),
}


class Permission(NamedTuple):
    """The work that one session's mode runs unasked. `modes`: that of each mode it could have."""

    work: frozenset[str] = frozenset()
    modes: Mapping[str, frozenset[str]] = {}


NO_PERMISSION = Permission()


def mode_of(session: Session) -> str:
    """Return the mode that a session says."""
    return str(session["config"].get("yaa", {}).get("ask", ""))


class PermissionModes:
    """The modes that the owner allows (`server.permission_modes`), and where they are effective."""

    def __init__(self, allowed: Iterable[str], runner: ToolRunner) -> None:
        self._allowed, self._runner = frozenset(allowed), runner

    def of(self, session: Session) -> Permission:
        """Return what a session's mode allows where its files are."""
        sandbox = self._runner.sandbox
        modes = _modes(self._allowed, sandbox["tier"], sandbox["network"], self._place(session))
        return Permission(modes.get(mode_of(session), frozenset()), modes)

    def problem(self, mode: str, place: str) -> str:
        """Return the code of REASONS why a mode is not effective; "" if it is.

        `place`: the mode of the workspace, which is own, read, write or overlay.
        """
        sandbox = self._runner.sandbox
        return _problem(mode, self._allowed, sandbox["tier"], sandbox["network"], place)

    def info(self) -> Json:
        """Return mode of a workspace -> mode beyond the rules -> {code, message} of why not, {}."""
        return {
            place: {mode: self._reason(self.problem(mode, place)) for mode in WORK}
            for place in ("own", *MODES)
        }

    def _reason(self, code: str) -> Json:
        if not code:
            return {}
        return {"code": code, "message": REASONS[code].format_map(self._runner.sandbox)}

    def remarks(self, session: Session, defaults: Mapping[str, Any]) -> list[RunWarning]:
        """Return the entry of `run.warnings` if a session's mode is not effective here."""
        config: Any = session.get("config", {})
        mode = config.get("yaa", {}).get("ask", defaults["config"]["yaa"]["ask"])
        code = self.problem(mode, self._place(session)) if mode in WORK else ""
        if not code:
            return []
        message = f"The mode {mode} has no effect here: calls ask. {self._reason(code)['message']}"
        return [{"code": NOT_EFFECTIVE, "reason": code, "message": message}]

    def _place(self, session: Session) -> str:
        workspace: Any = session.get("workspace")
        name = workspace.get("folder") if isinstance(workspace, dict) else None
        if not name:
            return "own"
        return self._runner.files.mode_of(name)


@lru_cache(maxsize=64)  # it is asked for at each decision
def _modes(
    allowed: frozenset[str], tier: str, network: str, place: str
) -> Mapping[str, frozenset[str]]:
    """Return the modes that are effective, and the work that each runs."""
    programs = frozenset[str]() if network == "off" else frozenset(("look",))  # these ask
    return {
        mode: work - programs
        for mode, work in WORK.items()
        if not _problem(mode, allowed, tier, network, place)
    }


def _problem(mode: str, allowed: frozenset[str], tier: str, network: str, place: str) -> str:
    if mode not in allowed:
        return "forbidden"
    if tier not in CONFINING:
        return "tier"
    if place not in COPIES:
        return "read_only" if place == "read" else "final"
    return "network" if mode == "copy_runs" and network != "off" else ""
