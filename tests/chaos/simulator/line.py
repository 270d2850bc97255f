"""A TCP connection in memory, seen from the server as its transport."""

from __future__ import annotations

import asyncio
import contextvars
from typing import TYPE_CHECKING, Any

from server.lib.http.connection import ServerConnection

from .loop import Process

if TYPE_CHECKING:
    from .host import Host

LATENCY_S = 0.001
USER_TIMEOUT_S = 30.0  # after which a server's kernel gives up bytes that nobody acknowledges


class Socket:
    """What a connection asks of its socket."""

    def setsockopt(self, *options: Any) -> None:
        """Set nothing."""

    def fileno(self) -> int:
        """Return -1: there is no descriptor."""
        return -1


class Connection(ServerConnection):
    """A connection of the product's that asks its line for acknowledgements, not the kernel."""

    __slots__ = ("line",)
    line: Line

    def __hash__(self) -> int:
        return self.line.number  # a set of connections has the same order in each world

    def unacknowledged_bytes(self) -> int | None:
        """Return how many bytes the client's machine has not acknowledged."""
        line = self.line
        line.host.process.note("unacknowledged", line.number, line.unacknowledged > 0)
        return line.unacknowledged


class Line(asyncio.Transport):
    """One connection.

    machine      bytes that the client's machine has received and its program has not read
    frames_left  frames that still reach the machine; then the line says nothing more (None: all)
    gateway      takes and confirms what does not reach the machine
    """

    def __init__(
        self, host: Host, frames_left: int | None = None, *, gateway: bool = False
    ) -> None:
        super().__init__()
        self.host, self.world, self.loop = host, host.world, host.world.loop
        self.machine = bytearray()
        self.arrived = asyncio.Event()
        self.unacknowledged = self.in_flight = 0
        self.closed = False  # no more comes from the server
        self.failed = False  # it was reset
        self.frames_left, self._gateway = frames_left, gateway
        self._closing = self._lost = self._paused = self._client_closed = False
        self._last_s = 0.0
        self.number = len(host.lines)
        self._note("new", frames_left is None, gateway)
        self.protocol = host.process.context.run(Connection, host.listener)
        self.protocol.line = self
        host.lines.append(self)
        self._in_process(self.protocol.connection_made, self)

    def state(self) -> Any:
        """Return what the server has still to learn of the client's side."""
        is_over = self._lost or self.host.process.dead
        machine = (self.frames_left, self.failed, self._client_closed, self.in_flight > 0)
        return None if is_over else (self.unacknowledged > 0, *machine)

    def _note(self, *what: Any) -> None:
        self.host.process.note(self.number, round(self.loop.now, 6), *what)

    # Called by the server

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """Return the socket, or the peer's address."""
        return {"socket": Socket(), "peername": ("127.0.0.1", 9)}.get(name, default)

    def set_write_buffer_limits(self, high: Any = None, low: Any = None) -> None:
        """Set nothing: a line takes all at once."""

    def get_write_buffer_size(self) -> int:
        """Return 0: a line takes all at once."""
        return 0

    def is_closing(self) -> bool:
        """Return whether the server has closed it."""
        return self._closing

    def is_reading(self) -> bool:
        """Return whether the server reads."""
        return not self._paused

    def pause_reading(self) -> None:
        """Stop reading."""
        self._paused = True

    def resume_reading(self) -> None:
        """Read again."""
        self._paused = False

    def can_write_eof(self) -> bool:
        """Return True."""
        return True

    def write(self, data: Any) -> None:
        """Send bytes: an effect of the server."""
        self.host.process.effect()
        data = bytes(data)
        self.unacknowledged += len(data)
        self.in_flight += len(data)
        confirms = self.frames_left is None or self._gateway
        if self.unacknowledged == len(data) and not confirms:
            self._note("waits")
            self._later(USER_TIMEOUT_S, self._time_out, self.host.process)
        self._in_order(self._deliver, data)

    def write_eof(self) -> None:
        """End the server's half."""
        self._in_order(self._end, False)

    def close(self) -> None:
        """Close it, when all was sent."""
        self._close(reset=False)

    def abort(self) -> None:
        """Reset it."""
        self._close(reset=True)

    def _close(self, *, reset: bool) -> None:
        if not self._closing:
            self._closing = True
            self._in_order(self._end, reset)
            self._later(0, self._lose, self.host.process, None)

    # Done by the network

    def _later(self, s: float, do: Any, process: Process | None, *args: Any) -> None:
        context = contextvars.Context() if process is None else process.context
        self.loop.call_at(self.loop.now + s, do, *args, context=context)

    def _in_order(self, do: Any, *args: Any) -> None:
        self._last_s = max(self._last_s + 1e-9, self.loop.now + self.world.latency())
        self.loop.call_at(self._last_s, do, *args, context=contextvars.Context())

    def _in_process(self, do: Any, *args: Any) -> None:
        if not self.host.process.dead:
            self.host.process.context.copy().run(do, *args)

    def _deliver(self, data: bytes) -> None:
        self.in_flight -= len(data)
        if self.failed:
            return
        if self._client_closed:
            self.hang_up("rst")
            return
        size = len(data)
        if self.frames_left is not None:
            data = self._passed(data)
        self.machine += data
        if len(data) == size or self._gateway:
            self._later(LATENCY_S, self._acknowledge, None, size)
        self.arrived.set()

    def _passed(self, data: bytes) -> bytes:
        """Return the part of `data` that reaches the machine before the line says nothing more."""
        at = 0
        while self.frames_left and (end := data.find(b"\n\n", at)) >= 0:
            self.frames_left -= 1
            at = end + 2
        return data if self.frames_left else data[:at]

    def _acknowledge(self, size: int) -> None:
        self.unacknowledged -= size

    def _end(self, reset: bool) -> None:
        if self.frames_left != 0:
            self.closed, self.failed = True, reset
            self.arrived.set()

    def _time_out(self) -> None:
        if self.unacknowledged and not self._lost:
            self._lose(TimeoutError("ETIMEDOUT"))

    def _lose(self, error: Exception | None) -> None:
        if not self._lost and not self.host.process.dead:
            self._lost = self._closing = True
            self._note("lost", type(error).__name__)
            self.protocol.connection_lost(error)

    def server_died(self) -> None:
        """Reset the line, as the kernel of a killed process does."""
        if self.frames_left != 0:
            self._later(LATENCY_S, self._end, None, True)

    # Called by the client

    def send(self, data: bytes, late_s: float = 0.0) -> None:
        """Send a request, which the network holds for `late_s`."""
        self._later(self.world.latency() + late_s, self._receive, self.host.process, data)

    def _receive(self, data: bytes) -> None:
        if not self._lost:
            self._note(data)
            self.protocol.data_received(data)

    def hang_up(self, how: str) -> None:
        """Close the client's socket: `rst`, or `fin`, after which later bytes are reset."""
        self._note("hang up", how)
        if how == "rst":
            self.failed = True
            self._later(LATENCY_S, self._lose, self.host.process, ConnectionResetError("reset"))
        elif how == "fin":
            self._client_closed = True
            self._later(LATENCY_S, self._receive_end, self.host.process)
        self.arrived.set()

    def _receive_end(self) -> None:
        self._note("end")
        if not self._lost and not self.protocol.eof_received():
            self.close()
