"""The Chat Completions API, in the dialects of about a dozen vendors.

`http_model` makes the call, `chat_request` builds the body, `chat_decoder` reads the answer.
"""

from __future__ import annotations

from . import chat_request
from .chat_decoder import Decoder
from .http_model import RemoteAPI

# o1, and newer models for unverified accounts
_NO_STREAM = b"'stream' does not support|verified to stream"


class OpenAIAPI(RemoteAPI):
    """A model that is called by Chat Completions."""

    decoder = Decoder
    request = staticmethod(chat_request.request)
    optional = {
        "stream": _NO_STREAM,
        "stream_options": b"stream_options|" + _NO_STREAM,
        "parallel_tool_calls": b"parallel_tool_calls",
        "tool_choice": b"tool_choice",  # Qwen, Kimi and DeepSeek with thinking on
        # GPT-5 (qwen-code issue 921), Kimi K2.5
        "temperature": b"'temperature' does not support|temperature: only",
        "top_p": b"'top_p' (?:does not support|is not supported)|top_p: only",
        "reasoning_effort": b"(?:[Uu]nsupported|[Uu]nrecognized).{0,60}reasoning_effort"
        b"|with reasoning_effort are not",
    }
