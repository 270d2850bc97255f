"""AutoAi's settings (`autoai.*`) and the keys of this server that correspond to them. Pure.

`config` refuses them in a file. No value is taken over, because the values do not
mean the same; the error names the key to use instead. A test compares the table with
docs/reference/extension-autoai.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

AUTOAI = "autoai"
WHERE = "docs/reference/extension-autoai.md says more"
NAMES = {  # AutoAi's key → the key here; "" if there is none
    "react.language": "session.config.yaa.language",
    "react.max-steps": "session.config.limits.max_steps",
    "react.show-tool-details": "",
    "react.default-model": "session.config.llm_api.provider.name",
    "react.system-prompt": "session.config.prompt",
    "react.enable-compression": "session.config.context.enabled",
    "react.compression-threshold-tokens": "session.config.context.budget",
    "react.keep-recent-tokens": "session.config.context.keep_messages",
    "react.max-tokens-after-compression": "session.config.context.trigger_ratio",
    "react.enable-session-expiration": "server.keep_days",
    "react.session-expire-minutes": "server.keep_days",
    "react.session-cleanup-interval-minutes": "",
    "web.enabled": "",
    "web.base-path": "",
    "model.adapter": "server.default_provider",
    "model.model": "server.providers",
    "model.api-key": "server.providers",
    "model.base-url": "server.providers",
}
_PLAIN = {re.sub(r"[-_]", "", name): (name, ours) for name, ours in NAMES.items()}


def refuse(layer: Mapping[str, Any], source: str) -> tuple[dict[str, Any], list[str]]:
    """Return (the layer of a file without AutoAi's keys, an error for each of those)."""
    own, names = split(layer)
    return own, [key_problem(name, source) for name in names]


def split(layer: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Split a layer into (the layer without AutoAi's keys, their sorted names).

    The names are dotted (`autoai.react.max-steps`), whether they were nested or not.
    """
    theirs = {key: value for key, value in layer.items() if _is_theirs(key)}
    own = {key: value for key, value in layer.items() if key not in theirs}
    return own, sorted({leaf for key, value in theirs.items() for leaf in _leaves(key, value)})


def key_problem(name: str, source: str) -> str:
    """Return the error for one of AutoAi's keys, in any of the spellings that Spring accepts."""
    plain = re.sub(r"[-_]", "", name.removeprefix(f"{AUTOAI}.")).lower()
    said, ours = _PLAIN.get(plain, ("", ""))
    shown = f"{AUTOAI}.{said}" if said else name[:100]
    if ours:
        return f"{source}: {shown} is {ours} here; {WHERE}"
    return f"{source}: {shown} is no setting here; {WHERE}"


def _is_theirs(key: str) -> bool:
    return key == AUTOAI or key.startswith(f"{AUTOAI}.")


def _leaves(at: str, value: Any) -> Iterator[str]:
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _leaves(f"{at}.{key}", item)
    else:
        yield at
