"""Perform the command `doctor`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from ... import VERSION
from ...app import App
from ...cli.console import FAILED
from ...cli.serve import certificate
from ...config import Config
from ...lib.runtime.event_loop import run
from ...telemetry import log
from ..parts import MISSING
from .checks import check_all, lines


def perform(config: Config, env: Mapping[str, str], options: argparse.Namespace) -> int:
    """Print the findings and return the exit code. Raises ConfigError."""
    return run(_perform(config, env))


async def _perform(config: Config, env: Mapping[str, str]) -> int:
    log.setup("error")
    certificate(config)
    async with App(config, env) as app:
        findings = check_all(app)
    print("\n".join([f"yaa {VERSION}", "", *lines(findings)]))
    return FAILED if any(found.mark == MISSING for found in findings) else 0
