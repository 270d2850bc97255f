"""A client of AG-UI: it holds a thread, which is a session in another form.

What such a client makes of the events is what the fold makes of them: the official client is held
to that (tests/extensions/agui). So this one keeps a session, and sends it as a RunAgentInput.
"""

from __future__ import annotations

from typing import Any

from server.session import snapshot

from .client import Client
from .host import Host
from .line import Line
from .wire import Answer

THREAD = "agui"
EDITED = ("editedArgs", "edited_args")  # of an answer: in AG-UI, in a session


class Thread(Client):
    """A client that asks at `/agui`."""

    async def request(
        self, host: Host, path: str, body: Any, headers: Any, **options: Any
    ) -> tuple[Answer, Line | None]:
        """POST a session as AG-UI's client does."""
        if path == "/session":
            path = f"/agui/{host.app.agents.info('')[0]['name']}"
            body = run_input(body)
        return await super().request(host, path, body, headers, **options)


def run_input(session: Any) -> dict[str, Any]:
    """Return the RunAgentInput that asks this session to run, with its answers as `resume`."""
    state = {key: value for key, value in session.items() if key != "messages"}
    asked = state.get("interrupts", [])
    if asked:
        state["interrupts"] = [{k: v for k, v in i.items() if k != "answer"} for i in asked]
    return {
        "threadId": session["id"],
        "runId": "run",
        "messages": snapshot.messages(session)["messages"],
        "state": {"yaa": state},
        "tools": [],
        "context": [],
        "forwardedProps": {},
        "protocolVersion": "1.0",
        "resume": [_entry(each) for each in asked if "answer" in each],
    }


def _entry(interrupt: Any) -> dict[str, Any]:
    answer = dict(interrupt["answer"])
    payload = answer.get("payload")
    if isinstance(payload, dict) and EDITED[1] in payload:
        theirs = {key: value for key, value in payload.items() if key != EDITED[1]}
        answer["payload"] = {**theirs, EDITED[0]: payload[EDITED[1]]}
    return {"interruptId": interrupt["id"], **answer}
