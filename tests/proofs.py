"""What the sandbox of this machine proved: each runner would prove it anew, with processes for it.

For tests that use a sandbox and are not about its proof: `toolbox.open(proof=known(options))`, and
`keep` what came of it, once for all of them that one process runs. Starts that tooling/forks.py
makes `share` what the first of them has proven.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from server.lib.sandbox.probe import pool_for, prove
from server.lib.sandbox.worker_pool import WorkerPool
from server.tools import runner

_kept: dict[str, Any] = {}


def known(options: dict[str, Any], most: str = "A") -> Any:
    """Return the proof for these options (server.sandbox) up to a tier; None at first."""
    return _kept.get(_key(options, most))


def keep(options: dict[str, Any], proof: Any, most: str = "A") -> None:
    """Keep what a runner with these options has proven, but no failure: another time it may do."""
    if proof["tier"] == most:
        _kept[_key(options, most)] = proof


def share(folder: Path) -> None:
    """Let each runner of this process and its forks use what one of them has proven before.

    As the workers of a server do, which inherit the proof of their parent. `folder` has the proofs.
    """

    async def proven(
        home: Path, options: dict[str, Any], most: str, *more: Any
    ) -> tuple[WorkerPool | None, dict[str, Any]]:
        file = folder / hashlib.sha256(_key(options, most).encode()).hexdigest()
        if file.exists():
            proof = json.loads(file.read_text())
            return pool_for(options, proof, *more[1:]), proof
        pool, proof = await prove(home, options, most, *more)
        if proof["tier"] == most:
            draft = file.with_suffix(f".{os.getpid()}")
            draft.write_text(json.dumps(proof))
            draft.rename(file)
        return pool, proof

    vars(runner)["prove"] = proven


def _key(options: dict[str, Any], most: str) -> str:
    return json.dumps([options, most], sort_keys=True)
