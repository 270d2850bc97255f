"""The Chat Completions API as some dozen vendors speak it.

In the walk: `remote` makes the call; `build` says what is sent, `decode` reads what comes.
"""

from __future__ import annotations

from typing import Any

from . import Message, Options, Tool, build
from .decode import Decoder
from .remote import RemoteAPI


class OpenAIAPI(RemoteAPI):
    answer = Decoder
    optional = {
        "stream_options": b"stream_options",
        "parallel_tool_calls": b"parallel_tool_calls",
    }

    def request(
        self,
        messages: list[Message],
        tools: list[Tool],
        options: Options,
        mode: str,
        names: build.Names,
    ) -> dict[str, Any]:
        return build.request(self.provider, messages, tools, options, mode, names)
