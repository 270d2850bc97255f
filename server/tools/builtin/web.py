"""The schema of the tool `fetch_url`.

The server fetches (tools/fetch.py), the child reads the page (html.py).
"""

from __future__ import annotations

from typing import Annotated, Any

from ..tool import Context, tool

MAX_CHARS = 20_000


@tool(destructive=False, idempotent=True, parallel_safe=True)
def fetch_url(
    ctx: Context,
    url: Annotated[str, "Address, http:// or https://", {"maxLength": 4096}],
    offset: Annotated[int, "First character of the text to return", {"minimum": 0}] = 0,
    max_chars: Annotated[int, "How much text", {"minimum": 100, "maximum": MAX_CHARS}] = 10_000,
) -> dict[str, Any]:
    """Fetch a page or a text from the public web and return it as readable text with its links."""
    raise AssertionError("fetched by the server, read by `page.readable`")
