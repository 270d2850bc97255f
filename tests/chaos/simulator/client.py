"""The client of one world: it converses, is disturbed, and does what its spec says next."""

from __future__ import annotations

import asyncio
import json
import math
from collections import Counter
from collections.abc import Callable
from functools import cached_property
from typing import Any

from server.agent.call_decisions import FORGOTTEN
from server.session.fold import Folder, digest
from server.session.json_patch import copy_json
from server.session.kept_sessions import chained_digest

from .host import Host
from .line import LATENCY_S, Line
from .spec import AND, DAY_S, Disturbance, Spec, wants_once
from .wire import Answer, request
from .world import World

MOST_POSTS = 16  # of one conversation without disturbances
MOST_TRIES = 600  # of requests that a busy session refuses
LATE_S = 3.0
YEAR_2100_MS = 4_102_444_800_000
KEYS = [{"key": f"{name}-{name}-0123456789", "name": name} for name in ("ann", "bob")]


class NotPossible(Exception):
    """The client cannot do here what its spec says."""


def marked(session: Any) -> Any:
    """Return the copy that the page keeps when it POSTs approvals."""
    kept = copy_json(session)
    for interrupt in kept.get("interrupts", ()):
        payload = interrupt.get("answer", {}).get("payload") or {}
        entry = kept["calls"].get(interrupt.get("call_id"))
        if interrupt["reason"] == "tool_call" and payload.get("approved") and entry:
            if entry["state"] not in ("started", "done", "failed"):
                entry |= {"state": "started", "attempt": entry.get("attempt", 0) + 1}
    return kept


