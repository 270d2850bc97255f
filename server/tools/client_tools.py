"""Tools of the page: declared by the session, run by the client.

The toolbox declares them after the server's own and judges their calls. A call goes out as a
`client_tool` interrupt, or with `wait: false` as a result that says it was sent. Results are
untrusted and cut to size like any other. Pure.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from typing import Any

from ..errors import Problem
from ..json_types import Event, Session, ToolResult
from ..lib.json_schema.field_types import Misfit
from ..lib.strict_json import browser_safe
from ..session import events
from ..session.call_actions import ClientResult, SendToClient
from . import policy
from .base import Tool, hints_of
from .result import MAX_TEXT, as_text, limit_result, shorten_text

SENT = "Sent to the page, which does it now. No result will come back."


@dataclass(frozen=True, kw_only=True)
class ClientTool(Tool):
    """A tool of the page. `wait`: whether to wait for its result."""

    wait: bool = True

    of_page = True

    def default(self) -> tuple[str, str]:
        """Return that the tool runs: the page decides itself."""
        return "run", "the page asks where it has to"

    def verdict(self, action: str, reason: str) -> tuple[str, str]:
        """Return the verdict `client` or `send`, unless the call is denied.

        A call that needs approval is never sent without waiting: the page asks the person and
        answers.
        """
        if action == "run":
            return ("client" if self.wait else "send"), ""
        return ("client" if action == "ask" else action), reason


def tools(session: Session, taken: Container[str]) -> dict[str, Tool]:
    """Return the page's tools by name, without those whose name is in `taken`."""
    return {
        tool["name"]: ClientTool(
            tool["name"],
            tool.get("description") or "",
            tool.get("parameters") or {"type": "object"},
            origin="client",
            hints=hints_of(tool.get("hints") or {}),
            wait=tool.get("wait", True),
        )
        for tool in session.get("tools", ())
        if tool["name"] not in taken
    }


def admit(session: Session, taken: Container[str]) -> None:
    """Raise Problem if tools of the page have names in `taken`; it lists every such tool.

    `taken`: tools that steer a run, such as finish. Any other of the server's gives way.
    """
    errors = [
        Misfit(("tools", index, "name"), f"{tool['name']} is a tool that every run needs").error()
        for index, tool in enumerate(session.get("tools", ()))
        if tool["name"] in taken
    ]
    if errors:
        detail = "; ".join(error["detail"] for error in errors[:5])
        text = f"{detail}. Leave it out of the session's tools, or call it something else."
        raise Problem("session_invalid", text, errors=errors)


def result(session: Session, job: ClientResult | SendToClient, now_ms: int) -> Event:
    """Return the TOOL_CALL_RESULT of a call that the page answered (Given), or that is sent (Send).

    The page acts on the event of a sent call; it has the arguments as judged.
    """
    call_id, name = job.call["id"], job.call["function"]["name"]
    if isinstance(job, SendToClient):
        sent: ToolResult = {"status": "sent", "result": SENT, "args": browser_safe(job.args)}
        return events.tool_result(call_id, name, SENT, now_ms, result=sent)
    content, failed = job.payload.get("content"), job.payload.get("is_error") is True
    text = shorten_text(answer_text(content), MAX_TEXT)
    result_fields: ToolResult = {"status": "error" if failed else "ok"}
    if failed:
        result_fields["error"] = {"type": "error", "message": text}
        text = f"Error: {text}"
        if hint := policy.Failures(session).failure_note(job.call):
            result_fields["hint"] = hint
            text = f"{text}\n{hint}"
    else:
        result_fields["result"] = limit_result(content)
    state = "failed" if failed else "done"
    return events.tool_result(
        call_id, name, text, now_ms, state=state, is_error=failed, result=result_fields
    )


def answer_text(content: Any) -> str:
    """Return the page's answer as text for the model.

    Of content parts, text is kept and others become a placeholder; other values become JSON.
    """
    if not is_parts(content):
        return as_text(content)
    return "\n".join(
        part["text"] if isinstance(part.get("text"), str) else f"[{part['type'][:40]}]"
        for part in content
    )


def is_parts(content: Any) -> bool:
    """Return whether the answer is a list of content parts: objects with a `type`."""
    return (
        isinstance(content, list)
        and bool(content)
        and all(isinstance(p, dict) and isinstance(p.get("type"), str) for p in content)
    )
