"""Public prices and windows of vendors' models, as of a date.

They hold at the vendor's own address only. public_models.json is written by
tests/tooling/public_models.py: {date, unit, hosts: {host: {model: {max_context, costs, inputs}}}},
with costs per 1,000 tokens, and `inputs` among image, pdf, audio.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from ...lib.strict_json import loads
from ...models.provider import host_of


@cache
def table() -> dict[str, Any]:
    """Return the content of public_models.json."""
    found: dict[str, Any] = loads(Path(__file__).with_suffix(".json").read_text("utf-8"))
    return found


def public_facts(url: str, model: str) -> dict[str, Any]:
    """Return the members that an entry of `server.providers` may leave out, {} if none are known.

    `max_context`, `costs` with `cost_unit`, and whether `model_type` has `is_vision`.
    """
    known = table()["hosts"].get(host_of(url), {}).get(model)
    if known is None:
        return {}
    return {
        "max_context": known["max_context"],
        "costs": known["costs"],
        "cost_unit": table()["unit"],
        "model_type": {"is_vision": "image" in known["inputs"]},
    }
