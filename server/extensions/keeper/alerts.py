"""Tell people of their kept sessions when a run has ended, and let a link answer for one call."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ...api.router import Route
from ...errors import Problem
from ...json_types import Answer, Session
from ...lib.http.client import Client
from ...lib.json_schema import field_types
from ...lib.runtime.offload import LARGE, offload
from ...telemetry import log
from .. import load
from ..parts import Host
from .answers import find_question
from .folder import FOLDER, KeptFolder
from .job import GAVE_UP
from .link_routes import LinkRoutes
from .links import Links, LinkTarget, question_of
from .marks import Marks
from .notices import Occurrence, occurrence_of, render
from .senders import Notifier, Ntfy, Sender, Webhook
from .session_keys import NAME, keeper_keys, with_keeper_keys

if TYPE_CHECKING:
    from .mail import Mail

MOST = 5  # notices of one run; more questions than that are in the page
UNSENT = "unsent"  # in `ext.keeper`: which of the last notices did not arrive, and why

logger = log.get("keeper")


class Alerts:
    """The notices and the links of a server.

    folder  (person) -> their kept sessions
    answer  (person, session id, entries of `resume`) stores answers and has a session go on; raises
            Problem
    marks   of the sessions that have run, and whose people are to be told
    """

    def __init__(
        self,
        host: Host,
        folder: Callable[[str], KeptFolder],
        answer: Callable[[str, str, list[Any]], Awaitable[object]],
        marks: Marks,
    ) -> None:
        settings = host.config.server["keeper"]["notices"]
        self._detail = "full" if settings["full"] else "short"
        self._address: str = settings["address"].rstrip("/")
        self.problems: list[str] = []  # of ways that cannot be used
        self._senders = read_ways(settings.get("ways") or {}, host.client, self.problems)
        self._notifier = Notifier(self._senders)
        self._links = Links(host.config.home / FOLDER / ".links")
        self._folder, self._give, self._marks = folder, answer, marks
        self._tasks: set[asyncio.Task[None]] = set()

    def routes(self) -> Mapping[tuple[str, str], Route]:
        """Return the routes of links. The token of a link takes the place of a key."""
        links = LinkRoutes(self._links, self._find, self._answer)
        return {
            ("GET", "/keeper/link"): Route(links.get, open=True),
            ("POST", "/keeper/link"): Route(links.post, open=True),
        }

    def run_ended(self, owner: str, session_id: str, *, followed: bool) -> None:
        """Begin to send what a person wants to know of a run that has ended by itself.

        followed  somebody looks at the session: only questions are sent
        """
        if owner not in self._senders:
            self._marks.remove(owner, session_id)
            return
        task = asyncio.create_task(self._tell(owner, session_id, followed))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def resume(self) -> None:
        """Send what the last process could not, as it was killed; of several processes one does."""
        for mark in self._marks.all():
            if self._marks.remove(mark.owner, mark.id):
                self.run_ended(mark.owner, mark.id, followed=False)

    async def close(self) -> None:
        """End what is being sent."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _tell(self, owner: str, session_id: str, followed: bool) -> None:
        try:
            session = await self._find(owner, session_id)
            failures: list[str] = []
            for occurrence in [*self._occurrences(owner, session)][:MOST]:
                if occurrence.kind == "asks" or not followed:
                    notice = render(occurrence, self._detail)
                    failures += await self._notifier.send(owner, notice)
            if failures or UNSENT in keeper_keys(session):
                await offload(LARGE, self._note, owner, session_id, failures)
        except (Problem, OSError) as error:
            logger.warning("no notice of kept session %s: %s", session_id, error)
        self._marks.remove(owner, session_id)

    def _occurrences(self, owner: str, session: Session) -> Iterator[Occurrence]:
        title = session.get("title") or ""
        if session.get("status") == "interrupted":
            for question in session.get("interrupts", ()):
                if "answer" not in question:
                    link = self._link(owner, session, question)
                    yield occurrence_of(question, title, link)
            return
        if session.get("status") == "in_progress":  # it runs again
            return
        messages: list[Any] = [{}, *session["messages"]]
        last = messages[-1]
        kind = "ended" if session.get("status") == "completed" else "failed"
        kind = "gave_up" if last.get("code") == GAVE_UP else kind
        detail = str(last.get("content", "")) if last.get("role") == "error" else ""
        yield Occurrence(kind, title, "", detail, self._address)

    def _link(self, owner: str, session: Session, question: Mapping[str, Any]) -> str:
        """Return a link that answers a question about a call; for another one, to the page."""
        call = question.get("call_id", "")
        fingerprint = session.get("calls", {}).get(call, {}).get("fingerprint", "")
        if not self._address or question["reason"] != "tool_call" or not fingerprint:
            return self._address
        token = self._links.make(LinkTarget(owner, session["id"], call, fingerprint))
        return f"{self._address}/keeper/link?t={token}"

    def _note(self, owner: str, session_id: str, failures: list[str]) -> None:
        """Store in the session which notices did not arrive. Raises Problem."""
        with self._folder(owner).lock(session_id) as kept:
            if (session := kept.open()) is not None:
                keys = {name: each for name, each in keeper_keys(session).items() if name != UNSENT}
                keys |= {UNSENT: failures} if failures else {}
                kept.save(with_keeper_keys(session, keys))

    async def _find(self, owner: str, session_id: str) -> Session:
        stored = await offload(LARGE, self._folder(owner).read, session_id)
        return stored.session

    async def _answer(self, target: LinkTarget, answer: Answer) -> None:
        """Store the answer to a link's question, and have the session go on. Raises Problem."""
        question = find_question(await self._find(*target[:2]), question_of(target))
        entry = {**question_of(target), "id": question["id"], "answer": answer}
        await self._give(target.owner, target.session, [entry])


def read_ways(
    ways: Mapping[str, Any], client: Client, problems: list[str]
) -> dict[str, dict[str, Sender]]:
    """Return person -> name -> way of `server.keeper.notices.ways`.

    One that cannot be used is left out, and is one of the problems.
    """
    people: dict[str, dict[str, Sender]] = {}
    for name, way in ways.items():
        misfits = [each.error() for each in field_types.misfits(way, WAY)]
        try:
            if misfits:
                raise ValueError(f"{misfits[0]['pointer']} {misfits[0]['detail']}".strip())
            people.setdefault(way.get("to", ""), {})[name] = _read_way(way, client)
        except ValueError as error:
            problems.append(f"server.keeper.notices.ways.{name} is not used: {error}")
    return people


def _read_way(way: Mapping[str, Any], client: Client) -> Sender:
    """Return a way. Raises ValueError."""
    if way["kind"] == "ntfy":
        return Ntfy(client, way["url"], way.get("token", ""))
    if way["kind"] == "webhook":
        return Webhook(client, way["url"], way.get("secret", ""), way.get("template"))
    address = way.get("address", "")
    mail: type[Mail] = load(NAME, "mail:Mail")  # smtplib is slow to import
    return mail(way["url"], way.get("from", address), address, way.get("password", ""))


WAY = field_types.object_of(
    {
        "kind": field_types.one_of("ntfy", "webhook", "mail"),
        "template": field_types.ANY,
        **dict.fromkeys(
            ("url", "to", "token", "secret", "from", "address", "password"), field_types.TEXT
        ),
    },
    ("kind", "url"),
    closed=True,
)
