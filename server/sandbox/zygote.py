"""The process that workers are forked from: started once, with everything a tool call imports.

Started by worker_pool.py as `python -I -S` with an empty environment, so that it holds nothing of
the server's: no key, no session, no descriptor but its door. Each message at the door carries the
control socket of a new worker, and says which network it has. The rule of the file: one thread, no
state, no word from a tool; it ends when the door closes.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import signal
import socket
import sys
from dataclasses import replace

from . import child, seccomp, syscalls, worker
from .network_policy import NETWORKS
from .policy import Policy

# Loaded here once (100 ms) and not in every call.
PRELOADED = (
    *("..tools.user_tools", "..tools.package_code", "..tools.builtin", "..tools.builtin.html"),
    *(".selftest", "traceback", "ctypes.util"),
)


def main(door: int, options: str) -> None:
    syscalls.prctl(syscalls.PR_SET_PDEATHSIG, signal.SIGKILL)
    syscalls.prctl(syscalls.PR_SET_DUMPABLE, 0)
    policy = Policy(**{**json.loads(options), "read": tuple(json.loads(options)["read"])})
    filters = {
        network: seccomp.packed(seccomp.compile(syscalls.arch(), network=network))
        if policy.tier in ("A", "B")
        else b""
        for network in NETWORKS
    }
    for name in PRELOADED:
        importlib.import_module(name, __package__)
    sys.dont_write_bytecode = True
    gc.collect()
    gc.disable()  # a collection in a fork would copy every page
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # ended workers need no waiting for
    with socket.socket(fileno=door) as orders:
        while True:
            message, descriptors, _, _ = socket.recv_fds(orders, 16, 1)
            if not message:
                await_calls()
                return
            try:
                forked = os.fork()
            except OSError:  # too many processes: the call hears of it, and the others run on
                forked = -1
            if forked == 0:
                orders.close()
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                network = message.decode()
                own = replace(policy, network=network)
                worker.serve(descriptors[0], own, filters[network])
            for descriptor in descriptors:
                os.close(descriptor)


def await_calls() -> None:
    """The server stops: calls that look at Context.cancelled have their moment. Workers end with
    this process, so it stays as long as they do, and no longer than that moment takes."""
    signal.alarm(round(child.ENDING_S) + 1)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(-1, 0)
