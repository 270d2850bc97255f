"""Tools that read or write the session: reloaded messages, the plan, and the structured output.

The toolbox declares `finish` with the parameters of the session's output schema, and performs these
kinds here. They start no process; they yield events and results. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..context.compact import RETAIN
from ..context.ops import NoSuchMessage, reload, retain, told
from ..schema.validate import remembered
from ..session import events, outcome, plan
from ..session.agent_definition import lists_finish, wants_finish
from ..session.modes import FINISH, PLANNING, mode_of
from ..types import Event, Json, Session
from .catalog import Entry
from .runner import Outcome


def as_wanted(entry: Entry, session: Session) -> Entry:
    """Return the entry of a tool for this session: `finish` takes the structured output, if any."""
    schema = outcome.schema_of(session) if entry.tool.name == FINISH else None
    if schema is None:
        return entry
    parameters = outcome.parameters(schema)
    description = "Give the final answer, when the task is done. Ends the run."
    tool = replace(entry.tool, description=description, parameters=parameters, kind="output")
    return Entry(replace(tool, returns=None), remembered(parameters))


def of_no_use(session: Session) -> set[str]:
    """Return the names of tools to hide in this session.

    Plan tools are hidden unless the mode plans; `finish` unless the agent lists it or the run
    requires it.
    """
    names = set() if mode_of(session).plans else set(PLANNING)
    must = wants_finish(session) or outcome.schema_of(session) is not None
    return names if must or lists_finish(session) else {*names, FINISH}


def recalled(session: Session, name: str, args: Json) -> Outcome:
    """Return the result of `context_reload` (a message) or `context_retain` (a confirmation)."""
    try:
        if name == RETAIN:
            return Outcome("ok", retain(session, **args))
        found = reload(session, **args)
    except NoSuchMessage as error:
        return Outcome("error", error={"type": "error", "message": str(error)})
    return Outcome("ok", found, text=told(found))


def planned(session: Session, name: str, args: Json) -> Iterator[Event | Outcome]:
    """Yield the new plan as an event, then the result.

    The result holds the changed task or the plan; the model reads the whole plan.
    """
    try:
        made = (
            plan.set_plan(session, **args) if name == PLANNING[0] else plan.update(session, **args)
        )
    except plan.BadPlan as error:
        yield Outcome("error", error={"type": "error", "message": str(error)})
        return
    yield events.plan_set(made)
    changed = next((each for each in made["tasks"] if each["id"] == args.get("task")), made)
    yield Outcome("ok", changed, text=plan.told(made))
