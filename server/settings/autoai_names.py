"""Settings of another server under which one may look for ours: AutoAi's `autoai.*`.

In the walk: config asks here about keys that it does not know. The rule of the file: nothing is
read from them, since the values do not mean the same; each is answered with its name here. The
table of docs/reference/other-names.md is held to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

AUTOAI = "autoai"
WHERE = "docs/reference/other-names.md says more"
NAMES = {  # its name, and what is the same here; nothing where there is no such setting
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


def split(layer: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """A layer without keys of AutoAi's, and these: `react.max-steps`, nested or with dots."""
    theirs = {key: value for key, value in layer.items() if _is_theirs(key)}
    own = {key: value for key, value in layer.items() if key not in theirs}
    return own, sorted({leaf for key, value in theirs.items() for leaf in _leaves(key, value)})


def problem(name: str, source: str) -> str:
    """What to say of one: `autoai.react.max-steps`, in whichever of Spring's spellings."""
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
