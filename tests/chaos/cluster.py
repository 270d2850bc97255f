"""Three servers, the model they call and the nginx before them, each of which may be killed.

The second of the servers has two workers. Whatever dies is started again at its place: the same
port, the same home folder. What a killed process leaves running is waited for, and is a finding if
it stays.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sys
import tempfile
import threading
from pathlib import Path
from types import TracebackType
from typing import Any

from server.telemetry.log import DELAY_S
from server.tools.runner import ToolRunner

from ..tooling import ports, tools
from ..tooling.child import Child, Yaa
from . import processes
from .test_kill import OWNED

KEY, NAME = "one-key-for-all-three", "chaos"
GRACE_S = 2  # server.limits.disconnect_grace_s
GONE_S = 25.0  # what a dead server's processes may take at most: its grace and a loaded machine
START_S = 60.0
KINDS = ("server", "zygote", "worker", "provider", "nginx", "client")
SLOW_TOOL = OWNED.replace('file.write("ran ")', 'file.write("ran ")\n    time.sleep(0.05)')
SLOW_TOOL = f"import time\n{SLOW_TOOL}"


class Cluster:
    """`with Cluster(nginx) as cluster`; `places` are the ports where clients POST.

    nginx     the program, or None: clients choose a server themselves
    shared    whether the servers have one home folder
    count     how many servers
    provider  the port of a model that is there already, which is not killed
    config    what the servers' configurations have beside the model and the key
    """

    def __init__(
        self,
        nginx: Path | None,
        *,
        shared: bool = False,
        count: int = 3,
        provider: int = 0,
        config: dict[str, Any] | None = None,
    ) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="yaa-storm-")
        self.folder = Path(self._folder.name)
        self._nginx_program, self._provider_port = nginx, provider
        self._config = config or {}
        self.orphans: list[str] = []
        self.killed = dict.fromkeys(KINDS, 0)
        self._strikes: list[threading.Thread] = []
        self._started: list[Plain] = []
        self._locks = {name: threading.Lock() for name in ("provider", "nginx", "0", "1", "2")}
        self._held = contextlib.ExitStack()
        *self.direct, self._nginx_port = self._held.enter_context(ports.held(count + 1))
        self.homes = [self.folder / ("home" if shared else f"home-{n}") for n in range(count)]

    def __enter__(self) -> Cluster:
        self.provider = None if self._provider_port else self._start_provider()
        self.servers = [self._start_server(number) for number in range(len(self.direct))]
        self.nginx = self._start_nginx() if self._nginx_program else None
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for child in (self.nginx, *self.servers, self.provider):
            if child is not None:
                child.stop(20)
        for each in self._started:
            each.clean()
        self._held.close()
        self._folder.cleanup()

    @property
    def places(self) -> list[int]:
        """The ports that clients may use."""
        return [self._nginx_port] if self.nginx else self.direct

    # -- starting ---------------------------------------------------------------------------------

    def _start_provider(self) -> Child:
        """The model of test_kill.py, and the tool that it calls."""
        self._provider_port = self._provider_port or self._held.enter_context(ports.held(1))[0]
        for home in self.homes:
            (home / "tools").mkdir(parents=True, exist_ok=True)
            (home / "tools" / "mark.py").write_text(SLOW_TOOL)
        command = [sys.executable, "-m", "tests.chaos.provider"]
        child = Child([*command, "--port", str(self._provider_port)])
        child.wait_for("READY", START_S)
        return child

    def _start_server(self, number: int) -> Child:
        provider = {"api_url": f"http://127.0.0.1:{self._provider_port}/v1", "api_key": "k"}
        server = {
            "discover": False,
            "providers": {"main": provider | {"model_name": "m"}},
            "api_keys": [{"name": NAME, "key": KEY}],
            "limits": {"disconnect_grace_s": GRACE_S},
        } | self._config.get("server", {})
        retry = {"llm_api": {"retry": {"times": 3, "delay": 0.2}}}
        session = {"config": retry | self._config.get("session", {})}
        config = {"server": server, "session": session}
        workers = ("--workers", "2") if number == 1 else ()
        yaa = Plain(config, home=self.homes[number], arguments=workers, port=self.direct[number])
        self._started.append(yaa)
        for _ in range(int(START_S)):  # who was killed may hold the port until its workers end
            try:
                return yaa.start()
            except RuntimeError as error:
                if "is in use" not in str(error):
                    raise
        raise RuntimeError(f"port {self.direct[number]} does not become free")

    def _start_nginx(self) -> Child:
        """The shipped file without its TLS."""
        site = (tools.ROOT / "docs" / "deploy" / "nginx.conf").read_text()
        site = "".join(f"{x}\n" for x in site.splitlines() if "ssl_certificate" not in x)
        site = site.replace("listen 443 ssl;", f"listen 127.0.0.1:{self._nginx_port};")
        for number in range(3):  # two of the file's three may be the same server
            port = self.direct[number % len(self.direct)]
            site = site.replace(f"127.0.0.1:{12345 + number}", f"127.0.0.1:{port}")
        site = site.replace("proxy_set_header Host $host;", "proxy_set_header Host localhost;")
        (self.folder / "site.conf").write_text(site)
        kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        temporary = "".join(f"{kind}_temp_path {self.folder}/{kind};\n" for kind in kinds)
        user = "user root;\n" if os.geteuid() == 0 else ""
        (self.folder / "nginx.conf").write_text(
            f"{user}daemon off;\npid {self.folder}/nginx.pid;\nerror_log stderr notice;\n"
            f"events {{ worker_connections 512; }}\n"
            f"http {{ access_log off;\n{temporary}include {self.folder}/site.conf; }}\n"
        )
        command = [str(self._nginx_program), "-p", str(self.folder)]
        child = Child([*command, "-c", str(self.folder / "nginx.conf")])
        child.wait_for("start worker process", START_S)
        return child

    # -- killing ----------------------------------------------------------------------------------

    def strike(self, kind: str, run: str, chance: random.Random) -> bool:
        """SIGKILL to one process of this kind, of the server that has `run` if it can be told; what
        stays down is started again. Returns at once: False while that place is down already."""
        place = kind if kind in ("provider", "nginx") else str(self._holder(run, chance))
        if not self._locks[place].acquire(blocking=False):
            return False
        strike = threading.Thread(target=self._strike, args=(kind, place, chance))
        self._strikes.append(strike)
        strike.start()
        return True

    def wait(self) -> None:
        """Until all that was struck is up again."""
        for strike in self._strikes:
            strike.join()

    def _strike(self, kind: str, place: str, chance: random.Random) -> None:
        try:
            if kind == place:
                self._replace(kind)
            else:
                self._strike_server(kind, int(place), chance)
        except Exception as error:  # a server that does not start again, for instance
            self.orphans.append(f"after a {kind}: {error!r:.2000}")
        finally:
            self._locks[place].release()

    def _replace(self, kind: str) -> None:
        """All processes of a peer: what they leave to each other is their own affair."""
        getattr(self, kind).kill()
        self.killed[kind] += 1
        setattr(self, kind, getattr(self, f"_start_{kind}")())

    def _strike_server(self, kind: str, number: int, chance: random.Random) -> None:
        server = self.servers[number].process
        family = processes.below(server.pid)
        zygotes = {pid for pid in family if ".zygote" in processes.named(pid)}
        workers = {pid for pid in zygotes if processes.parents().get(pid) in zygotes}
        victims = {
            "server": {server.pid} | (family - zygotes if number == 1 else set()),
            "zygote": zygotes - workers,
            "worker": set().union(*map(processes.below, zygotes), set[int]()),
        }[kind] or {server.pid}
        victim = chance.choice(sorted(victims))
        ends = processes.ends_with(victim) if kind == "worker" else processes.below(victim)
        orphaned = processes.born({victim} | ends)
        processes.kill(victim, signal.SIGKILL)
        self.killed[kind] += 1
        if not processes.until(lambda: not processes.left(orphaned), GONE_S):
            self.orphans += [f"after a {kind}: {each}" for each in processes.left(orphaned)]
        if victim == server.pid:
            self.servers[number].kill()
            self.servers[number] = self._start_server(number)

    def _holder(self, run: str, chance: random.Random) -> int:
        line = f"run {run} of"
        if run:  # its line is written a little later
            servers = self.servers
            processes.until(lambda: any(line in each.output for each in servers), 2 * DELAY_S)
        for number, server in enumerate(self.servers):
            if run and line in server.output:
                return number
        return chance.randrange(len(self.servers))

    # -- what was done ----------------------------------------------------------------------------

    def executions(self, session_id: str) -> list[int]:
        """How often the command and each mark of a session ran, on all servers together."""
        folders = [ToolRunner(home).folder(session_id, NAME) for home in sorted({*self.homes})]
        files = [[folder / name for folder in folders] for name in ("shell", "one", "two")]
        return [sum(len(f.read_text().split()) for f in each if f.exists()) for each in files]


class Plain(Yaa):
    """A server with a configured key at a fixed port, which is a `Child` once it answers."""

    def __init__(self, config: dict[str, object], *, home: Path, arguments: tuple[str, ...],
                 port: int) -> None:  # fmt: skip
        super().__init__(config, home=home, arguments=("--port", str(port), *arguments))

    def clean(self) -> None:
        """Remove its configuration."""
        self._folder.cleanup()

    def start(self) -> Child:
        child = Child(self._command, cwd=self._cwd)
        child.wait_for(r"^http://127\.0\.0\.1:\d+/$", START_S)
        return child
