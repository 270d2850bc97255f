"""A tool call in a sandboxed worker: the same pipes as in parent.py, with a process of the pool.

The control socket is the lifeline and carries the supervisor's messages: ready or failed, and how
the call ended. The tool has no descriptor of it, so none of these can be forged. If the call's
network is `proxy`, the listening socket of its proxy came with `ready`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
from dataclasses import replace
from pathlib import Path
from typing import Any

from .child import MAX_RESULT
from .netproxy import ENV, NetProxy
from .network_policy import Reach
from .parent import CHUNK, KEEPER_S, Child, Job, Outcome, environment, message_of, request_of


class Words(asyncio.Protocol):
    """Collects the supervisor's messages in `said` until the connection ends.

    A StreamReader would drop them: when the supervisor exits with a call unread, its socket is
    reset after its last message.
    """

    def __init__(self, said: dict[str, Any]) -> None:
        self.said = said
        self.ended = asyncio.get_running_loop().create_future()
        self._line = b""

    def data_received(self, data: bytes) -> None:
        """Store the messages; `end` is the last one."""
        *lines, self._line = (self._line + data).split(b"\n")
        for line in lines:
            self.said.update(message_of(line))
        if "end" in self.said:
            self.connection_lost(None)

    def connection_lost(self, exc: Exception | None) -> None:
        """Resolve `ended`."""
        if not self.ended.done():
            self.ended.set_result(None)


class Confined(Child):
    """One call in a worker."""

    def __init__(self, job: Job, tier: str, reach: Reach) -> None:
        super().__init__(job, None, -1)
        self.tier, self._reach = tier, reach
        self._said: dict[str, Any] = {}  # by the supervisor
        self._proxy: NetProxy | None = None
        self._failed = ""
        self._control: asyncio.Transport | None = None
        self._words: Words

    @classmethod
    async def begin(
        cls,
        job: Job,
        folder: Path,
        source: str | None,
        worker: socket.socket,
        tier: str,
        reach: Reach,
    ) -> Confined:
        """Send the call to a worker of sandbox/worker_pool.py. Takes over the socket.

        `reach`: the network that the worker has. Raises OSError.
        """
        filtered = reach.network == "proxy"
        request = {
            **request_of(job),
            "folder": str(folder),
            "inode": folder.stat().st_ino,
            "env": {**environment(folder, job.package), **(ENV if filtered else {})},
            "source": source,
        }
        data = json.dumps(request).encode()
        child = cls(job, tier, reach)
        try:
            with contextlib.ExitStack() as theirs:
                child._output, output = await child._piped(theirs, CHUNK)
                child._results, said = await child._piped(theirs, MAX_RESULT)
                calls = child._to_come(theirs) if job.stateful else []
                if filtered:
                    await child._open_proxy(worker)
                # A worker that failed has sent the reason before it closed the socket.
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                    socket.send_fds(worker, [len(data).to_bytes(8, "big")], [output, said, *calls])
                    if len(data) < 64 * 1024:
                        worker.sendall(data)
                    else:
                        await asyncio.to_thread(worker.sendall, data)
            child._control, child._words = await asyncio.get_running_loop().create_connection(
                lambda: Words(child._said), sock=worker
            )
        except BaseException:
            worker.close()
            child.kill()
            raise
        return child

    def _to_come(self, theirs: contextlib.ExitStack) -> list[int]:
        """Make the pipe for further calls. Returns the child's end, closed with `theirs`."""
        end, ours = os.pipe()
        theirs.callback(os.close, end)
        self._asks = os.fdopen(ours, "wb")
        return [end]

    async def _open_proxy(self, worker: socket.socket) -> None:
        """Receive the socket that listens in the worker's network, and serve on it."""
        worker.settimeout(KEEPER_S)
        said, descriptors, _, _ = await asyncio.to_thread(socket.recv_fds, worker, 4096, 1)
        worker.settimeout(None)
        for line in said.splitlines():
            self._said.update(message_of(line))
        for descriptor in descriptors:
            listener = socket.socket(fileno=descriptor)
            listener.setblocking(False)
            self._proxy = NetProxy(listener, self._reach)
            await self._proxy.open()

    async def _end_of(self, messages: list[dict[str, Any]]) -> dict[str, Any]:
        # Its last message is sent when no process of the call is left.
        await asyncio.wait([self._words.ended], timeout=KEEPER_S)
        self._failed = str(self._said.get("failed", ""))
        self.lost = "taken" not in self._said
        end = self._said.get("end")
        return end if isinstance(end, dict) else {}

    def _judged(
        self, said: dict[str, Any] | None, end: dict[str, Any], logs: tuple[str, ...]
    ) -> Outcome:
        if self._failed:
            text = f"the sandbox could not be made: {self._failed}"
            return Outcome(
                "sandbox_unavailable", error={"type": "sandbox_unavailable", "message": text}
            )
        if self.lost and self._breach is None:
            text = "the sandbox's worker ended before the call began; nothing was run"
            return Outcome("error", error={"type": "error", "message": text})
        return replace(super()._judged(said, end, logs), **self.network())

    @property
    def runs(self) -> bool:
        """Return whether the worker is there for further calls."""
        return not self._words.ended.done()

    def network(self) -> dict[str, Any]:
        """Return the fields `network` and `refused` of an Outcome."""
        refused = tuple(self._proxy.refused) if self._proxy else ()
        return {"network": self._reach.network, "refused": refused}

    def kill(self) -> None:
        """End the call, its proxy and the worker."""
        super().kill()
        if self._proxy is not None:
            self._proxy.close()
        if self._control is not None:
            self._control.close()

    def _cut_lifeline(self) -> None:
        """Close the socket for writing.

        The supervisor then ends the call; its last message can still arrive.
        """
        if self._control is not None:
            with contextlib.suppress(OSError):
                self._control.write_eof()

    def _give_up(self) -> None:
        """Stop reading output: the supervisor did not end the call in time."""
        self._given_up = True
