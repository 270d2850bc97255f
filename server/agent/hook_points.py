"""The hook points of a run: the value that each passes to its hooks, and how replacements apply.

Used by the loop, which reaches hooks.py only through this. A replacement is either an event that is
folded, like every other change, or it changes a request that is never stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from ..context.view import pairing_errors
from ..session import events
from ..session.call_actions import Execute, Job, Reply, Toolbox
from ..session.events import Event
from ..tools.result import BY_HOOK
from .call_decisions import with_args
from .hooks import Calls, Hooks, has, is_json

Session = dict[str, Any]
Message = dict[str, Any]


class Points:
    """The points of one run."""

    def __init__(
        self, hooks: Hooks, session: Session, toolbox: Toolbox, about: Mapping[str, str]
    ) -> None:
        self._calls = Calls(hooks, session, about)
        self._session, self._toolbox = session, toolbox
        self.watched = hooks.watched

    async def opened(self) -> None:
        """Call pre_call with the messages of the session, before anything is done."""
        if self._calls.any("pre_call"):
            await self._calls.ask("pre_call", {"messages": self._session["messages"]})

    async def asking(self, messages: list[Message]) -> list[Message]:
        """Call pre_reasoning with the request, system prompt first; return it. It is not stored."""
        return list(await self._calls.ask("pre_reasoning", messages, _is_request))

    async def answered(self, message_id: str) -> list[Event]:
        """Call post_reasoning with the model's message, before its calls are decided.

        Returns the event that replaces it, if any.
        """
        return await self._rewritten("post_reasoning", message_id)

    async def acting(self, jobs: Iterable[Job]) -> tuple[Job, ...]:
        """Call pre_acting for every call that is about to be executed; return the jobs.

        A hook may change the arguments or refuse the call.
        """
        if not self._calls.any("pre_acting"):
            return tuple(jobs)
        return tuple([await self._acting(job) for job in jobs])

    async def passing(self, event: Event) -> Event:
        """Call the point of an event of a `watched` type; return the event, before it is folded."""
        point = self.watched[event["type"]]
        if point == "post_acting":
            return await self._result(event)
        if point == "error":
            told = {"code": event["code"], "message": event["message"]}
            await self._calls.ask(point, told)
        else:
            await self._calls.ask(point, event)
        return event

    async def compressing(self, ops: list[dict[str, Any]], record: dict[str, Any]) -> None:
        """Call pre_compress with the operations that make the view smaller."""
        await self._calls.ask("pre_compress", {"ops": ops, "record": record})

    async def stopping(self, status: str, interrupts: list[dict[str, Any]]) -> list[Event]:
        """Call on_interrupt if there are interrupts, post_call if the run is completed.

        post_call gets the final message. Returns the event that replaces it, if any.
        """
        if interrupts:
            await self._calls.ask("on_interrupt", {"status": status, "interrupts": interrupts})
        last = self._session["messages"][-1:]
        if status == "completed" and last and last[0]["role"] == "assistant":
            return await self._rewritten("post_call", last[0]["id"])
        return []

    async def _rewritten(self, point: str, message_id: str) -> list[Event]:
        if not self._calls.any(point):
            return []
        messages = self._session["messages"]
        found = [n for n, message in enumerate(messages) if message["id"] == message_id]
        message = messages[found[-1]]
        keys = ("content", "tool_calls") if point == "post_reasoning" else ("content",)
        before = {key: message[key] for key in keys if message.get(key)} | {"id": message_id}
        before.setdefault("content", "")
        after = await self._calls.ask(point, before, lambda given: _is_answer(given, before))
        changes = [
            _change(f"/{found[-1]}/{key}", after.get(key))
            for key in keys
            if after.get(key) != before.get(key)
        ]
        return [events.messages_filled(changes)] if changes else []

    async def _acting(self, job: Job) -> Job:
        if not isinstance(job, Execute):
            return job
        name = job.like or job.call["function"]["name"]  # one name for all tools that act alike
        told = {"id": job.call["id"], "name": name, "args": job.args}
        given = await self._calls.ask("pre_acting", told, has(("args", dict)))
        if refused := given.get("refused"):
            return Reply(job.call, f"not run: {refused}", "denied", status="denied")
        if given["args"] == job.args:
            return job
        verdict = self._toolbox.verdict(self._session, with_args(job.call, given["args"]))
        if verdict.action in ("deny", "error", "wait"):
            return Reply(job.call, verdict.reason, "failed", status=verdict.status)
        changed = {"args": given["args"], "args_by": BY_HOOK, "fingerprint": verdict.fingerprint}
        entry = {**job.entry, **changed}
        repairs = tuple(verdict.repairs)
        return replace(job, args=verdict.args or {}, entry=entry, repairs=repairs)

    async def _result(self, event: Event) -> Event:
        ours = event["metadata"]["yaa"]
        told = {"id": event["toolCallId"], "name": ours["name"], "content": event["content"]}
        told |= {"is_error": bool(ours.get("is_error")), "result": ours.get("result")}
        fits = has(("content", str), ("is_error", bool))
        given = await self._calls.ask("post_acting", told, fits)
        if given == told:
            return event
        ours = {k: v for k, v in ours.items() if k not in ("is_error", "result")}
        ours |= {"is_error": True} if given["is_error"] else {}
        if given.get("result") is not None:
            ours["result"] = given["result"]
        elif told["result"] is not None:
            ours["result"] = told["result"]
        return {**event, "content": given["content"], "metadata": {"yaa": ours}}


def _change(path: str, value: Any) -> dict[str, Any]:
    if value is None:
        return {"op": "remove", "path": path}
    return {"op": "add", "path": path, "value": value}


def _is_request(given: Any) -> str:
    if not isinstance(given, list) or not all(isinstance(each, dict) for each in given):
        return "gave no list of messages"
    if any(not isinstance(each.get("role"), str) or "content" not in each for each in given):
        return "gave a message without role or content"
    if why := is_json(given):
        return why
    wrong = pairing_errors(given)
    return f"gave messages that do not fit: {wrong[0]}" if wrong else ""


def _is_answer(given: Any, before: Message) -> str:
    """Return what is wrong with a replaced answer, "" if nothing.

    Calls may be left out or have other arguments, but none may be added.
    """
    if why := has(("content", str))(given):
        return why
    known = {call["id"]: call["function"]["name"] for call in before.get("tool_calls") or ()}
    for call in given.get("tool_calls") or ():
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict) or known.get(call.get("id")) != function.get("name"):
            return "gave a call that the model has not made"
        if not isinstance(function.get("arguments"), str):
            return "gave a call whose arguments are no text"
    return ""
