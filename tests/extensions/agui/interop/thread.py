"""A thread in the official AG-UI client (thread.mjs), and what must hold after each run.

`Thread.run` asks a live server, holds what came against every reader there is, and holds the
client's messages and state against our own fold: what the next request would be read as is the
session that the events made of the one before.
"""

from __future__ import annotations

import copy
import json
import subprocess
import unittest
from pathlib import Path
from typing import Any

from server.extensions.agui import request
from server.session.fold import Folder, changed_call, find_message, reasoning_of

from ....interop import agui_peers as peers
from ....tooling import patience, tools
from ....tooling.child import Yaa

Json = Any

SCRIPT = Path(__file__).with_name("thread.mjs")


class Client:
    """The process in which the client lives: one thread at a time. A context manager."""

    def __enter__(self) -> Client:
        pipe = subprocess.PIPE
        command = [str(tools.program_node().path), str(SCRIPT)]
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
        return self

    def __exit__(self, *_: Any) -> None:
        self._process.communicate(timeout=patience.seconds(20))

    def write(self, order: Json) -> None:
        assert self._process.stdin
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()

    def read(self) -> Json:
        assert self._process.stdout
        line = self._process.stdout.readline()
        assert line, "the client has ended"
        found: Json = json.loads(line)
        return found


class Thread:
    """One conversation of the client, which moves from server to server."""

    def __init__(self, test: unittest.TestCase, client: Client, name: str) -> None:
        self.test, self.client, self.name = test, client, name
        self.messages: list[Json] = []
        self.state: Json = {}
        self.pending: list[Json] = []
        self.tools: list[Json] = []
        self.runs = 0

    def open(self, server: Yaa, *, agent: str = "default", key: str = "") -> None:
        """A fresh client with the messages and the state as they were stored."""
        self._ask(
            do="open",
            url=f"{server.url}/agui/{agent}",
            headers={"Authorization": f"Bearer {key or server.key}"},
            threadId=self.name,
            messages=self.messages,
            state=self.state,
        )

    def say(self, content: Any, *, role: str = "user", **more: Any) -> None:
        message = {"id": f"say-{len(self.messages)}", "role": role, "content": content, **more}
        self._ask(do="say", message=message)

    def run(self, *, whole: bool = True, **more: Any) -> Json:
        """What came of a run; `whole`: it must have ended as the protocol wants it. `more` is what
        the script understands, or a parameter of the client's `runAgent`."""
        steering: Json = {k: more.pop(k) for k in ("abortAt", "tellAt", "stream") if k in more}
        self.begin(steering, **more)
        return self.end(whole=whole)

    def begin(self, steering: Json, **parameters: Any) -> None:
        self.runs += 1
        self.run_id = f"{self.name}-run-{self.runs}"
        wanted = {"runId": self.run_id, "tools": self.tools, **parameters}
        self.client.write({"do": "run", "parameters": wanted, **steering})

    def seen(self) -> str:
        """Waits for the event that `tellAt` names."""
        return str(self.client.read()["seen"])

    def end(self, *, whole: bool = True) -> Json:
        found = self._keep(self.client.read())
        if whole:
            self.test.assertEqual(found["warnings"], [])
            self.test.assertNotIn("error", found)
            self.agree(found)
        return found

    def resume(self, status: str = "resolved", payload: Any = None, **more: Any) -> Json:
        """The same answer for everything that is asked."""
        return self.run(resume=answers(self.pending, status, payload), **more)

    def agree(self, found: Json) -> None:
        """All readers, on a stream from its beginning to its end."""
        equal = self.test.assertEqual
        earlier = [c["id"] for m in found["sent"]["messages"] for c in m.get("toolCalls", ())]
        equal(peers.model_errors(found["text"]), [])
        equal(peers.rule_errors(found["text"], tuple(earlier)), [])
        first, *_, last = peers.events_of(found["text"])
        equal((first["type"], first["runId"]), ("RUN_STARTED", self.run_id))
        if last["type"] == "RUN_FINISHED":
            equal(last["runId"], self.run_id)
        folded, held = self.folded(found), self.held()
        folded["messages"] = [m for m in folded["messages"] if m["role"] != "error"]
        equal(held, folded)

    def folded(self, found: Json) -> Json:
        """The session that was asked to run, with the events that came."""
        session: Any = copy.deepcopy(request.read(found["sent"], "default").session)
        folder = Folder(session)
        for event in peers.events_of(found["text"]):
            folder.apply(event)
            if event["type"] == "REASONING_ENCRYPTED_VALUE":
                unseal(session, event)
        folder.flush()
        return session

    def held(self) -> Json:
        """The session as which the next request would be read."""
        thread = {"threadId": self.name, "runId": "next", "messages": self.messages}
        return request.read(copy.deepcopy({**thread, "state": self.state}), "default").session

    def said(self) -> str:
        return str(self.messages[-1].get("content", ""))

    def results(self) -> dict[str, str]:
        """What became of each call, by its tool, without what is said of files."""
        names = {c["id"]: c["function"]["name"] for m in self.messages for c in _calls(m)}
        kept = [m for m in self.messages if m["role"] == "tool"]
        return {names[m["toolCallId"]]: m["content"].partition("\n[")[0] for m in kept}

    def _keep(self, found: Json) -> Json:
        self.messages, self.state = found["messages"], found["state"]
        self.pending = found["pending"]
        return found

    def _ask(self, **order: Any) -> Json:
        self.client.write(order)
        return self._keep(self.client.read())


def unseal(session: Any, event: Json) -> None:
    """Our own fold is told of this in metadata; AG-UI's clients at the protocol's place for it."""
    marks = json.loads(event["encryptedValue"])["yaa"]
    if event["subtype"] == "tool-call":
        call = changed_call(Folder(session), event["entityId"])
        assert call is not None
        call["extra"] = marks["extra"]
    else:
        message = find_message(session, event["entityId"])
        assert message is not None
        reasoning_of(message)["details"] = marks["reasoning_details"]


def answers(asked: list[Json], status: str = "resolved", payload: Any = None) -> list[Json]:
    """Entries of `resume` that say the same to all of these interrupts."""
    answer = {"status": status} if payload is None else {"status": status, "payload": payload}
    return [{"interruptId": item["id"], **answer} for item in asked]


def _calls(message: Json) -> list[Json]:
    calls: list[Json] = message.get("toolCalls") or []
    return calls
