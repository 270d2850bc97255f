"""The plan of a session, kept by the model: a goal and ordered tasks with status and result.

The toolbox calls this for the tools `plan_set` and `plan_update`. The new plan is an event and part
of the document, so any server can continue it. Each tool result shows the whole plan to the model.
Pure.
"""

from __future__ import annotations

from typing import Any

from ..json_types import Plan, Session, Task

TODO, FAILED = "todo", "failed"
STATES = (TODO, "in_progress", "completed", FAILED, "cancelled")
MAX_TASKS = 100
MAX_TEXT = 2_000  # characters of a title or a result
_MARKS = dict(zip(STATES, (" ", ">", "x", "!", "-"), strict=True))


class BadPlan(Exception):
    """The requested plan or change is invalid; the text is for the model."""


def set_plan(session: Session, goal: str, tasks: list[str]) -> Plan:
    """Return a new plan.

    A task with the title of an old one keeps its status and result, once per old task. Raises
    BadPlan without a goal, for a task without a title, or unless there are 1 to MAX_TASKS tasks.
    """
    if not (goal := " ".join(goal.split())[:MAX_TEXT]):
        raise BadPlan("say the goal first: what is to be true when the task is done")
    if not 1 <= len(tasks) <= MAX_TASKS:
        raise BadPlan(f"a plan has 1 to {MAX_TASKS} tasks, not {len(tasks)}")
    titles = [" ".join(task.split())[:MAX_TEXT] for task in tasks]
    if not all(titles):
        raise BadPlan("every task needs a title")
    known = {task["title"]: task for task in reversed(tasks_of(session))}
    made: list[Task] = []
    for number, title in enumerate(titles, 1):
        if old := known.pop(title, None):
            made.append({**old, "id": str(number), "title": title})
        else:
            made.append({"status": TODO, "id": str(number), "title": title})
    return {"goal": goal, "tasks": made}


def update(session: Session, task: str, status: str, result: str = "") -> Plan:
    """Return the plan with a new status of one task, and its result if given.

    Raises BadPlan for an unknown task id.
    """
    tasks = tasks_of(session)
    if task not in [each["id"] for each in tasks]:
        known = ", ".join(each["id"] for each in tasks)
        raise BadPlan(
            f"there is no task {task[:40]!r}; there are {known}" if known else "call plan_set first"
        )
    changed: list[Task] = []
    for each in tasks:
        if each["id"] == task:
            each = {**each, "status": status}
            if result:
                each["result"] = result[:MAX_TEXT]
        changed.append(each)
    goal = goal_of(session)
    return {"goal": goal, "tasks": changed} if goal else {"tasks": changed}


def goal_of(session: Session) -> str:
    """Return the goal; "" if there is none, or if the document's value is invalid."""
    goal = (session.get("plan") or {}).get("goal")
    return goal if isinstance(goal, str) and len(goal) <= MAX_TEXT else ""


def tasks_of(session: Session) -> list[Task]:
    """Return the valid tasks of a session's plan: a client's document may hold anything."""
    tasks = (session.get("plan") or {}).get("tasks")
    return [
        task
        for task in (tasks if isinstance(tasks, list) else ())
        if isinstance(task, dict)
        and all(_is_text(task.get(key)) for key in ("id", "title", "status"))
        and _is_text(task.get("result", ""))
    ]


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= MAX_TEXT


def plan_text(plan: Plan) -> str:
    """Return a plan as text for the model."""
    lines = [f"Goal: {plan['goal']}"] if plan.get("goal") else []
    for task in plan["tasks"]:
        said = f": {task['result']}" if task.get("result") else ""
        lines.append(f"[{_MARKS.get(task['status'], '?')}] {task['id']}. {task['title']}{said}")
    return "\n".join(lines)


def failed_task(session: Session) -> str:
    """Describe the task that the model marked failed since the user's last message, "" for none."""
    for message in reversed(session["messages"]):
        if message["role"] == "user":
            return ""
        if message["role"] == "tool" and message.get("name") == "plan_update":
            found = (message.get("result") or {}).get("result")
            if isinstance(found, dict) and found.get("status") == FAILED:
                why = f": {found['result']}" if found.get("result") else ""
                return f"task {found.get('id')}, {found.get('title')}, failed{why}"
    return ""
