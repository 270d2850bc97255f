"""Answer the requests of a link: GET shows a call and does nothing, POST allows or denies it.

The token is in the query, which no log has. No answer redirects, may be kept or framed, or runs a
script.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple
from urllib.parse import parse_qs

from ...api.router import RequestContext
from ...errors import Problem
from ...json_types import Answer, Session
from .answers import find_question
from .link_page import HEADERS, call_page, language, note_page
from .links import Links, LinkTarget, answer_of, question_of

MAX_FORM = 200  # bytes
FORM = "application/x-www-form-urlencoded"


class LinkRoutes(NamedTuple):
    """The handlers; the token takes the place of a key.

    find    (owner, session id) -> the session as it is now; raises Problem not_found
    answer  stores an answer, if the question is as it was, and has the session go on
    """

    links: Links
    find: Callable[[str, str], Awaitable[Session]]
    answer: Callable[[LinkTarget, Answer], Awaitable[None]]

    async def get(self, call: RequestContext) -> None:
        """Show the call of a link."""
        lang = _language(call)
        try:
            target, expires = self.links.look(_token(call))
            session = await self.find(target.owner, target.session)
            page = call_page(session, find_question(session, question_of(target)), expires, lang)
        except Problem as problem:
            await _refuse(call, problem, lang)
            return
        await call.reply(200, page.encode(), HEADERS)

    async def post(self, call: RequestContext) -> None:
        """Allow or deny the call of a link."""
        lang = _language(call)
        try:
            decision = await _decision(call)
            with self.links.use(_token(call)) as target:
                await self.answer(target, answer_of(allow=decision == "allow"))
        except Problem as problem:
            await _refuse(call, problem, lang)
            return
        note = "allowed" if decision == "allow" else "denied"
        await call.reply(200, note_page(note, lang).encode(), HEADERS)


def _language(call: RequestContext) -> str:
    return language(call.request.headers.get("accept-language", ""))


def _token(call: RequestContext) -> str:
    return parse_qs(call.request.query).get("t", [""])[0]


async def _decision(call: RequestContext) -> str:
    """Return `allow` or `deny` of a form. Raises Problem."""
    headers = call.request.headers
    length = headers.get("content-length", "")
    if not length.isdigit() or int(length) > MAX_FORM:
        raise Problem("body_too_large", f"The form has at most {MAX_FORM} bytes")
    if headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
        raise Problem("forbidden", "The form is that of another site")
    body = await call.exchange.body()
    if headers.get("content-type", "").partition(";")[0].strip().lower() != FORM:
        raise Problem("unsupported_media_type", f"Send the form of the page, {FORM}")
    decision = parse_qs(bytes(body).decode("latin-1")).get("decision", [])
    if decision not in (["allow"], ["deny"]):
        raise Problem("request_invalid", "The form says decision=allow or decision=deny")
    return decision[0]


async def _refuse(call: RequestContext, problem: Problem, lang: str) -> None:
    """Answer with a page that says why, and nothing of the session."""
    gone = problem.code in ("not_found", "question_closed")
    code = "link_expired" if gone else problem.code
    status = 410 if code == "link_expired" else problem.status
    headers = {**HEADERS, **problem.headers}
    await call.reply(status, note_page(code, lang).encode(), headers)
