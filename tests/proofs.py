"""What the sandbox of this machine proved: each runner would prove it anew, with processes for it.

For tests that use a sandbox and are not about its proof: `toolbox.open(proof=known(options))`, and
`keep` what came of it, once for all of them that one process runs.
"""

from __future__ import annotations

import json
from typing import Any

_kept: dict[str, Any] = {}


def known(options: dict[str, Any], most: str = "A") -> Any:
    """Return the proof for these options (server.sandbox) up to a tier; None at first."""
    return _kept.get(json.dumps([options, most], sort_keys=True))


def keep(options: dict[str, Any], proof: Any, most: str = "A") -> None:
    """Keep what a runner with these options has proven, but no failure: another time it may do."""
    if proof["tier"] == most:
        _kept[json.dumps([options, most], sort_keys=True)] = proof
