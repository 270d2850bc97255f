"""HTTP APIs whose operations are tools."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ...lib.json_schema.field_types import ANY, TEXT, list_of, number, object_of, text_like
from ..declaration import ConfigKey, EntryRules, Extension, allow, opening

COOKIE = "cookie:"  # prefix of the name of a cookie in `forward`
# Headers of the message and of its transport, and those that authenticate to this server.
_NEVER = (
    "host|connection|content-[a-z-]+|transfer-encoding|te|trailer|upgrade|expect|keep-alive|cookie"
    "|origin|referer|forwarded|x-forwarded-[a-z-]+|proxy-[a-z-]+|accept-encoding|yaa-api-key"
    "|last-event-id|idempotency-key|traceparent|tracestate|baggage|sec-[a-z-]+"
    "|access-control-[a-z-]+"
)
_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
FORWARD = text_like(
    rf"(?i:(?!(?:{_NEVER})\Z){_TOKEN}|{COOKIE}{_TOKEN})",
    "a header that callers send, such as X-User-Id, or cookie:NAME; none that belongs to the"
    " message, its way, or this server",
)
_TABLE = object_of(each=TEXT)
API = {
    "base_url": opening("address"),
    "headers": _TABLE,
    "query": _TABLE,
    "forward": list_of(FORWARD, "a list"),
    "timeout_s": number("a number, 0 or more", most=math.inf),
    "max_kb": number("a whole number, 0 or more", most=math.inf, whole=True),
    "openapi": opening("path"),
    "operations": list_of(TEXT, "a list"),
    "tools": list_of(object_of(each=ANY), "a list"),
}
RULES = EntryRules(
    dict, allow(("headers", "query", "timeout_s", "max_kb", "operations")), {"": object_of(API)}
)


def mistakes(server: Mapping[str, Any], home: Path) -> Iterator[str]:
    """Yield the headers that an API would get from the owner and from the caller."""
    for name, api in server["rest"].items():
        ours = {header.lower() for header in api.get("headers", ())}
        if twice := [n for n in api.get("forward", ()) if n.lower().partition(":")[0] in ours]:
            yield (
                f"server.rest.{name}.forward: {twice[0]} is in headers too, and a request can say"
                " only once who is asking"
            )


EXTENSION = Extension(
    config_keys={
        "server.rest": ConfigKey({}, object_of(each=object_of(API, closed=True)), "extension:RULES")
    },
    config_mistakes="extension:mistakes",
    parts="parts:RestParts",
)