class Client:
    """A client that holds a session document.

    found       what it met, counted
    documents   what it had at which time
    questions   (time, call id, reason, the message) of each interrupt about a call
    sizes       events of each undisturbed POST
    effects     of the server in each undisturbed POST
    wishes      (begin, end, whether tools should run) of what a person wanted again
    watch       called after a disturbance, before the client goes on
    """

    RETRY_S = 1.0  # after a busy session

    def __init__(self, world: World, spec: Spec, name: str = "") -> None:
        self.world, self.spec, self.name = world, spec, name
        self.found: Counter[str] = Counter()
        self.documents: list[tuple[float, Any]] = []
        self.questions: list[tuple[float, str, str, str]] = []
        self.sizes: list[int] = []
        self.effects: list[int] = []
        self.wishes: list[tuple[float, float, bool]] = []
        self.killed = False
        self.late = any(each.mode == "late" for each in spec.disturbances)
        self.posts = self.tries = 0
        self.moved_at = 0.0  # when the last disturbance was over
        self.final: Any = None
        self.host = self.a = world.host("A")
        self._sent: list[Any] = []
        self._due = {each.post: each for each in spec.disturbances}
        self._has = 0  # messages that the server has as the client has them
        self._names = iter("CDEFGHIJ")
        self.watch: Callable[[Any, Any], None] = lambda kept, posted: None

    @cached_property
    def b(self) -> Host:
        """The other server of the home."""
        return self.world.host("B")

    async def run(self) -> None:
        """Converse until all turns are over."""
        content = f"{self.name}go"
        document: Any = {"messages": [{"id": "u1", "role": "user", "content": content}]}
        if self.spec.wire != "key":
            document["id"] = f"{self.name}s"
        document = await self.converse(document)
        for turn in range(1, self.spec.turns):
            content = f"{self.name}turn{turn}"
            message = {"id": f"t{turn}", "role": "user", "content": content}
            document["messages"].append(message)
            document = await self.converse(document)
        if self.late:
            await asyncio.sleep(60.0)
        self.final = document

    async def converse(self, document: Any) -> Any:
        """POST until the session is completed; return it."""
        most = self.posts + MOST_POSTS
        while self.posts < most and self.tries < MOST_TRIES:
            document = self.answered(document)
            if not self._sent or self._sent[-1] != document:
                self._sent.append(copy_json(document))
            due = self._due.get(self.posts)
            answer, kept, line = await self.post(document, due)
            if answer.status in (409, 429, 503) or (answer.status == 0 and due is None):
                if self.host.process.dead:
                    self.host = self._another()
                self.tries += 1
                await asyncio.sleep(self.RETRY_S)
                continue
            if answer.status >= 400:
                self.found[f"refused {answer.status}"] += 1
                return document
            self._due.pop(self.posts, None)
            self.posts += 1
            if due is not None and due.action != "none":
                posted = marked(document) if self.spec.page else document
                document = await self.after(due, kept, posted, line)
                self.moved_at = self.world.loop.now
                continue
            document = kept
            if answer.whole and answer.ended and document.get("status") == "completed":
                return document
        self.found["never ends"] += 1
        return document

    async def post(self, document: Any, due: Disturbance | None) -> tuple[Answer, Any, Line | None]:
        """POST a document. Return the answer, what the client has then, and the line."""
        host, options = self.host, self._options(due)
        before = host.process.effects
        if due is not None and due.mode == "kill":
            host.process.kill_at = before + due.at
        if due is not None and due.mode == "full":
            host.process.full_at = before + due.at
        self.world.tell(f"POST to {host.process.name}: {brief(document)}")
        answer, line = await self._request(host, document, options)
        host.process.after = lambda count: None
        self.killed |= host.process.dead
        kept = self._kept(document, answer)
        if due is None:
            self.sizes.append(len(answer.events))
            self.effects.append(host.process.effects - before)
        if answer.events or answer.whole:
            self.documents.append((self.world.loop.now, kept))
        read = "all" if answer.whole else f"{len(answer.events)} events"
        self.world.tell(f"  has {read} ({answer.status}): {brief(kept)}")
        return answer, kept, line

    def _options(self, due: Disturbance | None) -> dict[str, Any]:
        """Return the arguments of `request` for a disturbance."""
        if due is None or due.mode == "kill":
            return {}
        if due.mode == "full":
            return {"take": 0}
        if due.mode == "late":
            return {"take": 0, "frames": 0, "late_s": LATE_S}
        if self.spec.wire in ("json", "key"):
            if due.mode in ("rst", "fin"):
                return {"cut": (due.at, due.mode)}
            return lost(0, due.mode) or {"take": 0}
        return {"take": due.at, **lost(due.at, due.mode)}

    async def request(
        self, host: Host, path: str, body: Any, headers: Any, **options: Any
    ) -> tuple[Answer, Line | None]:
        """POST, and read as much of the answer as `wire.request` is told."""
        return await request(host, path, body, headers, **options)

    async def _request(self, host: Host, document: Any, options: Any) -> tuple[Answer, Line | None]:
        headers = {"Accept": "text/event-stream", **self.authorization()}
        body = document
        if self.spec.wire in ("json", "key"):
            headers["Accept"] = "application/json"
        if self.spec.wire == "key":
            headers["Idempotency-Key"] = f"{self.name}key"  # as long as the client has no id
        if self.spec.wire == "base" and self._has:
            body = self._with_base(document)
            answer, line = await self.request(host, "/session", body, headers, **options)
            if (answer.body or {}).get("error", {}).get("code") != "base_unknown":
                return answer, line
            self.found["base unknown"] += 1
            self._has = 0
        return await self.request(host, "/session", document, headers, **options)

    def authorization(self, name: str = "ann") -> dict[str, str]:
        """Return the headers of a key, if the world has keys."""
        keys = {each["name"]: each["key"] for each in self.world.keys}
        return {"Authorization": f"Bearer {keys[name]}"} if name in keys else {}

    def _with_base(self, document: Any) -> Any:
        """Return the document without the messages that the server has."""
        before, messages = "", document["messages"]
        if len(messages) < self._has:
            return document
        calls = document.get("calls", {})
        for message in messages[: self._has]:
            before = chained_digest(before, message, calls)
        known = {c["id"] for m in messages[: self._has] for c in m.get("tool_calls") or ()}
        rest = {call_id: entry for call_id, entry in calls.items() if call_id not in known}
        base = {"messages": self._has, "digest": before}
        return {**document, "messages": messages[self._has :], "calls": rest, "base": base}

    def _kept(self, document: Any, answer: Answer) -> Any:
        """Return the document with what was read of the answer."""
        kept: Any
        if isinstance(answer.body, dict) and answer.status == 200:
            kept = answer.body
        else:
            whole = answer.ended or not self.spec.page
            kept = copy_json(document) if whole else marked(document)
            folder = Folder(kept)
            for event in answer.events:
                folder.apply(event)
            folder.flush()
            if answer.ended and answer.events:
                about = answer.events[-1].get("metadata", {}).get("yaa", {})
                if about.get("digest") != digest(kept, about.get("since", 0)):
                    self.found["folds differ"] += 1
                    self.world.tell("  FOLDS DIFFER")
                self._has = len(kept["messages"])
        self._note_questions(kept)
        return kept

    def _note_questions(self, document: Any) -> None:
        for each in document.get("interrupts") or ():
            if "call_id" in each:
                question = each["call_id"], each["reason"], each["message"]
                if not any(question == known[1:] for known in self.questions):
                    self.questions.append((self.world.loop.now, *question))

    async def after(self, due: Disturbance, kept: Any, posted: Any, line: Line | None) -> Any:
        """End the line as the disturbance says, and return the document that is POSTed next."""
        if due.mode in ("deaf", "full"):
            for _ in range(60):
                if line is None or line.closed or bytes(line.machine[-5:]) == b"0\r\n\r\n":
                    break
                await asyncio.sleep(0.5)
            await asyncio.sleep(1.5)
            if line is not None:
                line.hang_up("rst")
            await asyncio.sleep(2 * LATENCY_S)
        elif due.mode in ("rst", "fin") and line is not None:
            line.hang_up(due.mode)
        self.host.process.full_at = None
        self.watch(kept, posted)
        self.world.tell(f"  {due.mode}, then {due.action} at {due.place}")
        if due.place == "restart" and not self.host.process.dead:
            self.host.process.kill()
            self.killed = True
            self.host = self.world.host(next(self._names))
        elif due.place == "other" or self.host.process.dead:
            self.host = self._another()
        return await self.act(due.action, kept, posted)

    def _another(self) -> Host:
        if self.host is not self.b and not self.b.process.dead:
            return self.b
        return self.a if not self.a.process.dead else self.world.host(next(self._names))

    async def act(self, action: str, kept: Any, posted: Any) -> Any:
        """Do what a client does next; return the document that it POSTs then."""
        if not self.can(action, kept, posted):
            raise NotPossible
        if action in ("later", "older-later", "user-later"):
            await asyncio.sleep(2.0)
        match action:
            case "day":
                await self._a_day()
            case "clock":
                self.world.skew_s = 400 * DAY_S
                await self._other_conversation(at=self.world.now_ms())
                await self._a_day()
                self.world.skew_s = 0.0
            case "times":
                await self._other_conversation(at=YEAR_2100_MS)
                await self._a_day()
            case "older" | "older-later" | "user-older":
                kept = copy_json(posted)
                return self.with_user(kept) if action == "user-older" else kept
            case "oldest":
                return copy_json(self._sent[0])
            case "user" | "user-later":
                return self.with_user(kept)
            case "keep+user":
                return self.with_user(kept, answers=True)
            case "deny":
                return self.with_answer(kept, {"approved": False})
            case "cancel":
                return self.with_answer(kept, None)
            case "edit":
                return self.with_answer(kept, {"approved": True, "edited_args": {}})
            case "stop":
                headers = self.authorization()
                body = {"id": kept.get("id", f"{self.name}s")}
                await self.request(self.host, "/session/stop", body, headers)
            case "branch" | "sibling" | "wish":
                await self._other_branch(action, kept)
            case "both":
                await self._both(kept)
            case "allow":
                return await self._allowed_after_all(kept)
        return kept

    def can(self, action: str, kept: Any, posted: Any) -> bool:
        """Return whether the client can do this here."""
        match action:
            case "older" | "older-later" | "user-older":
                return bool(kept != posted)
            case "oldest":
                return len(self._sent) > 1
            case "keep+user":
                return any("answer" in each for each in kept.get("interrupts", ()))
            case "deny" | "cancel" | "edit" | "allow":
                return bool(asked_of(kept))
            case "sibling":  # else nothing in the call log tells of what was taken out
                answer = kept["messages"][last_user(kept) :]
                calls = [call["id"] for each in answer for call in each.get("tool_calls") or ()]
                return any(call_id in kept.get("calls", {}) for call_id in calls)
        return True

    def state(self, kept: Any, posted: Any) -> Any:
        """Return what decides all that follows, but for the servers and the home."""
        documents = [(round(at, 6), without_open_text(each)) for at, each in self.documents]
        sent = [without_open_text(each) for each in (kept, posted, *self._sent)]
        counts = (self.posts, self.tries, self._has, sorted(self.found.items()))
        judged = (self.killed, self.late, self.questions, self.wishes)
        return self.host.process.name, sent, documents, counts, judged

    async def _a_day(self) -> None:
        await asyncio.sleep(DAY_S)
        self.host.clean()

    async def _other_conversation(self, at: int) -> None:
        """Let another person have a call run whose document says that it was made at `at`."""
        function = {"name": "bump", "arguments": json.dumps({"n": "other.0"})}
        call = {"id": "call_x", "type": "function", "function": function}
        message = {"id": "x1", "role": "assistant", "content": "", "tool_calls": [call], "at": at}
        user = {"id": "x0", "role": "user", "content": "other"}
        document = {"id": "x", "messages": [user, message]}
        headers = {"Accept": "text/event-stream", **self.authorization("bob")}
        await self.request(self.host, "/session", document, headers)

    async def _other_branch(self, action: str, kept: Any) -> None:
        """Have another branch answered, and come back to this one."""
        if action == "branch":
            other = {"messages": [{"id": "v1", "role": "user", "content": "branch"}]}
            other |= {"id": kept["id"]} if "id" in kept else {}
        else:  # another answer to the same message: the call log keeps the calls, or a key says so
            other = copy_json(kept) | {"interrupts": []}
            del other["messages"][last_user(kept) + 1 :]
            if action == "wish":
                other |= {"again": f"wish {self.posts}", "calls": {}}
        sent, self._sent = self._sent, []
        begins = self.world.loop.now
        due, self._due = self._due, {}
        wanted = wants_once(self.spec, other["messages"][-1])
        other = await self.converse(other)
        self._due, self._sent = due, sent
        if action != "branch":
            answer = other["messages"][last_user(other) + 1 :]
            calls = [call["id"] for each in answer for call in each.get("tool_calls") or ()]
            # An answer that the call log does not tell of is another one, though it is recorded.
            wanted &= action == "wish" or kept.get("calls", {}).keys() >= set(calls)
            self.wishes.append((begins, self.world.loop.now, wanted))
            log = other.get("calls", {})  # of every answer, as the page keeps it
            kept["calls"] = {each: log[each] for each in calls} | kept.get("calls", {})

    async def _allowed_after_all(self, kept: Any) -> Any:
        """Deny what is asked, then return the document without the first denial, which stands.

        Its call log tells of calls after that: whoever takes those out wants another answer.
        """
        due, self._due = self._due, {}
        kept = await self.converse(self.with_answer(kept, {"approved": False}))
        self._due = due
        for place, message in enumerate(kept["messages"]):
            if (message.get("result") or {}).get("status") == "denied":
                if any(each.get("tool_calls") for each in kept["messages"][place:]):
                    self.wishes.append((self.world.loop.now, math.inf, False))
                del kept["messages"][place:]
                return {**kept, "interrupts": []}
        raise NotPossible

    async def _both(self, document: Any) -> None:
        """POST to both servers at once; the answers are lost."""
        hosts = [host for host in {self.host, self._another()} if not host.process.dead]
        document = self.answered(copy_json(document))
        headers = {"Accept": "text/event-stream", **self.authorization()}
        if self.spec.wire == "key":
            headers["Idempotency-Key"] = f"{self.name}key"
        hosts.sort(key=lambda host: host.process.name)
        posts = [self.request(host, "/session", document, headers) for host in hosts]
        await asyncio.gather(*posts)

    def with_user(self, kept: Any, *, answers: bool = False) -> Any:
        """Return the document with a new user message."""
        kept = copy_json(kept)
        for interrupt in kept.get("interrupts", ()):
            if not answers:
                interrupt.pop("answer", None)
        message = {"id": f"and{len(kept['messages'])}", "role": "user", "content": AND}
        kept["messages"].append(message)
        return kept

    def with_answer(self, kept: Any, payload: Any) -> Any:
        """Return the document with this answer to every approval; None cancels."""
        kept = copy_json(kept)
        for interrupt in asked_of(kept):
            if payload is None:
                interrupt["answer"] = {"status": "cancelled"}
                continue
            if "edited_args" in payload:
                payload = {**payload, "edited_args": {**interrupt["args"], "x": 1}}
            interrupt["answer"] = {"status": "resolved", "payload": payload}
        return kept

    def answered(self, document: Any) -> Any:
        """Answer what is asked: yes, but no to what may have run."""
        for interrupt in document.get("interrupts", ()):
            if "answer" in interrupt:
                continue
            if interrupt["reason"] == "tool_call":
                is_old = FORGOTTEN in interrupt["message"]
                payload: Any = {"approved": not is_old}
            elif interrupt["reason"] == "indeterminate":
                payload = {"action": "skip"}
            else:
                continue
            interrupt["answer"] = {"status": "resolved", "payload": payload}
        return document


