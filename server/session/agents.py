"""The agents of a server: find the definition for the run of a session. Pure.

A server has one agent, which is that of the configuration, unless a subclass of `Agents` has more.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from ..errors import Problem, refuse
from ..json_types import AgentDefinition, RunWarning
from ..lib.json_schema.field_types import Misfit
from ..lib.strict_json import pointer
from . import agent_definition as definitions
from .json_patch import copy_json

DEFAULT = "default"  # name of the agent of a server that configures none


class UsableAgent(NamedTuple):
    """An agent that sessions can name.

    origin   where it comes from, for people
    written  when its file was last written, in Unix seconds; 0 for none
    """

    definition: AgentDefinition
    origin: str = "built in"
    written: int = 0


class Agents:
    """The agents of a server: one, which may use all tools.

    `default`: the agent of a session that names none. `limits`: the default limits of a session.
    The `owner` in the methods is that of the API key (api.auth.Key).
    """

    def __init__(self, default: str = DEFAULT, limits: Mapping[str, Any] | None = None) -> None:
        self.default, self._limits = default, limits or {}

    def usable(self, owner: str = "") -> Mapping[str, UsableAgent]:
        """Return the agents of one key by name."""
        return {self.default: UsableAgent({"name": self.default})}

    def file_names(self, owner: str = "") -> Collection[str]:
        """Return the names that no session may bring an agent of: of usable agents and others."""
        return self.usable(owner)

    def problems(self, tools: Collection[str] = (), owner: str = "") -> list[str]:
        """Return what the owner has to fix, one line each, none with a path outside.

        `tools`: the names of all tools, to find unknown ones; empty to skip that.
        """
        if self.default == DEFAULT:
            return []
        text = f"session.agent is {self.default}, which may use all tools"
        return [f"{text}: no extension reads its definition"]

    def resolve(self, session: Mapping[str, Any], owner: str = "") -> AgentDefinition:
        """Return the definition for a run of this session: the server's, else the session's own.

        Raises Problem, before any side effect.
        """
        return self.resolve_with_warnings(session, owner)[0]

    def resolve_with_warnings(
        self, session: Mapping[str, Any], owner: str = ""
    ) -> tuple[AgentDefinition, list[RunWarning]]:
        """Return the definition for a run, and warnings for the user (`run.warnings`).

        A definition in the session may only narrow what is allowed, and never replaces one of this
        server, not even one whose file cannot be used. Raises Problem for an unknown agent.
        """
        usable = self.usable(owner)
        name = session.get("agent") or ""
        name = self.default if name in definitions.DEFAULT else name
        if name in usable:
            copy: AgentDefinition = copy_json(usable[name].definition)
            return copy, []
        brought = definitions.definition_of(session)
        theirs = isinstance(brought, dict) and brought.get("name") == name
        # Nor one that looks like it.
        if theirs and not any(each.lower() == name.lower() for each in self.file_names(owner)):
            definition, misfits = definitions.read(name, brought)
            place = pointer("config", "agent")
            wrong = [{**each, "pointer": place + each["pointer"]} for each in misfits]
            refuse("session_invalid", wrong)
            definition, left_out = definitions.narrow_definition(definition, self._limits)
            remark = definitions.left_out_remark(name, left_out)
            return definition, [remark] if left_out else []
        known = sorted(usable)
        near = difflib.get_close_matches(name, known, 1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        shown = name if len(name) <= 64 else name[:63] + "…"
        detail = f"This server has no agent {shown!r}.{hint} Known: {', '.join(known)}."
        raise Problem("agent_unknown", detail, errors=[Misfit(("agent",), detail).error()])

    def info(self, owner: str = "") -> list[dict[str, Any]]:
        """Return the agents for `/info`, the default one first.

        Each is `{name, description?, mode?, provider?, model?, tools?, origin, default?}`.
        """
        shown = ("name", "description", "mode", "provider", "model", "tools")
        listed = []
        for name, agent in self.usable(owner).items():
            about: Mapping[str, Any] = agent.definition
            item = {key: about[key] for key in shown if key in about}
            item["origin"] = agent.origin
            listed.append({**item, "default": True} if name == self.default else item)
        return sorted(listed, key=lambda item: not item.get("default"))
