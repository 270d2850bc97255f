"""Model calls beside the conversation: the session's title, and summaries for a compaction.

They never end a run. If a call fails, is late or returns nothing, the text that was made without a
model stays. The usage of a call counts in any case.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import Any

from ..context import model_summaries
from ..context import updates as context
from ..context.compact import Compaction
from ..context.view import view
from ..models import BaseAPI, Options
from ..session import accept, prompts
from ..session import usage as account
from ..session.call_actions import Toolbox
from ..session.events import Event, put, state_delta
from .decide import Model
from .hook_points import Points
from .observer import Witness

TITLE_TIMEOUT_S = 30


@dataclass(frozen=True)
class Beside:
    """The parts of a run that these calls need."""

    session: dict[str, Any]
    api: BaseAPI
    ids: Callable[[str], str]
    clock: Callable[[], int]
    witness: Witness
    points: Points

    async def name_session(self) -> AsyncGenerator[Event, None]:
        """Ask the model for a title (`auto_title`); without an answer, use the first words."""
        messages = prompts.title_request(self.session, view(self.session))
        text, usage = await self._ask(messages, TITLE_TIMEOUT_S)
        title = " ".join(text.split()).strip("\"'«»“”")[:80] or accept.title(
            self.session["messages"]
        )
        yield state_delta(put("title", value=title or "…"), *account.aside(self.session, usage))

    async def _ask(
        self, messages: list[dict[str, Any]], timeout_s: float
    ) -> tuple[str, dict[str, int]]:
        """Return (text, usage) of the answer to a request; ("", {}) without an answer in time."""
        options = Options.of(self.session, self.ids, seconds_left=timeout_s)
        text = ""
        with suppress(TimeoutError), self.witness.aside(messages) as see:
            async with asyncio.timeout(timeout_s):
                async with aclosing(self.api.stream(messages, [], options)) as source:
                    async for event in source:
                        see(event)
                        if event["type"] == "TEXT_MESSAGE_CONTENT":
                            text += event["delta"]
                        elif event["type"] == "TEXT_MESSAGE_END":
                            return text, event["metadata"]["yaa"]["meta"].get("usage", {})
        return "", {}

    async def after_refusal(
        self, refusal: Event, model: Model, toolbox: Toolbox
    ) -> AsyncGenerator[Event, None]:
        """Handle a refusal of a too large request: store the window, make the view smaller.

        Done once for a model call. If the view cannot be smaller, next_step stops the run.
        """
        session = self.session
        learned, compaction = context.after_refusal(
            session,
            model.name,
            model.facts,
            lambda: (prompts.system(session), toolbox.declared(session)),
            refusal.get("metadata", {}).get("yaa", {}).get("n_ctx"),
        )
        yield state_delta(learned)
        if compaction:
            async with aclosing(self.compact(compaction)) as source:
                async for event in source:
                    yield event

    async def compact(self, compaction: Compaction) -> AsyncGenerator[Event, None]:
        """Make the view smaller as planned.

        With `context.summary: llm`, a model's summaries replace those made without one, where they
        fit. After a request without an answer no other is made.
        """
        session = self.session
        await self.points.compressing(list(compaction.ops), compaction.record)
        timeout_s = session["config"]["context"]["summary_timeout_s"]
        texts: dict[int, str] = {}
        for draft in compaction.drafts:
            if not (messages := model_summaries.request(session, compaction, draft)):
                continue
            texts[draft.at], usage = await self._ask(messages, timeout_s)
            yield state_delta(*account.aside(session, usage))
            if not texts[draft.at].strip():
                break
        ops, record = model_summaries.settled(session, compaction, texts)
        yield context.compressed(session, ops, {**record, "timestamp": self.clock()})
