"""Prove at start which sandbox this machine provides, strongest tier first.

A tier is proven when every escape of selftest.py failed and every control worked. No version, name
or file of the system is taken as proof.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import stat
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

from . import syscalls
from .policy import (
    TIERS,
    SandboxPolicy,
    code_folders,
    configured_paths,
    links_to,
    outermost_folders,
)
from .worker_pool import WorkerPool

PR_SET_DUMPABLE = 4
STALE_S = 600
Attempt = Callable[[WorkerPool, str, dict[str, Any]], Awaitable[dict[str, dict[str, str]]]]

RESIDUES = {
    "A": [],
    "B": [
        "names, sizes and times of files outside can be seen, and command lines of processes",
        "without a user of their own, tools can change modes and times of the server user's files",
    ],
    "C": ["tools see this machine's files and network as their user does; only limits hold"],
    "none": ["tools run as the server's own user, with its files and its network"],
}


async def prove(
    home: Path,
    options: dict[str, Any],
    most: str,
    attempt: Attempt,
    staged: tuple[str, ...],
    preload: tuple[str, ...],
) -> tuple[WorkerPool | None, dict[str, Any]]:
    """Return (the pool of the strongest working tier up to `most`, its proof for `/info`).

    The pool is None for tier `none`. `options`: server.sandbox. `attempt` runs the self-test in a
    pool with a network; it raises OSError if no call is possible. Every network that a call may
    have is tried. `staged`, `preload`: see policy.SandboxPolicy.
    """
    harden()
    tried: dict[str, str] = {}
    run_as = _run_as(options)
    for tier in reversed(TIERS[1 : TIERS.index(most) + 1]):
        if sys.platform != "linux" or not syscalls.arch():
            tried[tier] = "only Linux on x86_64 and aarch64 has it"
            continue
        if run_as and not user_exists(run_as, user_id_ranges()):
            tried[tier] = (
                f"user {run_as} (server.sandbox.run_as) does not exist in this user namespace:"
                " start the server outside of it, or as a normal user, or give it more users"
            )
            continue
        if (
            run_as
            and tier != "A"
            and (place := closed_to_others(code_folders(), home / "workspaces"))
        ):
            tried[tier] = (
                f"user {run_as} (server.sandbox.run_as) may not pass through {place}: start the"
                f" server as a normal user, or from elsewhere, or allow it with chmod o+x {place}"
            )
            continue
        networks = networks_at(tier, options)
        pool = _pool(options, tier, staged, preload)
        tried[tier] = ""
        try:
            for network in networks:
                with escape_targets(home) as facts:
                    attempts = await attempt(pool, network, facts)
                tried[tier] = tried[tier] or verdict(tier, network, attempts)
        except OSError as error:
            tried[tier] = error.strerror or str(error)
        except BaseException:  # cancelled during the start
            pool.close()
            raise
        if not tried[tier]:
            return pool, make_proof(tier, networks[0], tried, options["network"])
        pool.close()
    return None, make_proof("none", "full", tried)


def pool_for(
    options: dict[str, Any],
    proof: dict[str, Any],
    staged: tuple[str, ...],
    preload: tuple[str, ...],
) -> WorkerPool | None:
    """Return the pool for a proof made by another process of the same start, None for tier `none`.

    Nothing is tried again. If the sandbox no longer works, every call fails.
    """
    harden()
    tier = proof["tier"]
    return None if tier == "none" else _pool(options, tier, staged, preload)


def _pool(
    options: dict[str, Any], tier: str, staged: tuple[str, ...], preload: tuple[str, ...]
) -> WorkerPool:
    network = networks_at(tier, options)[0]
    read = outermost_folders([*map(Path, code_folders()), *configured_paths(options)])
    links = links_to(sys.executable, sys.prefix, sys.base_prefix)
    run_as = _run_as(options)
    return WorkerPool(SandboxPolicy(tier, network, run_as, read, staged, links, preload))


def _run_as(options: dict[str, Any]) -> int:
    return int(options["run_as"]) if os.name == "posix" and os.geteuid() == 0 else 0


def networks_at(tier: str, options: dict[str, Any]) -> list[str]:
    """Return the networks that calls may have at a tier, the default first.

    Only tier A has namespaces, which the network `proxy` needs; below it that becomes `off`.
    """
    wanted = options["network"] if tier == "A" or options["network"] != "proxy" else "off"
    added = ["proxy"] if tier == "A" and options.get("hosts_on_approval") else []
    return list(dict.fromkeys([wanted, "off", *added]))


def verdict(tier: str, network: str, found: dict[str, dict[str, str]]) -> str:
    """Return what disproves a tier; "" for nothing. `found`: the result of selftest.attempts."""
    broken = sorted(name for name, came in found["works"].items() if not came)
    if broken:
        return f"does not work in it: {', '.join(broken)}"
    allowed = {"tcp", "udp"} if network == "full" else set()
    escaped = sorted(name for name, came in found["escapes"].items() if came)
    if tier != "C" and (through := [name for name in escaped if name not in allowed]):
        return f"gets out of it: {', '.join(through)}"
    return ""


def user_id_ranges() -> str:
    """Return the user ids of this process's user namespace, as in /proc/self/uid_map.

    See user_namespaces(7). All ids where the system has no such namespaces.
    """
    try:
        return Path("/proc/self/uid_map").read_text()
    except OSError:
        return f"0 0 {1 << 32}"


def user_exists(uid: int, listed: str) -> bool:
    """Return whether a user id is in one of the ranges that `users` returned."""
    ranges = [tuple(map(int, line.split())) for line in listed.splitlines()]
    return any(first <= uid < first + count for first, _, count in ranges)


def closed_to_others(places: tuple[str, ...], workspaces: Path) -> str:
    """Return the first folder on the way to what tools need that others may not enter; "" for none.

    In tier A tools see these folders through mounts, so it does not matter there.
    """
    for place in (workspaces, *map(Path, places)):
        for folder in (*reversed(place.parents), place):
            if folder.is_dir() and not folder.stat().st_mode & stat.S_IXOTH:
                return str(folder)
    return ""


def make_proof(
    tier: str, network: str, tried: dict[str, str], configured: str = ""
) -> dict[str, Any]:
    """Return a proof: `{tier, network, missing, tried}`.

    `missing`: what the tier does not prevent. `tried`: why each stronger tier was rejected.
    `configured`: the network of the configuration.
    """
    why = {name: reason for name, reason in tried.items() if reason}
    network = network if tier in ("A", "B") else "full"
    missing = list(RESIDUES[tier])
    if configured == "proxy" and network == "off":
        missing.append("no network: the filtered one (server.sandbox.network: proxy) needs tier A")
    return {"tier": tier, "network": network, "missing": missing, "tried": why}


def harden() -> None:
    """Deny other processes of the user access to this process's memory and environment."""
    if sys.platform == "linux":
        syscalls.prctl(PR_SET_DUMPABLE, 0)


@contextlib.contextmanager
def escape_targets(home: Path) -> Iterator[dict[str, Any]]:
    """Yield targets outside of the sandbox for selftest.py, and remove them afterwards."""
    for stale in home.glob(".canary-*"):  # left by a server that was killed during its start
        if time.time() - stale.stat().st_mtime > STALE_S:
            stale.unlink(missing_ok=True)
    secret = home / f".canary-{secrets.token_hex(8)}"
    secret.touch(0o600)
    secret.write_text(secrets.token_hex(16))
    name = f"yaa-{secrets.token_hex(8)}"
    with (
        socket.create_server(("127.0.0.1", 0)) as tcp,
        socket.socket(socket.AF_UNIX) as unix,
    ):
        unix.bind("\0" + name)
        unix.listen()
        port = tcp.getsockname()[1]
        try:
            yield {"secret": str(secret), "port": port, "server": os.getpid(), "name": name}
        finally:
            secret.unlink()
            Path(f"{secret}.planted").unlink(missing_ok=True)
