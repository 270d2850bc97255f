"""The modes of tools: as a JSON reply, as tags in text, and native with calls left in the text."""

from __future__ import annotations

from ...models.tool_mode import NO_CALLS, ToolMode
from . import history
from .marked_calls import finder
from .parser import JsonReply, TagScanner

# Other APIs than Chat Completions keep calls apart, so a call in their text is a quote.
NATIVE = ToolMode(
    readers=lambda tools, api, safe: (None, finder(tools, safe)) if api == "chat" else NO_CALLS
)
TEXT = ToolMode(
    is_native=False,
    messages=lambda sent, tools, asked: history.transcript(sent, tools, "text", asked.prompts),
    readers=lambda tools, api, safe: (TagScanner(tools), finder(tools, str)),
    remarks=history.remarks,
)
JSON_SCHEMA = ToolMode(
    is_native=False,
    messages=lambda sent, tools, asked: history.transcript(
        sent, tools, "json_schema", asked.prompts
    ),
    response_format=lambda tools, asked: (
        history.response_format(tools, asked.response_format, asked.tool_choice)
        if tools
        else asked.response_format
    ),
    readers=lambda tools, api, safe: (
        JsonReply([tool["function"]["name"] for tool in tools]) if tools else None,
        finder(tools, str),
    ),
)
