"""Real runs of the loop for the replies: a scripted model, counting tools, a front's words."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any, Protocol

from server.agent.hooks import Hook, Hooks
from server.agent.loop import Run
from server.json_types import Event
from server.lib.http import sse

from .. import fakes

Json = dict[str, Any]
TOOLS = {"look": "read", "mail": "auto", "weather": "page", "clock": "page", "ask": "question"}
TOOLS |= {"finish": "read"}


class Reply(Protocol):
    def frame(self, event: Event) -> bytes: ...
    def cut_frames(self) -> bytes: ...
    def see(self, event: Event) -> None: ...
    def answer(self) -> tuple[int, Json]: ...


def masked() -> Hooks:
    """The owner's: no answer of a model says `secret`."""

    async def mask(value: Json, _: Any) -> Json:
        return {**value, "content": value["content"].replace("secret", "***")}

    hooks = Hooks()
    hooks._at["post_reasoning"] = [Hook("mask", "post_reasoning", 100, 5, mask)]
    return hooks


class Front:
    """One server with a scripted model. `script(messages)` as ScriptedModel has it."""

    def __init__(self, script: Callable[[list[Json]], list[tuple[Any, ...]]]) -> None:
        self.counts: dict[tuple[str, str], int] = {}
        self.model = fakes.ScriptedModel(script)
        self.toolbox = fakes.CountingToolbox(TOOLS, self.counts)
        self.agent = fakes.agent(self.model, self.toolbox)

    def whole(self, document: Json, reply: Callable[[Run], Reply]) -> tuple[int, Json]:
        async def main() -> tuple[int, Json]:
            run = self.agent.prepare(document)
            made = reply(run)
            async for event in run.events():
                made.see(event)
            return made.answer()

        return asyncio.run(main())

    def streamed(
        self, document: Json, reply: Callable[[Run], Reply], *, until: str = ""
    ) -> tuple[bytes, list[Json]]:
        """(the bytes, the JSON of each frame); as a server that stops at the event `until`."""

        async def main() -> bytes:
            run = self.agent.prepare(document)
            made, sent = reply(run), b""
            async for event in run.events():
                if event["type"] == until:
                    return sent + made.cut_frames()
                sent += made.frame(event)
            return sent

        data = asyncio.run(main())
        decoder = sse.Decoder()
        frames = [each.data for each in (*decoder.feed(data), *decoder.end())]
        return data, [json.loads(each) for each in frames if each != "[DONE]"]
