"""The Chat Completions API, in the dialects of about a dozen vendors.

`http_model` makes the call, `chat_request` builds the body, `chat_decoder` reads the answer.
"""

from __future__ import annotations

from . import chat_request
from .chat_decoder import Decoder
from .http_model import RemoteAPI


class OpenAIAPI(RemoteAPI):
    """A model that is called by Chat Completions."""

    decoder = Decoder
    request = staticmethod(chat_request.request)
    optional = {
        "stream": b"verified to stream",  # OpenAI's newer models, for unverified accounts
        "stream_options": b"stream_options",
        "parallel_tool_calls": b"parallel_tool_calls",
        "tool_choice": b"tool_choice",  # Qwen, Kimi and DeepSeek with thinking on
        **dict.fromkeys(("presence_penalty", "frequency_penalty", "enable_thinking"), b""),
        "temperature": b"temperature: only",  # Kimi K2.5
        "top_p": b"top_p: only",
        "reasoning_effort": b"(?:[Uu]nsupported|[Uu]nrecognized).{0,60}reasoning_effort"
        b"|with reasoning_effort are not",
    }