def lost(frames: int, mode: str) -> dict[str, Any]:
    """Return the arguments of `request` for a line that says nothing after some frames."""
    if mode not in ("void", "gateway"):
        return {}
    return {"frames": frames, "gateway": mode == "gateway"}


def asked_of(document: Any) -> list[Any]:
    """Return the interrupts that ask whether a call may run."""
    return [each for each in document.get("interrupts", ()) if each["reason"] == "tool_call"]


def without_open_text(document: Any) -> Any:
    """Return a document without what an incomplete message has so far: no server reads it."""
    messages = [
        {"id": each["id"], "open": True} if each.get("open") else each
        for each in document.get("messages", ())
    ]
    return {**document, "messages": messages}


def last_user(document: Any) -> int:
    """Return the index of the last message of the user's."""
    return max(i for i, m in enumerate(document["messages"]) if m["role"] == "user")


def brief(document: Any) -> str:
    """Return a document in a few words."""
    parts: list[str] = []
    for message in document.get("messages", ()):
        role = message["role"]
        if role == "tool":
            status = (message.get("result") or {}).get("status", "?")
            parts.append(f"result({message['tool_call_id']}={status})")
        elif calls := message.get("tool_calls"):
            ids = ",".join(f"{each['id']}:{each['function']['name']}" for each in calls)
            parts.append(f"calls({ids}{' open' if message.get('open') else ''})")
        else:
            parts.append(role[0] + ("~" if message.get("open") else ""))
    states = {call_id: entry["state"] for call_id, entry in document.get("calls", {}).items()}
    asked = [
        f"{each['reason']}:{each.get('call_id')}:{json.dumps(each.get('answer', '-'))[:60]}"
        for each in document.get("interrupts", ())
    ]
    return f"{' '.join(parts)} {states or ''} {asked or ''}"
