"""The process that workers are forked from, with everything that a tool call imports.

worker_pool.py starts it as `python -I -S` with an empty environment, so that it holds nothing of
the server: no key, no session, and only the descriptor `door`. Each message there carries the
control socket of a new worker and the name of its network, with WATCHES behind it if the worker may
use inotify; or it is PRELOAD. The zygote has one thread and no state, reads nothing from a tool,
and ends when the door closes.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import json
import os
import signal
import socket
import sys
from dataclasses import replace

from . import seccomp, syscalls, worker
from .network_policy import NETWORKS
from .policy import PRELOAD, SandboxPolicy
from .supervisor import ENDING_S, stat_of

TITLE = b"yaa: tools"
MODULES = ("traceback", "ctypes.util")


def main(door: int, options: str) -> None:
    """Fork workers until `door` closes. `options`: a policy as JSON."""
    syscalls.prctl(syscalls.PR_SET_PDEATHSIG, signal.SIGKILL)
    syscalls.prctl(syscalls.PR_SET_DUMPABLE, 0)
    syscalls.prctl(syscalls.PR_SET_CHILD_SUBREAPER, 1)  # of the first processes of namespaces
    hide_arguments()
    policy = SandboxPolicy.of(json.loads(options))
    own_end = syscalls.pidfd_open(os.getpid()) if policy.tier == "A" else -1
    filters = {
        network: seccomp.pack(seccomp.compile_filter(syscalls.arch(), network=network))
        if policy.tier in ("A", "B")
        else b""
        for network in NETWORKS
    }
    sys.dont_write_bytecode = True
    freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # no zombies of workers
    with socket.socket(fileno=door) as orders:
        while True:
            message, descriptors, _, _ = socket.recv_fds(orders, 16, 1)
            if not message:
                await_calls()
                return
            if message == PRELOAD:
                for name in (*policy.preload, *MODULES):
                    importlib.import_module(name)
                freeze()
                continue
            try:
                forked = os.fork()
            except OSError:  # too many processes: this call fails, the others go on
                forked = -1
            if forked == 0:
                orders.close()
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                network, _, watches = message.decode().partition(" ")
                if watches and policy.tier in ("A", "B"):
                    program = seccomp.compile_filter(syscalls.arch(), network=network, watches=True)
                    filters[network] = seccomp.pack(program)
                own_policy = replace(policy, network=network)
                worker.serve(descriptors[0], own_policy, filters[network], own_end)
            for descriptor in descriptors:
                os.close(descriptor)


def hide_arguments() -> None:
    """Overwrite the command line, which names folders of the host and is that of every worker."""
    fields = stat_of(os.getpid())
    start, end = (int(fields[at]) for at in (45, 46))  # arg_start, arg_end: proc_pid_stat(5)
    ctypes.memset(start, 0, end - start)
    ctypes.memmove(start, TITLE, min(len(TITLE), end - start - 1))
    sys.argv = sys.orig_argv = [TITLE.decode()]


def freeze() -> None:
    """Switch the garbage collector off: a collection in a fork would copy every page."""
    gc.collect()
    gc.disable()
    gc.freeze()


def await_calls() -> None:
    """Wait until the workers have ended, so that calls can react to Context.cancelled.

    Workers end with this process, so it must not exit before them. It waits for ENDING_S and a
    second at most.
    """
    signal.alarm(round(ENDING_S) + 1)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(-1, 0)
