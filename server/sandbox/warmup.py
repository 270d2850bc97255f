"""Warm up a worker before its call, so that the call finds its memory ready.

A fork shares the zygote's memory; each page is copied when it is first written, while a call waits.
Most pages that a call touches are the same for all calls: JSON, messages, the environment, starting
a program. Doing that once without effect saves 1.2 ms for a call that does nothing and 2 ms for one
that starts a program. It leaves nothing behind.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import subprocess

from . import child
from .tool_context import Context

LIKE_A_CALL = {
    "where": ["module", "", ""],
    "args": {"command": "true"},
    "limits": {"wall_s": 1.5, "cpu_s": 1},
    "state": {},
    "env": {"HOME": "/", "LANG": "C.UTF-8", "PATH": os.defpath},
    "source": None,
}


def rehearse() -> None:
    """Do without effect what every call does."""
    request = json.loads(json.dumps(LIKE_A_CALL))
    reader, writer = os.pipe()
    context = Context(request["state"], functools.partial(child.send, writer), request["limits"])
    context.log("")
    child.send(writer, {"result": {"exit_code": 0, "output": ""}, "keep": context.keep})
    os.read(reader, 1024)
    os.environ.update(request["env"])
    with contextlib.suppress(OSError):
        subprocess.Popen([os.devnull], stdin=reader, stdout=writer)  # not a program
    os.environ.clear()
    os.close(reader)
    os.close(writer)
